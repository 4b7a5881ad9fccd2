"""The methods of the accuracy tables: a cell in, estimate, flags and bounds out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

import fieldmend as fm
from accuracy_cells import Cell
from accuracy_grade import Answer
from fieldmend import faults
from fieldmend.metrics import interpolate


@dataclass(frozen=True)
class Method:
    """How to run it, and on which cells."""

    run: Callable[[Cell], Answer]
    allowed: Callable[[Cell], bool] = lambda cell: True
    ours: bool = True


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
    out, period = interpolate(cell.readings), cell.slots_a_day
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


def _faults_first(cell: Cell) -> Answer:
    """As `fm.recover` does it: lasting faults are found and left out, then auto."""
    slot = 86_400_000_000 // cell.slots_a_day
    with np.errstate(over="ignore", invalid="ignore"):
        lasting = faults.persistent(cell.readings, faults.Context(slot=slot))
    out = fm.decompose(np.where(lasting, np.nan, cell.readings), method="auto")
    return Answer(out.estimate, lasting | (out.sparse != 0), out.lower, out.upper)


def _small(cell: Cell) -> bool:
    return cell.readings.size < 10**6


def _lasting(cell: Cell) -> bool:
    """Are some of its faults longer than a reading?"""
    return cell.name.endswith(("bursts", "mixed")) or ", its " in cell.name


METHODS = {
    "line": Method(_line, ours=False),
    "line (Hampel)": Method(_hampel, _small, ours=False),
    "seasonal": Method(_seasonal, _small, ours=False),
    "apg": Method(_ours("apg", max_iter=500), _small),
    "ls": Method(_ours("ls")),
    "mc": Method(_ours("mc"), _small),
    "srmf": Method(_ours("srmf", max_iter=200), _small),
    "oracle": Method(_oracle, lambda cell: cell.space is not None),
    "auto": Method(_ours("auto")),
    "auto (faults first)": Method(_faults_first, _lasting),
}


def warm_up() -> None:
    """Pay for imports before the clock runs."""
    readings = np.random.default_rng(0).normal(size=(60, 8))
    readings[::7, 2] = np.nan
    for method in ("ls", "auto"):
        fm.decompose(readings, method=method)


def code(method: str) -> str:
    """Hash of what decides a method's answers: a changed solver's kept cells are not taken.

    The field model decides only what is made with it.
    """
    files = [Path(__file__)]
    if METHODS[method].ours:
        package = Path(fm.__file__).parent
        files += [package / "decomposition.py", package / "methods.py"]
        for folder in ("core", "field"):
            files += sorted((package / folder).rglob("*.py"))
        if method == "auto (faults first)":
            files += sorted((package / "faults").rglob("*.py"))
        if not method.startswith("auto"):
            files = [file for file in files if file.parent.name != "field"]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
