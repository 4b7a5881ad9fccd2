"""Line plots as SVG text, by matplotlib (extra ``paper``): panels side by side, one legend.

The same curves give the same bytes: no date, no version, ids from a fixed salt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours; grey takes the place of the yellow, which vanishes on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#888888")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "o")
RING = 7  # the last mark is an open circle
WIDTH, HEIGHT = 3.7, 2.9  # of a panel with its words, inches
# Fixed: where matplotlib finds the margins itself, two runs differ in their digits.
LEFT, RIGHT, TOP, BOTTOM = 0.72, 0.14, 0.3, 0.52
LINE = 0.19  # of the legend and the note
TITLE, LETTER, NOTE = 0.1, 0.085, 0.07  # width of a letter
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same widths everywhere
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "fieldmend",
}


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
class Plot:
    """One frame with its curves."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series] = field(default_factory=tuple)


def available() -> None:
    """Say so before the work begins if nothing could be drawn after it.

    Raises
    ------
    InputError
        Without matplotlib.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            "the paper's figures need matplotlib", hint="pip install 'fieldmend[paper]'"
        ) from error


def figure(title: str, panels: Sequence[Plot], *, columns: int = 3, note: str = "") -> str:
    """An SVG document.

    Examples
    --------
    >>> panel = Plot("", Axis("k"), Axis("error", log=True), [Series("a", [1, 2], [0.1, 0.01])])
    >>> figure("Error", [panel]).startswith("<svg ")
    True
    """
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    noted = note.splitlines()
    words = max((len(line) for line in noted), default=0)
    width = max(columns * WIDTH, TITLE * len(title), NOTE * words)
    with matplotlib.rc_context(SETTINGS):
        drawn = Figure()
        frames = [drawn.add_axes((0, 0, 1, 1), label=str(i)) for i in range(len(panels))]
        for frame, panel in zip(frames, panels, strict=True):
            _panel(frame, panel)
        named = _named(frames)
        across = max(1, min(len(named), int(width / (0.6 + LETTER * max(map(len, named))))))
        beneath = LINE * (-(-len(named) // across) + len(noted)) + 0.1
        height = 0.3 + rows * HEIGHT + beneath
        drawn.set_size_inches(width, height)
        for i, frame in enumerate(frames):
            x = (width - columns * WIDTH) / 2 + i % columns * WIDTH + LEFT
            y = beneath + (rows - 1 - i // columns) * HEIGHT + BOTTOM
            wide, high = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP
            frame.set_position((x / width, y / height, wide / width, high / height))
        drawn.suptitle(title, fontsize=11, fontweight="bold", y=1 - 0.08 / height)
        drawn.text(0.1 / width, 0.06 / height, note, fontsize=8, verticalalignment="bottom")
        place = (0.5, (LINE * len(noted) + 0.02) / height)
        drawn.legend([*named.values()], [*named], loc="lower center", bbox_to_anchor=place,
                     ncols=across, frameon=False, borderpad=0)  # fmt: skip
        text = StringIO()
        facts = {"Title": title, "Date": None, "Creator": None}
        drawn.savefig(text, format="svg", metadata=facts)
    # The heads of an XML file would stand in the way where the figure stands in a page.
    return text.getvalue()[text.getvalue().index("<svg ") :]


def _panel(frame: Axes, panel: Plot) -> None:
    frame.set_title(panel.title, fontweight="bold")
    for series in panel.series:
        _curve(frame, series, log=panel.y.log)
    xs = [v for s in panel.series for v in s.x]
    ys = [v for s in panel.series for v in s.y]
    for axis, asked, values in ((frame.xaxis, panel.x, xs), (frame.yaxis, panel.y, ys)):
        _axis(axis, asked, values)


def _axis(axis: Any, asked: Axis, values: Sequence[float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    known = [v for v in values if np.isfinite(v) and (v > 0 or not asked.log)] or [1.0]
    axis.set_label_text(asked.label)
    low, high = asked.bounds or _ends(min(known), max(known), log=asked.log)
    if asked.log:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_minor_locator(NullLocator())
    elif not asked.labels:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, asked)))
    if asked.labels:
        axis.set_ticks(range(1, len(asked.labels) + 1), asked.labels)
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})


def _ends(low: float, high: float, *, log: bool) -> tuple[float, float]:
    """Whole decades, or from zero with a little air above."""
    if not log:
        low = min(low, 0.0)
        return low, high + 0.05 * (high - low) or 1.0
    first, last = np.floor(np.log10(low) + 1e-9), np.ceil(np.log10(high) - 1e-9)
    return float(10**first), float(10 ** max(last, first + 1))


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _tick(value: float, axis: Axis) -> str:
    if axis.percent:
        return f"{100 * value:.4g} %"
    if axis.log and not 1e-3 < value < 1e4:
        return "10" + str(round(np.log10(value))).translate(_RAISED)
    return f"{value:.6g}"


def _curve(frame: Axes, series: Series, *, log: bool) -> None:
    values = np.asarray(series.y, dtype=float)
    kept = np.isfinite(values) & ((values > 0) | (not log))
    x, y = np.asarray(series.x, dtype=float)[kept], values[kept]
    colour = COLOURS[series.style % len(COLOURS)]
    if len(series.spread):
        spread = np.asarray(series.spread, dtype=float)[kept]
        # On a logarithmic axis the same factor down as up: y − spread may be negative there, or
        # so near zero that the band would reach the bottom.
        low = y**2 / (y + spread) if log else y - spread
        frame.fill_between(x, low, y + spread, color=colour, alpha=0.18, linewidth=0)
    frame.plot(
        x,
        y,
        color=colour,
        linestyle="none" if not series.joined else "--" if series.dashed else "-",
        marker=MARKS[series.style % len(MARKS)] if series.marks else "none",
        markerfacecolor="white" if series.style % len(MARKS) == RING else colour,
        label=series.name,
    )


def _named(frames: Iterable[Axes]) -> dict[str, Any]:
    """Every name once, with what stands for it in the legend."""
    out: dict[str, Any] = {}
    for frame in frames:
        for handle, name in zip(*frame.get_legend_handles_labels(), strict=True):
            out.setdefault(name, handle)
    return out
