"""The simple methods that a user could take instead: nothing is fitted to the truth.

``line``, ``line (Hampel)``: a node's own readings. ``ridge + line``: each node regressed on the
others (filled by lines, twice), what is left of its readings joined by lines. ``Iterative`` and
``KNN``: scikit-learn's imputers, as they come.
"""

from __future__ import annotations

import warnings

import numpy as np

from accuracy_cells import Cell
from accuracy_data import Array
from accuracy_grade import Answer
from fieldmend.metrics import interpolate

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
FOLDS, BLOCK = 5, 24  # of the cross-validation
TURNS = 2


def line(cell: Cell) -> Answer:
    """A straight line between a node's readings."""
    return Answer(interpolate(cell.readings))


def hampel(cell: Cell, width: int = 7) -> Answer:
    """The line after a Hampel filter: readings over 3 MADs from the median of 7 are dropped."""
    X = cell.readings.copy()
    flags = np.zeros(X.shape, dtype=bool)
    for n in range(X.shape[1]):
        place = np.flatnonzero(np.isfinite(X[:, n]))
        if len(place) < width:
            continue
        padded = np.pad(X[place, n], width // 2, mode="reflect")
        around = np.lib.stride_tricks.sliding_window_view(padded, width)
        middle = np.median(around, axis=1)
        mad = 1.4826 * np.median(np.abs(around - middle[:, None]), axis=1)
        flags[place, n] = np.abs(X[place, n] - middle) > 3 * np.maximum(mad, 1e-9)
    return Answer(interpolate(np.where(flags, np.nan, X)), flags)


def ridge(cell: Cell) -> Answer:
    """Ridge on the other nodes, and a line through what it leaves; penalty by cross-validation."""
    X = cell.readings
    filled = interpolate(X)
    for _ in range(TURNS):
        filled = np.column_stack([_regressed(filled, X[:, n], n) for n in range(X.shape[1])])
    return Answer(filled)


def _regressed(filled: Array, y: Array, n: int) -> Array:
    others = np.delete(filled, n, axis=1)
    z = (others - others.mean(axis=0)) / (others.std(axis=0) + 1e-9)
    seen = np.isfinite(y)
    if seen.sum() < 10 or not z.shape[1]:
        return filled[:, n]
    level, x, v = y[seen].mean(), z[seen], y[seen] - y[seen].mean()
    fold = np.flatnonzero(seen) // BLOCK % FOLDS
    errors = [_blocked_error(x, v, fold, penalty) for penalty in PENALTIES]
    slope = _slope(x, v, PENALTIES[int(np.argmin(errors))])
    fit = level + z @ slope
    rest = interpolate(np.where(seen, y - fit, np.nan)[:, None])[:, 0]
    return np.where(seen, y, fit + rest)


def _blocked_error(x: Array, v: Array, fold: Array, penalty: float) -> float:
    error = 0.0
    for k in range(FOLDS):
        out = fold == k
        if out.any() and not out.all():
            error += float(((v[out] - x[out] @ _slope(x[~out], v[~out], penalty)) ** 2).sum())
    return error


def _slope(x: Array, v: Array, penalty: float) -> Array:
    return np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ v)


def iterative(cell: Cell) -> Answer:
    """scikit-learn's IterativeImputer, defaults."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return _imputed(cell, IterativeImputer(random_state=0))


def knn(cell: Cell) -> Answer:
    """scikit-learn's KNNImputer, defaults."""
    from sklearn.impute import KNNImputer

    return _imputed(cell, KNNImputer())


def _imputed(cell: Cell, imputer: object) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ten rounds that were not enough
        return Answer(imputer.fit_transform(cell.readings))


def seasonal(cell: Cell) -> Answer:
    """The node's last reading at the same time of day; the line where there is none."""
    out, period = interpolate(cell.readings), cell.slots_a_day
    known = np.where(np.isfinite(cell.readings), cell.readings, np.nan)
    for t in range(period, len(out)):
        empty = np.isnan(known[t])
        known[t, empty] = known[t - period, empty]
    return Answer(np.where(np.isnan(known), out, known))
