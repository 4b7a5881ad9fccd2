"""The page: words, numbers and scripts through one template into one file that needs nothing else.

The scripts are small files, put together as they are. Scripts run by their hash only, so text that
slips through all escaping still could not run.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.report import contents
from fieldmend.report.detail import Detail, plan
from fieldmend.report.encoding import to_json
from fieldmend.report.figures import FIGURES, Drawing, Figure
from fieldmend.report.payload import payload
from fieldmend.report.style import asset, stylesheet
from fieldmend.report.wording import plain
from fieldmend.result.spaced import spaced
from fieldmend.result.summary import summarise
from fieldmend.text import shown

if TYPE_CHECKING:
    from fieldmend.result.result import Result

LIMIT = 6_000_000  # bytes of the whole file
DRAWN = 2_000_000  # entries that statistics are drawn from; of more, evenly spaced slots
WORDS = 400_000  # of them for text, tables and scripts, to begin with
COMPARED = 12  # conditions in the figures that compare them
SERIES = 60_000  # conditions × nodes that can be looked at
STILL = 40  # conditions that get figures of their own which do not move with time
SCRIPTS = (
    "unpack", "series", "words", "canvas", "view", "curve", "heat", "places", "plain", "downloads",
    "picker", "decisions", "episodes", "main",
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A figure that does not move with time, and its place in the page."""

    id: str
    drawing: Drawing
    section: str
    title: str
    wide: bool

    @property
    def height(self) -> int:
        """Pixels, so that the page does not jump when figures arrive."""
        return int(self.drawing.layout["height"])


@dataclass(frozen=True)
class Chapter:
    """What the page says of one condition besides its curves."""

    index: int
    name: str
    figures: list[Shown]
    hidden: list[dict[str, str]]
    facts: dict[str, str]
    worst: dict[str, Any] | None
    empty: bool  # no reading of it can be used

    def of(self, section: str) -> list[Shown]:
        """Its figures in one section of the page."""
        return [figure for figure in self.figures if figure.section == section]


def render(recovery: Result) -> bytes:
    """The page; curves get coarser, then fewer, until it fits its limit."""
    summary = summarise(recovery)
    still = spaced(recovery, DRAWN)
    if still.grid.slot != recovery.grid.slot:
        said = _said(still.grid.slot // recovery.grid.slot)
        summary["notes"] = [*summary["notes"], said]
    names = _looked_at(still, summary)
    first = [
        (item["condition"], recovery.grid.nodes.index(item["node"]))
        for item in summary["look_first"]
        if item["condition"] in names
    ]
    some = recovery if len(names) == len(recovery.conditions) else _with(recovery, names)
    words = _words(recovery, still, summary, names)
    room = LIMIT - WORDS
    for _ in range(6):
        page = _page(recovery, summary, words, plan(some, max(room, 20_000), first))
        if len(page) <= LIMIT:
            break
        room -= len(page) - LIMIT + 60_000
    return page


def _looked_at(recovery: Result, summary: dict[str, Any]) -> tuple[str, ...]:
    """Conditions whose curves are in the page: all of them, but for very many."""
    most = max(COMPARED, SERIES // max(1, len(recovery.grid.nodes)))
    return contents.choose(recovery, summary, min(most, contents.ROWS)).conditions


def _with(recovery: Result, names: tuple[str, ...]) -> Result:
    from dataclasses import replace

    return replace(recovery, conditions={name: recovery.conditions[name] for name in names})


def _words(
    recovery: Result, still: Result, summary: dict[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    """All that does not depend on how fine the curves are; statistics are drawn from `still`."""
    compared = contents.choose(still, summary, COMPARED)
    look = contents.look_first(recovery, summary, names)
    panels = [_panel(recovery, still, summary, (i, name)) for i, name in enumerate(names)]
    overview = [
        one
        for figure in FIGURES.values()
        if figure.about == "all"
        for one in _present(figure, figure.name, figure.draw(still, compared.conditions))
    ]
    return {
        "names": names,
        "begin": _begin(look, compared, names),
        "headline": contents.headline(summary),
        "about": contents.about(recovery, summary),
        "verdict": contents.verdict(summary),
        "cards": contents.cards(summary),
        "table": contents.table(summary),
        "level": recovery.options.level,
        "look_first": look,
        "flagged": contents.total(summary)["suspect"] + contents.total(summary)["fail"],
        "panels": panels,
        "undrawn": len(recovery.conditions) - len(panels),
        "compared": len(compared.conditions),
        "overview": overview,
        "still": {
            f.id: {"data": f.drawing.data, "layout": f.drawing.layout}
            for f in [*overview, *(figure for panel in panels for figure in panel.figures)]
        },
        "sections": {f.section for panel in panels for f in panel.figures}
        | {f.section for f in overview},
        "rejects": contents.rejects(recovery),
        "remarks": contents.remarks(recovery, summary),
        "decisions": summary["decisions"],
        "made": contents.made(recovery, summary),
    }


def _begin(
    look: list[dict[str, Any]], compared: contents.Chosen, names: tuple[str, ...]
) -> dict[str, int]:
    """Condition and node that are shown first: what is to be looked at first, if anything is."""
    for one in look:
        if one["go"]:
            condition, node, *_ = (int(part) for part in one["go"].split())
            return {"condition": condition, "node": node}
    for name, nodes in compared.nodes.items():
        if nodes:
            return {"condition": names.index(name), "node": nodes[0]}
    return {"condition": 0, "node": 0}


def _page(
    recovery: Result, summary: dict[str, Any], words: dict[str, Any], detail: Detail
) -> bytes:
    data = payload(recovery, words["names"], detail)
    data |= {"figures": words["still"], "first": words["begin"]}
    script = scripts()
    text: str = _template().render(
        **words,
        title="Recovered field",
        data=data,
        detail=detail,
        many=sum(len(one.episodes) for one in recovery.conditions.values()),
        payload=to_json(data),
        script=script,
        script_hash=_hash(script.encode()),
        style=stylesheet("report.css"),
    )
    return text.encode()


def scripts() -> str:
    """All scripts of the page as one."""
    parts = "\n".join(asset(f"js/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _said(step: int) -> str:
    return f"statistics are drawn from one slot in {step}; all else is of the whole record"


def _hash(script: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode('ascii')}"


def _panel(
    recovery: Result, still: Result, summary: dict[str, Any], which: tuple[int, str]
) -> Chapter:
    index, name = which
    figures = []
    for figure in FIGURES.values():
        wanted = figure.about == "condition" and figure.section in ("statistics", "hidden")
        if wanted and index < STILL:
            drawing = figure.draw(still, name)
            figures += _present(figure, f"{figure.name}-{index}", drawing)
    return Chapter(
        index=index,
        name=shown(name) or "(no name)",
        figures=figures,
        hidden=contents.hidden_table(recovery.conditions[name]),
        facts=contents.facts(name, summary["conditions"][name]),
        empty=still.conditions[name].method != "passed"
        and bool(np.isnan(still.conditions[name].estimate).all()),
        worst=contents.worst_of(recovery, name, index),
    )


def _present(figure: Figure, key: str, drawing: Drawing | None) -> list[Shown]:
    if drawing is None:
        return []
    return [Shown(key, drawing, figure.section, figure.title, figure.wide)]


@cache
def _template() -> Any:
    """Compiled once in a process: a notebook writes one report after another."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A number and its percent sign stay on one line.
    environment.filters["bound"] = lambda text: re.sub(r"(?<=\d) (?=%)", "\u00a0", text)
    environment.filters["plain"] = plain
    return environment.from_string(asset("report.html.j2"))
