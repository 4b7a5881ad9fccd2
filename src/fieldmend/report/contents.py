"""What the page says in words and tables: plain values, made from the summary."""

from __future__ import annotations

import platform
from dataclasses import dataclass, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.faults import Kind
from fieldmend.flags import BAD, Flag
from fieldmend.quantities import Kind as Quantities
from fieldmend.report.wording import plain
from fieldmend.text import (
    count,
    counted,
    gap_range,
    give_or_take,
    listed,
    measure,
    percent,
    shown,
    slot_length,
    stretch,
    told_once,
)

if TYPE_CHECKING:
    from fieldmend.faults import Episode
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

Summary = dict[str, Any]

LISTED = 50  # rejects, notes and warnings that are written out
ROWS = 200  # conditions in the table
CURVES = 6  # nodes whose curves are drawn, per condition
NAMED = 3  # conditions that the headline names
SURE = ("weak evidence", "moderate evidence", "strong evidence", "beyond doubt")
PACKAGES = ("numpy", "scipy", "duckdb")


@dataclass(frozen=True)
class Chosen:
    """The conditions that get figures, and the nodes of each that get a curve."""

    conditions: tuple[str, ...]
    nodes: dict[str, tuple[int, ...]]


def choose(recovery: Result, summary: Summary, most: int) -> Chosen:
    """Conditions in their order, those with most flagged readings if there are too many."""
    flags = {name: one["flags"] for name, one in summary["conditions"].items()}
    ranked = sorted(flags, key=lambda name: -(flags[name]["suspect"] + flags[name]["fail"]))
    kept = set(ranked[:most])
    conditions = tuple(name for name in flags if name in kept)
    return Chosen(conditions, {name: _worst(recovery, name, summary) for name in conditions})


def _worst(recovery: Result, condition: str, summary: Summary) -> tuple[int, ...]:
    """Nodes of "look first at", then those with most flagged, then with most lost readings."""
    one, nodes = recovery.conditions[condition], recovery.grid.nodes
    if np.isnan(one.estimate).all():
        return ()
    first = [
        nodes.index(item["node"])
        for item in summary["look_first"]
        if item["condition"] == condition
    ]
    bad = np.count_nonzero(np.isin(one.flag, BAD), axis=0)
    lost = np.count_nonzero(one.flag == Flag.MISSING, axis=0)
    heard = lost < len(one.flag)
    order = [int(n) for n in np.lexsort([-lost, -bad]) if heard[n] and bad[n] + lost[n] > 0]
    chosen = list(dict.fromkeys(first))
    chosen += [n for n in order if n not in chosen][: max(0, CURVES - len(chosen))]
    return tuple(chosen) or (int(np.argmax(heard)),)


def headline(summary: Summary) -> str:
    """The whole story in one sentence."""
    totals, names = total(summary), [shown(name) for name in summary["conditions"]]
    what = f"{listed(names)} " if len(names) <= NAMED else ""
    some, gone = count(totals["recovered"]), totals["lost"]
    lost = f"{some} of {count(gone)} lost {what}readings recovered"
    if totals["recovered"] == gone:
        lost = f"{count(gone)} lost {what}{'reading' if gone == 1 else 'readings'} recovered"
    if not gone:
        lost = f"no {what}reading lost"
    flagged = "none suspect"
    if totals["suspect"]:
        share = percent(totals["suspect"] / max(totals["readings"], 1))
        flagged = f"{count(totals['suspect'])} of {count(totals['readings'])} suspect ({share})"
    failed = f", {count(totals['fail'])} outside the limits" if totals["fail"] else ""
    return f"{counted(summary['grid']['nodes'], 'node')}: {lost}, {flagged}{failed}."


def about(recovery: Result, summary: Summary) -> str:
    """From when to when, in how many conditions."""
    grid = recovery.grid
    when = stretch(grid.times[0], grid.times[-1] + grid.slot)
    conditions = counted(len(summary["conditions"]), "condition")
    return f"{when} UTC, {conditions}, slots of {slot_length(grid.slot)}."


def total(summary: Summary) -> dict[str, int]:
    """Sums over all conditions."""
    conditions = list(summary["conditions"].values())
    out = {name: sum(one["flags"][name] for one in conditions) for name in ("suspect", "fail")}
    out["readings"] = sum(one["readings"] for one in conditions)
    places = ("lost", "recovered", "not_in_service", "never_fitted", "replaced")
    return out | {name: sum(one["places"][name] for one in conditions) for name in places}


def cards(summary: Summary) -> list[dict[str, str]]:
    """The few numbers to see first."""
    totals = total(summary)
    places = max(totals["lost"] + totals["readings"], 1)
    out = [
        {"name": "readings", "value": count(totals["readings"]), "note": _of_grid(summary)},
        {
            "name": "lost and recovered" if totals["recovered"] == totals["lost"] else "lost",
            "value": count(totals["lost"]),
            "note": f"{percent(totals['lost'] / places)} of what sensors in service had to send",
        },
        {
            "name": "suspect",
            "value": count(totals["suspect"]),
            "note": f"{percent(totals['suspect'] / max(totals['readings'], 1))} of the readings",
        },
    ]
    without = totals["not_in_service"] + totals["never_fitted"]
    if without:
        why = {"not in service": totals["not_in_service"], "never fitted": totals["never_fitted"]}
        note = ", ".join(f"{count(number)} {words}" for words, number in why.items() if number)
        out.append({"name": "without a sensor", "value": count(without), "note": note})
    if totals["fail"]:
        note = "beyond the limits that were set"
        out.append({"name": "failed", "value": count(totals["fail"]), "note": note})
    return out


