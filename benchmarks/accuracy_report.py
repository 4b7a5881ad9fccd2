"""The accuracy rows → one table per question, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_grade import ENOUGH, GAPS
from accuracy_targets import OURS, RIVALS, SIMPLE, Answers, by_cell, ratios, targets
from table import write

Row = dict[str, Any]
Figure = Callable[[Row], str]


def report(rows: Sequence[Row], peers: Sequence[Row], folder: Path) -> None:
    """Print the verdicts and store the tables in `folder`."""
    cells = by_cell(rows)
    verdict = verdicts(cells)
    print(verdict)
    for row in rows:
        if "error" in row:
            print(f"{row['cell']}: {row['method']} failed: {row['error']}")
    tables = [
        (
            "rmse",
            _wide(cells, _shown("rmse")),
            f"RMSE on hidden readings, in the data's units. {CELLS}\n\n{verdict}",
        ),
        ("mae", _wide(cells, _shown("mae")), "Mean absolute error on hidden readings."),
        ("skill", _wide(_skilled(cells), _shown("skill")), SKILL),
        ("detection", _detection(cells), DETECTION),
        ("coverage", _coverage(cells), COVERAGE),
        ("time", _wide(cells, _shown("cpu")), "CPU seconds, one thread."),
        ("peers", _peers(cells, peers), PEERS),
        ("peers_detail", [_detailed(row) for row in peers], PEERS_DETAIL),
        ("targets", targets(cells), TARGETS),
    ]
    for name, table, text in tables:
        if table:
            write(f"accuracy_{name}", table, text, folder)
    print(f"tables: {folder}/accuracy_*.md")
    for target in targets(cells):
        print("  ".join(target.values()))


CELLS = (
    "A cell is data, loss, anomalies; every figure is the mean over three draws of the loss (of "
    "a radio's real loss there is one). Sizes are cut to half an hour of CPU: 4 to 52 nodes, "
    "500 to 1500 slots. Loss: uniform (p arrive), nodes offline for 24 h (a fifth of all), "
    "the whole network silent for 12 h at a time (an eighth), radio (what Redwood's motes really "
    "lost). Anomalies: 4 % of what arrived; mixed: spikes, bursts, stuck, drift, dead in equal "
    "parts; its ...: faultbench's own. `ridge + line`: each node on the others, and a line through "
    "what that leaves; `Iterative` and `KNN`: scikit-learn's imputers as they come; `recover`: all "
    "of `fm.recover`. A day of PM10, which is daily, is a week."
)
SKILL = "Skill against straight lines: 1 − MSE / MSE of the line. 1 is perfect, 0 no better."
DETECTION = (
    "F1 of the flags; where there are no anomalies the share of readings flagged, in percent."
)
COVERAGE = (
    "Share of hidden readings inside auto's 90 % intervals, all and by length of the gap in slots "
    f"(empty below {ENOUGH} hidden readings), ± its standard error: readings of one gap are right "
    "or wrong together, and few gaps tell little. The target is .87 to .93."
)
PEERS = (
    "RMSE on hidden readings, default / best settings of the peers, fieldmend's auto and ls "
    "without any. Best is chosen from a small grid by the truth. `benchmarks/peers/NOTES.md` says "
    "how each is called."
)
PEERS_DETAIL = "The same with the setting that was best, F1 of the sparse part, CPU seconds."
TARGETS = (
    "Every target of the accuracy benchmark. Those of finding false readings are in `detection`."
)


def verdicts(cells: Answers) -> str:
    """A few lines on `auto`: against its rivals, its intervals, its flags."""
    lines = []
    for ours in OURS:
        for said, rivals in (("line, ls, mc", RIVALS), ("the simple ones", SIMPLE)):
            if found := ratios(cells, ours, rivals):
                lines.append(f"{ours} / best of {said} in RMSE: {_summed(found)}")
    autos = [answers["auto"] for answers in cells.values() if "auto" in answers]
    lines += _span("coverage of 90 % intervals", [r["coverage"] for r in autos if "coverage" in r])
    spikes = [r["f1"] for r in autos if "f1" in r and r["cell"].endswith("spikes")]
    lines += _span("F1 with spikes", spikes)
    clean = [r["flagged"] for r in autos if r["cell"].endswith("none") and "flagged" in r]
    lines += _span("share of clean readings flagged", clean)
    both = [answers for answers in cells.values() if "auto" in answers and "ls" in answers]
    lines += _span("auto / ls in CPU", [a["auto"]["cpu"] / a["ls"]["cpu"] for a in both])
    return "\n".join(lines)


def _summed(found: dict[str, float]) -> str:
    worst = max(found, key=lambda cell: found[cell])
    above = sum(r > 1.03 for r in found.values())
    return (
        f"median {np.median(list(found.values())):.2f}, worst {found[worst]:.2f} ({worst}); above "
        f"1.03 in {above} of {len(found)} cells."
    )


def _span(what: str, values: Sequence[float]) -> list[str]:
    if not values:
        return []
    low, middle, high = min(values), float(np.median(values)), max(values)
    return [f"{what}: {low:.4g} to {high:.4g}, median {middle:.4g}."]


def _shown(key: str) -> Figure:
    return lambda row: "failed" if "error" in row else _number(row.get(key))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _wide(cells: Answers, figure: Figure) -> list[dict[str, str]]:
    """One row a cell, one column a method."""
    methods = dict.fromkeys(method for answers in cells.values() for method in answers)
    return [
        {"cell": cell} | {m: figure(answers[m]) if m in answers else "" for m in methods}
        for cell, answers in cells.items()
    ]


def _skilled(cells: Answers) -> Answers:
    out: Answers = {}
    for cell, answers in cells.items():
        line = answers.get("line", {}).get("rmse")
        if line:
            out[cell] = {
                m: {**row, "skill": 1 - (row["rmse"] / line) ** 2} if "rmse" in row else row
                for m, row in answers.items()
                if m != "line"
            }
    return out


def _detection(cells: Answers) -> list[dict[str, str]]:
    flagging = {
        cell: {m: row for m, row in answers.items() if "flagged" in row}
        for cell, answers in cells.items()
    }
    return _wide({c: a for c, a in flagging.items() if a}, _flags)


def _flags(row: Row) -> str:
    return _number(row["f1"]) if "f1" in row else f"{100 * row['flagged']:.2f} %"


def _coverage(cells: Answers) -> list[dict[str, str]]:
    keys = {"all": "coverage"} | {name: f"coverage {name}" for name in GAPS}
    return [
        {"cell": cell} | {name: _doubtful(answers["auto"], key) for name, key in keys.items()}
        for cell, answers in cells.items()
        if "coverage" in answers.get("auto", {})
    ]


def _doubtful(row: Row, key: str) -> str:
    return f"{row[key]:.3f} ± {row[key.replace('coverage', 'doubt')]:.3f}" if key in row else ""


def _peers(cells: Answers, rows: Sequence[Row]) -> list[dict[str, str]]:
    tables: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        shown = _number(row["rmse"]) or _reason(row["note"])
        tables.setdefault(row["cell"], {}).setdefault(row["peer"], []).append(shown)
    every = dict.fromkeys(row["peer"] for row in rows)
    return [
        {"cell": cell}
        | {m: _shown("rmse")(cells.get(cell, {}).get(m, {})) for m in ("line", "ls", "auto")}
        # Slow ones are asked in few cells.
        | {peer: _pair(*peers[peer]) if peer in peers else "" for peer in every}
        for cell, peers in tables.items()
    ]


def _pair(default: str, best: str) -> str:
    return f"{default} / {best}" if default != best or default[:1].isdigit() else default


def _reason(note: str) -> str:
    """Say in the narrow table what the detail says in full."""
    return note if note.startswith("over") else note.partition(":")[0]


def _detailed(row: Mapping[str, Any]) -> dict[str, str]:
    figures = {key: _number(row[key]) for key in ("rmse", "mae", "f1", "cpu")}
    return (
        {k: str(row[k]) for k in ("cell", "peer", "setting", "settings")}
        | figures
        | {"note": row["note"]}
    )
