"""The report's figures one by one, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fieldmend.report import contents
from fieldmend.report.encoding import coloured
from fieldmend.report.figures import FIGURES
from fieldmend.report.palette import THEMES
from fieldmend.result.summary import summarise
from fieldmend.text import shown

if TYPE_CHECKING:
    from fieldmend.result.result import Result


def plot(
    recovery: Result,
    figure: str = "heatmap",
    condition: str | None = None,
    *,
    theme: str = "light",
    **options: Any,
) -> Any:
    """One of the report's figures as a Plotly figure.

    Parameters
    ----------
    recovery
    figure
        ``heatmap`` (state of every reading), ``values`` (the filled field), ``curve`` (one node),
        ``loss``, ``gaps``, ``anomalies``, ``energy``, ``residuals``, ``holdout`` or ``map``.
    condition
        By default the first; for ``loss``, ``gaps`` and ``anomalies`` all of them.
    theme
        ``light`` or ``dark``.
    **options
        ``cells`` (most cells of ``heatmap`` and ``values``); ``node`` (its name, by default the
        worst), ``points`` and ``neighbours`` of ``curve``.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    ValueError
        For a name that is not there, with those that are; where there is nothing to draw.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
    >>> rec = fm.recover(fm.Grid.of(net.readings, condition="temperature", unit="°C"))
    >>> plot(rec, "curve", node="3").layout.xaxis.title.text
    'time (UTC)'
    """
    import plotly.graph_objects as go

    row = FIGURES[_known(figure, FIGURES, "figure")]
    colours = THEMES[_known(theme, THEMES, "theme")]
    subject: tuple[Any, ...]
    if row.about == "all":
        asked = list(recovery.conditions) if condition is None else [condition]
        subject = ([_known(name, recovery.conditions, "condition") for name in asked],)
    else:
        name = next(iter(recovery.conditions)) if condition is None else condition
        subject = (_known(name, recovery.conditions, "condition"),)
        if row.about == "node":
            subject = (name, _node(recovery, name, options.pop("node", None)))
    drawing = row.draw(recovery, *subject, **options)
    if drawing is None:
        msg = f"there is nothing to draw in {figure!r}: it needs {row.needs}"
        raise ValueError(msg)
    return go.Figure(coloured(drawing.data, colours), coloured(drawing.layout, colours))


def _known(name: str, names: Any, what: str) -> str:
    if name not in names:
        msg = f"no {what} {shown(name)!r}; there are {', '.join(shown(n) for n in names)}"
        raise ValueError(msg)
    return name


def _node(recovery: Result, condition: str, name: object) -> int:
    nodes = recovery.grid.nodes
    if name is not None:
        return nodes.index(_known(str(name), nodes, "node"))
    worst = contents.choose(recovery, summarise(recovery), len(recovery.conditions)).nodes[
        condition
    ]
    if not worst:
        msg = f"{shown(condition)} has no reading: nothing to draw"
        raise ValueError(msg)
    return worst[0]
