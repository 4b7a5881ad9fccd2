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
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.report import contents, palette
from fieldmend.report.encoding import to_json
from fieldmend.report.figures import FIGURES, Drawing, Figure
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
    section: str
    title: str = ""
    wide: bool = True
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
    figures: list[Shown]
    hidden: list[dict[str, str]]
    method: str
    choice: str

    def of(self, section: str) -> list[Shown]:
        """Its figures in one section of the page."""
        return [figure for figure in self.figures if figure.section == section]


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
    drawn = [*overview, *(figure for panel in panels for figure in panel.figures)]
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
        sections={figure.section for figure in drawn},
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
    one = recovery.conditions[name]
    return Panel(
        index=chosen.conditions.index(name),
        name=shown(name),
        figures=_of_condition(recovery, chosen, name, room / len(chosen.conditions)),
        hidden=contents.hidden_table(one),
        method=shown(one.method),
        choice=plain(one.choice),
    )


def _of_condition(recovery: Result, chosen: contents.Chosen, name: str, room: float) -> list[Shown]:
    """Figures of one condition and of its worst nodes, as fine as there is room for."""
    index, nodes = chosen.conditions.index(name), chosen.nodes[name]
    point = POINT + (INTERVAL if recovery.conditions[name].lower is not None else 0)
    finest = {
        "cells": int(min(room / 2 / CELL, 400_000)),
        "points": int(np.clip(0.4 * room / (point * max(len(nodes), 1)), 100, 2000)),
    }
    out = []
    for figure in FIGURES.values():
        size = {figure.size: finest[figure.size]} if figure.size else {}
        if figure.about == "condition":
            drawing = figure.draw(recovery, name, **size)
            out += _present(figure, f"{figure.name}-{index}", drawing)
        elif figure.about == "node":
            for node in nodes:
                anchor = f"{figure.name}-{index}-{node}"
                title = f"Node {shown(recovery.grid.nodes[node])}"
                drawing = figure.draw(recovery, name, node, **size)
                out += _present(figure, f"{anchor}-figure", drawing, title, anchor)
    return out


def _overview(recovery: Result, chosen: contents.Chosen) -> list[Shown]:
    """Figures that compare the conditions."""
    return [
        one
        for figure in FIGURES.values()
        if figure.about == "all"
        for one in _present(figure, figure.name, figure.draw(recovery, chosen.conditions))
    ]


def _present(
    figure: Figure, key: str, drawing: Drawing | None, title: str = "", anchor: str = ""
) -> list[Shown]:
    if drawing is None:
        return []
    return [Shown(key, drawing, figure.section, title or figure.title, figure.wide, anchor)]


def _asset(name: str) -> str:
    return files("fieldmend.report").joinpath("assets", name).read_text("utf-8")


def _style() -> str:
    light = palette.css(palette.LIGHT)
    return (
        f"{palette.themes()}"
        # Three times: stronger than the rules of both themes. Paper is white.
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
