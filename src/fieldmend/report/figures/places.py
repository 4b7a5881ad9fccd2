"""Where the nodes are, and how they fare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.diagnostics import loss_rates
from fieldmend.flags import BAD
from fieldmend.report.figures.canvas import BAR, MARGIN, Drawing, axis, colour_bar, frame
from fieldmend.report.figures.loss import observed
from fieldmend.report.figures.neighbours import positions
from fieldmend.report.palette import FIELD, var
from fieldmend.report.wording import label, labels
from fieldmend.text import counted, percent, shown

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

SMALLEST = 7  # diameter of a mark, pixels
LARGEST, LARGEST_OF_MANY = 26, 14
FEW = 60  # nodes whose names fit beside their marks
MOST = 3000  # marks that are drawn


def places(recovery: Result, condition: str) -> Drawing | None:
    """A map of the nodes: colour is the loss rate, size the share of flagged readings."""
    one, grid = recovery.conditions[condition], recovery.grid
    at, round_earth = positions(recovery)
    known = np.flatnonzero(np.isfinite(at).all(axis=1))
    if known.size == 0:
        return None
    drawn = known[:MOST]
    at = at[drawn]
    if round_earth:
        at[:, 0] = unwrapped(at[:, 0])
    lost = loss_rates(observed(one))[drawn]
    share = _flagged(one)[drawn]
    trace = _marks([grid.nodes[n] for n in drawn], at, lost, share)
    left_out = len(grid.nodes) - len(known)
    said = f" {counted(left_out, 'node')} not shown: no place is known." if left_out else ""
    if len(known) > MOST:
        said += f" The first {counted(MOST, 'node')} with a place are shown."
    worst = shown(grid.nodes[drawn[int(np.argmax(lost))]])
    return Drawing(
        [trace],
        _layout(at, round_earth=round_earth),
        f"Map of {counted(len(drawn), 'node')}, {shown(one.name)}: node {worst} lost most, "
        f"{percent(float(lost.max()))} of its slots.",
        f"{shown(one.name)}: the lighter a mark, the more its node lost; the larger, the more of "
        f"its readings are flagged (at most {percent(float(share.max()))}).{said}",
    )


def unwrapped(degrees: Array) -> Array:
    """Longitudes without a jump at 180°: the widest empty stretch is where the map is cut."""
    order = np.sort(degrees % 360)
    gaps = np.diff(np.append(order, order[0] + 360))
    cut = order[(int(np.argmax(gaps)) + 1) % len(order)]
    east: Array = (degrees - cut) % 360 + cut
    east -= 360 * np.round(np.median(east) / 360)
    return east


def _flagged(one: Recovered) -> Array:
    """Share of each node's readings that are suspect or outside the limits."""
    bad = np.count_nonzero(np.isin(one.flag, BAD), axis=0)
    share: Array = bad / np.maximum(np.count_nonzero(observed(one), axis=0), 1)
    return share


def _marks(names: list[str], at: Array, lost: Array, share: Array) -> dict[str, Any]:
    hover = [
        f"{label(name)}<br>{percent(float(rate))} lost, {percent(float(bad))} flagged"
        for name, rate, bad in zip(names, lost, share, strict=True)
    ]
    largest = LARGEST if len(names) <= FEW else LARGEST_OF_MANY
    trace = {
        "type": "scatter", "mode": "markers", "x": at[:, 0], "y": at[:, 1],
        "text": hover, "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": SMALLEST + (largest - SMALLEST) * np.sqrt(share / max(share.max(), 1e-12)),
            "color": 100 * lost, "colorscale": FIELD, "cmin": 0,
            "cmax": max(100 * float(lost.max()), 1.0), "opacity": 0.9,
            "line": {"width": 1, "color": var("muted")}, "colorbar": colour_bar("% lost"),
        },
    }  # fmt: skip
    if len(names) <= FEW:
        trace |= {
            "mode": "markers+text", "texttemplate": "%{customdata}",
            "customdata": labels(names, 12), "textposition": "top center",
            "textfont": {"size": 10, "color": var("muted")},
        }  # fmt: skip
    return trace


def _layout(at: Array, *, round_earth: bool) -> dict[str, Any]:
    """Equal lengths in both directions; the height follows the shape of the network."""
    names = ("longitude (° east)", "latitude (° north)") if round_earth else ("x (m)", "y (m)")
    stretch = 1.0
    if round_earth:
        stretch = 1 / max(float(np.cos(np.radians(np.median(at[:, 1])))), 0.05)
    wide, high = np.ptp(at, axis=0)
    shape = stretch * high / wide if wide else 1.0
    x = axis(names[0], constrain="domain")
    y = axis(names[1], scaleanchor="x", scaleratio=stretch, constrain="domain")
    height = int(np.clip(850 * shape + 110, 280, 620))
    return frame(x, y, height, margin={**MARGIN, "r": BAR})
