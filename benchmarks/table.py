"""Rows of a benchmark → benchmarks/results/NAME.csv and NAME.md, with the machine's description."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from machine import describe

RESULTS = Path(__file__).parent / "results"


def write(name: str, rows: Sequence[Mapping[str, Any]], text: str, folder: Path = RESULTS) -> None:
    """Store the rows twice: to compute with, and to read."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(rows[0])
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        f"# {name}",
        "",
        text.strip(),
        "",
        f"Measured on: {describe()}. The machine is shared: trust the ratios.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
        *("| " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows),
        "",
    ]
    (folder / f"{name}.md").write_text("\n".join(lines))
