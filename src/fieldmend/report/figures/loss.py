"""What was lost: how much of each node, and in gaps how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.diagnostics import ecdf, gap_lengths, loss_rates
from fieldmend.flags import BAD, Flag
from fieldmend.report.figures.canvas import Drawing, axis, frame
from fieldmend.report.palette import series
from fieldmend.report.wording import label
from fieldmend.text import count, counted, duration, percent, shown, slot_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

STEPS = 400  # of an empirical distribution that are drawn
HEIGHT = 320


def observed(one: Recovered) -> Array:
    """True where a reading arrived."""
    seen: Array = one.flag != Flag.MISSING
    return seen


def rates(recovery: Result, conditions: Sequence[str]) -> Drawing | None:
    """Share of the nodes that lost at most so much of their slots; None if nothing is lost."""
    data, said, top = [], [], 0.0
    for i, name in enumerate(conditions):
        lost = loss_rates(observed(recovery.conditions[name]))
        steps, top = ecdf(lost), max(top, 100 * float(lost.max()))
        some = np.unique(np.linspace(0, len(steps.values) - 1, STEPS).round().astype(int))
        x = np.concatenate([[0], steps.values[some], [1]]) * 100
        y = np.concatenate([[0], steps.shares[some], [1]]) * 100
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": label(name), "x": x, "y": y,
                **series(i), "line": {**series(i)["line"], "shape": "hv", "width": 2},
                "hovertemplate": "%{y:.3g} % of the nodes<br>lost at most %{x:.3g} %",
            }
        )  # fmt: skip
        said.append(
            f"{shown(name)}: the middle node lost {percent(float(np.median(lost)))}, the worst "
            f"{percent(float(lost.max()))} of its slots"
        )
    if not top:
        return None
    x_axis = axis("slots a node lost (%)", range=[-0.02 * top, 1.04 * top])
    y_axis = axis("nodes that lost at most this (%)", range=[-2, 102])
    return Drawing(
        data, _named(x_axis, y_axis, data), "; ".join(said) + ".",
        "How much each node lost: the height of a line is the share of nodes that lost at most "
        f"so much. {said[0]}.",
    )  # fmt: skip


def gaps(recovery: Result, conditions: Sequence[str]) -> Drawing | None:
    """How many gaps there are of each length, doubling from bin to bin; None if there are none."""
    data, said, most = [], [], 1
    slot = recovery.grid.slot
    for i, name in enumerate(conditions):
        lengths = gap_lengths(observed(recovery.conditions[name]))
        if lengths.size == 0:
            continue
        bins = np.floor(np.log2(lengths)).astype(int)
        per_bin = np.bincount(bins)
        most = max(most, len(per_bin))
        at = np.flatnonzero(per_bin)
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": label(name), "x": at,
                "y": per_bin[at], **series(i),
                "customdata": [_gap_bin(int(b), slot) for b in at],
                "hovertemplate": "%{y:,} gaps of %{customdata}",
            }
        )  # fmt: skip
        said.append(
            f"{shown(name)}: {counted(lengths.size, 'gap')}, the middle one "
            f"{duration(int(np.median(lengths)) * slot)}, the longest "
            f"{duration(int(lengths.max()) * slot)}"
        )
    if not data:
        return None
    ticks = [count(2**b) for b in range(most)]
    x_axis = axis(
        f"gap length, at least (slots of {slot_length(slot)})", tickvals=list(range(most)),
        ticktext=ticks, range=[-0.4, most - 0.6], tickangle=0,
    )  # fmt: skip
    y_axis = axis("number of gaps (log scale)", type="log", dtick=1, rangemode="tozero")
    return Drawing(
        data, _named(x_axis, y_axis, data), "; ".join(said) + ".",
        f"Runs of lost readings by their length. {said[0]}.",
    )  # fmt: skip


def flagged(recovery: Result, conditions: Sequence[str]) -> Drawing | None:
    """Share of the readings that are suspect or outside the limits; None if none are."""
    shares, words = [], []
    for name in conditions:
        one = recovery.conditions[name]
        bad = int(np.count_nonzero(np.isin(one.flag, BAD)))
        seen = int(np.count_nonzero(observed(one)))
        shares.append(100 * bad / seen if seen else 0.0)
        words.append(f"{percent(bad / seen) if seen else 'no readings'} ({count(bad)})")
    trace = {
        "type": "bar", "orientation": "h", "x": np.array(shares),
        "y": [label(name) for name in conditions], "text": words, "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [series(i)["marker"]["color"] for i in range(len(conditions))]},
        "hovertemplate": "%{y}: %{text} of the readings<extra></extra>",
    }  # fmt: skip
    if not any(shares):
        return None
    top = max(shares) * 1.5
    x_axis = axis("flagged readings (%)", range=[0, top], nticks=6)
    y_axis = axis("", type="category", autorange="reversed", showgrid=False)
    height = max(160, 90 + 34 * len(conditions))
    said = [f"{shown(n)} {w}" for n, w in zip(conditions, words, strict=True)]
    return Drawing(
        [trace], frame(x_axis, y_axis, height), f"Flagged readings: {', '.join(said)}.",
        "Share of the readings that are suspect or outside the limits, and their number.",
    )  # fmt: skip


def _named(x: dict[str, Any], y: dict[str, Any], data: list[dict[str, Any]]) -> dict[str, Any]:
    """A frame with a legend if there is more than one line, and room for it."""
    height = HEIGHT + 12 * max(0, len(data) - 3)
    return frame(x, y, height, showlegend=len(data) > 1)


def _slots(bin_: int) -> str:
    low, high = 2**bin_, 2 ** (bin_ + 1) - 1
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def _gap_bin(bin_: int, slot: int) -> str:
    low, high = 2**bin_, 2 ** (bin_ + 1) - 1
    if low == high:
        return f"1 slot ({slot_length(slot)})"
    return f"{_slots(bin_)} slots ({duration(low * slot)} to {duration(high * slot)})"
