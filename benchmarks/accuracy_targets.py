"""The targets of the accuracy benchmark: the figure of each, and whether it is met."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from accuracy_cells import LARGE, TARGETS
from accuracy_grade import GAPS
from table import RESULTS

Row = dict[str, Any]
Answers = dict[str, dict[str, Row]]
RIVALS = ("line", "ls", "mc")
COVERED = (0.87, 0.93)
FAULTS_FIRST = "auto (faults first)"
SMALL = "IntelLab temperature, uniform p=.5, none"
FAULTBENCH = {"random": 0.9, "malfunction": 0.9, "bias": 0.8, "drift": 0.7}


def by_cell(rows: Iterable[Row]) -> Answers:
    """Cell → method → row."""
    out: Answers = defaultdict(dict)
    for row in rows:
        out[row["cell"]][row["method"]] = row
    return dict(out)


def ratios(cells: Answers, ours: str = "auto") -> dict[str, float]:
    """RMSE of auto over that of the best of line, ls and mc, by cell."""
    out = {}
    for cell, answers in cells.items():
        best = [answers[m]["rmse"] for m in RIVALS if "rmse" in answers.get(m, {})]
        if best and "rmse" in answers.get(ours, {}):
            out[cell] = answers[ours]["rmse"] / min(best)
    return out


def targets(cells: Answers) -> list[dict[str, str]]:
    """All targets for which there is a figure."""
    autos = {cell: answers["auto"] for cell, answers in cells.items() if "auto" in answers}
    alone, whole = ratios(cells), ratios(cells, FAULTS_FIRST)
    parts = (_rivals(alone, whole), _redwood(autos), _oracle(cells), _coverage(autos))
    more = (_flags(autos), _stored(), _time(cells))
    return [row for part in (*parts, *more) for row in part]


def _row(target: str, figure: str, met: bool) -> dict[str, str]:
    return {"target": target, "figure": figure, "verdict": "met" if met else "missed"}


def _rivals(alone: dict[str, float], whole: dict[str, float]) -> Iterator[dict[str, str]]:
    if not alone:
        return
    never = "RMSE never over 1.03 of the best of line, ls, mc"
    yield _most(never, alone, 1.03)
    if whole:
        yield _most(f"{never}, with lasting faults left out first", alone | whole, 1.03)
    middle = float(np.median(list(alone.values())))
    yield _row("RMSE at most .70 of it in the median cell", f"{middle:.3f}", middle <= 0.7)


def _redwood(autos: dict[str, Row]) -> Iterator[dict[str, str]]:
    for cell, most in zip(TARGETS, (0.08, 0.40), strict=True):
        if "mae" in (row := autos.get(cell, {})):
            figure = f"{row['mae']:.4f} on {row['hidden']} readings"
            yield _row(f"{cell}: MAE at most {most:.2f}", figure, row["mae"] <= most)


def _oracle(cells: Answers) -> Iterator[dict[str, str]]:
    """Its rates are those of the cells with spikes; on hidden readings and on all."""
    for key, where in (("nse", "hidden readings"), ("nse_all", "all entries")):
        found = {
            cell.split(", ")[1]: answers["auto"][key] / answers["oracle"][key]
            for cell, answers in cells.items()
            if cell.startswith("simulated temperature, uniform") and cell.endswith("spikes")
            if key in answers.get("oracle", {}) and key in answers.get("auto", {})
        }
        if found:
            worst = max(found, key=lambda rate: found[rate])
            yield _row(
                f"NSE below the oracle's at every rate, simulated temperature, spikes, {where}",
                f"largest ratio {found[worst]:.3f} ({worst}) of {len(found)} rates",
                found[worst] < 1,
            )


def _coverage(autos: dict[str, Row]) -> Iterator[dict[str, str]]:
    keys = {"in every cell": ["coverage"], "by length of gap": [f"coverage {g}" for g in GAPS]}
    for where, names in keys.items():
        found = {(cell, k): row[k] for cell, row in autos.items() for k in names if k in row}
        if not found:
            continue
        off = {at: max(COVERED[0] - share, share - COVERED[1]) for at, share in found.items()}
        outside = sum(by > 0 for by in off.values())
        clearly = sum(
            by > 2 * autos[cell][k.replace("coverage", "doubt")] for (cell, k), by in off.items()
        )
        least = min(found, key=lambda at: found[at])
        most = max(found, key=lambda at: found[at])
        yield _row(
            f"coverage of 90 % intervals .87 to .93 {where}",
            f"{found[least]:.3f} ({least[0]}) to {found[most]:.3f} ({most[0]}), median "
            f"{np.median(list(found.values())):.3f}; outside in {outside} of {len(found)}, "
            f"by over two standard errors in {clearly}",
            outside == 0,
        )


def _flags(autos: dict[str, Row]) -> Iterator[dict[str, str]]:
    spikes = {
        cell: row["f1"]
        for cell, row in autos.items()
        if cell.endswith(("p=.9, spikes", "p=.7, spikes", "p=.5, spikes")) and "f1" in row
    }
    if spikes:
        yield _least("F1 of spikes at least .95 at p ≥ .5", spikes, 0.95)
    clean = {
        cell: 100 * row["flagged"]
        for cell, row in autos.items()
        if cell.endswith("none") and not cell.startswith("simulated") and "flagged" in row
    }
    if clean:
        yield _most("auto flags at most 0.5 % of clean real readings", clean, 0.5, " %")


def _least(target: str, found: dict[str, float], least: float) -> dict[str, str]:
    worst = min(found, key=lambda cell: found[cell])
    below = sum(value < least for value in found.values())
    figure = f"least {found[worst]:.3f} ({worst}); below in {below} of {len(found)}"
    return _row(target, figure, below == 0)


def _most(target: str, found: dict[str, float], most: float, unit: str = "") -> dict[str, str]:
    worst = max(found, key=lambda cell: found[cell])
    above = sum(value > most for value in found.values())
    figure = f"most {found[worst]:.3g}{unit} ({worst}); above in {above} of {len(found)}"
    return _row(target, figure, above == 0)


def _stored() -> Iterator[dict[str, str]]:
    """What benchmarks/detection.py stored of fieldmend."""
    path = RESULTS / "detection.csv"
    if not path.exists():
        return
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "fieldmend"]
    for kind, least in FAULTBENCH.items():
        for row in rows:
            if (row["question"], row["data"]) == ("faultbench", f"{kind} both"):
                f1 = float(row["F1"])
                yield _row(f"detection: faultbench {kind}, F1 ≥ {least}", f"{f1:.3f}", f1 >= least)
    clean = [row for row in rows if row["question"] == "clean"]
    shares = {row["data"]: float(row["flagged"].split()[0]) for row in clean}
    if shares:
        yield _most("detection: at most 0.5 % flagged in real records", shares, 0.5, " %")


def _time(cells: Answers) -> Iterator[dict[str, str]]:
    for cell, most in ((SMALL, 1.0), (LARGE.name, 60.0)):
        answers = cells.get(cell, {})
        if "cpu" in answers.get("auto", {}) and "cpu" in answers.get("ls", {}):
            auto, ls = answers["auto"]["cpu"], answers["ls"]["cpu"]
            figure = f"{auto:.2f} s, {auto / ls:.1f} times ls"
            yield _row(f"auto at most {most:g} s of CPU: {cell}", figure, auto <= most)
