"""What a node's companions imply for it, from a record of days on which it was sound.

Each node is regressed on the twenty that vary most like it; how strongly, the days that were left
out decide. Who is off by half of twice the largest distance of these days is no companion to be
listened to. A drift is judged more closely: what another condition of the node tells of its
distance is taken off, and what is left is compared with a multiple of the largest in thirds of days
left out. A new day may exceed those before; a third of a day is longer than a node's restlessness,
and the rest of the record still has such days.

Distances count by how far off the nodes are in the middle, then and now: by day and in new weather
all of them are farther off than on calm nights, and a drift is one node's. Half of the nodes may
drift at once and the middle tells nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fieldmend.core.line import lines
from fieldmend.core.prox import Mask
from fieldmend.field.power import PLAIN, Power
from fieldmend.grid import Array

MOST = 20  # companions
RIDGES = 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0
SHRUNK = 0.1  # of its own variance, beside which another condition's gain is found
DAYS, THIRDS = 3, 9  # parts of the record at most, each left out once: days, and thirds of days
HELD = 3  # slots
FAR = 2.0  # times the largest of days left out
FEW, BEYOND = 3, 2.5  # days, and times the largest of thirds of so few
TAIL = 3.5  # of the largest of days: a new one is f times that of D others once in (D + 1) f^TAIL
FEWEST = 6  # nodes
# A node's largest grows with this power of how far off the nodes are in the middle. In thirds of
# days left out of 18 records (IntelLab, Redwood, NDBC, Molène, seven simulated), limits passed as
# rarely were within 13 % of those by the best of 0, 1/4, 1/2, 3/4 and 1.
GROWS = 0.75
NEAR, SPEAK = 10, 2  # nodes most like it; so many of them, off with it, make an event of three
LIKE = 0.5  # of its distance, each in its limits, that is enough for that
MOST_FALSE = 12  # companions in a slot that were not known before


@dataclass(frozen=True)
class Implied:
    """One condition: each node from its companions, and from another condition of its own."""

    mean: Array
    which: Array  # nodes × companions
    weight: Array
    limit: Array  # of a distance: who is off by half of it is not listened to
    other: str = ""  # a condition that nodes are off in when they are in this one; "": none
    gain: Array | float = 0.0  # by how much, of what they are off there
    rest: Array | None = None  # limit of what it leaves, while it is calm: beyond, a node drifts
    times: Array | float = 3.0  # that limit, of the largest that was left on other days
    power: Array | None = None  # p and c of the scale that all this is on; None: of readings
    usual: Array | float = 0.0  # how far off nodes are in the middle of nodes and slots, in limits

    @property
    def scale(self) -> Power:
        """From readings onto the scale, and back."""
        return PLAIN if self.power is None else Power(float(self.power[0]), float(self.power[1]))

    def left(self, off: Array, other: Array | None) -> tuple[Array, Array]:
        """What is left of distances where the nodes' other condition is heard, and its limits.

        A place that grows warm grows dry. What one distance tells of the other is no fault, and
        where it tells more than there is, nothing is left: a condition that drifts must not make
        another one drift.
        """
        if self.rest is None:
            return off, self.limit
        if not self.other:
            return off, self.rest
        if other is None:
            return off, np.maximum(self.limit, self.rest)
        return _unexplained(off, self.gain * other), self.rest

    def off(self, y: Array) -> Array:
        """How far each node is from what its companions imply."""
        z = y - self.mean
        out: Array = z - (self.weight * z[self.which]).sum(axis=1)
        return out

    def soundly(self, y: Array, known: Mask) -> Array:
        """The same, false companions (`known`, and who is off by far) taken for what is implied.

        They must not make others false. One after the other, the farthest off first: it is less
        off than what it does to its companions.
        """
        false = known.copy()
        for _ in range(_false(len(y)) + 1):
            sound = self._without(y, false)
            off = self.off(sound)
            ratio = np.where(false, 0.0, np.abs(off) / self.limit)
            most = int(np.argmax(ratio))
            if not ratio[most] > 0.5:
                break
            false[most] = True
        sound = self._without(y, false)
        out: Array = np.where(false, y - sound, self.off(sound))
        return out

    def judged(self, y: Array, known: Mask) -> tuple[Array, float, Mask]:
        """How far off nodes are, how many times more than usual is no wonder now, and who is alone.

        Whoever may drift is not heard on others, or it would make them restless. Who is `known` to
        be false is not asked.
        """
        off = self.soundly(y, known)
        calm = np.abs(off) / np.maximum(self.limit if self.rest is None else self.rest, 1e-12)
        order = np.argsort(-np.where(known, 0.0, calm))[: _false(len(y))]
        far = known.copy()
        far[order[calm[order] > 1.0]] = True
        if (far & ~known).any():
            off = self.soundly(y, far)
        restless = _restless(off[None, ~known], self.limit[~known], float(self.usual))[0]
        return off, float(restless), known | self._alone(np.where(known, 0.0, off))

    def _alone(self, off: Array) -> Mask:
        """Where a node is off without nodes like it that are off the same way: an event."""
        ratio, near = off / np.maximum(self.limit, 1e-12), self.which[:, :NEAR]
        along = np.sort(ratio[near] * np.sign(off)[:, None], axis=1)
        out: Mask = along[:, -min(SPEAK, near.shape[1])] < LIKE * np.abs(ratio)
        return out

    def _without(self, y: Array, false: Mask) -> Array:
        """Readings, the false ones replaced by what the others imply, all at once."""
        which = np.flatnonzero(false)
        if not len(which):
            return y
        z = np.where(false, 0.0, y - self.mean)
        place = np.full(len(y), -1)
        place[which] = np.arange(len(which))
        A, among = np.eye(len(which)), place[self.which[which]]
        row, column = np.nonzero(among >= 0)
        np.subtract.at(A, (row, among[row, column]), self.weight[which][row, column])
        implied = (self.weight[which] * z[self.which[which]]).sum(axis=1)
        out = y.copy()
        out[which] = self.mean[which] + np.linalg.lstsq(A, implied, rcond=1e-6)[0]
        return out


def fit(
    values: Mapping[str, Array], days: int, scales: Mapping[str, Power] | None = None
) -> dict[str, Implied]:
    """Every condition that there is enough of, slots × nodes, in a record of so many days.

    `scales`: of skewed quantities. Dust that is off by a tenth is off by much where there is much.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(576, 1)) + 0.1 * rng.normal(size=(576, 8))
    >>> one = fit({"t": X}, days=2)["t"]
    >>> bool(np.abs(one.off(X[0])).max() < one.limit.min())
    True
    """
    found, far = {}, {}
    for name, X in values.items():
        heard = np.isfinite(X)
        if X.shape[1] >= FEWEST and heard.mean(axis=0).min() >= 0.2:
            power = (scales or {}).get(name, PLAIN)
            Z = power.forward(lines(X.T, heard.T).T)
            ridge, off = _left_out(Z, min(DAYS, days))
            own = None if power == PLAIN else np.array([power.p, power.c])
            found[name] = replace(_Likest.of(Z).regressed(ridge), limit=_limit(off, FAR), power=own)
            far[name] = _left_out(Z, _thirds(days))[1]
    return {name: _judging(one, name, far, days) for name, one in found.items()}


def beyond(days: int) -> float:
    """How many times the largest of so many days is too much: as rarely true, however many.

    Examples
    --------
    >>> [round(beyond(days), 1) for days in (2, 3, 7, 14)]
    [2.5, 2.5, 2.1, 1.7]
    """
    return float(BEYOND * ((FEW + 1) / (max(days, FEW) + 1)) ** (1.0 / TAIL))


def _false(nodes: int) -> int:
    """So many nodes at most are taken for false in a slot, beside those that are known to be."""
    return min(MOST_FALSE, nodes // 4)


def _thirds(days: int) -> int:
    return min(THIRDS, 3 * days)


def _left_out(Z: Array, parts: int) -> tuple[float, Array]:
    """The ridge that is best in parts left out, and how far off nodes were in them."""
    edges = _edges(len(Z), parts)
    likest = [_Likest.of(np.vstack([Z[:low], Z[high:]])) for low, high in edges]
    best: tuple[float, float, Array] | None = None
    for ridge in RIDGES:
        off = np.empty_like(Z)
        for (low, high), rest in zip(edges, likest, strict=True):
            part = rest.regressed(ridge)
            for t in range(low, high):
                off[t] = part.off(Z[t])
        error = float(np.mean(np.abs(off)))
        if best is None or error < best[0]:
            best = error, ridge, off
    assert best is not None
    return best[1:]


def _judging(one: Implied, name: str, far: Mapping[str, Array], days: int) -> Implied:
    """With the limits of drifts, and the condition that leaves least in parts left out, if any."""
    off, times = far[name], beyond(days)
    usual = float(np.median(_middle(off, one.limit)))
    calmed = 1.0 / _restless(off, one.limit, usual)[:, None]
    one = replace(one, times=times, usual=usual)
    best, least = replace(one, rest=_limit(calmed * off, times)), float(np.mean(np.abs(off)))
    for other, its in far.items():
        if other == name:
            continue
        left = np.empty_like(off)
        for low, high in _edges(len(off), _thirds(days)):
            others = np.r_[0:low, high : len(off)]
            gain = _gain(off[others], its[others])
            left[low:high] = _unexplained(off[low:high], gain * its[low:high])
        error = float(np.mean(np.abs(left)))
        if error < least:
            least = error
            rest = _limit(calmed * left, times)
            best = replace(one, other=other, gain=_gain(off, its), rest=rest)
    return best


def _middle(off: Array, limit: Array) -> Array:
    """Of each slot (slots × nodes): the median distance, in limits."""
    out: Array = np.median(np.abs(off) / np.maximum(limit, 1e-12), axis=1)
    return out


def _restless(off: Array, limit: Array, usual: float) -> Array:
    """How many times more than usual a node may be off for that; 1 at the least."""
    if not usual > 0.0 or not off.shape[1]:
        return np.ones(len(off))
    return np.maximum(1.0, _middle(off, limit) / usual) ** GROWS


def _unexplained(off: Array, told: Array) -> Array:
    """What is left of distances of which another condition tells some; never more."""
    rest = off - told
    out = np.sign(off) * np.minimum(np.abs(off), np.abs(rest))
    return np.where(np.sign(rest) == np.sign(off), out, 0.0)


def _gain(off: Array, other: Array) -> Array:
    square = (other**2).sum(axis=0)
    out: Array = (off * other).sum(axis=0) / np.maximum((1.0 + SHRUNK) * square, 1e-12)
    return out


def _limit(off: Array, times: float) -> Array:
    largest = _held(np.abs(off)).max(axis=0)
    out: Array = times * np.maximum(largest, 0.5 * np.median(largest))
    return out


def _edges(slots: int, parts: int) -> list[tuple[int, int]]:
    return list(pairwise(np.linspace(0, slots, parts + 1).round().astype(int).tolist()))


@dataclass(frozen=True)
class _Likest:
    """What regressions of one record share."""

    mean: Array
    covariance: Array
    which: Array

    @classmethod
    def of(cls, Z: Array) -> _Likest:
        C = np.cov(Z.T)
        scale = np.sqrt(np.maximum(np.diag(C), 1e-12))
        alike = np.abs(C / np.outer(scale, scale))
        np.fill_diagonal(alike, -1.0)
        which = np.argsort(-alike, axis=1, kind="stable")[:, : min(MOST, len(C) - 1)]
        return cls(Z.mean(axis=0), C, which)

    def regressed(self, ridge: float) -> Implied:
        C, weight = self.covariance, np.empty(self.which.shape)
        for n, mine in enumerate(self.which):
            A = C[np.ix_(mine, mine)] + ridge * np.diag(np.maximum(np.diag(C)[mine], 1e-12))
            weight[n] = np.linalg.solve(A, C[mine, n])
        return Implied(self.mean, self.which, weight, np.full(len(C), np.inf))


def _held(distance: Array) -> Array:
    """The least of each slot and those before it."""
    out = distance.copy()
    for back in range(1, HELD):
        out[back:] = np.minimum(out[back:], distance[:-back])
    return out[HELD - 1 :]
