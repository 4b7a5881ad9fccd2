"""Error against share sent, all designs, as a figure in the report's colours and as one page."""

from __future__ import annotations

import html
from math import log10
from typing import TYPE_CHECKING, Any

from fieldmend.planning import advice
from fieldmend.report import palette
from fieldmend.report.encoding import coloured
from fieldmend.report.figures.canvas import axis, frame
from fieldmend.report.style import asset
from fieldmend.report.wording import label, quantity
from fieldmend.text import percent

if TYPE_CHECKING:
    from fieldmend.planning.result import Plan
    from fieldmend.planning.search import Asked

CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage", "resetScale2d"]]}
WORDS = {
    "clock": "seldom, all together",
    "staggered": "seldom, staggered",
    "change": "on change",
}
ROUND = [float(f"{digit}e{power}") for power in range(-9, 10) for digit in (1, 2, 5)]
TICKS = [1, 0.5, 0.25, 0.125, 1 / 16, 1 / 32, 1 / 64, 1 / 128]


def figure(plan: Plan, theme: str = "light") -> Any:
    """The curve of the first condition, or of the one that is the hardest to keep."""
    import plotly.graph_objects as go

    colours = palette.THEMES[theme]
    asked = _hardest(plan)
    data, layout = _traces(plan, asked), _layout(plan, asked)
    return go.Figure(coloured(data, colours), coloured(layout, colours))


def _hardest(plan: Plan) -> Asked:
    if plan.chosen is None:
        return plan.asked[0]
    scores = plan.chosen.scores
    return max(plan.asked, key=lambda one: scores[one.condition].high / one.error)


def _traces(plan: Plan, asked: Asked) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for i, (design, tried) in enumerate(plan.tried.items()):
        scores = [one.scores[asked.condition] for one in tried]
        style = palette.series(i)
        out.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": WORDS[design],
                "x": [one.share for one in tried], "y": [s.error for s in scores],
                "error_y": {
                    "type": "data", "array": [s.high - s.error for s in scores],
                    "symmetric": False, "arrayminus": [s.error - s.low for s in scores],
                    "thickness": 1, "width": 2, "color": style["line"]["color"],
                    "visible": plan.has_interval,
                },
                "text": [percent(one.share) for one in tried],
                "hovertemplate": "%{text} sent: %{y:.3g}<extra>" + WORDS[design] + "</extra>",
                **style,
            }
        )  # fmt: skip
    if plan.chosen is not None:
        out.append(
            {
                "type": "scatter", "mode": "markers", "name": "chosen",
                "x": [plan.chosen.share], "y": [plan.chosen.scores[asked.condition].error],
                "marker": {"size": 18, "symbol": "circle-open", "color": palette.var("text"),
                           "line": {"width": 2, "color": palette.var("text")}},
                "hoverinfo": "skip",
            }
        )  # fmt: skip
    return out


def _layout(plan: Plan, asked: Asked) -> dict[str, Any]:
    unit = plan.record.units.get(asked.condition, "")
    what = "mean error" if plan.quantile is None else f"quantile {plan.quantile:g} of the error"
    x = axis(
        "share of the readings that is sent", type="log", autorange="reversed",
        tickvals=TICKS, ticktext=["all", *(f"1/{round(1 / t)}" for t in TICKS[1:])],
    )  # fmt: skip
    y = axis(f"{what}, {quantity(asked.condition, unit)}", type="log", tickvals=ROUND)
    limit = {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y",
        "y0": asked.error, "y1": asked.error,
        "line": {"color": palette.var("muted"), "dash": "dash", "width": 1},
    }  # fmt: skip
    said = {
        "xref": "paper", "x": 0, "yref": "y", "y": log10(asked.error), "showarrow": False,
        "text": f"asked: {asked.error:g} {label(unit) if unit else ''}", "xanchor": "left",
        "yanchor": "bottom", "font": {"color": palette.var("muted")},
    }  # fmt: skip
    layout = frame(x, y, 460, shapes=[limit], annotations=[said])
    return {**layout, "showlegend": True}


def page(plan: Plan) -> str:
    """One HTML file that needs nothing else: the advice, the figure, what is behind it."""
    drawn = figure(plan).to_html(
        full_html=False, include_plotlyjs=True, div_id="curve", config=CONFIG
    )
    style = asset("base.css")
    words = [advice.unseen(plan), advice.about_energy(plan)]
    notes = [*advice.about_interval(plan), *plan.notes]
    return _PAGE.format(
        style=f":root{{color-scheme:light;{palette.css(palette.LIGHT)}}}{style}",
        advice=html.escape(plan.advice),
        words="".join(f"<p>{html.escape(text)}</p>" for text in words if text),
        figure=drawn,
        caption=html.escape(_caption(plan)),
        table=_table(plan),
        notes="".join(f"<li>{html.escape(text)}</li>" for text in notes),
    )


def _caption(plan: Plan) -> str:
    bars = " Bars: 1.9 standard errors, from eight blocks." if plan.has_interval else ""
    return (
        "Each point is the record thinned by a schedule and recovered; the error is at readings "
        f"that were not sent.{bars} Below the dashed line is within what was asked."
    )


def _table(plan: Plan) -> str:
    head = ("design", "sent", "every / on change of", "error", "worst node", "J a day")
    rows = [f"<tr>{''.join(f'<th>{one}</th>' for one in head)}</tr>"]
    for row in advice.table(plan):
        rows.append(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>")
    return f"<table>{''.join(rows)}</table>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>How seldom may the nodes send?</title><style>{style}
.card{{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:1rem;
margin:1rem 0;overflow-x:auto}} td,th{{padding:.25rem .75rem;text-align:left}}</style></head>
<body><main><h1>How seldom may the nodes send?</h1>
<p class="lead"><strong>{advice}</strong></p>{words}
<section class="card">{figure}<p>{caption}</p></section>
<section class="card">{table}</section><ul>{notes}</ul></main></body></html>
"""