def _of_grid(summary: Summary) -> str:
    grid = summary["grid"]
    slot = slot_length(round(grid["slot_seconds"] * 1e6))
    return f"{counted(grid['nodes'], 'node')} × {counted(grid['slots'], 'slot')} of {slot}"


def table(summary: Summary) -> dict[str, Any]:
    """One row per condition; columns that no condition fills are left out."""
    rows = [facts(name, one) for name, one in list(summary["conditions"].items())[:ROWS]]
    present = {key: any(row[key] for row in rows) for key in ("fail", "error", "covered")}
    left_out = len(summary["conditions"]) - len(rows)
    return {"rows": rows, "has": present, "left_out": left_out}


def facts(name: str, one: Summary) -> dict[str, str]:
    """One condition in words: what a row of the table, and a card, says of it."""
    unit, flags, holdout = one["unit"], one["flags"], one["holdout"]
    lost = one["places"]["lost"]
    row = {
        "name": shown(name),
        "unit": shown(unit),
        "readings": count(one["readings"]),
        "missing": percent(lost / max(1, lost + one["readings"])),
        "suspect": count(flags["suspect"]),
        "fail": count(flags["fail"]) if flags["fail"] else "",
        "error": "", "line": "", "verdict": "", "wins": "", "covered": "",
    }  # fmt: skip
    if holdout:
        of = _of_errors(one["kind"], unit)
        row |= {
            "error": _measured(holdout["mae"], holdout["mae_error"], of),
            "line": measure(holdout["line_mae"], of),
            "verdict": plain(holdout["verdict"]),
            "wins": "yes" if holdout["closer"] == "recovery" else "no",
        }
        if holdout["covered"] is not None:
            row["covered"] = percent(holdout["covered"])
    return row


def verdict(summary: Summary) -> str:
    """How the estimates fare on hidden readings, over all conditions, in a sentence."""
    scored = [(n, c["holdout"]) for n, c in summary["conditions"].items() if c["holdout"]]
    if not scored:
        return ""
    won, lost, open_ = (
        [shown(n) for n, h in scored if h["closer"] == who]
        for who in ("recovery", "line", "neither")
    )
    hidden = counted(sum(h["hidden"] for _, h in scored), "reading")
    tried = f"{hidden} were hidden on purpose, in gaps like the real ones, and recovered"
    if not lost and not open_:
        every = "" if len(won) == 1 else " in every condition"
        return f"{tried}: the estimates come closer than a straight line{every}."
    if not won and not open_:
        return f"{tried}: here a straight line between a node’s own readings comes closer."
    if not won and not lost:
        return f"{tried}: the estimates are not clearly closer than a straight line, nor farther."
    parts = [
        f"the estimates come closer than a straight line for {_some(won)}" if won else "",
        f"the line for {_some(lost)}" if won and lost else "",
        f"a straight line comes closer for {_some(lost)}" if lost and not won else "",
        f"there is no clear difference for {_some(open_)}" if open_ else "",
    ]
    return f"{tried}: {', '.join(filter(None, parts))}."


def _some(names: list[str]) -> str:
    return listed(names) if len(names) <= NAMED else counted(len(names), "condition")


