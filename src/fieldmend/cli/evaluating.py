"""``fieldmend evaluate``: read, hide, compare, recommend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fieldmend.cli.progress import progress
from fieldmend.cli.recovering import read

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmend.cli.source import Source
    from fieldmend.cli.terminal import Voice
    from fieldmend.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class Comparison:
    """What to compare, and how readings are hidden."""

    hide: Sequence[str]
    rates: Sequence[float] | None
    only: Sequence[str] | None
    peers: bool
    runs: int
    seed: int

    def options(self) -> dict[str, Any]:
        """Options of `evaluate`, checked."""
        from fieldmend.errors import InputError
        from fieldmend.evaluation.evaluate import RATES, check

        options: dict[str, Any] = {
            "hide": self.hide,
            "rates": self.rates or RATES,
            "only": self.only or None,
            "with_peers": self.peers,
            "runs": self.runs,
        }
        try:
            check(**options)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        return options | {"seed": self.seed}


def run(
    source: Source, comparison: Comparison, out: Path | None, voice: Voice, *, force: bool
) -> None:
    """Do the job."""
    from fieldmend.evaluation.evaluate import evaluate

    options = comparison.options()
    files = _files(source, out, force=force)
    with progress(voice.bars) as bars:
        with closing(read(source, bars)) as records:
            grid = source.grid(records)
        step = bars.recovering(0)
        found = evaluate(grid, kinds=source.kinds, progress=step, **options)
    _write(found, files)
    voice.tell(_summary(found, files), _story)


def _files(source: Source, out: Path | None, *, force: bool) -> dict[str, Path]:
    if out is None:
        return {}
    from fieldmend.export import check_outputs

    ends = {"table": "csv", "by_gap": "gaps.csv", "figure": "html"}
    files = {kind: out / f"{source.name}.evaluation.{end}" for kind, end in ends.items()}
    check_outputs(files.values(), force=force, inputs=source.files)
    return files


def _write(found: Evaluation, files: dict[str, Path]) -> None:
    from fieldmend.experiments.tables import to_csv, write_text

    made: dict[str, Callable[[], str]] = {
        "table": lambda: to_csv(found.table()),
        "by_gap": lambda: to_csv(found.by_gap()),
        "figure": lambda: found.figure().to_html(div_id="errors"),
    }
    for kind, path in files.items():
        write_text(path, made[kind]())


def _summary(found: Evaluation, files: dict[str, Path]) -> dict[str, Any]:
    from fieldmend import __version__

    return {
        "fieldmend": __version__,
        "recommendation": found.recommendation,
        "ratios": found.ratios(),
        "table": [dict(row) for row in found.table()],
        "by_gap": [dict(row) for row in found.by_gap()],
        "units": dict(found.units),
        "notes": list(found.notes),
        "files": {kind: str(path) for kind, path in files.items()},
    }


def _story(found: dict[str, Any]) -> list[RenderableType]:
    from fieldmend.cli import printed

    lines: list[RenderableType] = []
    groups = dict.fromkeys((row["condition"], row["hide"]) for row in found["table"])
    for condition, hide in groups:
        mine = [r for r in found["table"] if (r["condition"], r["hide"]) == (condition, hide)]
        unit = found["units"].get(condition, "")
        title = str(printed.label(condition, unit))
        lines += printed.heading(title, f"mean error by share of readings kept; hidden: {hide}")
        lines.append(_wide(mine, "rate", lambda rate: f"{100 * rate:g} %"))
    for condition in dict.fromkeys(row["condition"] for row in found["by_gap"]):
        mine = [row for row in found["by_gap"] if row["condition"] == condition]
        title = str(printed.label(condition, found["units"].get(condition, "")))
        lines += printed.heading(title, "mean error by slots in the gap")
        lines.append(_wide(mine, "gap", str))
    lines += printed.heading("Which method?", "error over that of a straight line, geometric mean")
    lines.append(
        printed.table(
            ("method", "ratio"),
            [[name, f"{ratio:.2f}"] for name, ratio in found["ratios"].items()],
            left=(0,),
        )
    )
    lines += ["", found["recommendation"]]
    for listed in (found["notes"], list(found["files"].values())):  # many notes hide no file
        if listed:
            lines += ["", *printed.bullets(listed)]
    return lines


def _wide(rows: Sequence[dict[str, Any]], across: str, shown: Any) -> RenderableType:
    """Methods down, rates or gaps across; the best of each column first in its order."""
    from fieldmend.cli.printed import table
    from fieldmend.text import figure

    heads = list(dict.fromkeys(row[across] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    errors = {(row["method"], row[across]): row["mae"] for row in rows}
    best = {head: min(errors.get((m, head), float("inf")) for m in methods) for head in heads}
    body = []
    for method in methods:
        cells = [errors.get((method, head)) for head in heads]
        marks = [
            "*" if c is not None and c == best[h] else "" for c, h in zip(cells, heads, strict=True)
        ]
        body.append([method, *(f"{figure(c)}{mark}" for c, mark in zip(cells, marks, strict=True))])
    return table(("* best", *(shown(head) for head in heads)), body, left=(0,))
