"""Nodes × time: the state of every reading, and the filled field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.flags import Flag
from fieldmend.grid import Grid
from fieldmend.report.downsample import (
    ABSENT,
    FAIL,
    SEEN,
    SUSPECT,
    UNJUDGED,
    Cells,
    mean_cells,
    state_cells,
)
from fieldmend.report.encoding import Words
from fieldmend.report.figures.canvas import (
    BAR,
    MARGIN,
    Drawing,
    axis,
    colour_bar,
    frame,
    moments,
    time_axis,
)
from fieldmend.report.palette import FIELD, TENTHS, var
from fieldmend.report.wording import label, labels
from fieldmend.result.states import State
from fieldmend.text import count, counted, duration, measure, percent, shown, slot_length

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

CELLS = 150_000
LOST = tuple(f"lost-{i}" for i in range(1, TENTHS + 1))
TOKENS = ("seen", *LOST, "unjudged", "suspect", "fail", "card")  # the last: no sensor, no colour


def states(recovery: Result, condition: str, cells: int = CELLS) -> Drawing:
    """Which readings were seen, lost and recovered, suspect, failed."""
    one, grid = recovery.conditions[condition], recovery.grid
    size = Cells.within(grid.shape, cells)
    gone = one.state != State.READ if one.method == "passed" else one.state > State.LOST
    codes = state_cells(one.flag, size, gone)
    steps = [[i / len(TOKENS), var(t)] for i, t in enumerate(TOKENS)]
    ends = [[(i + 1) / len(TOKENS), var(t)] for i, t in enumerate(TOKENS)]
    trace = {
        "type": "heatmap",
        **_axes_of(grid, size),
        "z": codes,
        "zmin": -0.5,
        "zmax": len(TOKENS) - 0.5,
        "colorscale": [stop for pair in zip(steps, ends, strict=True) for stop in pair],
        "showscale": False,
        "text": Words(_words(size)),
        "hovertemplate": f"{_row(size)} %{{y}}<br>%{{x|%-d %b %Y %H:%M}}<br>%{{text}}"
        "<extra></extra>",
    }
    return Drawing(
        [trace],
        _layout(grid, size),
        _states_in_words(one),
        f"{shown(one.name)}: what became of every reading. {_cell(grid, size)}"
        + ("" if size.single else " The worst state in a cell is shown; blue deepens with the "
           "share of lost readings."),
        _legend(codes, size),
    )  # fmt: skip


def values(recovery: Result, condition: str, cells: int = CELLS) -> Drawing | None:
    """The filled field, gaps and all; None where there is nothing."""
    one, grid = recovery.conditions[condition], recovery.grid
    size = Cells.within(grid.shape, cells)
    mean = mean_cells(one.filled, size)
    known = mean[np.isfinite(mean)]
    if known.size == 0:
        return None
    low, high = np.percentile(known, [0.5, 99.5])
    trace = {
        "type": "heatmap",
        **_axes_of(grid, size),
        "z": mean,
        "zmin": float(low),
        "zmax": float(high) if high > low else float(low) + 1,
        "colorscale": FIELD,
        "colorbar": colour_bar(label(one.unit) if one.unit else "no unit"),
        "hovertemplate": f"{_row(size)} %{{y}}<br>%{{x|%-d %b %Y %H:%M}}<br>%{{z:.4g}} "
        f"{label(one.unit) if one.unit else ''}<extra></extra>",
    }  # fmt: skip
    span = f"{measure(float(low), one.unit)} to {measure(float(high), one.unit)}"
    return Drawing(
        [trace],
        _layout(grid, size),
        f"Heat map of {shown(one.name)} at every node over time, gaps filled; 99 % of its "
        f"cells lie between {span}.",
        f"{shown(one.name)}, filled: the reading, or the estimate where it is lost or certainly "
        f"false. {_cell(grid, size)}" + ("" if size.single else " Its mean is shown.")
        + " Colours end at the lowest and highest half percent.",
    )  # fmt: skip


def _axes_of(grid: Grid, size: Cells) -> dict[str, Any]:
    slots, nodes = size.starts(grid.shape)
    names = labels(grid.nodes)
    if size.nodes > 1:
        ends = np.minimum(nodes + size.nodes, len(names)) - 1
        names = [f"{names[a]} … {names[b]}" for a, b in zip(nodes, ends, strict=True)]
    return {"x": moments(grid, slots), "y": names}


def _layout(grid: Grid, size: Cells) -> dict[str, Any]:
    rows = -(-grid.shape[1] // size.nodes)
    height = int(np.clip(13 * rows, 110, 720)) + 80
    y = axis(
        "node", type="category", autorange="reversed", nticks=min(rows, 45), showgrid=False,
        tickfont={"size": 10},
    )  # fmt: skip
    # Both maps keep room for the scale that one of them has: the same time, one above the other.
    return frame(time_axis(showgrid=False), y, height, margin={**MARGIN, "r": BAR})


def _row(size: Cells) -> str:
    return "node" if size.nodes == 1 else "nodes"


def _cell(grid: Grid, size: Cells) -> str:
    """What one cell is."""
    slot = slot_length(grid.slot)
    if size.single:
        return f"Each cell is one slot of {slot}."
    column = f"Each column is {counted(size.slots, 'slot')} ({duration(grid.slot * size.slots)})"
    return f"{column}{'' if size.nodes == 1 else f', each row {count(size.nodes)} nodes'}."


def _words(size: Cells) -> tuple[str, ...]:
    if size.single:
        lost = ["lost, recovered"] * TENTHS
    else:
        lost = [f"up to {tenth * 10} % lost, recovered" for tenth in range(1, TENTHS)]
        lost.append("over 90 % lost, recovered")
    return ("seen", *lost, "seen, not judged", "suspect", "outside the limits", "no sensor")


def _legend(codes: Array, size: Cells) -> tuple[tuple[str, str], ...]:
    there = set(np.unique(codes).tolist())
    lost = any(SEEN < code < UNJUDGED for code in there)
    rows = [("seen", "seen", True)]
    if size.single:
        rows.append((f"lost-{TENTHS}", "lost, recovered", lost))
    else:
        rows += [
            ("lost-1", "some lost, recovered", lost),
            (f"lost-{TENTHS}", "all lost, recovered", lost),
        ]
    rows += [
        ("unjudged", "seen, too little around it to judge", UNJUDGED in there),
        ("suspect", "suspect", SUSPECT in there),
        ("fail", "outside the limits", FAIL in there),
        ("card", "no sensor in service", ABSENT in there),
    ]
    return tuple((token, meaning) for token, meaning, wanted in rows if wanted)


def _states_in_words(one: Recovered) -> str:
    state, total = one.state, one.flag.size
    shares = (
        (one.flag == Flag.PASS, "seen"),
        (state == State.LOST, "lost and recovered"),
        (state > State.LOST, "without a sensor"),
        (one.flag == Flag.NOT_EVALUATED, "not judged"),
        (one.flag == Flag.SUSPECT, "suspect"),
        (one.flag == Flag.FAIL, "outside the limits"),
    )
    parts = [
        f"{percent(np.count_nonzero(where) / total)} {meaning}"
        for where, meaning in shares
        if where.any()
    ]
    return (
        f"Heat map of the state of {shown(one.name)} readings, nodes by time: {', '.join(parts)}."
    )
