"""The methods of the accuracy tables: a cell in, estimate, flags and bounds out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

import accuracy_opponents as opponents
import fieldmend as fm
from accuracy_cells import Cell
from accuracy_grade import Answer


@dataclass(frozen=True)
class Method:
    """How to run it, and on which cells."""

    run: Callable[[Cell], Answer]
    allowed: Callable[[Cell], bool] = lambda cell: True
    ours: bool = True


def _ours(method: str, **options: object) -> Callable[[Cell], Answer]:
    def run(cell: Cell) -> Answer:
        if method == "auto":
            options["period"] = (cell.slots_a_day, 7 * cell.slots_a_day)
        out = fm.decompose(cell.readings, method=method, **options)
        flags = None if method in ("mc", "srmf") else out.sparse != 0
        return Answer(out.estimate, flags, out.lower, out.upper)

    return run


def _oracle(cell: Cell) -> Answer:
    out = fm.decompose(cell.readings, method="oracle", support=cell.support, space=cell.space)
    return Answer(out.estimate)


def _recovered(cell: Cell) -> Answer:
    """`fm.recover` with everything that it does but the printed error.

    It leaves what a node did not live to see empty; a hidden end looks like that, and here every
    hidden reading is asked for.
    """
    seconds = 86_400 / cell.slots_a_day
    grid = fm.Grid.of(cell.readings, start="2020-01-06", slot_seconds=seconds)
    found = fm.recover(grid, holdout=False, extrapolate=True).conditions["value"]
    flags = np.isin(found.flag, (3, 4))
    return Answer(found.estimate, flags, found.lower, found.upper)


def _small(cell: Cell) -> bool:
    return cell.readings.size < 10**6


WHOLE = "core", "field", "faults", "quantities", "recovery"  # what decides a recovery
METHODS = {
    "line": Method(opponents.line, ours=False),
    "line (Hampel)": Method(opponents.hampel, _small, ours=False),
    "ridge + line": Method(opponents.ridge, _small, ours=False),
    "Iterative": Method(opponents.iterative, _small, ours=False),
    "KNN": Method(opponents.knn, _small, ours=False),
    "seasonal": Method(opponents.seasonal, _small, ours=False),
    "ls": Method(_ours("ls")),
    "mc": Method(_ours("mc"), _small),
    "oracle": Method(_oracle, lambda cell: cell.space is not None),
    "auto": Method(_ours("auto")),
    "recover": Method(_recovered, _small),
}


def warm_up() -> None:
    """Pay for imports before the clock runs."""
    readings = np.random.default_rng(0).normal(size=(60, 8))
    readings[::7, 2] = np.nan
    for method in ("ls", "auto"):
        fm.decompose(readings, method=method)


def code(method: str) -> str:
    """Hash of what decides a method's answers: a changed solver's kept cells are not taken."""
    files = [Path(__file__), Path(opponents.__file__)]
    if METHODS[method].ours:
        package = Path(fm.__file__).parent
        files = [Path(__file__), package / "decomposition.py", package / "methods.py"]
        folders = {"auto": WHOLE[:-1], "recover": WHOLE}.get(method, ("core",))
        if len(folders) > 1:
            files.append(package / "automatic.py")
        for folder in folders:
            files += sorted((package / folder).rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
