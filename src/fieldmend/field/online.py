"""A fitted field slot by slot, in the units of the readings; what replaying the past teaches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from fieldmend.core.prox import Array, Mask
from fieldmend.field.filter import GATE, Belief, Heard, hear, predict
from fieldmend.field.fitted import FittedField, Live
from fieldmend.field.holdout import Calibration, Index, calibrate, draw_runs
from fieldmend.field.model import Data
from fieldmend.field.record import Record

_SLOTS = 1000  # of the past that are replayed: the newest
_HIDDEN = 0.3  # of their readings are hidden, in runs of all lengths
# So many times over: in three days long runs are few, and intervals hung on where they fell (half
# of a silence's length wider or narrower, in IntelLab).
_DRAWS = 4
_DAY, _LEAST_DAYS = 86_400_000_000, 2.0  # µs; less than so many tell no more of a new one
_RARE = 1e-4  # of readings that nobody calls false, so many may score beyond the gate
_LEAST_GATE, _FEW = 4.5, 200  # nor is a gate decided by fewer readings


@dataclass(frozen=True)
class FilterState:
    """Where a filter stands: what is known, and the number of the slot that comes next."""

    belief: Belief
    slot: int


@dataclass(frozen=True)
class Now:
    """One slot as it is known when it is over: from its readings and the past alone.

    ``estimate``, ``lower`` and ``upper`` are as in a batch. ``score`` is the distance of each
    reading from what was ``expected`` without it, in standard deviations (NaN without a reading);
    readings that are not ``believed`` moved nothing. ``gap`` is how many slots ago the node's last
    believed reading before this slot came (infinite before the first), ``allowed`` the score up to
    which a reading lies in the interval that it would have got, had it not come.
    """

    estimate: Array
    lower: Array
    upper: Array
    score: Array
    expected: Array
    believed: Mask
    gap: Array
    allowed: Array


def start(part: FittedField, slot: int | None = None) -> FilterState:
    """Before any reading: by default the slot after the last one fitted on comes next."""
    return FilterState(Belief.start(part.field), part.fitted_on.rows if slot is None else slot)


def step(
    part: FittedField, state: FilterState, y: Array, observed: Mask, gate: Array | None = None
) -> tuple[FilterState, Now]:
    """One slot: its readings, nodes as in the fit. O(N·r²).

    `gate`: one for each node, where more is known of its reading than the filter knows.
    """
    return judge(part, ahead(part, state, y, observed), gate)


@dataclass(frozen=True)
class Ahead:
    """A slot that is over: what was expected of it, and what came. Judged once, or again."""

    belief: Belief
    data: Data
    slot: int
    dtype: np.dtype


def ahead(part: FittedField, state: FilterState, y: Array, observed: Mask) -> Ahead:
    """The slot that comes next, before its readings are judged."""
    record = Record.of(y[None, :], observed[None, :], part.view, first=state.slot)
    data = record.data(np.zeros(1, np.intp))
    return Ahead(predict(part.field, state.belief), data, state.slot, y.dtype)


def judge(part: FittedField, one: Ahead, gate: Array | None = None) -> tuple[FilterState, Now]:
    """The slot with its readings; `gate` as for :func:`step`."""
    view, back = part.view, part.view.back
    live = part.live or _unreplayed(part.level)
    beyond = live.gate if gate is None else gate[view.order]
    readings, used = one.data.readings[:, 0], one.data.used[:, 0]
    belief, heard = hear(part.field, one.belief, readings, used, beyond)
    half = view.sign * np.sqrt(heard.variance) * live.calibration.at(belief.since)
    usual = one.data.usual[:, 0]

    # One call for all four: at fifty nodes a slot is calls, not numbers.
    four = (heard.mean, heard.mean - half, heard.mean + half, heard.expected)
    said = view.units((np.stack(four) + usual).T, one.dtype)[:, back]
    estimate, lower, upper, expected = said.astype(one.dtype, copy=False)
    now = Now(
        estimate=estimate,
        lower=lower,
        upper=upper,
        score=heard.score[back],
        expected=expected,
        believed=heard.believed[back],
        gap=one.belief.since[back],
        allowed=live.calibration.at(one.belief.since)[back],
    )
    return FilterState(belief, one.slot + 1), now


def _advanced(
    part: FittedField, belief: Belief, data: Data, gate: float | Array
) -> tuple[Belief, Heard]:
    field = part.field
    y, seen = data.readings[:, 0], data.used[:, 0]
    return hear(field, predict(field, belief), y, seen, gate)


def _unreplayed(level: float) -> Live:
    """Where no past was replayed: as if the model were true."""
    return Live(Calibration(np.zeros(1), np.full(1, ndtri((1.0 + level) / 2.0))), GATE)


def replay(
    part: FittedField,
    X: Array,
    observed: Mask,
    *,
    first: int = 0,
    slot: int | None = None,
    seed: int = 0,
) -> Live:
    """Calibrate the filter on the newest slots of a record: hide readings, see what it says.

    The intervals hold `level` of the hidden readings, by the number of slots since the node was
    last heard; the gate is the score that one in ten thousand readings passes which the batch
    screen does not call false. `slot`: its length in µs, if that is known.
    """
    rows = slice(max(0, len(X) - _SLOTS), len(X))
    record = Record.of(X[rows], observed[rows], part.view, first=first + rows.start)
    data = record.data(np.arange(len(record.X), dtype=np.intp))
    good = part.window(data)[1].used
    rng = np.random.default_rng(seed)
    found = [_hide(part, data, good, rng) for _ in range(_DRAWS)]
    z, since, run = (np.concatenate([getattr(one, of) for one in found]) for of in _WITNESS)
    run += np.repeat(np.arange(_DRAWS), [len(one.run) for one in found]) * good.size
    calibration = calibrate(z, since, run, part.level)
    if slot is not None and first < part.fitted_on.rows:
        calibration = _on_new_days(calibration, part, part.fitted_on.rows * slot / _DAY)
    return Live(calibration, _gate(found[0].odd))


_WITNESS = "z", "since", "run"


@dataclass(frozen=True)
class _Hidden:
    """What the filter said of hidden readings, and how odd it found the others."""

    z: Array  # errors, in the model's standard deviations
    since: Array  # slots since the node was heard
    run: Index  # a run without a believed reading is one witness: node and its last believed slot
    odd: Array


def _hide(part: FittedField, data: Data, good: Mask, rng: np.random.Generator) -> _Hidden:
    hidden = good & draw_runs(data.used.shape, _HIDDEN, rng)
    shown = data.using(data.used & ~hidden)
    belief, found, odd = Belief.start(part.field), [], []
    slots = good.shape[1]
    for t in range(slots):
        one = Data(shown.readings[:, [t]], shown.used[:, [t]], shown.slots[[t]])
        belief, heard = _advanced(part, belief, one, GATE)
        node = np.flatnonzero(hidden[:, t] & np.isfinite(belief.since))
        z = np.abs(data.readings[node, t] - heard.mean[node]) / np.sqrt(heard.variance[node])
        run = node * slots + t - belief.since[node].astype(np.intp)
        found.append((z, belief.since[node], run))
        odd.append(heard.score[one.used[:, 0] & good[:, t]])
    z, since, run = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Hidden(z, since, run, np.concatenate(odd))


def _on_new_days(calibration: Calibration, part: FittedField, days: float) -> Calibration:
    """For days to come, where those that are replayed are those of the fit: it knew them.

    From the mean of D days a new one is off by (D + 1)/(D − 1) of what they are off from it
    themselves, in variance. That is of what a node does on its own, beside noise, and as far as
    its last reading no longer tells it: short silences are as they were.
    """
    nodes, gap = part.field.nodes, np.exp(calibration.centres)[:, None]
    own = nodes.spread / np.maximum(nodes.spread + nodes.noise, 1e-300)
    untold = np.median(own * (1.0 - nodes.phi ** (2.0 * gap)), axis=1)
    more = 2.0 / (max(days, _LEAST_DAYS) - 1.0)
    return replace(calibration, factor=calibration.factor * np.sqrt(1.0 + more * untold))


@dataclass(frozen=True)
class Scored:
    """A record as the filter followed it, slots × nodes in the order of the readings."""

    score: Array  # signed: above what was expected, or below; NaN without a reading
    good: Mask  # readings that the batch screen does not call false


def scored(part: FittedField, X: Array, observed: Mask, *, first: int = 0) -> Scored:
    """How odd each reading of a record's newest slots was when it came."""
    rows = slice(max(0, len(X) - _SLOTS), len(X))
    record = Record.of(X[rows], observed[rows], part.view, first=first + rows.start)
    data = record.data(np.arange(len(record.X), dtype=np.intp))
    gate = (part.live or _unreplayed(part.level)).gate
    belief, out = Belief.start(part.field), np.full(data.used.shape, np.nan)
    for t in range(len(record.X)):
        one = Data(data.readings[:, [t]], data.used[:, [t]], data.slots[[t]])
        belief, heard = _advanced(part, belief, one, gate)
        side = np.sign(data.readings[:, t] - heard.expected) * part.view.sign
        out[:, t] = heard.score * side
    back = part.view.back
    return Scored(out[back].T, part.window(data)[1].used[back].T)


def rare(scores: Array, *, sure: float = 0.0) -> float:
    """The score that one reading in ten thousand passes.

    From how the largest hundredth thins out, taken for a power law (Hill): one false reading among
    them must not decide. k of them tell its slope to a part of 1/√k; `sure`: so many of these more.
    """
    if scores.size < _FEW:
        return GATE
    tail = np.sort(scores)[-max(scores.size // 100, 5) :]
    slope = float(np.log(tail / tail[0]).mean()) * (1.0 + sure / np.sqrt(len(tail)))
    # Where they thin out that slowly, nothing far beyond what was seen is taken for true.
    return min(float(tail[0] * (len(tail) / scores.size / _RARE) ** slope), 1.1 * float(tail[-1]))


def _gate(scores: Array) -> float:
    """The score that one reading in ten thousand passes: counted, where there are so many."""
    if scores.size >= 1.0 / _RARE:
        return max(_LEAST_GATE, float(np.quantile(scores, 1.0 - _RARE, method="higher")))
    return max(_LEAST_GATE, rare(scores))
