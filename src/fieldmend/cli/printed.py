"""A summary as lines for the screen: what was read, found, written, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fieldmend.text import (
    counted,
    escaped,
    figure,
    percent,
    shown,
    size,
    slot_length,
    stretch,
    told_once,
)

LOOK_FIRST = 5  # of the summary's list; the report has the rest
CELLS = 6  # conditions whose cells are accounted for one by one
LISTED = 5  # notes, rejects and the like


def of_recovery(summary: dict[str, Any]) -> list[RenderableType]:
    """What ``fieldmend recover`` prints."""
    return [
        *opening(summary),
        "",
        _conditions(summary["conditions"]),
        *_places(summary["conditions"]),
        *_holdout(summary["conditions"]),
        *_look_first(summary["look_first"]),
        *_decisions(summary["decisions"]),
        *remarks(summary),
        *_written(summary["files"]),
        *_next(summary),
    ]


def of_attention(summary: dict[str, Any]) -> list[RenderableType]:
    """What ``fieldmend recover --brief`` prints: what needs a person, and where to look."""
    title = ", ".join(shown(one["name"]) for one in summary["inputs"]) or "a grid"
    span = stretch(summary["grid"]["start"], summary["grid"]["end"])
    lines: list[RenderableType] = [Text(f"{title}, {span} UTC", style="bold")]
    lines += [indented(Text(escaped(one))) for one in summary["attention"]]
    return [*lines, *_next(summary)]


def opening(summary: dict[str, Any], more: Sequence[tuple[str, str]] = ()) -> list[RenderableType]:
    """Rows, dialect and grid: the same for every command; more facts after the dialect."""
    rows, grid = summary["rows"], summary["grid"]
    facts = [
        (
            "rows",
            f"{rows['read']:,} read = {rows['used']:,} used + {rows['duplicates']:,} duplicates "
            f"+ {rows['set_aside']:,} set aside",
        ),
        *_cells(summary["conditions"]),
        ("dialect", "; ".join(dict.fromkeys(one["dialect"] for one in summary["inputs"]))),
        *more,
        (
            "grid",
            f"{counted(grid['nodes'], 'node')} x {counted(grid['slots'], 'slot')} of "
            f"{slot_length(round(grid['slot_seconds'] * 1e6))}",
        ),
        ("time", f"{stretch(grid['start'], grid['end'])} UTC"),
    ]
    if summary["set_aside_by_reason"]:
        reasons = summary["set_aside_by_reason"].items()
        facts.insert(1, ("set aside", ", ".join(f"{n:,} {why}" for why, n in reasons)))
    names = ", ".join(shown(one["name"]) for one in summary["inputs"]) or "a grid"
    return [Text(names, style="bold"), _facts(facts)]


def _cells(conditions: dict[str, Any]) -> list[tuple[str, str]]:
    """What became of the cells of each condition, or of all where they are many."""
    parts = ("read", "used", "missing", "duplicates", "set_aside")
    found = {name: one["cells"] for name, one in conditions.items() if one.get("cells")}
    if len(found) > CELLS:
        total = {part: sum(one[part] for one in found.values()) for part in parts}
        found = {f"all {len(found)} conditions": total}
    return [
        (
            "cells" if at == 0 else "",
            f"{shown(name)}: {one['read']:,} read = {one['used']:,} used + {one['missing']:,} "
            f"missing + {one['duplicates']:,} duplicates + {one['set_aside']:,} set aside",
        )
        for at, (name, one) in enumerate(found.items())
    ]


def _facts(facts: Iterable[tuple[str, str]]) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(style="dim", no_wrap=True, min_width=9)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(name, escaped(text))
    return indented(table)


def _conditions(conditions: dict[str, Any]) -> RenderableType:
    unjudged = any(one["flags"]["not_evaluated"] for one in conditions.values())
    rows: list[list[RenderableType]] = []
    for name, one in conditions.items():
        flags = one["flags"]
        row: list[RenderableType] = [
            label(name, one["unit"]),
            f"{one['readings']:,}",
            percent(one["missing_share"]),
            Text(f"{flags['suspect']:,}", style="yellow" if flags["suspect"] else ""),
            Text(f"{flags['fail']:,}", style="red" if flags["fail"] else ""),
            *([f"{flags['not_evaluated']:,}"] if unjudged else []),
            f"{one['episodes']:,}",
            one["method"],
        ]
        rows.append(row)
    head = ["condition", "readings", "missing", "suspect", "fail", "episodes", "method"]
    if unjudged:
        head.insert(5, "unjudged")
    return table(head, rows, left=(0, len(head) - 1))


def _places(conditions: dict[str, Any]) -> list[RenderableType]:
    """What became of places without a reading, and of readings that were replaced."""
    more = {
        "not_in_service": "not in service",
        "never_fitted": "never fitted",
        "replaced": "replaced",
    }
    shown_ = [key for key in more if any(one["places"][key] for one in conditions.values())]
    rows: list[list[RenderableType]] = []
    for name, one in conditions.items():
        places = one["places"]
        if any(places.values()):
            counts = [places["lost"], places["recovered"], *(places[key] for key in shown_)]
            rows.append([label(name, one["unit"]), *(f"{n:,}" for n in counts)])
    if not rows:
        return []
    head = ["condition", "lost", "recovered", *(more[key] for key in shown_)]
    return [
        *heading("Recovered", "what was lost; nothing where there was no sensor"),
        table(head, rows, left=(0,)),
    ]


def _holdout(conditions: dict[str, Any]) -> list[RenderableType]:
    scored = {name: one for name, one in conditions.items() if one["holdout"]}
    if not scored:
        return []
    rows: list[list[RenderableType]] = []
    for name, one in scored.items():
        held = one["holdout"]
        verdict = Text(held["verdict"], style=COLOURS[held["closer"]])
        errors = with_error(held["mae"], held["mae_error"]), figure(held["line_mae"])
        rows.append([label(name, one["unit"]), f"{held['hidden']:,}", *errors, verdict])
    more = "mean error on readings hidden the way readings were lost, beside a straight line"
    remarks = {name: _left_out(one["holdout"]) for name, one in scored.items()}
    return [
        *heading("How far off", more),
        table(("condition", "hidden", "error", "line", "verdict"), rows, left=(0, 4)),
        *_by_gap(scored),
        *bullets([f"{shown(name)}: {said}" for name, said in remarks.items() if said]),
    ]


COLOURS = {"recovery": "green", "line": "yellow", "neither": ""}


def with_error(value: float | None, error: float | None) -> str:
    """A mean and how far it may lie off, nineteen times in twenty: two standard errors."""
    return figure(value) if error is None else f"{figure(value)} +- {figure(2 * error)}"


def _by_gap(scored: dict[str, Any]) -> list[RenderableType]:
    """Errors by length of the gap, of the first conditions where several lengths were tried."""
    rows: list[list[RenderableType]] = []
    several = {
        name: tried
        for name, one in scored.items()
        if len(tried := _tried(one["holdout"]["by_gap"])) > 1
    }
    for name, tried in list(several.items())[:CELLS]:
        for at, row in enumerate(tried):
            longest = "+" if row["longest"] is None else f"-{row['longest']}"
            rows.append(
                [
                    label(name, scored[name]["unit"]) if at == 0 else "",
                    f"{row['shortest']}{longest}",
                    percent(row["lost"]),
                    *(figure(row[key]) for key in ("mae", "line_mae")),
                    "-" if row["covered"] is None else percent(row["covered"]),
                ]
            )
    if not rows:
        return []
    head = ("by slots in the gap", "", "of the lost", "error", "line", "in interval")
    more = len(several) - CELLS
    rest = [indented(Text(f"and {counted(more, 'condition')} more, in the report"))]
    return ["", table(head, rows, left=(0,)), *(rest if more > 0 else [])]


def _tried(by_gap: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lengths that were hidden; those of which something was lost, where something was."""
    hidden = [row for row in by_gap if row["hidden"]]
    return [row for row in hidden if row["lost"]] or hidden


