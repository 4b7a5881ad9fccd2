"""The methods of the accuracy tables: a cell in, estimate, flags and bounds out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import fieldmend as fm
from accuracy_cells import Cell
from fieldmend.metrics import interpolate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What a method says; None where it says nothing."""

    estimate: Array
    flags: NDArray[np.bool_] | None = None
    lower: Array | None = None
    upper: Array | None = None


@dataclass(frozen=True)
class Method:
    """How to run it, and on which cells."""

    run: Callable[[Cell], Answer]
    allowed: Callable[[Cell], bool] = lambda cell: True


def _line(cell: Cell) -> Answer:
    return Answer(interpolate(cell.readings))


def _hampel(cell: Cell, width: int = 7) -> Answer:
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


def _seasonal(cell: Cell) -> Answer:
    """The node's last reading at the same time of day; the line where there is none."""
    out, period = interpolate(cell.readings), cell.period or 1
    known = np.where(np.isfinite(cell.readings), cell.readings, np.nan)
    for t in range(period, len(out)):
        empty = np.isnan(known[t])
        known[t, empty] = known[t - period, empty]
    return Answer(np.where(np.isnan(known), out, known))


def _ours(method: str, **options: object) -> Callable[[Cell], Answer]:
    def run(cell: Cell) -> Answer:
        out = fm.decompose(cell.readings, method=method, **options)
        flags = None if method in ("mc", "srmf") else out.sparse != 0
        return Answer(out.estimate, flags, out.lower, out.upper)

    return run


def _oracle(cell: Cell) -> Answer:
    out = fm.decompose(cell.readings, method="oracle", support=cell.support, space=cell.space)
    return Answer(out.estimate)


def _sklearn(name: str) -> Callable[[Cell], Answer]:
    def run(cell: Cell) -> Answer:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer, KNNImputer

        kept = np.isfinite(cell.readings).any(axis=0)
        imputer = IterativeImputer(max_iter=5) if name == "iterative" else KNNImputer()
        out = interpolate(cell.readings)
        out[:, kept] = imputer.fit_transform(cell.readings[:, kept])
        return Answer(out)

    return run


def _small(cell: Cell) -> bool:
    return cell.readings.shape[1] <= 60


METHODS = {
    "line": Method(_line),
    "line (Hampel)": Method(_hampel),
    "seasonal": Method(_seasonal),
    "apg": Method(_ours("apg", max_iter=500)),
    "ls": Method(_ours("ls")),
    "mc": Method(_ours("mc")),
    "srmf": Method(_ours("srmf", max_iter=200)),
    "oracle": Method(_oracle, lambda cell: cell.simulated),
    "sklearn KNN": Method(_sklearn("knn")),
    "sklearn iterative": Method(_sklearn("iterative"), _small),
    "auto": Method(_ours("auto")),
}
