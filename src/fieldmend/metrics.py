"""How good a recovery is: NSE, errors on lost readings against a straight line, detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.line import lines
from fieldmend.diagnostics import gap_at

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

# First gap length of each row of the table of errors; the last row has no end.
GAP_STARTS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class GapErrors:
    """Errors at lost readings in gaps of some lengths.

    Attributes
    ----------
    shortest, longest
        Of the gaps, in slots; None: no end.
    count, mae, rmse, skill
        As in `HiddenErrors`.
    """

    shortest: int
    longest: int | None
    count: int
    mae: float
    rmse: float
    skill: float


@dataclass(frozen=True)
class HiddenErrors:
    """Errors at readings that the method did not see.

    Attributes
    ----------
    count
        Number of readings scored.
    mae, rmse
        Mean absolute error and root mean square error, in the data's units.
    skill
        1 − MSE/MSE_line: 1 is perfect, 0 as good as a straight line, negative worse. Where the
        line is exact: 0 if the estimate is too, else −inf.
    by_gap
        The same by length of the gap, shortest first; rows without readings are left out.
    """

    count: int
    mae: float
    rmse: float
    skill: float
    by_gap: tuple[GapErrors, ...]


@dataclass(frozen=True)
class Detection:
    """Flags against true anomalies.

    Attributes
    ----------
    precision
        Share of the flags that are right; 1 when nothing is flagged.
    recall
        Share of the anomalies that are flagged; 1 when there are none.
    f1
        2TP/(2TP + FP + FN); 1 when nothing is flagged and there are none.
    hits, false_alarms, misses
        TP, FP and FN.
    """

    precision: float
    recall: float
    f1: float
    hits: int
    false_alarms: int
    misses: int


def nse(estimate: FloatArray, truth: FloatArray, where: BoolArray | None = None) -> float:
    """Normalised square error, Σ(L̂ − L)²/ΣL² (Section VII-A).

    Parameters
    ----------
    estimate, truth
        Arrays of one shape. NaN only outside `where`.
    where
        Entries to score; all by default, as in the paper.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the truth is zero at every scored entry, or shapes differ.

    Notes
    -----
    Not centred: data far from zero, such as pressure in hPa, look perfect. See `hidden_errors`.

    Examples
    --------
    >>> import numpy as np
    >>> nse(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))
    0.1
    """
    guess, true = _scored(estimate, truth, where)
    if not true.any():
        raise ValueError("the truth is zero at every scored entry: NSE is not defined")
    # A power of two near the largest value goes first: exact, and squares of tiny numbers stay.
    power = -np.frexp(np.abs(true).max())[1]
    error, size = np.ldexp(guess - true, power), np.ldexp(true, power)
    return float((error**2).sum() / (size**2).sum())


def interpolate(readings: FloatArray) -> FloatArray:
    """Fill each node by a straight line between its own readings, constant beyond the ends.

    The simplest recovery there is, and on real data with short gaps hard to beat.

    Parameters
    ----------
    readings
        Slots × nodes, NaN where nothing was observed. Not changed.

    Returns
    -------
    ndarray
        Slots × nodes without NaN. A node without any reading gets the median over the other nodes'
        lines at each slot.

    Raises
    ------
    ValueError
        For what is no slots × nodes with a reading in it.

    Notes
    -----
    Time and memory O(TN). No readings at all is a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> interpolate(np.array([[np.nan], [1.0], [np.nan], [3.0], [np.nan]]))[:, 0]
    array([1., 1., 2., 3., 3.])
    """
    given = np.array(readings, dtype=np.float64)
    seen = ~np.isnan(given)
    if given.ndim != 2 or not seen.any() or np.isinf(given).any():
        raise ValueError("readings must be slots × nodes, finite or NaN, with at least one reading")
    heard = seen.any(axis=0)
    given = np.ascontiguousarray(lines(given.T, seen.T).T)
    if not heard.all():
        given[:, ~heard] = np.median(given[:, heard], axis=1, keepdims=True)
    return given


def hidden_errors(
    estimate: FloatArray,
    truth: FloatArray,
    observed: BoolArray,
    *,
    readings: FloatArray | None = None,
    gap_starts: Sequence[int] = GAP_STARTS,
) -> HiddenErrors:
    """Errors at the entries that were not observed, beside those of a straight line.

    Parameters
    ----------
    estimate
        The recovered field, slots × nodes, a number at every scored entry.
    truth
        What was there; entries that are NaN are not known and not scored.
    observed
        True where the method saw a reading.
    readings
        What it saw, to draw the line through; by default the truth. Entries outside `observed`
        are ignored.
    gap_starts
        Shortest gap of each row of the table, rising from 1.

    Returns
    -------
    HiddenErrors

    Raises
    ------
    ValueError
        If there is nothing to score, or shapes differ.

    Notes
    -----
    Time and memory O(TN).

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[0.0], [2.0], [2.0]])
    >>> out = hidden_errors(np.full((3, 1), 1.5), truth, np.array([[True], [False], [True]]))
    >>> out.mae, out.skill, len(out.by_gap)  # the line says 1.0
    (0.5, 0.75, 1)
    """
    seen = np.asarray(observed)
    true = np.asarray(truth, dtype=np.float64)
    gaps = gap_at(seen)
    if seen.shape != true.shape:
        raise ValueError(f"shapes differ: observed {seen.shape}, truth {true.shape}")
    hidden = ~seen & ~np.isnan(true)
    if not hidden.any():
        raise ValueError("no hidden entry with a known truth: nothing to score")
    guess, known = _scored(estimate, true, hidden)
    line = _line(true if readings is None else readings, seen)
    errors, line_errors = guess - known, line[hidden] - known
    rows = _by_gap(errors, line_errors, gaps[hidden], gap_starts)
    return HiddenErrors(errors.size, *_summary(errors, line_errors), by_gap=rows)


def detection(flagged: BoolArray, truth: BoolArray, where: BoolArray | None = None) -> Detection:
    """Precision, recall and F1 of flags on readings.

    Parameters
    ----------
    flagged
        True where the method says "false reading".
    truth
        True where the reading is false.
    where
        Entries to score, usually the observed ones; all by default.

    Returns
    -------
    Detection

    Raises
    ------
    ValueError
        For what are not two masks of one shape.

    Examples
    --------
    >>> import numpy as np
    >>> out = detection(np.array([True, True, False]), np.array([True, False, False]))
    >>> out.precision, out.recall, round(out.f1, 3)
    (0.5, 1.0, 0.667)
    """
    flags, false = np.asarray(flagged), np.asarray(truth)
    if flags.dtype != np.bool_ or false.dtype != np.bool_ or flags.shape != false.shape:
        raise ValueError("flagged and truth must be boolean arrays of one shape")
    kept = _where(where, flags.shape)
    flags, false = flags[kept], false[kept]
    hits = int((flags & false).sum())
    alarms, misses = int((flags & ~false).sum()), int((~flags & false).sum())
    return Detection(
        precision=_share(hits, hits + alarms),
        recall=_share(hits, hits + misses),
        f1=_share(2 * hits, 2 * hits + alarms + misses),
        hits=hits,
        false_alarms=alarms,
        misses=misses,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _where(where: BoolArray | None, shape: tuple[int, ...]) -> BoolArray:
    kept = np.ones(shape, dtype=np.bool_) if where is None else np.asarray(where)
    if kept.dtype != np.bool_ or kept.shape != shape:
        raise ValueError(f"where must be a boolean array of shape {shape}")
    if not kept.any():
        raise ValueError("no entry to score")
    return kept


def _scored(
    estimate: FloatArray, truth: FloatArray, where: BoolArray | None
) -> tuple[FloatArray, FloatArray]:
    """Both arrays at the scored entries, which must be numbers."""
    guess = np.asarray(estimate, dtype=np.float64)
    true = np.asarray(truth, dtype=np.float64)
    if guess.shape != true.shape:
        raise ValueError(f"shapes differ: estimate {guess.shape}, truth {true.shape}")
    kept = _where(where, true.shape)
    guess, true = guess[kept], true[kept]
    for name, values in (("estimate", guess), ("truth", true)):
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise ValueError(f"the {name} is NaN or infinite at {bad} scored entries")
    return guess, true


def _line(readings: FloatArray, seen: BoolArray) -> FloatArray:
    given = np.asarray(readings, dtype=np.float64)
    if given.shape != seen.shape:
        raise ValueError(f"shapes differ: readings {given.shape}, observed {seen.shape}")
    return interpolate(np.where(seen, given, np.nan))


def _summary(errors: FloatArray, line_errors: FloatArray) -> tuple[float, float, float]:
    """MAE, RMSE and skill; a power of two near the largest error keeps its square finite."""
    largest = max(float(np.abs(errors).max()), float(np.abs(line_errors).max()))
    power = int(np.frexp(largest)[1])
    mse, mse_line = (float((np.ldexp(e, -power) ** 2).mean()) for e in (errors, line_errors))
    if mse_line == 0:
        skill = 0.0 if mse == 0 else -np.inf
    else:
        skill = 1 - mse / mse_line
    mae = float(np.ldexp(np.abs(np.ldexp(errors, -power)).mean(), power))
    return mae, float(np.ldexp(np.sqrt(mse), power)), skill


def _by_gap(
    errors: FloatArray, line_errors: FloatArray, gaps: IntArray, starts: Sequence[int]
) -> tuple[GapErrors, ...]:
    if len(starts) == 0 or starts[0] != 1 or any(np.diff(starts) <= 0):
        raise ValueError(f"gap_starts must rise from 1, got {list(starts)}")
    row = np.searchsorted(np.asarray(starts), gaps, side="right") - 1
    rows = []
    for i in np.unique(row):
        here = row == i
        longest = starts[i + 1] - 1 if i + 1 < len(starts) else None
        figures = _summary(errors[here], line_errors[here])
        rows.append(GapErrors(starts[i], longest, int(here.sum()), *figures))
    return tuple(rows)