def _left_out(held: dict[str, Any]) -> str:
    """What was hidden but is no truth to compare with, and what was lost but not tried."""
    said = []
    if held["false"]:
        with_them = f"{figure(held['all_mae'])} (line {figure(held['all_line_mae'])})"
        said.append(f"{held['false']:,} false left out, with them {with_them}")
    if held["far"]:
        said.append(
            f"{counted(held['far'], 'suspect')} far from estimate and line both, so likely false: "
            "each error cut to 5 times what 9 in 10 stay below"
        )
    return "; ".join([*said, *filter(None, [held["untested"]])])


def _look_first(episodes: Sequence[dict[str, Any]]) -> list[RenderableType]:
    """The worst nodes, each with its worst episode."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for episode in episodes:
        nodes.setdefault(episode["node"], []).append(episode)
    lines: list[RenderableType] = heading("Look first at") if nodes else []
    for node, (worst, *others) in list(nodes.items())[:LOOK_FIRST]:
        more = f" (+{len(others)} more)" if others else ""
        title = Text.assemble(
            (f"node {shown(node)}", "bold"),
            f", {shown(worst['condition'])}, {stretch(worst['start'], worst['end'])}: ",
            (worst["kind"], "yellow"),
            (more, "dim"),
        )
        lines += [indented(title), indented(Text(escaped(worst["explanation"])), by=4)]
    return lines


def _decisions(account: dict[str, Any] | None) -> list[RenderableType]:
    """What became of a person's decisions."""
    if account is None:
        return []
    obeyed = account["read"] - account["matched_nothing"]
    counts = ", ".join(f"{account[key]:,} {key}" for key in ("accepted", "rejected", "noted"))
    said = [f"{obeyed:,} of {account['read']:,} obeyed: {counts}"]
    if account["matched_nothing"]:
        said.append(f"{account['matched_nothing']:,} matched no reading")
        said += [f"  {one}" for one in account["unmatched"][: LISTED - len(said)]]
    return [*heading("Decisions", shown(account["file"])), *bullets(said)]