def look_first(
    recovery: Result, summary: Summary, conditions: tuple[str, ...]
) -> list[dict[str, Any]]:
    """The worst episodes, each with where to go: condition, node, first slot, one past the last."""
    grid, out = recovery.grid, []
    for item in summary["look_first"]:
        start, end = (
            int(np.datetime64(item[key].removesuffix("Z"), "us").astype(np.int64))
            for key in ("start", "end")
        )
        first, last = ((t - int(grid.times[0])) // max(grid.slot, 1) for t in (start, end))
        name = item["condition"]
        index = conditions.index(name) if name in conditions else -1
        go = [index, grid.nodes.index(item["node"]), first, last]
        out.append(
            {
                "node": shown(item["node"]),
                "condition": shown(name),
                "kind": plain(item["kind"], 40),
                "when": stretch(start, end),
                "readings": counted(item["readings"], "reading"),
                "explanation": plain(item["explanation"]),
                "visit": plain(item["visit"]),
                "sure": SURE[how_sure(certain=item["certain"], confidence=item["confidence"])],
                "go": " ".join(str(number) for number in go) if name in conditions else "",
            }
        )
    return out


def worst_of(recovery: Result, condition: str, index: int) -> dict[str, Any] | None:
    """The gravest fault of one condition, and where to go for it; None without any."""
    faults = [e for e in recovery.conditions[condition].episodes if e.kind != Kind.EVENT]
    if not faults:
        return None
    one = max(faults, key=lambda e: (gravity(e), e.readings, e.severity))
    return {
        "node": shown(recovery.grid.nodes[one.node]),
        "kind": plain(one.kind, 40),
        "explanation": plain(one.explanation, 140),
        "go": f"{index} {one.node} {one.start} {one.stop}",
    }


def gravity(episode: Episode) -> int:
    """How soon to look; 1 for a kind of somebody else's making."""
    kind = Kind.named(episode.kind)
    return 1 if kind is None else kind.gravity


def how_sure(*, certain: bool, confidence: float | None) -> int:
    """0 to 3: a confidence is an order and no probability, so words stand for it."""
    if certain:
        return 3
    return sum((confidence or 0.0) >= least for least in (0.75, 0.9))


def hidden_table(one: Recovered) -> list[dict[str, str]]:
    """Errors by gap length, for who would rather read than look."""
    if one.holdout is None:
        return []
    none = "–" if one.holdout.covered is not None else ""
    of = _of_errors(None if one.quantity is None else one.quantity.kind, one.unit)
    return [
        {
            "gap": gap_range(row.shortest, row.longest),
            "lost": percent(row.lost),
            "hidden": count(row.count) if row.count else "not tried",
            "error": _measured(row.mae, row.mae_error, of) if row.count else "–",
            "line": measure(row.line_mae, of),
            "covered": none if row.covered is None else percent(row.covered),
        }
        for row in one.holdout.classes
    ]


def _of_errors(kind: str | None, unit: str) -> str:
    """What errors are in: of nodes that measure unlike things, parts of each one's own range."""
    return "of its range" if kind == Quantities.MIXED else unit


def _measured(value: float | None, error: float | None, unit: str) -> str:
    """A mean, and how far it may lie off nineteen times in twenty: two standard errors."""
    if value is None or error is None:
        return measure(value, unit)
    return give_or_take(value, 2 * error, unit)


def rejects(recovery: Result) -> dict[str, Any]:
    """Rows that were set aside: counted by reason, the first ones in full."""
    found = recovery.grid.origin.rejects
    rows = [
        {
            "file": shown(reject.file),
            "line": count(reject.line),
            "reason": plain(reject.reason),
            "text": plain(reject.text, 200),
        }
        for reject in found.listed[:LISTED]
    ]
    totals = sorted(found.totals.items(), key=lambda item: (-item[1], item[0]))[:LISTED]
    return {
        "totals": [(plain(reason), count(number)) for reason, number in totals],
        "rows": rows,
        "all": count(recovery.grid.origin.set_aside),
    }


def remarks(recovery: Result, summary: Summary) -> list[tuple[str, list[str]]]:
    """Warnings, values that look like codes, notes; only what there is."""
    notes = [plain(note) for note in summary["notes"]]
    notes += told_once(
        (shown(name), plain(note))
        for name, one in summary["conditions"].items()
        for note in one["notes"]
    )
    groups = [
        ("Warnings", [plain(text) for text in summary["warnings"]]),
        ("Values that may mean “no reading”", [plain(text) for text in summary["suspects"]]),
        ("Notes", notes),
    ]
    return [(title, _capped(lines)) for title, lines in groups if lines]


def _capped(lines: list[str]) -> list[str]:
    more = len(lines) - LISTED
    return lines if more <= 0 else [*lines[:LISTED], f"… and {count(more)} more"]


def made(recovery: Result, summary: Summary) -> dict[str, Any]:
    """Everything that is needed to make it again."""
    options = recovery.options
    settings = [
        (item.name, _setting(getattr(options, item.name)))
        for item in fields(options)
        # Shown apart, or following from the slot or the memory.
        if item.name not in ("command", "period", "decisions", "window")
    ]
    rows = summary["rows"]
    return {
        "command": plain(options.command, 2000),
        "versions": [
            ("fieldmend", summary["fieldmend"]),
            ("Python", platform.python_version()),
            *((package, version(package)) for package in PACKAGES),
        ],
        "inputs": [
            {
                "name": plain(one["name"], 200),
                "sha256": one["sha256"] or "",
                "dialect": plain(one["dialect"], 200),
                "rows": count(one["rows"]),
            }
            for one in summary["inputs"][:LISTED]
        ],
        "more_inputs": max(0, len(summary["inputs"]) - LISTED),
        "settings": settings,
        "solves": [_solve(name, one) for name, one in list(summary["conditions"].items())[:ROWS]],
        "rows": [(name.replace("_", " "), count(number)) for name, number in rows.items()]
        if rows["read"]
        else [],
    }


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{shown(k)}={plain(v, 80)}" for k, v in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(value, 200)


def _solve(name: str, one: Summary) -> dict[str, str]:
    return {
        "name": shown(name),
        "method": plain(one["method"], 40),
        "rank": count(one["rank"]),
        "gap": "" if one["gap"] is None else f"{one['gap']:.1e}",
        "status": plain(one["status"], 200),
        "choice": plain(one["choice"]),
    }
