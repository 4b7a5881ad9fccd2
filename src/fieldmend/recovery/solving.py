"""The field in one window: solve, and decide what is suspect."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fieldmend import faults
from fieldmend.decomposition import ConvergenceWarning, Decomposition, decompose
from fieldmend.field.fitted import Applied, FittedField, FittedOn, digest
from fieldmend.field.holdout import Holdout as Hidden
from fieldmend.field.joint import Companions, worth_asking
from fieldmend.field.labels import followed_alone
from fieldmend.field.silent import with_silent
from fieldmend.grid import Array
from fieldmend.holdout.drawing import draw
from fieldmend.methods import METHODS
from fieldmend.metrics import interpolate
from fieldmend.recovery.judging import comparable
from fieldmend.recovery.windows import Window
from fieldmend.recovery.witnesses import Witnesses
from fieldmend.result.options import Options

# Certified relative gaps. On real and simulated networks the estimate moves by under 0.3 % of the
# noise (root mean square) between 1e-4 and 1e-6, the errors on hidden readings by under 0.1 %
# between 1e-3 and 1e-6; each factor of ten costs a third more time.
GAP, GAP_HIDDEN = 1e-4, 1e-3
CERTIFIED = ("ls", "apg", "mc")
SHARE = 0.05  # of the readings that a model is tried on,
TRIED, FEWEST = 200_000, 512  # in the middle of a long window: entries, and slots at least
DECIDES = ("auto",)  # methods whose anomalies are a decision about each reading


@dataclass(frozen=True)
class Solved:
    """The field in a window. `suspect` holds the method's own decision, None if it has none."""

    estimate: Array
    lower: Array | None = None
    upper: Array | None = None
    suspect: Array | None = None
    method: str = ""
    rank: int = 0
    gap: float = np.nan
    status: str = ""
    choice: str = ""
    holdout: Any = None
    notes: tuple[str, ...] = ()
    fitted: FittedField | None = None  # the model that was fitted on the way
    again: Solver | None = None  # applies it to the same slots with more of their readings
    judged: Solver | None = None  # the field of the same slots from readings that nobody doubts


Others = Sequence[Array]
"""Other conditions, each slots × nodes."""


@dataclass(frozen=True, eq=False)
class Around:
    """What may be known of a window besides its evidence.

    `level` is each node's usual distance from the network's median: a node that is silent in this
    window, but not in others, is estimated by it. `others` are the other conditions of the window.
    """

    window: Window
    known: Witnesses
    level: Array
    others: Others = ()


class Solver(Protocol):
    """How the field of a window is found; a pure function, whatever it carries."""

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot of a window."""

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""


Bounded = tuple[Array, Array | None, Array | None]
"""Estimate, lower and upper end of its interval."""


@dataclass(frozen=True)
class Afresh:
    """Each window is decomposed by itself. Unless `doubting`, all that is handed over is true."""

    options: Options
    doubting: bool = True

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot of a window."""
        heard: Array = np.asarray(~np.isnan(evidence).all(axis=0))
        if not comparable(len(evidence), int(np.count_nonzero(heard[around.known.distinct]))):
            return Solved(_line(evidence), method="line", status="too little to solve")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            X = evidence if heard.all() else evidence[:, heard]
            others = [other[:, heard] for other in around.others]
            out = _decompose(X, self.options, GAP, others, doubting=self.doubting)
        found = Solved(
            np.empty((0, 0)),
            method=out.method,
            rank=out.rank,
            gap=out.gap,
            status=str(out.status),
            choice=out.choice or "",
            holdout=out.holdout,
            notes=tuple(str(w.message) for w in caught),
        )
        if out.model is not None:
            model = next(iter(out.model.conditions.values()))
            asked = _asked(X, others, model, self.options)
            again = Again(model, heard, asked, found, self)
            found = replace(
                found,
                fitted=with_silent(model, heard),
                again=again,
                judged=replace(self, doubting=False) if self.doubting else None,
            )
        return _at_every_node(found, out, heard, around.level)

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said once, by the solve itself
            out = _decompose(left, self.options, GAP_HIDDEN)
        return np.asarray(out.estimate, np.float64), out.lower, out.upper