def remarks(summary: dict[str, Any]) -> list[RenderableType]:
    """Suspects, warnings and notes, where there are any."""
    conditions = summary["conditions"].items()
    own = told_once(
        (shown(name), note) for name, one in conditions for note in one.get("notes", ())
    )
    lines = []
    if summary["suspects"]:
        lines += heading("Codes, perhaps", "do these stand for no reading? Then say --missing")
        lines += bullets(summary["suspects"])
    if summary["warnings"]:
        lines += heading("Warnings")
        lines += bullets(summary["warnings"])
    if own or summary["notes"]:
        lines += heading("Notes")
        lines += bullets([*summary["notes"], *own])
    return lines


def bullets(sentences: Sequence[str]) -> list[RenderableType]:
    """The first few, and how many more there are."""
    lines = [indented(Text(escaped(one))) for one in sentences[:LISTED]]
    more = len(sentences) - LISTED
    return [*lines, indented(Text(f"and {more:,} more"))] if more > 0 else [*lines]


def _written(files: dict[str, str]) -> list[RenderableType]:
    lines = heading("Written")
    # Plain strings: a path is never broken over two lines.
    lines += [f"  {size(_size_of(path)):>7}  {escaped(path)}" for path in files.values()]
    return lines


def _size_of(path: str) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not os.path.isdir(path):
        return os.stat(path).st_size
    return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())


def _next(summary: dict[str, Any]) -> list[RenderableType]:
    files = summary["files"]
    steps = []
    if "report" in files:
        steps.append(f"open {files['report']} in a browser")
    # What lies outside the time that was asked for is no trouble.
    if summary["rows"]["set_aside"] - summary["set_aside_by_reason"].get("outside", 0):
        steps.append(f"see why rows were set aside in {files['rejects']}")
    if any(
        one["flags"]["suspect"] or one["flags"]["fail"] for one in summary["conditions"].values()
    ):
        steps.append(f"judge the suspects in {files['anomalies']}")
    if not steps:
        return []
    return [*heading("Next"), *(f"  {escaped(step)}" for step in steps)]


def label(name: str, unit: str) -> str:
    """A condition with its unit."""
    return f"{shown(name)} ({shown(unit)})" if unit else shown(name)


def heading(title: str, more: str = "") -> list[RenderableType]:
    """An empty line and a title."""
    return ["", Text.assemble((title, "bold"), (f": {more}" if more else "", "dim"))]


def indented(what: RenderableType, by: int = 2) -> RenderableType:
    """Moved to the right."""
    return Padding(what, (0, 0, 0, by), expand=False)


def table(
    head: Sequence[str], rows: Sequence[Sequence[RenderableType]], *, left: Sequence[int]
) -> RenderableType:
    """A table without lines; numbers to the right, the columns `left` to the left."""
    out = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for i, title in enumerate(head):
        to_left = i in left
        out.add_column(
            title,
            justify="left" if to_left else "right",
            no_wrap=not to_left,
            overflow="fold",
            max_width=28 if i == 0 else None,
        )
    for row in rows:
        out.add_row(*row)
    return indented(out)
