"""The page: words and figures through one template into one file that needs nothing else.

Plotly's script is packed (gzip, base64; 2 MB in place of 4.8) and unpacked by the browser: that
leaves two thirds of the file for data. Scripts run by their hashes only, so text that slips
through all escaping still could not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.report import contents, figures, palette
from fieldmend.report.encoding import to_json
from fieldmend.report.figures import Drawing
from fieldmend.report.wording import plain
from fieldmend.result.summary import summarise
from fieldmend.text import shown

if TYPE_CHECKING:
    from fieldmend.result.result import Result

LIMIT = 6_000_000  # bytes of the whole file
WORDS = 500_000  # of them for text, tables and small figures
CONDITIONS = 12  # that get figures
CELL = 4.1  # bytes of a cell, in both heat maps
POINT, INTERVAL = 32, 16  # bytes of a point in a curve, with its neighbours; with an interval more


@dataclass(frozen=True)
class Shown:
    """A figure with its place in the page."""

    id: str
    drawing: Drawing
    title: str = ""
    anchor: str = ""

    @property
    def height(self) -> int:
        """Pixels, so that the page does not jump when figures arrive."""
        return int(self.drawing.layout["height"])


@dataclass(frozen=True)
class Panel:
    """What the page shows of one condition."""

    index: int
    name: str
    maps: list[Shown]
    curves: list[Shown]
    quality: list[Shown]
    holdout: list[Shown]
    hidden: list[dict[str, str]]
    places: list[Shown]
    method: str
    choice: str

    def figures(self) -> Iterator[Shown]:
        """All figures of the panel."""
        for group in (self.maps, self.curves, self.quality, self.holdout, self.places):
            yield from group


def render(recovery: Result) -> bytes:
    """The page; figures get coarser, then fewer, until it fits its limit."""
    plotly = _Plotly.installed()
    summary = summarise(recovery)
    for shrink in (1, 2, 4, 12):
        room = (LIMIT - WORDS - len(plotly.packed)) / shrink
        page = _page(recovery, summary, plotly, room, max(1, CONDITIONS // shrink))
        if len(page) <= LIMIT:
            break
    return page


@dataclass(frozen=True)
class _Plotly:
    """The script of the installed package, packed, and its hash."""

    packed: str
    hash: str

    @classmethod
    @cache
    def installed(cls) -> _Plotly:
        """Packing takes a tenth of a second: once per process is enough.

        Level 6 would take twice as long and make the page 2 % smaller.
        """
        script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
        packed = base64.b64encode(gzip.compress(script, 4, mtime=0)).decode("ascii")
        return cls(packed, _hash(script))


def _hash(script: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode('ascii')}"


def _page(
    recovery: Result, summary: dict[str, Any], plotly: _Plotly, room: float, most: int
) -> bytes:
    chosen = contents.choose(recovery, summary, most)
    panels = [_panel(recovery, chosen, name, room) for name in chosen.conditions]
    overview = _overview(recovery, chosen)
    drawn = [*overview, *(figure for panel in panels for figure in panel.figures())]
    payload = {
        "themes": palette.THEMES,
        "figures": {f.id: {"data": f.drawing.data, "layout": f.drawing.layout} for f in drawn},
    }
    script = _asset("report.js")
    text: str = _template().render(
        title="Recovered field",
        headline=contents.headline(summary),
        about=contents.about(recovery, summary),
        verdict=contents.verdict(summary),
        cards=contents.cards(summary),
        table=contents.table(summary),
        level=recovery.options.level,
        look_first=contents.look_first(recovery, summary, chosen),
        flagged=contents.total(summary)["suspect"] + contents.total(summary)["fail"],
        panels=panels,
        undrawn=len(recovery.conditions) - len(panels),
        overview=overview,
        rejects=contents.rejects(recovery),
        remarks=contents.remarks(recovery, summary),
        made=contents.made(recovery, summary),
        payload=to_json(payload),
        plotly=plotly,
        script=script,
        script_hash=_hash(script.encode()),
        style=_style(),
    )
    return text.encode()


def _panel(recovery: Result, chosen: contents.Chosen, name: str, room: float) -> Panel:
    index, one = chosen.conditions.index(name), recovery.conditions[name]
    share = room / len(chosen.conditions)
    nodes = chosen.nodes[name]
    cells = int(min(share / 2 / CELL, 400_000))
    point = POINT + (INTERVAL if one.lower is not None else 0)
    points = int(np.clip(0.4 * share / (point * max(len(nodes), 1)), 100, 2000))
    known = bool(nodes)  # else nothing was heard, and there is nothing to draw but that
    return Panel(
        index=index,
        name=shown(name),
        maps=[
            Shown(f"states-{index}", figures.states(recovery, name, cells)),
            *([Shown(f"values-{index}", figures.values(recovery, name, cells))] if known else []),
        ],
        curves=[
            Shown(
                f"curve-{index}-{node}-figure",
                figures.curve(recovery, name, node, points),
                f"Node {shown(recovery.grid.nodes[node])}",
                f"curve-{index}-{node}",
            )
            for node in nodes
        ],
        quality=_present(
            (f"energy-{index}", figures.energy(recovery, name), "Singular-value energy"),
            (f"residuals-{index}", figures.residuals(recovery, name), "Residuals"),
        ),
        holdout=_present((f"holdout-{index}", figures.by_gap(recovery, name), "")),
        hidden=contents.hidden_table(one),
        places=_present((f"places-{index}", figures.places(recovery, name), "")),
        method=shown(one.method),
        choice=plain(one.choice),
    )


def _overview(recovery: Result, chosen: contents.Chosen) -> list[Shown]:
    """Figures that compare the conditions."""
    kinds: tuple[tuple[str, str, Callable[..., Drawing | None]], ...] = (
        ("loss", "Loss rate of the nodes", figures.rates),
        ("gaps", "Gap lengths", figures.gaps),
        ("anomalies", "Flagged readings", figures.flagged),
    )
    return _present(
        *((key, draw(recovery, chosen.conditions), title) for key, title, draw in kinds)
    )


def _present(*drawn: tuple[str, Drawing | None, str]) -> list[Shown]:
    return [Shown(key, drawing, title) for key, drawing, title in drawn if drawing is not None]


def _asset(name: str) -> str:
    return files("fieldmend.report").joinpath("assets", name).read_text("utf-8")


def _style() -> str:
    light, dark = palette.css(palette.LIGHT), palette.css(palette.DARK)
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light])"
        f"{{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        # Three times: stronger than both rules above. Paper is white.
        f"@media print{{:root:root:root{{color-scheme:light;{light}--page:#fff}}}}"
        f"{_asset('report.css')}"
    )


def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A number and its percent sign stay on one line.
    environment.filters["bound"] = lambda text: re.sub(r"(?<=\d) (?=%)", "\u00a0", text)
    return environment.from_string(_asset("report.html.j2"))