@dataclass(frozen=True, eq=False)
class Again:
    """A model that was fitted to most readings of some slots, applied to all of their readings."""

    fitted: FittedField  # of the nodes that were heard
    heard: Array
    asked: tuple[int, ...]  # of the others, where it asks them
    found: Solved  # what fitting said, without arrays
    base: Afresh

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot; fitted anew where other nodes are heard now."""
        heard: Array = np.asarray(~np.isnan(evidence).all(axis=0))
        if not np.array_equal(heard, self.heard):
            return self.base(evidence, around)
        X = evidence if heard.all() else evidence[:, heard]
        seen = ~np.isnan(X)
        others = tuple(around.others[k][:, heard] for k in self.asked)
        companions = Companions(others) if others else None
        out = self.fitted.apply(X, seen, own=True, companions=companions)
        # Should these very readings come again, they are the model's own.
        on = FittedOn(len(X), int(seen.sum()), digest(X, seen))
        found = replace(
            self.found,
            fitted=with_silent(replace(self.fitted, fitted_on=on), heard),
            judged=replace(self.base, doubting=False),
        )
        return _at_every_node(found, out, heard, around.level)

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""
        return self.base.hidden(left, window, columns)


def _asked(X: Array, others: Others, model: FittedField, options: Options) -> tuple[int, ...]:
    """Which of the other conditions a model asks."""
    if model.joint is None:
        return ()
    found = worth_asking(X, ~np.isnan(X), others, ask=bool(options.joint))
    chosen = () if found is None else found.readings
    return tuple(k for k, one in enumerate(others) if any(one is other for other in chosen))


def _at_every_node(
    found: Solved, out: Decomposition | Applied, heard: Array, level: Array
) -> Solved:
    """With the arrays, at all nodes; those that are silent by their level."""

    def whole(part: Array) -> Array:
        return _spread_out(np.asarray(part, np.float64), heard, level)

    suspect = None
    if found.method in DECIDES:
        suspect = np.zeros((len(out.sparse), len(heard)), dtype=np.bool_)
        suspect[:, heard] = out.sparse != 0
    return replace(
        found,
        estimate=whole(out.estimate),
        lower=None if out.lower is None else whole(out.lower),
        upper=None if out.upper is None else whole(out.upper),
        suspect=suspect,
    )


@dataclass(frozen=True, eq=False)
class ByModel:
    """A model that was fitted before is applied to each window.

    `first` is the number of the record's first slot, counted from the first one fitted on. Columns
    after the model's own are nodes that it does not know: followed by their own readings only.
    """

    fitted: FittedField
    options: Options
    first: int = 0
    own: bool | None = None  # are these windows of the record that it was fitted to?

    def __call__(self, evidence: Array, around: Around) -> Solved:
        """The field at every node and slot of a window.

        Some readings are hidden and the model applied again: how far off is it at those?
        """
        out = self._applied(evidence, around.window)
        suspect: Array = out.sparse != 0
        return Solved(
            out.estimate,
            out.lower,
            out.upper,
            suspect,
            DECIDES[0],
            self.fitted.rank,
            np.nan,
            "model applied",
            self.fitted.choice,
            self._tried(evidence, np.where(suspect, np.nan, evidence), around.window),
            fitted=self.fitted,
        )

    def _tried(self, evidence: Array, passed: Array, window: Window) -> Hidden | None:
        length = max(TRIED // evidence.shape[1], FEWEST)
        first = max(0, (len(evidence) - length) // 2)
        some, passed = evidence[first : first + length], passed[first : first + length]
        found = draw(~np.isnan(passed), np.isnan(some), self.options.seed + 1, SHARE)
        if not found.mask.any():
            return None
        there = replace(window, start=window.start + first)
        out = self._applied(np.where(found.mask, np.nan, some), there)
        at = rows, columns = np.nonzero(found.mask)
        gap = np.ones(len(rows), dtype=np.intp)
        bounds = out.lower[at], out.upper[at]
        return Hidden(rows + first, columns, some[at], out.estimate[at], *bounds, gap)

    def hidden(self, left: Array, window: Window, columns: Array) -> Bounded:
        """The field of some nodes from the readings that are left of them."""
        every = np.full((len(left), max(self.fitted.nodes, int(columns.max()) + 1)), np.nan)
        every[:, columns] = left
        out = self._applied(every, window)
        return out.estimate[:, columns], out.lower[:, columns], out.upper[:, columns]

    def _applied(self, X: Array, window: Window) -> Applied:
        own = slice(0, self.fitted.nodes)
        alone = [
            followed_alone(X[:, [n]], self.fitted.level)
            for n in range(self.fitted.nodes, X.shape[1])
        ]
        seen = ~np.isnan(X[:, own])
        first = self.first + window.start
        out = self.fitted.apply(X[:, own], seen, first=first, own=self.own)
        return out.beside(alone)


def suspicious(evidence: Array, solved: Solved) -> Array:
    """The method's own decision if it has one, else readings far off the field."""
    if solved.method == "line":
        return np.zeros(evidence.shape, dtype=np.bool_)
    if solved.suspect is not None:
        return solved.suspect
    with np.errstate(over="ignore", invalid="ignore"):  # a node may send 1e308
        return np.asarray(faults.spikes(evidence, solved.estimate))


def typical_error(solved: Solved) -> float:
    """1.4826 × the median error at readings that the method hid itself, 0 if it hid none.

    An estimate that follows the readings closely lies nearer to them than the field is known.
    """
    if solved.holdout is None or not len(solved.holdout.truth):
        return 0.0
    with np.errstate(over="ignore"):
        errors = np.abs(solved.holdout.truth - solved.holdout.estimate)
    return 1.4826 * float(np.median(errors))


def _decompose(
    X: Array, options: Options, gap: float, others: Others = (), *, doubting: bool = True
) -> Decomposition:
    extra: dict[str, Any] = {"tol": gap} if options.method in CERTIFIED else {}
    if "level" in METHODS[options.method].options:
        extra |= {"level": options.level, "period": options.period or None}
    if "companions" in METHODS[options.method].options and options.joint is not False:
        extra |= {"companions": others, "joint": bool(options.joint)}
    if "faults" in METHODS[options.method].options:
        extra |= {"faults": False}  # they were looked for, with all that is known of the nodes
    if "doubting" in METHODS[options.method].options:
        extra |= {"doubting": doubting}
    if "power" in METHODS[options.method].options:
        extra |= {"power": 1}  # it was chosen, with all that is known of the quantity
    given = {name: value for name, value in options.solving.items() if name != "period"}
    return decompose(X, method=options.method, seed=options.seed, **extra | given)


def _spread_out(array: Array, heard: Array, level: Array) -> Array:
    """Back to all nodes; a silent one gets the others' median, slot by slot, and its level."""
    if heard.all():
        return array
    full = np.empty((len(array), len(heard)))
    full[:, heard] = array
    full[:, ~heard] = np.median(array, axis=1, keepdims=True) + level[~heard]
    return full


def _line(evidence: Array) -> Array:
    """A straight line between a node's own readings, safe where their difference overflows."""
    if np.isnan(evidence).all():
        return np.full(evidence.shape, np.nan)
    return 4 * interpolate(evidence / 4)
