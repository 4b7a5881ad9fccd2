"""A fitted field of one condition: everything that new readings of the same nodes need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.engine import blocks
from fieldmend.core.line import lines
from fieldmend.core.loop import Tell, silent
from fieldmend.core.problem import LowRank, Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.field.holdout import Calibration, distances, remoteness
from fieldmend.field.honest import Bounds, Honest, Said, Together
from fieldmend.field.joint import Companions
from fieldmend.field.levels import Levels
from fieldmend.field.model import Data, Field, estimate, follow
from fieldmend.field.outages import silent_slots
from fieldmend.field.record import Record, View
from fieldmend.field.routine import Routine
from fieldmend.field.screens import Screen
from fieldmend.field.second import Second
from fieldmend.field.windows import Window, windows

NAMES = "estimate", "low_rank", "sparse", "lower", "upper"


@dataclass(frozen=True)
class Applied:
    """The field at every entry, slots × nodes, in the units and the precision of the readings.

    ``estimate`` is the field, ``low_rank`` the part that the nodes have in common, ``sparse`` the
    distance of readings held to be false (zero elsewhere); ``lower`` and ``upper`` bound the
    reading that would have been made. ``factors`` and ``scaling`` give ``low_rank`` (but for a
    course) in its parts.
    """

    estimate: Array
    low_rank: Array
    sparse: Array
    lower: Array
    upper: Array
    factors: LowRank
    scaling: Scaling

    def beside(self, others: list[Applied]) -> Applied:
        """The same with further nodes on the right, which have no part in the common field."""
        if not others:
            return self
        every = [self, *others]
        new, rank = sum(len(o.factors.right) for o in others), self.factors.rank
        scaling = Scaling(
            np.concatenate([a.scaling.center for a in every]),
            np.concatenate([a.scaling.scale for a in every]),
        )
        return Applied(
            **{name: np.hstack([getattr(a, name) for a in every]) for name in NAMES},
            factors=LowRank(
                self.factors.left, np.vstack([self.factors.right, np.zeros((new, rank))])
            ),
            scaling=scaling,
        )


@dataclass(frozen=True)
class FittedOn:
    """What a model was fitted on: span (µs, UTC; None without times), rows, readings, SHA-256."""

    rows: int
    readings: int
    sha256: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Live:
    """What replaying the past taught the filter: its intervals, and which scores are too odd."""

    calibration: Calibration  # by the number of slots since a node was last heard
    gate: float


@dataclass(frozen=True)
class Known:
    """What fitting has found in one window already; `settled` if its factors need no more work."""

    false: NDArray[np.uint8]  # packed bits, nodes × slots
    factors: Array
    settled: bool
    routine: Array | None = None  # factors beside the usual course
    levels: Array | None = None  # factors of levels first


@dataclass(frozen=True)
class FittedField:
    """The parameters of one condition. Nodes stand in the model's own order (`view.order`)."""

    view: View
    field: Field  # parameters; no factors
    screen: Screen
    second: Second | None
    honest: Honest  # in the record that it was fitted to
    later: Honest  # in other slots
    level: float  # of the intervals
    choice: str  # in words
    start: str  # "jumps" or "slots"
    fitted_on: FittedOn
    unit: str = ""
    quantity: dict[str, Any] | None = None
    live: Live | None = None  # None: nothing was replayed
    unheard: tuple[int, ...] = ()  # columns without a reading when it was fitted
    joint: Second | None = None  # with other conditions: in the fitted record only
    together: Together | None = None
    routine: Routine | None = None  # by the usual course, for slots without company
    levels: Levels | None = None  # levels first, for gaps that last
    company: float = 0.0  # nodes heard in a usual slot; 0: nothing is known of it

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.view.order)

    @property
    def rank(self) -> int:
        """Number of common factors."""
        return self.field.rank

    def apply(
        self,
        X: Array,
        observed: Mask,
        *,
        first: int = 0,
        known: list[Known] | None = None,
        own: bool | None = None,
        tell: Tell = silent,
        companions: Companions | None = None,
    ) -> Applied:
        """The field at every entry of consecutive slots.

        A pure function of the model and the readings. O(T·N·r) time; memory a few times that of
        one window besides the results.

        Parameters
        ----------
        X, observed
            Checked readings, slots × nodes, and where they count.
        first
            Number of the first slot, counted from the first one fitted on: a course has a phase.
        known
            What fitting found in the windows of this very record.
        own
            Whether these slots are (a part of) the record that the model was fitted to; None: if
            they are the whole of it, to the last reading.
        tell
            Called after each window.
        companions
            Other conditions, where fitting asked them.
        """
        if own is None:
            own = digest(X, observed) == self.fitted_on.sha256
        honest = self.honest if own else self.later
        record = Record.of(X, observed, self.view, first, companions)
        out = _Output(record)
        for window, now, clean, found in self._followed(record, known):
            out.add(window, now, clean, *self.estimated(now, clean, honest, found))
            tell(self.rank)
        return out.finished(self)

    def _followed(
        self, record: Record, known: list[Known] | None
    ) -> Iterator[tuple[Window, Field, Data, Known | None]]:
        """Each window with its factors, without its false readings, and what is known of it."""
        for k, window in enumerate(windows(*record.X.shape)):
            data, own = record.data(window.slots), None if known is None else known[k]
            yield window, *self.window(data, own), own

    def window(self, data: Data, known: Known | None = None) -> tuple[Field, Data]:
        """The factors of one stretch of slots, and its readings without the false ones."""
        if known is None:
            false, now = self.screen(data, self.field)
        else:
            bits = np.unpackbits(known.false, count=data.used.size)
            false = bits.reshape(data.used.shape).astype(bool)
            now = replace(self.field, factors=known.factors)
        clean = data.using(data.used & ~false)
        if known is None or not known.settled:
            now = follow(now, clean, tol=3e-3, most=10)
        return now, clean

    def estimated(
        self, now: Field, clean: Data, honest: Honest, known: Known | None = None
    ) -> Bounds:
        """The estimates of one stretch, nodes × slots, scaled, and half their intervals."""
        model, variance = estimate(now, clean)
        if self.levels is not None:
            levels = self.levels if known is None else self.levels.with_factors(known.levels)
            model = levels.mixed(model, clean, self.company)
        remote = remoteness(*distances(clean.used, clean.slots))
        line = lines(clean.readings, clean.used)
        second = np.full(model.shape, np.nan)
        if self.second is not None:
            second = _untold(self.second.estimate(model, clean), clean)
        silent = silent_slots(clean.used, self.company) & ~clean.used
        routine = None
        if self.routine is not None and honest.apart is not None and silent.any():
            routine = self.routine.estimate(clean, None if known is None else known.routine)
        said = Said(model, now.common(), line, second, remote, silent, routine)
        mean, sd = honest.mix(said), np.sqrt(variance)
        half = sd * honest.factor(remote, silent, mean)
        if self.joint is None or self.together is None or clean.others is None:
            return mean, half
        joint = _untold(self.joint.estimate(model, clean), clean)
        return self.together.mix(mean, half, joint, sd, remote)


