"""What counts as a good answer: errors on hidden readings, F1 of flags, coverage of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accuracy_cells import Cell
from accuracy_data import Array, BoolArray
from fieldmend.diagnostics import gap_at

# Lengths of gaps in slots, by their first; fewer hidden readings than ENOUGH tell nothing.
GAPS = {"1": (1, 2), "2–9": (2, 10), "10–49": (10, 50), "50+": (50, 10**9)}
ENOUGH = 500


@dataclass(frozen=True)
class Answer:
    """What a method says; None where it says nothing."""

    estimate: Array
    flags: BoolArray | None = None
    lower: Array | None = None
    upper: Array | None = None


def graded(cell: Cell, answer: Answer) -> dict[str, Any]:
    """Grade an answer; what it does not say is not in the result."""
    hidden = np.isfinite(cell.truth) & np.isnan(cell.readings)
    error = (answer.estimate - cell.truth)[hidden]
    if not np.isfinite(error).all():
        return {"error": f"{np.isnan(error).sum()} of {error.size} hidden readings not estimated"}
    known = np.isfinite(cell.truth)
    return {
        "hidden": int(hidden.sum()),
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "nse": _nse(answer.estimate, cell.truth, hidden),
        "nse_all": _nse(answer.estimate, cell.truth, known),
        **_detection(cell, answer.flags),
        **_coverage(cell, answer, hidden),
    }


def _nse(estimate: Array, truth: Array, where: BoolArray) -> float:
    error = (estimate - truth)[where]
    return float((error**2).sum() / (truth[where] ** 2).sum())


def _detection(cell: Cell, flags: BoolArray | None) -> dict[str, float]:
    if flags is None:
        return {}
    seen = np.isfinite(cell.readings) & (np.isfinite(cell.truth) | cell.support)
    told, false = flags[seen], cell.support[seen]
    out = {"flagged": float(told.mean())}
    if false.any():
        out["f1"] = float(2 * (told & false).sum() / (told.sum() + false.sum()))
    return out


def _coverage(cell: Cell, answer: Answer, hidden: BoolArray) -> dict[str, float]:
    if answer.lower is None or answer.upper is None:
        return {}
    # Simulated truths are noise-free, but intervals are for readings.
    would_be = cell.truth if cell.again is None else cell.again
    inside = (would_be >= answer.lower) & (would_be <= answer.upper)
    seen = np.isfinite(cell.readings)
    gaps, number = (
        gap_at(seen),
        np.cumsum(np.pad(seen[1:], ((1, 0), (0, 0)), constant_values=True).T),
    )
    runs = number.reshape(seen.T.shape).T
    out = {}
    for name, (low, high) in {"": (1, 10**9), **GAPS}.items():
        here = hidden & (gaps >= low) & (gaps < high)
        if here.sum() >= ENOUGH or not name:
            out[f"coverage {name}".strip()] = float(inside[here].mean())
            out[f"doubt {name}".strip()] = _doubt(inside[here], runs[here])
    return out


def _doubt(inside: BoolArray, run: Array) -> float:
    """Standard error of a share when the readings of one gap are right or wrong together."""
    off = np.bincount(np.unique(run, return_inverse=True)[1], inside - inside.mean())
    return float(np.sqrt((off**2).sum()) / inside.size)
