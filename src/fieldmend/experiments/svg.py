"""Line plots as SVG text: panels side by side, one legend, colours that all eyes can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

# Okabe and Ito's colours; grey takes the place of the yellow, which vanishes on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#888888")
MARKS = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "ring")
WIDTH, HEIGHT = 300, 230  # of a panel's frame
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 34, 46
LEGEND = 22  # per line
INK, GRID = "#222222", "#e3e3e3"
FONT = "system-ui, sans-serif"


@dataclass(frozen=True)
class Series:
    """A curve: its points, the spread around them, and which colour and mark it has."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = ()
    style: int = 0
    marks: bool = True
    dashed: bool = False
    joined: bool = True


@dataclass(frozen=True)
class Axis:
    """An axis: label, logarithmic or not, and a range if it is not to be found from the data."""

    label: str
    log: bool = False
    bounds: tuple[float, float] | None = None
    percent: bool = False
    labels: Sequence[str] = ()  # categories, at 1, 2, …


@dataclass(frozen=True)
class Panel:
    """One frame with its curves."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series] = field(default_factory=tuple)


def figure(title: str, panels: Sequence[Panel], *, columns: int = 3, note: str = "") -> str:
    """An SVG document.

    Examples
    --------
    >>> panel = Panel("", Axis("k"), Axis("error", log=True), [Series("a", [1, 2], [0.1, 0.01])])
    >>> figure("Error", [panel]).startswith("<svg ")
    True
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    wide, high = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    named = {s.name: s for panel in panels for s in panel.series if s.name}
    noted = note.splitlines()
    words = max((len(line) for line in noted), default=0)
    width = max(columns * wide, 420, 40 + 8 * len(title), 40 + 6.2 * words)
    legend, lines = _legend(list(named.values()), width, rows * high + 30)
    height = rows * high + 38 + LEGEND * lines + 16 * len(noted)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="{FONT}" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(width / 2, 18, title, size=14, bold=True),
    ]
    shift = (width - columns * wide) / 2
    for i, panel in enumerate(panels):
        down, across = divmod(i, columns)
        parts += _panel(panel, shift + across * wide + LEFT, down * high + TOP + 18)
    parts += legend
    parts += [
        _text(20, height - 8 - 16 * i, line, anchor="start", size=11)
        for i, line in enumerate(reversed(noted))
    ]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: float, top: float) -> list[str]:
    x = _scale(panel.x, [v for s in panel.series for v in s.x], left, left + WIDTH)
    y = _scale(panel.y, _heights(panel), top + HEIGHT, top)
    parts = [_text(left + WIDTH / 2, top - 8, panel.title, bold=True)]
    for value in x.ticks:
        at = x(value)
        parts.append(_rule(at, top, at, top + HEIGHT))
        parts.append(_text(at, top + HEIGHT + 16, _tick(value, panel.x)))
    for value in y.ticks:
        at = y(value)
        parts.append(_rule(left, at, left + WIDTH, at))
        parts.append(_text(left - 6, at + 4, _tick(value, panel.y), anchor="end"))
    middle = top + HEIGHT / 2
    parts += [
        f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
        f'stroke="{INK}"/>',
        _text(left + WIDTH / 2, top + HEIGHT + 34, panel.x.label),
        f'<g transform="rotate(-90 {left - 48} {middle})">'
        f"{_text(left - 48, middle, panel.y.label)}</g>",
    ]
    for series in panel.series:
        parts += _curve(series, x, y)
    return parts


def _heights(panel: Panel) -> list[float]:
    return [v for s in panel.series for v in s.y if np.isfinite(v) and (v > 0 or not panel.y.log)]


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: Sequence[float]

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = np.log10(max(value, 1e-300)), np.log10(low), np.log10(high)
        share = (value - low) / (high - low)
        return self.start + float(np.clip(share, -0.02, 1.02)) * (self.end - self.start)


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> _Scale:
    positive = [v for v in values if not axis.log or v > 0] or [1.0]
    low, high = axis.bounds or (min(positive), max(positive))
    if axis.log:
        low, high = _decades(low, high) if axis.bounds is None else (low, high)
        ticks = _log_ticks(low, high)
    else:
        if axis.bounds is None:
            low, high = min(low, 0.0), high + 0.05 * (high - min(low, 0.0)) or 1.0
        step = 1.0 if axis.labels else _step(high - low)
        first = int(np.ceil(low / step - 1e-9))
        ticks = [step * k for k in range(first, int(np.floor(high / step + 1e-9)) + 1)]
    return _Scale(low, high, start, end, axis.log, ticks)