def _untold(second: Array, clean: Data) -> Array:
    """A second estimate where there is no reading: that is where hidden readings weighed it."""
    return np.where(clean.used, np.nan, second)


class _Output:
    """The results, filled window by window in the units and the precision of the readings."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.arrays = {name: np.empty_like(record.X) for name in NAMES}
        self.factors: list[Array] = []

    def add(self, window: Window, now: Field, clean: Data, mean: Array, half: Array) -> None:
        """Keep the middle of a window: estimates and half their intervals, nodes × slots."""
        record, view = self.record, self.record.view
        half = view.sign * half
        rows, kept = slice(window.start, window.stop), window.kept
        for name, values in (
            ("estimate", mean),
            ("low_rank", now.common()),
            ("lower", mean - half),
            ("upper", mean + half),
        ):
            self.arrays[name][rows] = view.units((values + clean.usual)[:, kept], record.X.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            off = record.X[rows] - self.arrays["estimate"][rows]
        largest = np.finfo(record.X.dtype).max
        false = record.observed[rows] & ~clean.used[:, kept].T
        self.arrays["sparse"][rows] = np.where(false, np.clip(off, -largest, largest), 0.0)
        self.factors.append(now.factors[:, kept].T)

    def finished(self, model: FittedField) -> Applied:
        """Everything together, nodes in the order of the readings."""
        view = self.record.view
        back = np.argsort(view.order)
        ones = np.ones((len(self.record.X), 1))
        left = view.sign * np.hstack([np.vstack(self.factors), ones])
        right = np.hstack([model.field.loadings, model.field.level[:, None]])
        return Applied(
            **{name: array[:, back] for name, array in self.arrays.items()},
            factors=LowRank(left, right[back]),
            scaling=Scaling(view.scaling.center[back], view.scaling.scale[back]),
        )


def digest(X: Array, observed: Mask) -> str:
    """SHA-256 of the readings: shape, then float64 values, slots × nodes, NaN where not observed.

    The same for the same readings, whatever their precision, order in memory or machine.
    """
    out = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}\n".encode())
    for block in blocks(*X.shape):
        values = np.where(observed[block], X[block], np.nan).astype("<f8", order="C")
        out.update(values.tobytes())
    return out.hexdigest()
