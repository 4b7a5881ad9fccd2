"""Readings that lie with a cluster's workers: checked, scaled and swept there (`spread`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.core.cluster import Cluster
from fieldmend.core.problem import Scaling, at_once, medians, thinned
from fieldmend.core.prox import Array, Mask
from fieldmend.core.readings import checked
from fieldmend.core.spread import Spread


@dataclass(frozen=True, eq=False)
class Afar:
    """A Dask array in parts, one after the other along its slots; each stays with a worker."""

    source: Any
    pairs: Spread  # of each part the readings, and what was observed
    observed: Spread
    cluster: Cluster

    @classmethod
    def of(cls, X: Any, observed: Any, client: Any) -> Afar:
        """Have every part read, checked and kept by a worker."""
        if not hasattr(X, "dask") or len(X.shape) != 2:
            msg = "client= is for a Dask array, slots × nodes: other readings are not with workers"
            raise ValueError(msg)
        slots, nodes = map(int, X.shape)
        if observed is not None and tuple(observed.shape) != (slots, nodes):
            msg = f"observed must be a boolean mask of the shape of X, {(slots, nodes)}"
            raise ValueError(msg)
        cluster = Cluster(client)
        held = cluster.hold(slots)
        edges = tuple(np.linspace(0, slots, len(held.homes) + 1).astype(int).tolist())
        read = _parts(X, edges, cluster)
        given = [None] * len(read) if observed is None else _parts(observed, edges, cluster)
        kind = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        pairs = [
            held.submit(_pair, *both, part=i)
            for i, both in enumerate(zip(read, given, strict=True))
        ]
        both = Spread(held, tuple(pairs), edges, nodes, kind)
        seen = both.made(_second, columns=nodes, dtype=np.bool_)
        if not seen.mean():
            msg = "no entry of X is observed: nothing to decompose"
            raise ValueError(msg)
        return cls(X, both, seen, cluster)

    @property
    def shape(self) -> tuple[int, int]:
        """Slots, nodes."""
        return self.pairs.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Single or double precision."""
        return self.pairs.dtype

    def __getitem__(self, block: slice) -> Array:
        return checked(np.asarray(self.source[block]), None, some=False)[0]

    def scaling(self, *, center: bool, scale: bool) -> Scaling:
        """Centre and scale of each node: columns go from worker to worker, medians come here."""
        slots, nodes = self.shape
        if not center and not scale:
            return Scaling(np.zeros(nodes), np.ones(nodes))
        step, edges, holder = thinned(slots), self.pairs.edges, self.pairs.holder
        made = []
        for k, some in enumerate(at_once(-(-slots // step), nodes)):
            columns = slice(int(some[0]), int(some[-1]) + 1)
            own = [
                holder.submit(_columns, part, slice(-edges[i] % step, None, step), columns, part=i)
                for i, part in enumerate(self.pairs.parts)
            ]
            made.append(holder.submit(_medians, *own, part=k % len(self.pairs.parts)))
        return Scaling.of_medians(holder.gather(made), center=center, scale=scale)

    def scaled(self, scaling: Scaling) -> Spread:
        """(X − centre)/scale on observed entries, 0 elsewhere, where the readings are."""
        return self.pairs.made(_scaled, scaling, columns=self.shape[1], dtype=self.dtype)

    def close(self) -> None:
        """Let go of a scheduler that was given by its address."""
        self.cluster.close()


def _parts(X: Any, edges: tuple[int, ...], cluster: Cluster) -> list[Any]:
    """One future for each part of a Dask array; of an array that is here, its slices."""
    if not hasattr(X, "dask"):
        return np.split(np.asarray(X), edges[1:-1])
    laid = X.rechunk({0: tuple(np.diff(edges).tolist()), 1: -1})
    return cluster.delayed(laid.to_delayed().ravel().tolist())


def _pair(part: Array, given: Mask | None) -> tuple[Array, Mask]:
    return checked(part, given, some=False)


def _second(pair: tuple[Array, Mask]) -> Mask:
    return pair[1]


def _columns(pair: tuple[Array, Mask], rows: slice, columns: slice) -> tuple[Array, Mask]:
    return pair[0][rows, columns], pair[1][rows, columns]


def _medians(*parts: tuple[Array, Mask]) -> tuple[Array, Array]:
    X, observed = (np.concatenate(one) for one in zip(*parts, strict=True))
    return medians(X, observed)


def _scaled(pair: tuple[Array, Mask], scaling: Scaling) -> Array:
    return scaling.apply(*pair)
