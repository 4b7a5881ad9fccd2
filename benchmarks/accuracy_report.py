"""The accuracy rows → one table per question, and the verdicts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from table import write

RIVALS = ("line", "ls", "mc")
Row = dict[str, Any]


def report(name: str, rows: list[Row]) -> None:
    """Print the verdicts; store errors, intervals and flags as tables."""
    by_cell: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        by_cell[row["cell"]][row["method"]] = row
    judged = [cell for cell in by_cell.values() if "auto" in cell]
    verdict = _verdict(judged)
    print(verdict)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    errors = [
        {"cell": cell} | {m: _number(answers.get(m, {}).get("rmse")) for m in methods}
        for cell, answers in by_cell.items()
    ]
    write(name, errors, f"RMSE on hidden readings, in the data's units.\n\n{verdict}")
    keys = "rmse", "mae", "nse", "f1", "flagged", "coverage"
    gaps = [f"coverage_{g}" for g in (1, 2, 10, 50)]
    detail = [
        {"cell": row["cell"], "method": row["method"]}
        | {k: _number(row.get(k)) for k in (*keys, *gaps, "cpu")}
        for row in rows
    ]
    text = "Every cell: errors, flags (flagged is the share of readings), coverage by gap length."
    write(f"{name}_detail", detail, text)


def _verdict(judged: list[dict[str, Row]]) -> str:
    ratios = {}
    for answers in judged:
        best = [answers[m]["rmse"] for m in RIVALS if m in answers]
        if best:
            ratios[answers["auto"]["cell"]] = answers["auto"]["rmse"] / min(best)
    lines = []
    if ratios:
        worst = max(ratios, key=lambda cell: ratios[cell])
        middle = float(np.median(list(ratios.values())))
        above = sum(r > 1.03 for r in ratios.values())
        lines.append(
            f"auto / best of line, ls, mc in RMSE: median {middle:.2f}, worst {ratios[worst]:.2f} "
            f"({worst}); above 1.03 in {above} of {len(ratios)} cells."
        )
    autos = [answers["auto"] for answers in judged]
    lines += _span("coverage of 90 % intervals", [r["coverage"] for r in autos if "coverage" in r])
    spikes = [r["f1"] for r in autos if "f1" in r and "spikes" in r["cell"]]
    lines += _span("F1 with spikes", spikes)
    clean = [r["flagged"] for r in autos if r["cell"].endswith("none")]
    lines += _span("share of clean readings flagged", clean)
    return "\n".join(lines)


def _span(what: str, values: list[float]) -> list[str]:
    if not values:
        return []
    low, middle, high = min(values), float(np.median(values)), max(values)
    return [f"{what}: {low:.4g} to {high:.4g}, median {middle:.4g}."]


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.4g}"
