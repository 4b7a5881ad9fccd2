"""One node over time: what it said, what the field says, and what its neighbours said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.faults import Kind
from fieldmend.flags import BAD, KEPT, Flag
from fieldmend.report.downsample import envelope, extremes
from fieldmend.report.figures.canvas import Drawing, axis, frame, moments, time_axis
from fieldmend.report.figures.neighbours import Neighbours, neighbours_of
from fieldmend.report.palette import var
from fieldmend.report.wording import label, plain, quantity, sentence
from fieldmend.result.states import State
from fieldmend.text import count, counted, listed, percent, shown, stretch

if TYPE_CHECKING:
    from fieldmend.faults import Episode
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

POINTS = 2000
NAMED = 3  # episodes a caption explains
REACH = 1.5  # how far beyond the usual range the axis goes for flagged readings, in its spans
SYMBOLS = {**{str(kind): kind.symbol for kind in Kind}, "limit": "star"}
OTHER_SYMBOLS = ("hexagon", "pentagon", "bowtie", "hourglass")


@dataclass(frozen=True)
class Node:
    """One node of one condition, and how finely to draw it."""

    recovery: Result
    one: Recovered
    index: int
    points: int

    @property
    def name(self) -> str:
        """As the records call it."""
        return self.recovery.grid.nodes[self.index]

    @property
    def episodes(self) -> list[Episode]:
        """Its episodes, the one with most readings first."""
        mine = [e for e in self.one.episodes if e.node == self.index]
        return sorted(mine, key=lambda e: (-e.readings, e.start))

    def line(self, values: Array, points: int | None = None) -> dict[str, Any]:
        """A curve's x and y, extremes kept."""
        at = extremes(values, points or self.points)
        return {"x": moments(self.recovery.grid, at), "y": values[at]}


def curve(
    recovery: Result, condition: str, node: int, points: int = POINTS, neighbours: int = 4
) -> Drawing:
    """Observed, estimate, interval, flags and neighbours of one node."""
    one = recovery.conditions[condition]
    this = Node(recovery, one, node, points)
    near = neighbours_of(recovery, one, node, neighbours)
    low, high = _range(this, near)
    data = [*_neighbour_lines(this, near), *_band(this), *_lines(this), *_marks(this, low, high)]
    ends = [str(t) for t in _edges(recovery, 0, len(one.flag))]
    y = axis(quantity(one.name, one.unit), range=[low, high], nticks=6)
    layout = frame(time_axis(range=ends), y, 300, shapes=_events(this))
    return Drawing(data, layout, _says(this), _caption(this, near))


def _edges(recovery: Result, start: int, stop: int) -> Array:
    """When a stretch of slots begins and ends."""
    ends = recovery.grid.times[[start, stop - 1]] + np.array([0, recovery.grid.slot])
    out: Array = ends.astype("datetime64[us]").astype("datetime64[ms]")
    return out


def _events(this: Node) -> list[dict[str, Any]]:
    """Stretches in which many nodes moved together: shaded, for nothing in them is flagged."""
    spans = [_edges(this.recovery, e.start, e.stop) for e in this.episodes if e.kind == Kind.EVENT]
    return [
        {
            "type": "rect", "xref": "x", "yref": "paper", "x0": str(x0), "x1": str(x1), "y0": 0,
            "y1": 1, "line": {"width": 0}, "fillcolor": var("band"), "layer": "below",
        }
        for x0, x1 in spans
    ]  # fmt: skip


def _neighbour_lines(this: Node, near: Neighbours) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter",
            "mode": "lines",
            **this.line(this.one.estimate[:, other], max(this.points // 4, 50)),
            "name": "neighbours",
            "legendgroup": "neighbours",
            "showlegend": i == 0,
            "line": {"color": var("neighbour"), "width": 0.75},
            "hoverinfo": "skip",
        }
        for i, other in enumerate(near.nodes)
    ]


