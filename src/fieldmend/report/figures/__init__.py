"""The report's figures: a recovery in, a `Drawing` out (plain dicts in Plotly's terms)."""

from fieldmend.report.figures.canvas import Drawing
from fieldmend.report.figures.curves import curve
from fieldmend.report.figures.heatmaps import states, values
from fieldmend.report.figures.loss import flagged, gaps, rates
from fieldmend.report.figures.places import places
from fieldmend.report.figures.quality import by_gap, energy, residuals

__all__ = [
    "Drawing",
    "by_gap",
    "curve",
    "energy",
    "flagged",
    "gaps",
    "places",
    "rates",
    "residuals",
    "states",
    "values",
]
