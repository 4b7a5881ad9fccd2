"""From cells to rows, and from rows to the tables: a tidy CSV and a page to read."""

from __future__ import annotations

import csv
import math
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from cases import ANOMALY_RATE, NOISE, RANK
from environments import ENVIRONMENTS

SCORES = ("nse", "nse_lost", "f1", "f1_best", "seconds", "peak_mib")
COLUMNS = (
    *("nodes", "slots", "sampling", "peer", "setting", "convex", "told", "status", "seeds"),
    *(*SCORES, "nse_least", "nse_most", "note", "settings"),
)
OURS = "fieldmend"


@dataclass(frozen=True)
class Row:
    """One method at one size and sampling rate: the mean over its seeds, or why there is none."""

    nodes: int
    slots: int
    sampling: float
    peer: str
    setting: str
    convex: bool
    told: str
    settings: str
    cells: tuple[dict[str, Any], ...]
    note: str = ""

    @property
    def done(self) -> tuple[dict[str, Any], ...]:
        """The cells that ended well."""
        return tuple(cell for cell in self.cells if cell["status"] == "done")

    @property
    def status(self) -> str:
        """``done``, or what stopped the first cell that did not end well."""
        if not self.cells:
            return "skipped"
        bad = [cell["status"] for cell in self.cells if cell["status"] != "done"]
        return bad[0] if bad else "done"

    @property
    def reason(self) -> str:
        """Why scores are missing or rest on fewer seeds."""
        notes = [cell["note"] for cell in self.cells if cell["note"]]
        return self.note or (notes[0] if notes else "")

    def mean(self, score: str) -> float | None:
        """Mean of a score over the seeds, None where no cell has it."""
        values = [cell[score] for cell in self.done if cell.get(score) is not None]
        return fmean(values) if values else None

    def record(self) -> dict[str, Any]:
        """All of it under the names of `COLUMNS`."""
        nse = [cell["nse"] for cell in self.done]
        fields = {name: getattr(self, name) for name in COLUMNS if name in Row.__annotations__}
        scores = {name: self.mean(name) for name in SCORES}
        spread = {"nse_least": min(nse, default=None), "nse_most": max(nse, default=None)}
        rest = {"status": self.status, "seeds": len(self.done), "note": self.reason}
        return fields | scores | spread | rest


def write_csv(rows: Iterable[Row], path: Path) -> None:
    """Write one line per row, numbers to six digits, empty where there is none."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            record = row.record().items()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in record})


def write_markdown(rows: Sequence[Row], path: Path, conditions: Sequence[str]) -> None:
    """Write a table per size and sampling rate, then what the goals say, then the settings used."""
    lines = ["# Peers, same data, same machine", "", *_preface(conditions)]
    groups = list(dict.fromkeys((row.nodes, row.slots, row.sampling) for row in rows))
    table: list[str] = []
    for group in groups:
        members = [row for row in rows if (row.nodes, row.slots, row.sampling) == group]
        table += _table(f"## {group[0]}×{group[1]}, p = {group[2]:g}", members)
    lines += _goals(rows, groups) + table + _settings(rows)
    path.write_text("\n".join(lines) + "\n")


def _preface(conditions: Sequence[str]) -> list[str]:
    versions = [e.versions() for e in ENVIRONMENTS.values() if e.pins]
    return [
        f"Nodes × slots; a field of exactly rank {RANK} in [0, 100], noise of standard deviation "
        f"{NOISE:g}, {ANOMALY_RATE:.0%} of the arrived readings moved by spikes, a share p of all "
        "readings arrived. Means over the seeds. NSE = Σ(x̂ − x)²/Σx² against the clean field, over "
        "all entries and over lost ones. F1: flags (sparse part not zero) on arrived readings; "
        "F1*: the same at the threshold that the truth says is best. Seconds: the call alone. "
        "MiB: growth of the process's memory during the call. *best*: the setting of a small grid "
        "with the lowest NSE on seed 0, chosen by the truth, true rank told. Imputers hand arrived "
        "readings back as they came, spikes included: compare them by NSE lost.",
        "",
        *(f"- {line}" for line in (*machine(), *conditions)),
        *(f"- peers: {line}" for line in versions),
        "",
    ]


def machine() -> list[str]:
    """Describe where this runs."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return [
        f"{_first('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, "
        f"{int(_first('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{blas['name']} {blas.get('version', '')}",
    ]


def _first(path: str, field: str) -> str:
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith(field)), "0 ?")


def _table(title: str, rows: Sequence[Row]) -> list[str]:
    head = "| method | setting | told | convex | NSE | NSE lost | F1 | F1* | s | MiB | seeds | |"
    lines = [title, "", head, "| --- " * 12 + "|"]
    for row in sorted(rows, key=lambda row: row.mean("nse") or math.inf):
        name = f"**{row.peer}**" if row.peer.startswith(OURS) else row.peer
        cells = [name, row.setting, row.told, "yes" if row.convex else ""]
        cells += [_number(row.mean("nse"), ".2e"), _number(row.mean("nse_lost"), ".2e")]
        cells += [_number(row.mean("f1"), ".3f"), _number(row.mean("f1_best"), ".3f")]
        cells += [_number(row.mean("seconds"), ".3g"), _number(row.mean("peak_mib"), ".0f")]
        cells += [str(len(row.done) or ""), row.reason.replace("|", "/")[:90]]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _goals(rows: Sequence[Row], groups: Sequence[tuple[int, int, float]]) -> list[str]:
    """Set fieldmend beside the strongest rival of each goal, case by case."""
    lines = [
        "## Goals",
        "",
        "NSE over all entries, and seconds in brackets. *Nearest*: of all rivals in the goal, the "
        "lowest NSE. Ratio of times: fieldmend's over the nearest's.",
        "",
        "| case | ls | nearest default or convex best | below | time | ls debias "
        "| nearest best | below | time |",
        "| --- " * 9 + "|",
    ]
    for group in groups:
        members = [row for row in rows if (row.nodes, row.slots, row.sampling) == group]
        by_name = {row.peer: row for row in members if row.peer.startswith(OURS) and row.done}
        rivals = [row for row in members if not row.peer.startswith(OURS) and row.done]
        modest = [row for row in rivals if row.setting == "default" or row.convex]
        cells = [f"{group[0]}×{group[1]}, p = {group[2]:g}"]
        cells += _duel(by_name.get("fieldmend ls"), modest)
        cells += _duel(by_name.get("fieldmend ls debias"), rivals)
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _duel(ours: Row | None, rivals: Sequence[Row]) -> list[str]:
    if ours is None or not rivals:
        return ["", "", "", ""]
    rival = min(rivals, key=lambda row: row.mean("nse") or math.inf)
    mine, theirs = ours.mean("nse") or 0, rival.mean("nse") or 0
    times = (ours.mean("seconds") or 0) / (rival.mean("seconds") or math.inf)
    return [
        f"{mine:.2e} ({ours.mean('seconds'):.2g})",
        f"{theirs:.2e} ({rival.mean('seconds'):.2g}) {rival.peer} {rival.setting}",
        "yes" if mine < theirs else "no",
        f"1/{1 / times:.0f}" if times < 1 else f"{times:.1f}",
    ]


def _settings(rows: Sequence[Row]) -> list[str]:
    lines = ["## Settings", "", "| case | method | setting | settings |", "| --- " * 4 + "|"]
    lines += [
        f"| {r.nodes}×{r.slots}, p = {r.sampling:g} | {r.peer} | {r.setting} | `{r.settings}` |"
        for r in rows
        if r.settings not in {"", "{}"}
    ]
    return [*lines, ""]