def _band(this: Node) -> list[dict[str, Any]]:
    if this.one.lower is None or this.one.upper is None:
        return []
    name = f"{percent(this.recovery.options.level)} interval"
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    out = []
    for values, pick, more in (
        (this.one.lower, np.fmin, {"showlegend": False}),
        (this.one.upper, np.fmax, {"fill": "tonexty", "fillcolor": var("band"), "name": name}),
    ):
        slots, y = envelope(values[:, this.index], this.points, pick)
        out.append({**edge, **more, "x": moments(this.recovery.grid, slots), "y": y})
    return out


def hover_of(one: Recovered, what: str) -> str:
    """Text at the pointer: when, and the value with its unit."""
    unit = label(one.unit) if one.unit else ""
    return f"%{{x|%-d %b %Y %H:%M}}<br>%{{{what}:.4g}} {unit}"


def _lines(this: Node) -> list[dict[str, Any]]:
    hover = hover_of(this.one, "y")
    lost = this.one.flag[:, this.index] == Flag.MISSING
    return [
        {
            "type": "scatter", "mode": "lines", "name": "observed", "legendgroup": "observed",
            **this.line(this.one.observed[:, this.index]),
            "line": {"color": var("observed"), "width": 1.25}, "hovertemplate": hover,
        },
        *_dots(this, _alone(~lost), this.one.observed, "observed", hover),
        {
            "type": "scatter", "mode": "lines", "name": "estimate",
            **this.line(this.one.estimate[:, this.index]),
            "line": {"color": var("estimate"), "width": 1.5}, "hovertemplate": hover,
        },
        *_dots(this, lost, this.one.estimate, "recovered", hover),
    ]  # fmt: skip


