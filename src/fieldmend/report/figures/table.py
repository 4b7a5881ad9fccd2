"""The table of figures: the page and `plot` draw what stands here, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fieldmend.report.figures.canvas import Drawing
from fieldmend.report.figures.curves import curve
from fieldmend.report.figures.heatmaps import states, values
from fieldmend.report.figures.loss import flagged, gaps, rates
from fieldmend.report.figures.places import places
from fieldmend.report.figures.quality import by_gap, energy, residuals

CELLS, POINTS = "cells", "points"


@dataclass(frozen=True)
class Figure:
    """A figure: its name, its place in the page, and how it is drawn.

    Attributes
    ----------
    name
        As `plot` calls it, and the start of its id in the page.
    section
        Of the page: ``explore`` (drawn there by the page's own scripts, for any node and time),
        ``statistics`` or ``hidden``; empty for what only `plot` draws.
    about
        What `draw` takes after the recovery: one ``condition``, a ``node`` of it (name and index),
        or ``all`` conditions (their names).
    draw
        Gives the drawing, or None where there is nothing to draw.
    title
        Above the figure; empty where the section's own title is enough.
    needs
        What there has to be, in words, for something to be drawn.
    size
        The option of `draw` that says how fine: ``cells``, ``points`` or none.
    wide
        Over the whole width of the page, not half of it.
    """

    name: str
    section: str
    about: Literal["condition", "node", "all"]
    draw: Callable[..., Drawing | None]
    title: str = ""
    needs: str = "readings"
    size: str = ""
    wide: bool = True


_ROWS = (
    Figure("heatmap", "explore", "condition", states, size=CELLS),
    Figure("values", "explore", "condition", values, size=CELLS),
    Figure("curve", "explore", "node", curve, size=POINTS),
    Figure("loss", "statistics", "all", rates, "Loss rate of the nodes", "lost readings",
           wide=False),
    Figure("gaps", "statistics", "all", gaps, "Gap lengths", "lost readings", wide=False),
    Figure("anomalies", "statistics", "all", flagged, "Flagged readings", "flagged readings"),
    Figure("energy", "", "condition", energy, "Singular-value energy", wide=False),
    Figure("residuals", "statistics", "condition", residuals,
           "Readings off the estimate", wide=False),
    Figure("map", "explore", "condition", places, needs="places of nodes (locations=)"),
    Figure("holdout", "hidden", "condition", by_gap,
           needs="a hold-out (holdout=True, and enough readings to hide some)"),
)  # fmt: skip

FIGURES: dict[str, Figure] = {row.name: row for row in _ROWS}