def _decades(low: float, high: float) -> tuple[float, float]:
    first, last = np.floor(np.log10(low) + 1e-9), np.ceil(np.log10(high) - 1e-9)
    return float(10**first), float(10 ** max(last, first + 1))


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    stride = max(1, -(-(last - first) // 6))
    return [10.0**e for e in range(first, last + 1, stride)]


def _step(span: float) -> float:
    """A round distance between ticks: about five of them."""
    power = 10 ** np.floor(np.log10(span / 5))
    return float(power * min((1, 2, 5, 10), key=lambda m: abs(span / (m * power) - 5)))


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _tick(value: float, axis: Axis) -> str:
    if axis.labels:
        return axis.labels[round(value) - 1]
    if axis.percent:
        return f"{100 * value:.4g} %"
    if axis.log and not 1e-3 < value < 1e4:
        return "10" + str(round(np.log10(value))).translate(_RAISED)
    return f"{value:.6g}"


def _curve(series: Series, x: _Scale, y: _Scale) -> list[str]:
    colour = COLOURS[series.style % len(COLOURS)]
    kept = [i for i, v in enumerate(series.y) if np.isfinite(v) and (v > 0 or not y.log)]
    points = [(x(series.x[i]), y(series.y[i])) for i in kept]
    parts = []
    if series.spread:
        parts += _band(series, kept, x, y, colour)
    if series.joined:
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        dash = ' stroke-dasharray="5 4"' if series.dashed else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>'
        )
    if series.marks:
        draw = _marker(series.style)
        parts += [draw(px, py, colour) for px, py in points]
    return parts


def _band(series: Series, kept: Sequence[int], x: _Scale, y: _Scale, colour: str) -> list[str]:
    """One spread to either side; on a logarithmic axis the same factor up and down.

    There y − spread may be negative, or so near zero that the band would reach the bottom.
    """
    lows, highs = [], []
    for i in kept:
        at, value, spread = x(series.x[i]), series.y[i], series.spread[i]
        low, high = value - spread, value + spread
        if y.log:
            low = value**2 / high
        lows.append((at, y(max(low, y.low))))
        highs.append((at, y(min(high, y.high))))
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in [*lows, *reversed(highs)])
    return [f'<polygon points="{path}" fill="{colour}" fill-opacity="0.18"/>']


def _marker(style: int) -> Callable[[float, float, str], str]:
    shape = MARKS[style % len(MARKS)]

    def draw(x: float, y: float, colour: str) -> str:
        if shape == "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{colour}"/>'
        if shape == "ring":
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="3.6"'
            return f'<circle {place} fill="#ffffff" stroke="{colour}" stroke-width="1.8"/>'
        if shape in ("plus", "cross"):
            turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "cross" else ""
            lines = f"M{x - 4:.1f},{y:.1f}h8M{x:.1f},{y - 4:.1f}v8"
            return f'<path d="{lines}" stroke="{colour}" stroke-width="2"{turn}/>'
        corners = _CORNERS[shape]
        path = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
        return f'<polygon points="{path}" fill="{colour}"/>'

    return draw


_CORNERS = {
    "square": ((-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)),
    "triangle": ((0, -4.4), (4, 3), (-4, 3)),
    "down": ((0, 4.4), (4, -3), (-4, -3)),
    "diamond": ((0, -4.6), (4.2, 0), (0, 4.6), (-4.2, 0)),
}


def _legend(series: Sequence[Series], width: float, top: float) -> tuple[list[str], int]:
    """The names, in as many lines as they need."""
    parts, x, line = [], 20.0, 0
    for one in series:
        space = 46 + 6.8 * len(one.name)
        if x + space > width - 10 and x > 20:
            x, line = 20.0, line + 1
        y = top + 18 + LEGEND * line
        colour = COLOURS[one.style % len(COLOURS)]
        if one.joined:
            parts.append(
                _rule(x, y - 4, x + 26, y - 4, colour=colour, width=1.8, dashed=one.dashed)
            )
        if one.marks:
            parts.append(_marker(one.style)(x + 13, y - 4, colour))
        parts.append(_text(x + 32, y, one.name, anchor="start"))
        x += space
    return parts, line + 1 if series else 0


def _rule(
    x1: float, y1: float, x2: float, y2: float,
    *, colour: str = GRID, width: float = 1.0, dashed: bool = False,
) -> str:  # fmt: skip
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dash}/>'
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "middle", size: int = 12, bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{INK}"{weight}>{escape(text)}</text>'
    )
