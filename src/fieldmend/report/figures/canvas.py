"""What all figures share: the drawing itself, its frame and its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fieldmend.grid import Array, Grid
from fieldmend.report.palette import var

MARGIN = {"l": 12, "r": 12, "t": 28, "b": 12}
BAR = 56
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


@dataclass(frozen=True)
class Drawing:
    """A figure in Plotly's terms, with its message in words.

    Attributes
    ----------
    data, layout
        As Plotly takes them; colours by name (`palette`), arrays as NumPy's.
    says
        What the figure shows, for who cannot see it.
    caption
        How to read it.
    legend
        Pairs of a colour's name and its meaning, for figures whose legend is not Plotly's.
    """

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    says: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis: quiet grid, room for its labels made by itself."""
    quiet = {"gridcolor": var("rule"), "linecolor": var("rule"), "tickcolor": var("rule")}
    return {
        "title": {"text": title, "standoff": 8},
        "automargin": True,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        **quiet,
        **more,
    }


def time_axis(**more: Any) -> dict[str, Any]:
    """The axis of time: always UTC, and says so."""
    return axis("time (UTC)", type="date", **more)


def frame(x: dict[str, Any], y: dict[str, Any], height: int, **more: Any) -> dict[str, Any]:
    """A layout: clear background, the page's own font, the legend above."""
    return {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": var("muted")},
        "margin": MARGIN,
        "xaxis": x,
        "yaxis": y,
        "hoverlabel": {
            "bgcolor": var("card"),
            "bordercolor": var("muted"),
            "font": {"family": FONT, "size": 12, "color": var("text")},
            "align": "left",
        },
        "legend": {
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
        },
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)", "color": var("muted"), "activecolor": var("text"),
        },
        **more,
    }  # fmt: skip


def colour_bar(unit: str) -> dict[str, Any]:
    """The scale beside a figure, its unit on top; it stands in a margin of `BAR` pixels."""
    return {
        "title": {"text": unit, "side": "top"}, "thickness": 10, "len": 1, "x": 1.01, "xpad": 2,
        "ypad": 0, "outlinewidth": 0, "tickcolor": var("rule"), "nticks": 6,
    }  # fmt: skip


def moments(grid: Grid, slots: Array) -> Array:
    """The times at which slots begin, for an axis of time."""
    return grid.times[slots].astype("datetime64[us]").astype("datetime64[ms]")
