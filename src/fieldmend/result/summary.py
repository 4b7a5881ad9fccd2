"""A recovery as plain numbers and words: what `--json`, the screen and the report start from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.flags import Flag
from fieldmend.grid import Array, stamp
from fieldmend.result.decisions import account
from fieldmend.result.visits import events, look_first
from fieldmend.version import __version__

if TYPE_CHECKING:
    from fieldmend.grid import Grid
    from fieldmend.result.holdout import GapScore
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result


def summarise(recovery: Result) -> dict[str, Any]:
    """A JSON-able dict; numbers that do not exist are None."""
    grid, origin = recovery.grid, recovery.grid.origin
    return {
        "fieldmend": __version__,
        "command": recovery.options.command,
        **about_grid(grid),
        "conditions": {
            name: _condition(one) | {"cells": cells_of(grid, name)}
            for name, one in recovery.conditions.items()
        },
        "look_first": look_first(recovery),
        "events": events(recovery),
        "decisions": account(grid, recovery.options.decisions),
        "notes": [*origin.notes, *recovery.notes],
        "warnings": [*origin.warnings, *_warnings(recovery)],
        "suspects": list(origin.suspects),
        "files": {},
    }


def about_grid(grid: Grid) -> dict[str, Any]:
    """What was read, what became of the rows, and the grid they make."""
    origin = grid.origin
    return {
        "rows": {
            "read": origin.read,
            "used": origin.used,
            "duplicates": origin.duplicates,
            "set_aside": origin.set_aside,
        },
        "set_aside_by_reason": dict(origin.rejects.totals),
        "inputs": [asdict(one) for one in origin.files],
        "grid": {
            "slots": grid.shape[0],
            "nodes": grid.shape[1],
            "slot_seconds": grid.slot / 1e6,
            "start": stamp(grid.times[0]),
            "end": stamp(grid.times[-1] + grid.slot),
            "places": 0 if grid.places is None else len(grid.places),
        },
    }


def cells_of(grid: Grid, name: str) -> dict[str, Any] | None:
    """What became of a condition's cells; None where they were not read from records."""
    found = grid.origin.cells.get(name)
    return None if found is None else {**asdict(found), "why": dict(found.why)}


def _warnings(recovery: Result) -> list[str]:
    return [f"{name}: {w}" for name, one in recovery.conditions.items() for w in one.warnings]


def _flags(one: Recovered) -> Array:
    """How often each flag was given, counted by blocks."""
    total = np.zeros(max(Flag) + 1, dtype=np.int64)
    for block in blocks(*one.flag.shape):
        total += np.bincount(one.flag[block].ravel(), minlength=len(total))
    return total


def _condition(one: Recovered) -> dict[str, Any]:
    flags = _flags(one)
    counts = {flag.name.lower(): int(flags[flag]) for flag in Flag}
    return {
        "unit": one.unit,
        "kind": None if one.quantity is None else str(one.quantity.kind),
        "kind_reason": None if one.quantity is None else one.quantity.reason,
        "readings": int(one.flag.size) - counts["missing"],
        "missing_share": counts["missing"] / one.flag.size,
        "flags": counts,
        "places": one.counts(),
        "episodes": len(one.episodes),
        "method": one.method,
        "rank": one.rank,
        "gap": _number(one.gap),
        "status": one.status,
        "choice": one.choice,
        "holdout": _holdout(one),
        "notes": list(one.notes),
    }


def _holdout(one: Recovered) -> dict[str, Any] | None:
    if one.holdout is None:
        return None
    held = one.holdout
    return {
        "hidden": held.method.count,
        "mae": _number(held.method.mae),
        "mae_error": _number(held.mae_error),
        "rmse": _number(held.method.rmse),
        "line_mae": _number(held.line.mae),
        "line_rmse": _number(held.line.rmse),
        "difference_error": _number(held.difference_error),
        "skill": _number(held.method.skill),
        "plain_mae": _number(held.plain_mae),
        "plain_line_mae": _number(held.plain_line_mae),
        "far": held.far,
        "false": held.false,
        "all_mae": _number(held.all_mae),
        "all_line_mae": _number(held.all_line_mae),
        "covered": held.covered,
        "verdict": held.verdict,
        "closer": held.closer,
        "sentence": held.sentence(one.unit),
        "as_lost": held.copied,
        "tested": held.tested,
        "untested": held.untested,
        "by_gap": [_gap(row) for row in held.classes],
    }


def _gap(row: GapScore) -> dict[str, Any]:
    return {
        "shortest": row.shortest,
        "longest": row.longest,
        "hidden": row.count,
        "mae": _number(row.mae),
        "mae_error": _number(row.mae_error),
        "line_mae": _number(row.line_mae),
        "covered": row.covered,
        "lost": row.lost,
        "silent": row.silent,
        "untested": row.untested,
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
