"""`fieldmend paper`: every table, figure and claim, from one call."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fieldmend.experiments import (
    data as datasets,
)
from fieldmend.experiments import (
    detection,
    motivation,
    observations,
    solver,
    sweep,
    theory,
)
from fieldmend.experiments.cells import Cell, Progress, Store, code_version, work
from fieldmend.experiments.data import Deployment, Matrix
from fieldmend.experiments.figures import draw
from fieldmend.experiments.page import claims_page, report
from fieldmend.experiments.plots import available
from fieldmend.experiments.tables import Row, Table, from_csv, over_runs, to_csv, write_text

QUICK_SIZE = (96, 24)  # slots, nodes
# In the order of the page.
TABLES = (
    "data", "completion", "spectrum", "loss", "separation", "energy", "recovery", "detection",
    "solver", "rate", "iterations", "bound", "conditions",
)  # fmt: skip


@dataclass(frozen=True)
class PaperRun:
    """What a run made: tables by name, the files written, and what was simulated."""

    tables: dict[str, Table]
    files: tuple[Path, ...]
    simulated: tuple[str, ...]
    cells: int


def run(
    out: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    *,
    quick: bool = False,
    jobs: int = 2,
    progress: Progress | None = None,
) -> PaperRun:
    """Re-run the paper's evaluation and write tables, figures, the claims page and a report.

    Parameters
    ----------
    out
        Folder: ``tables/*.csv``, ``figures/*.svg``, ``claims.md``, ``report.html``, and ``cells/``,
        where finished work is kept: a run that was stopped goes on from there.
    data
        Where the data sets are (``data.txt``, ``ndbc*``, ``ctd*``, ``greenorbs*``, …); what is
        missing is simulated, and labelled so.
    quick
        Small matrices, few runs: under a minute, for a look at what comes out.
    jobs
        Worker processes; 0 works in this one.
    progress
        Called with cells done, cells in all, and seconds.

    Raises
    ------
    InputError
        Without matplotlib (extra ``paper``), which draws the figures.
    """
    available()
    folder = Path(out)
    deployments = datasets.load(None if data is None else Path(data))
    if quick:
        deployments = tuple(_cut(one) for one in deployments)
    store = Store(folder / "cells")
    matrices = [matrix for one in deployments for matrix in one.matrices]
    plan = _plan(matrices, store, quick=quick)
    rows = _worked(plan, store, jobs=jobs, progress=progress)
    tables = _tables(rows, deployments)
    made = {
        "data": "; ".join(f"{one.title}: {one.origin}" for one in deployments),
        "size": "quick look" if quick else "full",
        "code": code_version(),
    }
    files = write(folder, tables, made)
    simulated = tuple(one.title for one in deployments if one.simulated)
    return PaperRun(tables, files, simulated, sum(len(cells) for cells in plan.values()))


def _cut(one: Deployment) -> Deployment:
    matrices = tuple(matrix.cut(*QUICK_SIZE) for matrix in one.matrices)
    return Deployment(
        one.key, one.title, one.origin, matrices, one.loss, one.slot_minutes, one.simulated
    )


def _plan(matrices: list[Matrix], store: Store, *, quick: bool) -> dict[str, list[Cell]]:
    return {
        "motivation": motivation.cells(quick=quick),
        "observations": observations.cells(matrices, store),
        "theory": theory.cells(matrices, store, quick=quick),
        "solver": solver.cells(matrices, store),
        "detection": detection.cells(matrices, store, quick=quick),
        "sweep": sweep.cells(matrices, store, quick=quick),
    }


def _worked(
    plan: dict[str, list[Cell]], store: Store, *, jobs: int, progress: Progress | None
) -> dict[str, list[Row]]:
    """All cells in one go, so that no worker waits at the end of a part."""
    everything = [cell for cells in plan.values() for cell in cells]
    found = iter(work(everything, store, jobs=jobs, progress=progress))
    return {name: [row for _ in cells for row in next(found)] for name, cells in plan.items()}


def _tables(rows: dict[str, list[Row]], deployments: tuple[Deployment, ...]) -> dict[str, Table]:
    first, theorems = rows["motivation"], rows["theory"]
    energies = [row for row in first if "top" in row]
    both = [*rows["sweep"], *rows["detection"]]
    tables: dict[str, Table] = {
        "data": datasets.table(deployments),
        "completion": over_runs(
            [row for row in first if "error" in row], ("anomalies", "rate"), ("error",)
        ),
        "spectrum": over_runs(energies, ("anomalies", "reading", "top"), ("energy",)),
        "loss": observations.loss_table(deployments),
        "separation": observations.separation_table(rows["observations"]),
        "energy": observations.energy_table(rows["observations"]),
        "recovery": sweep.table([row for row in rows["sweep"] if "truth" in row]),
        "detection": detection.table([row for row in both if "precision" in row]),
        "solver": rows["solver"],
        "rate": [row for row in theorems if "excess" in row],
        "iterations": [row for row in theorems if "epsilon" in row],
        "bound": [row for row in theorems if "delta" in row],
        "conditions": [row for row in theorems if "rho_r_needed" in row],
    }
    # As they will be read back: the page must not depend on digits that are not stored.
    return {name: from_csv(to_csv(tables[name])) for name in TABLES}


def write(folder: Path, tables: dict[str, Table], made: dict[str, str]) -> tuple[Path, ...]:
    """Tables, figures, page and report; each file whole or not at all."""
    figures = draw(tables)
    texts = {f"tables/{name}.csv": to_csv(table) for name, table in tables.items()}
    texts |= {f"figures/{name}.svg": text for name, text in figures.items()}
    texts["claims.md"] = claims_page(tables, list(figures))
    texts["report.html"] = report(tables, figures, made)
    return tuple(write_text(folder / name, text) for name, text in texts.items())
