"""The report's figures: a recovery in, a `Drawing` out (plain dicts in Plotly's terms).

`FIGURES` is the one place that knows them all.
"""

from fieldmend.report.figures.canvas import Drawing
from fieldmend.report.figures.table import FIGURES, Figure

__all__ = ["FIGURES", "Drawing", "Figure"]
