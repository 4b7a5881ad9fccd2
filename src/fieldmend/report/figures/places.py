"""Where the nodes are, and how they fare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fieldmend.diagnostics import loss_rates
from fieldmend.records import shown
from fieldmend.report.figures.canvas import Drawing, axis, frame
from fieldmend.report.figures.loss import observed
from fieldmend.report.figures.neighbours import positions
from fieldmend.report.palette import FIELD, var
from fieldmend.report.wording import counted, label, percent

if TYPE_CHECKING:
    from fieldmend.recovery import Recovery

SMALLEST, LARGEST = 7, 26  # diameters of marks, pixels
MOST = 3000  # marks that are drawn


def places(recovery: Recovery, condition: str) -> Drawing | None:
    """A map of the nodes: colour is the loss rate, size the share of flagged readings."""
    one, grid = recovery.conditions[condition], recovery.grid
    at, round_earth = positions(recovery)
    known = np.flatnonzero(np.isfinite(at).all(axis=1))
    if known.size == 0:
        return None
    drawn = known[:MOST]
    lost = loss_rates(observed(one))[drawn]
    readings = np.count_nonzero(observed(one)[:, drawn], axis=0)
    bad = np.count_nonzero((one.flag[:, drawn] == 3) | (one.flag[:, drawn] == 4), axis=0)
    share = bad / np.maximum(readings, 1)
    hover = [
        f"{label(grid.nodes[n])}<br>{percent(float(lo))} lost, {percent(float(sh))} flagged"
        for n, lo, sh in zip(drawn, lost, share, strict=True)
    ]
    size = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(share / max(share.max(), 1e-12))
    trace = {
        "type": "scatter", "mode": "markers", "x": at[drawn, 0], "y": at[drawn, 1],
        "text": hover, "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": size, "color": 100 * lost, "colorscale": FIELD, "cmin": 0,
            "cmax": max(100 * float(lost.max()), 1.0), "opacity": 0.9,
            "line": {"width": 1, "color": var("muted")},
            "colorbar": {
                "title": {"text": "slots lost (%)", "side": "top"}, "orientation": "h", "y": 1.0,
                "yanchor": "bottom", "thickness": 10, "outlinewidth": 0,
            },
        },
    }  # fmt: skip
    few = len(drawn) <= 60
    if few:
        trace |= {
            "mode": "markers+text", "texttemplate": "%{customdata}",
            "customdata": [label(shown(grid.nodes[n])[:12]) for n in drawn],
            "textposition": "top center", "textfont": {"size": 10, "color": var("muted")},
        }  # fmt: skip
    x_name, y_name = (
        ("longitude (° east)", "latitude (° north)") if round_earth else ("x (m)", "y (m)")
    )
    stretch = 1.0
    if round_earth:
        stretch = 1 / max(float(np.cos(np.radians(np.median(at[drawn, 1])))), 0.05)
    x_axis = axis(x_name, constrain="domain")
    y_axis = axis(y_name, scaleanchor="x", scaleratio=stretch, constrain="domain")
    left_out = len(grid.nodes) - len(drawn)
    missing = f" {counted(left_out, 'node')} not shown: no place is known." if left_out else ""
    if len(known) > MOST:
        missing = f" The first {counted(MOST, 'node')} with a place are shown."
    worst = drawn[int(np.argmax(lost))]
    return Drawing(
        [trace], frame(x_axis, y_axis, 520),
        f"Map of {counted(len(drawn), 'node')}, {shown(one.name)}: node "
        f"{shown(grid.nodes[worst])} lost most, {percent(float(lost.max()))} of its slots.",
        f"{shown(one.name)}: the lighter a mark, the more its node lost; the larger, the more of "
        f"its readings are flagged (at most {percent(float(share.max()))}).{missing}",
    )  # fmt: skip
