"""Hidden readings, shaped like the real gaps: what error bars and choices are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fieldmend.core.prox import Array, Mask
from fieldmend.core.ranks import higher, quantiles
from fieldmend.field.widening import Widening, widening

Index = NDArray[np.intp]

_SINGLE = 0.25  # of the hidden readings: they are many witnesses anyway, runs are few
_QUARTER = 4
_COMPANY = 0.15  # of the nodes more silent there than here: from then on company is copied


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
    """Choose about `share` of the used readings: some single, most in runs copied from real gaps.

    ``lost`` marks the entries to be recovered. A run takes its length from a real gap, and where
    many more nodes were silent during that gap than are during the run, some of those fall silent
    too: who loses its company in its gaps shall lose it in its hold-outs. At least two readings of
    every node stay.
    """
    total = share * used.sum()
    start, length = runs_of(lost)
    long = length > 1
    singles = _SINGLE * total if long.any() else total
    hidden: Mask = used & (rng.random(used.shape) < singles / max(used.sum(), 1))
    if long.any():
        hidden |= used & _copied(lost, start[long], length[long], total - singles, rng)
    left = (used & ~hidden).sum(axis=1)
    hidden[left < 2] = False
    return hidden


def _copied(
    lost: Mask, start: Index, length: Index, wanted: float, rng: np.random.Generator
) -> Mask:
    """Real gaps at other nodes and times, until about `wanted` readings are hidden."""
    nodes, slots = lost.shape
    length = np.minimum(length, max(slots // 3, 1))
    rate = max(1.0 - float(lost.mean()), 1e-3)
    count = int(np.ceil(wanted / (rate * length.mean()))) + 1
    gap = rng.integers(len(length), size=count)
    node, there, size = rng.integers(nodes, size=count), start[gap], length[gap]
    here = (rng.random(count) * (slots - size + 1)).astype(np.intp)
    silent = np.append(0, np.cumsum(lost.sum(axis=0)))
    missing = (silent[there + size] - silent[there] - silent[here + size] + silent[here]) / size
    lonely = missing > _COMPANY * nodes
    spent = np.cumsum(size * (rate + missing * lonely))
    last = int(np.searchsorted(spent, wanted)) + 1
    out = marked(lost.shape, node[:last], here[:last], size[:last])
    for k in np.flatnonzero(lonely[:last]):
        then, now = slice(there[k], there[k] + size[k]), slice(here[k], here[k] + size[k])
        out[:, now] |= _fallen_silent(lost[:, then], lost[:, now], rng)
    return out


def draw_runs(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> Mask:
    """About `share` of the entries in runs up to a quarter of the slots.

    Lengths are even on a logarithmic scale: what gaps other days will have, nobody knows.
    """
    nodes, slots = shape
    longest = max(slots // _QUARTER, 1)
    count = int(np.ceil(share * nodes * slots * np.log(max(longest, 2)) / longest))
    length = np.exp(rng.random(count) * np.log(longest)).astype(np.intp)
    node = rng.integers(nodes, size=count)
    start = (rng.random(count) * (slots - length + 1)).astype(np.intp)
    return marked(shape, node, start, length)


def marked(shape: tuple[int, ...], node: Index, start: Index, length: Index) -> Mask:
    """True in these runs."""
    nodes, slots = shape
    edges = np.zeros((nodes, slots + 1), dtype=np.int32)
    np.add.at(edges, (node, start), 1)
    np.add.at(edges, (node, start + length), -1)
    out: Mask = np.cumsum(edges[:, :-1], axis=1) > 0
    return out


def _fallen_silent(then: Mask, now: Mask, rng: np.random.Generator) -> Mask:
    """Of those silent then and heard now, so many as make the run as lonely as the gap."""
    able = then & ~now
    missing = then.sum(axis=0) - now.sum(axis=0)
    out: Mask = able & (rng.random(able.shape) * able.sum(axis=0) < missing)
    return out


def runs_of(lost: Mask) -> tuple[Index, Index]:
    """First slot and length of all runs of lost entries, nodes × slots."""
    padded = np.zeros((lost.shape[0], lost.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = lost
    edge = np.diff(padded, axis=1)
    start = np.nonzero(edge == 1)[1]
    return start, np.nonzero(edge == -1)[1] - start


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
    return np.where(back == 0, 0.0, out)  # a reading: none ahead of it is nearer


@dataclass(frozen=True)
class Calibration:
    """How many model standard deviations hold the level, by remoteness and by the estimate."""

    centres: Array  # log remoteness
    factor: Array
    wider: Widening = field(default_factory=Widening)

    def at(self, remote: Array, estimate: Array | None = None) -> Array:
        """The factor for entries of this remoteness, of which this is estimated; scaled."""
        out: Array = np.interp(np.log(np.maximum(remote, 0.25)), self.centres, self.factor)
        return out if estimate is None else out * self.wider.at(estimate)


_BINS, _PER_BIN = 16, 150
_PER_OUTAGE = 5  # outages that a bin of their own needs
# Before any is seen, errors in one outage are this often (e^.7: twice) those in another, and that
# is worth so many outages' word.
_APART, _WORTH = 0.7, 4
_GRID = 40, 100  # quantiles of sizes, and of errors of one size, that are taken for all


def calibrated(
    z: Array,
    remote: Array,
    run: Index,
    level: float,
    estimate: Array,
    *,
    together: bool = False,
) -> Calibration:
    """As `calibrate`, with intervals that are wider where the estimate is far off the usual."""
    bins = _Bins.of(remote, run, level, together=together)
    wider = widening(z / np.maximum(bins.calibration(z).at(remote), 1e-300), estimate, run)
    return replace(bins.calibration(z / wider.at(estimate)), wider=wider)


def calibrate(
    z: Array, remote: Array, run: Index, level: float, *, together: bool = False
) -> Calibration:
    """Split conformal: quantiles of |error|/sd of hidden readings, in bins of remoteness.

    Readings hidden in one run count as one witness. Those of many nodes in one outage are right or
    wrong `together`: there runs are outages, and the next may be worse than all that were hidden.

    Anomalies that nobody flagged are among the hidden and widen the intervals; leaving out the
    largest errors would leave out the estimate's own mistakes too.
    """
    return _Bins.of(remote, run, level, together=together).calibration(z)


@dataclass(frozen=True)
class _Bins:
    """Hidden readings alike in remoteness, and how many witnesses they are."""

    parts: list[Index]
    centres: Array
    witnesses: list[int]
    run: Index
    level: float
    together: bool

    @classmethod
    def of(cls, remote: Array, run: Index, level: float, *, together: bool) -> _Bins:
        order = np.argsort(remote, kind="stable")
        bins = int(np.clip(remote.size // _PER_BIN, 1, _BINS))
        if together:
            bins = int(np.clip(len(np.unique(run)) // _PER_OUTAGE, 1, bins))
        parts = np.array_split(order, bins)
        log_remote = np.log(np.maximum(remote, 0.25))
        centres = np.array([log_remote[p].mean() for p in parts if p.size])
        witnesses = [] if together else [len(np.unique(run[p])) for p in parts]
        return cls(parts, centres, witnesses, run, level, together)

    def calibration(self, z: Array) -> Calibration:
        """What holds the level of |error|/sd in each bin."""
        if z.size < 5:
            return Calibration(np.zeros(1), np.full(1, 3.0))
        level = self.level
        if self.together:
            usual = max(quantiles(z, level)[0], 1e-300)
            wider = max(_next_outage(z, self.run, level) / usual, 1.0)
            factor = [wider * quantiles(z[p], level)[0] for p in self.parts]
        else:
            pairs = zip(self.parts, self.witnesses, strict=True)
            factor = [_upper_quantile(z[p], count, level) for p, count in pairs]
        return Calibration(self.centres, np.array(factor))


def _upper_quantile(z: Array, witnesses: int, level: float) -> float:
    """The conformal order statistic."""
    share = level * (1.0 + 1.0 / witnesses)
    if share > 1.0:
        return float(z.max()) * 1.1
    return higher(z, share)


def _next_outage(z: Array, run: Index, level: float) -> float:
    """What holds the level of errors in an outage to come.

    How large errors are in an outage (their root mean square) varies from one to the next. The
    logarithm is normal, its mean and variance learnt from outages that were hidden: the next one's
    is Student's t.
    """
    number = np.unique(run, return_inverse=True)[1]
    size = np.sqrt(np.bincount(number, z**2) / np.bincount(number)) + 1e-12
    log_size, outages = np.log(size), len(size)
    freedom = outages - 1 + _WORTH
    squares = float(((log_size - log_size.mean()) ** 2).sum()) + _WORTH * _APART**2
    spread = np.sqrt(squares / freedom * (1.0 + 1.0 / outages))
    sizes, errors = ((np.arange(n) + 0.5) / n for n in _GRID)
    next_size = np.exp(log_size.mean() + spread * stdtrit(freedom, sizes))
    out = np.outer(next_size, np.quantile(z / size[number], errors))
    return quantiles(out.ravel(), level)[0]
