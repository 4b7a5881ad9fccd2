"""Errors at hidden readings as a Plotly figure, which every install can draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fieldmend.experiments.tables import Table, column, select
from fieldmend.report.wording import label

# Okabe and Ito's colours; grey takes the place of the yellow, which vanishes on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#888888")
MARKS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "circle-open")
COLUMNS = 3


@dataclass(frozen=True)
class _Panel:
    """Errors of one condition over one axis."""

    title: str
    unit: str
    axis: str
    across: str  # the column that is the axis
    rows: Table
    labels: Sequence[str] | None = None  # of categories, in their order


def draw(table: Table, by_gap: Table, units: Mapping[str, str]) -> Any:
    """Errors over the share of readings kept, and over the length of the gap.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.subplots import make_subplots

    panels = [*_by_rate(table, units), *_by_gap(by_gap, units)]
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = make_subplots(rows, columns, subplot_titles=[label(p.title) for p in panels])
    methods = list(dict.fromkeys(str(row["method"]) for row in table))
    for i, panel in enumerate(panels):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        for line in _lines(panel, methods, legend=i == 0):
            figure.add_trace(line, **place)
        share = panel.labels is None
        figure.update_xaxes(
            title=panel.axis, tickformat=".0%" if share else None,
            **({} if share else {"categoryorder": "array", "categoryarray": panel.labels}),
            **place,
        )  # fmt: skip
        unit = f", {label(panel.unit)}" if panel.unit else ""
        figure.update_yaxes(title=f"mean absolute error{unit}", type="log", **place)
    figure.update_layout(
        title="Errors at hidden readings", template="plotly_white", height=120 + 340 * rows
    )
    return figure


def _by_rate(table: Table, units: Mapping[str, str]) -> list[_Panel]:
    return [
        _Panel(
            f"{condition}, {hide}", units.get(str(condition), ""), "share of readings kept",
            "rate", select(table, condition=condition, hide=hide),
        )
        for condition, hide in dict.fromkeys((row["condition"], row["hide"]) for row in table)
    ]  # fmt: skip


def _by_gap(by_gap: Table, units: Mapping[str, str]) -> list[_Panel]:
    """The rows come shortest gap first."""
    out = []
    for condition in dict.fromkeys(row["condition"] for row in by_gap):
        mine = select(by_gap, condition=condition)
        labels = list(dict.fromkeys(str(row["gap"]) for row in mine))
        unit = units.get(str(condition), "")
        out.append(_Panel(f"{condition}, by gap", unit, "slots in the gap", "gap", mine, labels))
    return out


def _lines(panel: _Panel, methods: Sequence[str], *, legend: bool) -> list[dict[str, Any]]:
    lines = []
    for i, name in enumerate(methods):
        mine = select(panel.rows, method=name)
        if panel.labels is None:
            mine = sorted(mine, key=lambda row: float(row["rate"]))
        again = i >= len(COLOURS)  # colours come round: then dashes tell them apart
        lines.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": label(name),
                "legendgroup": name, "showlegend": legend,
                "x": [row[panel.across] for row in mine], "y": column(mine, "mae"),
                "line": {"color": COLOURS[i % 8], "dash": "dash" if again else "solid"},
                "marker": {"symbol": MARKS[i % 8], "size": 7},
            }
        )  # fmt: skip
    return lines
