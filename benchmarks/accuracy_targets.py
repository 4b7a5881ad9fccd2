"""The targets of the accuracy benchmark: the figure of each, and whether it is met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from accuracy_cells import LARGE, TARGETS
from accuracy_grade import GAPS

Row = dict[str, Any]
Answers = dict[str, dict[str, Row]]
RIVALS = ("line", "ls", "mc")
COVERED, SURE = (0.87, 0.93), 0.0212
OURS = "auto", "recover"
SIMPLE = "line", "line (Hampel)", "ridge + line", "Iterative"
SILENCE = "network silent"
Ratios = dict[str, float]
SMALL = "IntelLab temperature, uniform p=.5, none"


def by_cell(rows: Iterable[Row]) -> Answers:
    """Cell → method → row: figures are means over the draws."""
    drawn: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        drawn[row["cell"], row["method"]].append(row)
    out: Answers = defaultdict(dict)
    for (cell, method), every in drawn.items():
        out[cell][method] = _mean(every)
    return dict(out)


def _mean(draws: list[Row]) -> Row:
    """The mean of every figure; a standard error is that of the mean."""
    failed = [row for row in draws if "error" in row]
    if failed:
        return failed[0]
    out: Row = {"cell": draws[0]["cell"], "method": draws[0]["method"], "draws": len(draws)}
    for key in dict.fromkeys(key for row in draws for key in row):
        values = [row[key] for row in draws if isinstance(row.get(key), int | float)]
        if key.startswith("doubt") and values:
            out[key] = float(np.sqrt(np.sum(np.square(values)))) / len(values)
        elif values and key not in ("draw",):
            out[key] = float(np.mean(values))
    return out


def ratios(cells: Answers, ours: str = "auto", rivals: tuple[str, ...] = RIVALS) -> Ratios:
    """RMSE of ours over that of the best rival, by cell."""
    out = {}
    for cell, answers in cells.items():
        best = [answers[m]["rmse"] for m in rivals if "rmse" in answers.get(m, {})]
        if best and "rmse" in answers.get(ours, {}):
            out[cell] = answers[ours]["rmse"] / min(best)
    return out


def targets(cells: Answers) -> list[dict[str, str]]:
    """All targets for which there is a figure, of `auto` and of `recover`."""
    autos = {cell: answers["auto"] for cell, answers in cells.items() if "auto" in answers}
    parts = [part for ours in OURS for part in (_rivals(cells, ours), _simple(cells, ours))]
    parts += [_bars(cells), _oracle(cells), _coverage(autos), _flags(autos), _time(cells)]
    return [row for part in parts for row in part]


def _row(target: str, figure: str, met: bool) -> dict[str, str]:
    return {"target": target, "figure": figure, "verdict": "met" if met else "missed"}


def _rivals(cells: Answers, ours: str) -> Iterator[dict[str, str]]:
    found = ratios(cells, ours)
    if found:
        yield _most(f"{ours}: RMSE never over 1.03 of the best of line, ls, mc", found, 1.03)
        middle = float(np.median(list(found.values())))
        said = f"{ours}: RMSE at most .50 of it in the median cell"
        yield _row(said, f"{middle:.3f}", middle <= 0.5)


def _simple(cells: Answers, ours: str) -> Iterator[dict[str, str]]:
    """Against the best simple method in hindsight: which one it is, differs from cell to cell."""
    found = ratios(cells, ours, SIMPLE)
    if not found:
        return
    values = np.array(list(found.values()))
    worst = max(found, key=lambda cell: found[cell])
    within, middle = float((values <= 1.03).mean()), float(np.median(values))
    yield _row(
        f"{ours}: RMSE at most 1.03 of the best simple method in hindsight in 95 % of cells",
        f"{100 * within:.1f} % of {len(values)}; most {found[worst]:.3f} ({worst})",
        within >= 0.95,
    )
    yield _row(f"{ours}: RMSE at most .90 of it in the median cell", f"{middle:.3f}", middle <= 0.9)


def _bars(cells: Answers) -> Iterator[dict[str, str]]:
    for cell, key, most in (
        (TARGETS[0], "mae", 0.078), (TARGETS[1], "mae", 0.385), (SMALL, "nse", 2.4e-5),
    ):  # fmt: skip
        for ours in OURS:
            row = cells.get(cell, {}).get(ours, {})
            if key in row:
                figure = f"{row[key]:.3g} on {row['hidden']:.0f} readings"
                said = f"{ours}: {cell}: {key.upper()} at most {most:g}"
                yield _row(said, figure, row[key] <= most)


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
    silent = {cell: row for cell, row in autos.items() if SILENCE in cell}
    yield from _outages(silent)
    heard = {cell: row for cell, row in autos.items() if cell not in silent}
    for where, names in keys.items():
        # A standard error of 2 %: as many as two hundred readings independent of each other.
        found = {
            (cell, k): row[k]
            for cell, row in heard.items()
            for k in names
            if k in row and row[k.replace("coverage", "doubt")] <= SURE
        }
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


def _outages(silent: dict[str, Row]) -> Iterator[dict[str, str]]:
    found = {cell: row["coverage"] for cell, row in silent.items() if "coverage" in row}
    if found:
        low, high = min(found, key=lambda c: found[c]), max(found, key=lambda c: found[c])
        outside = sum(not 0.83 <= share <= 0.95 for share in found.values())
        yield _row(
            "coverage of 90 % intervals .83 to .95 in outages of the whole network",
            f"{found[low]:.3f} ({low}) to {found[high]:.3f} ({high}), median "
            f"{np.median(list(found.values())):.3f}; outside in {outside} of {len(found)}",
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
        yield _most("auto flags at most 0.3 % of clean real readings", clean, 0.3, " %")


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


def _time(cells: Answers) -> Iterator[dict[str, str]]:
    for cell, most in ((SMALL, 1.3), (LARGE.name, 40.0)):
        answers = cells.get(cell, {})
        if "cpu" in answers.get("auto", {}) and "cpu" in answers.get("ls", {}):
            auto, ls = answers["auto"]["cpu"], answers["ls"]["cpu"]
            figure = f"{auto:.2f} s, {auto / ls:.1f} times ls"
            yield _row(f"auto at most {most:g} s of CPU: {cell}", figure, auto <= most)