def _dots(this: Node, where: Array, values: Array, name: str, hover: str) -> list[dict[str, Any]]:
    """Single slots: a line would not show them."""
    at = np.flatnonzero(where & np.isfinite(values[:, this.index]))
    at = at[extremes(values[at, this.index], max(this.points // 4, 50))]
    if at.size == 0:
        return []
    recovered = name == "recovered"
    mark = {"color": var("lost"), "size": 5, "line": {"width": 1, "color": var("estimate")}}
    return [
        {
            "type": "scatter", "mode": "markers", "name": name, "legendgroup": name,
            "x": moments(this.recovery.grid, at), "y": values[at, this.index],
            "showlegend": recovered, "hovertemplate": hover,
            "marker": mark if recovered else {"color": var("observed"), "size": 3},
        }
    ]  # fmt: skip


def _alone(seen: Array) -> Array:
    """True at readings without one before or after."""
    beside = np.zeros_like(seen)
    beside[1:] |= seen[:-1]
    beside[:-1] |= seen[1:]
    alone: Array = seen & ~beside
    return alone


def _marks(this: Node, low: float, high: float) -> list[dict[str, Any]]:
    """Flagged readings by kind; those beyond the axis sit on its edge, pointing outwards."""
    kinds = _kinds(this)
    values = this.one.observed[:, this.index]
    fresh = iter(OTHER_SYMBOLS * (1 + len(kinds)))
    out = []
    for kind in sorted(set(kinds.tolist()) - {""}):
        mine = np.where(kinds == kind, values, np.nan)
        at = np.flatnonzero(~np.isnan(mine))
        at = at[extremes(mine[at], max(this.points // 4, 50))]
        symbol = SYMBOLS.get(kind) or next(fresh)
        above, below = values[at] > high, values[at] < low
        sides = ((~above & ~below, symbol), (above, "arrow-up"), (below, "arrow-down"))
        parts = [
            _mark(this, kind, at[side], shape, (low, high)) for side, shape in sides if side.any()
        ]
        for later in parts[1:]:
            later["showlegend"] = False
        out += parts
    return out


def _mark(
    this: Node, kind: str, at: Array, symbol: str, ends: tuple[float, float]
) -> dict[str, Any]:
    values = this.one.observed[at, this.index]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label(kind),
        "legendgroup": label(kind),
        "x": moments(this.recovery.grid, at),
        "y": np.clip(values, *ends),
        "customdata": values,
        "marker": {
            "symbol": symbol,
            "size": 8 if symbol.startswith("arrow") else 6,
            "color": var("fail" if kind == "limit" else "suspect"),
        },
        "hovertemplate": hover_of(this.one, "customdata"),
        "cliponaxis": False,
    }


def _kinds(this: Node) -> Array:
    """Kind of each flagged reading of the node; "" where none is flagged."""
    flag = this.one.flag[:, this.index]
    kinds = np.full(len(flag), "", dtype=object)
    kinds[flag == Flag.SUSPECT] = "suspect"
    for episode in reversed(this.episodes):
        inside = np.zeros(len(flag), dtype=np.bool_)
        inside[episode.start : episode.stop] = True
        kinds[inside & (flag == Flag.SUSPECT)] = episode.kind
    kinds[flag == Flag.FAIL] = "limit"
    return kinds


def _range(this: Node, near: Neighbours) -> tuple[float, float]:
    """Ends of the axis: all that is trusted, and flagged readings unless they would flatten it."""
    one, n = this.one, this.index
    kept = np.isin(one.flag[:, n], KEPT)
    parts = [one.observed[kept, n], one.estimate[:, [n, *near.nodes]].ravel()]
    parts += [side[:, n] for side in (one.lower, one.upper) if side is not None]
    trusted = np.concatenate(parts)
    trusted = trusted[np.isfinite(trusted)]
    if trusted.size == 0:
        return 0.0, 1.0
    low, high = float(trusted.min()), float(trusted.max())
    span = min(high - low, 1e300) or max(abs(high), 1.0) * 0.1
    flagged = one.observed[:, n][np.isin(one.flag[:, n], BAD)]
    if flagged.size:
        low = max(min(low, float(flagged.min())), low - REACH * span)
        high = min(max(high, float(flagged.max())), high + REACH * span)
    pad = 0.05 * min(high - low, 1e300) or 0.5 * span
    return low - pad, high + pad


def _says(this: Node) -> str:
    what = f"node {shown(this.name)}, {shown(this.one.name)}"
    return f"Curve of {what}, over time: {_counts(this)}."


def _counts(this: Node) -> str:
    flag = this.one.flag[:, this.index]
    state = this.one.state_of(this.index)
    lost, absent = (int(np.count_nonzero(w)) for w in (state == State.LOST, state > State.LOST))
    served = len(flag) - absent
    parts = ["no reading lost"]
    if lost:
        parts = [f"{count(lost)} of {counted(served, 'slot')} lost ({percent(lost / served)})"]
    if absent:
        parts.append(f"not in service in {counted(absent, 'slot')}")
    for code, meaning in ((3, "suspect"), (4, "outside the limits")):
        bad = int(np.count_nonzero(flag == code))
        if bad:
            parts.append(f"{counted(bad, 'reading')} {meaning}")
    return ", ".join(parts)


def _caption(this: Node, near: Neighbours) -> str:
    grid = this.recovery.grid
    said = [f"{_counts(this)[0].upper()}{_counts(this)[1:]}."]
    for episode in this.episodes[:NAMED]:
        when = stretch(grid.times[episode.start], grid.times[episode.stop - 1] + grid.slot)
        why = sentence(episode.explanation)
        if episode.kind == Kind.EVENT:
            when += " (shaded)"
        said.append(f"{plain(episode.kind).capitalize()}, {when}{': ' * bool(why)}{why or '.'}")
    more = len(this.episodes) - NAMED
    if more > 0:
        said.append(f"{counted(more, 'more episode')}.")
    if near.nodes:
        names = listed(shown(grid.nodes[n]) for n in near.nodes)
        said.append(f"Grey: the estimates at {names}, {near.why}.")
    step = -(-len(grid.times) // (this.points // 2))
    if len(grid.times) > this.points:
        said.append(f"Of every {step} slots the lowest and the highest reading are drawn.")
    return " ".join(said)
