"""Hidden readings, shaped like the real gaps: what error bars and choices are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldmend.prox import Array, Mask

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Holdout:
    """Readings that were hidden and estimated without themselves; one entry each.

    ``rows`` and ``columns`` are slot and node, ``gap`` the length in slots of the run without
    readings that the hidden one lay in. The bounds come from quantiles of the other hold-outs.
    """

    rows: Index
    columns: Index
    truth: Array
    estimate: Array
    lower: Array
    upper: Array
    gap: Index

    def kept(self, which: Mask) -> Holdout:
        """Some of the hidden readings."""
        return Holdout(*(array[which] for array in vars(self).values()))


def draw_hidden(used: Mask, lost: Mask, share: float, rng: np.random.Generator) -> Mask:
    """Choose about `share` of the used readings: half single, half in runs as long as real gaps.

    ``lost`` marks the entries to be recovered; the lengths of the runs are drawn from its own.
    Slots that all nodes lost together are answered by runs over all nodes, in their proportion. At
    least two readings of every node stay.
    """
    slots = used.shape[1]
    total = share * used.sum()
    silent = np.logical_and.reduce(lost, axis=0)
    lengths, together = run_lengths(lost & ~silent), run_lengths(silent[None])
    lengths, together = lengths[lengths > 1], together[together > 1]
    longest = max(slots // 3, 1)
    apart = int(lengths.sum()), int(together.sum()) * len(used)
    singles = total if sum(apart) == 0 else total / 2
    hidden: Mask = used & (rng.random(used.shape) < singles / max(used.sum(), 1))
    if lengths.size:
        wanted = (total - singles) * apart[0] / sum(apart)
        hidden |= _runs(used, np.minimum(lengths, longest), wanted, rng)
    if together.size:
        wanted = (total - singles) * apart[1] / sum(apart) / len(used)
        heard = ~silent[None]
        hidden |= used & _runs(heard, np.minimum(together, longest), wanted, rng)
    left = (used & ~hidden).sum(axis=1)
    hidden[left < 2] = False
    return hidden


def _runs(used: Mask, lengths: Index, wanted: float, rng: np.random.Generator) -> Mask:
    nodes, slots = used.shape
    out = np.zeros_like(used)
    rate = max(float(used.mean()), 1e-3)
    count = int(np.ceil(wanted / (rate * lengths.mean()))) + 1
    chosen = rng.choice(lengths, count)
    node, start = rng.integers(nodes, size=count), rng.random(count)
    spent = 0.0
    for n, a, length in zip(node.tolist(), start.tolist(), chosen.tolist(), strict=True):
        first = int(a * (slots - length + 1))
        out[n, first : first + length] = True
        spent += rate * length
        if spent >= wanted:
            break
    return out & used


def run_lengths(lost: Mask) -> Index:
    """Lengths of all runs of lost entries, nodes × slots."""
    padded = np.zeros((lost.shape[0], lost.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = lost
    edge = np.diff(padded, axis=1)
    return np.nonzero(edge == -1)[1] - np.nonzero(edge == 1)[1]


def distances(used: Mask, slots: Index) -> tuple[Array, Array]:
    """Slots back to the node's last used reading and ahead to its next; infinite without one."""
    number = slots.astype(np.float64)
    last = np.maximum.accumulate(np.where(used, number, -np.inf), axis=1)
    following = np.minimum.accumulate(np.where(used, number, np.inf)[:, ::-1], axis=1)[:, ::-1]
    return number - last, following - number


def remoteness(back: Array, ahead: Array) -> Array:
    """d₁d₂/(d₁ + d₂): how far an entry is from its node's own readings on both sides."""
    with np.errstate(invalid="ignore", divide="ignore"):
        both = back * ahead / (back + ahead)
    both = np.where(np.isinf(back), ahead, np.where(np.isinf(ahead), back, both))
    out: Array = np.where(np.isfinite(both), both, 1e9)
    return np.where((back == 0) | (ahead == 0), 0.0, out)


@dataclass(frozen=True)
class Calibration:
    """How many model standard deviations hold the level, as a function of remoteness."""

    centres: Array  # log remoteness
    factor: Array

    def at(self, remote: Array) -> Array:
        """The factor for entries of this remoteness."""
        out: Array = np.interp(np.log(np.maximum(remote, 0.25)), self.centres, self.factor)
        return out


_BINS, _PER_BIN, _OUTLIER = 16, 150, 5.0


def calibrate(z: Array, remote: Array, run: Index, level: float) -> Calibration:
    """Split conformal: quantiles of |error|/sd of hidden readings, in bins of remoteness.

    Errors far beyond the rest are anomalies that nobody flagged, no errors of the estimate; they
    are left out, or intervals would cover too much.
    """
    if z.size < 5:
        return Calibration(np.zeros(1), np.full(1, 3.0))
    kept = z <= _OUTLIER * np.quantile(z, level)
    z, remote, run = z[kept], remote[kept], run[kept]
    order = np.argsort(remote, kind="stable")
    z, run, log_remote = z[order], run[order], np.log(np.maximum(remote[order], 0.25))
    bins = int(np.clip(z.size // _PER_BIN, 1, _BINS))
    parts = np.array_split(np.arange(z.size), bins)
    centres = np.array([log_remote[p].mean() for p in parts])
    factor = np.array([_upper_quantile(z[p], run[p], level) for p in parts])
    return Calibration(centres, factor)


def _upper_quantile(z: Array, run: Index, level: float) -> float:
    """The conformal order statistic; readings hidden in one run count as one witness."""
    witnesses = len(np.unique(run))
    share = level * (1.0 + 1.0 / witnesses)
    if share > 1.0:
        return float(z.max()) * 1.1
    return float(np.quantile(z, share, method="higher"))
