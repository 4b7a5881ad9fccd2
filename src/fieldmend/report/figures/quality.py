"""How good the recovery is: energy, residuals, errors on hidden readings by gap length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.diagnostics import singular_energy
from fieldmend.flags import BAD, KEPT
from fieldmend.metrics import interpolate
from fieldmend.report.figures.canvas import Drawing, axis, frame
from fieldmend.report.palette import var
from fieldmend.report.wording import label
from fieldmend.text import count, counted, gap_range, measure, percent, shown, slot_length

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

HEIGHT = 320
WORK = 4e8  # slots × nodes × the smaller of them; beyond, evenly spaced slots are decomposed
FEWEST = 3  # slots and nodes that make a spectrum worth drawing
COUNTED = 4_000_000  # readings of a histogram; beyond, evenly spaced slots
VALUES = 60  # singular values that are drawn at most
BINS = 60
MARKS = {"solid": "circle", "dash": "square"}


def energy(recovery: Result, condition: str) -> Drawing | None:
    """Singular-value energy of the readings and of the recovered field; None for too few."""
    one = recovery.conditions[condition]
    step = math.ceil(one.flag.size * min(one.flag.shape) / WORK)
    throughout = ~np.isnan(one.estimate).any(axis=0)  # nodes that were in service all the time
    observed = one.observed[::step, throughout]
    if min(observed.shape) < FEWEST or np.isnan(observed).all():
        return None
    raw = _energy(interpolate(observed))
    recovered = _energy(one.estimate[::step, throughout])
    if raw is None or recovered is None:
        return None
    needed = [int(np.argmax(e >= 0.9 - 1e-12)) + 1 for e in (raw, recovered)]
    drawn = min(len(raw), VALUES, max(10, int(np.argmax(raw >= 0.99)) + 1))
    number = np.arange(1, drawn + 1)
    data = [
        _line("readings, gaps by straight line", number, 100 * raw[:drawn], "straight", "dash"),
        _line("recovered field", number, 100 * recovered[:drawn], "estimate", "solid"),
    ]
    for trace in data:
        trace["hovertemplate"] = "%{x} values: %{y:.2f} %"
    total, least = len(raw), float(min(raw[0], recovered[0]))
    holds = (
        f"90 % of the energy needs {count(needed[0])} of {count(total)} singular values in the "
        f"readings, {count(needed[1])} in the recovered field"
    )
    x_axis = axis("largest singular values (number)", rangemode="tozero")
    y_axis = axis("share of the energy (%)", range=[100 * least - 4, 101])
    thinned = "" if step == 1 else f" One slot in {step} was used."
    return Drawing(
        data, frame(x_axis, y_axis, HEIGHT), f"{shown(one.name)}: {holds}.",
        f"{shown(one.name)}: how few patterns the network's readings follow. {holds[0].upper()}"
        f"{holds[1:]}.{thinned}",
    )  # fmt: skip


def residuals(recovery: Result, condition: str) -> Drawing | None:
    """Reading minus estimate, trusted and suspect readings apart; None without readings.

    Straight in the middle, in decades outwards: far suspects are on the axis like all others.
    """
    one = recovery.conditions[condition]
    step = math.ceil(one.flag.size / COUNTED)
    groups = [
        ("trusted", _off(one, KEPT, step), "estimate", "solid"),
        ("suspect or failed", _off(one, BAD, 1), "suspect", "dash"),
    ]
    trusted = groups[0][1]
    usual = float(np.quantile(np.abs(trusted), 0.9)) if trusted.size else 0.0
    if usual == 0 or not np.isfinite(usual):
        return None
    far = max(float(np.abs(v).max(initial=0.0)) for _, v, _, _ in groups)
    with np.errstate(over="ignore"):
        reach = float(np.arcsinh(min(far / usual, 1e300))) * 1.03
    edges = np.linspace(-reach, reach, BINS + 1)
    data = []
    for name, values, token, dash in groups:
        with np.errstate(over="ignore"):
            placed = np.arcsinh(np.clip(values / usual, -1e300, 1e300))
        per_bin = np.histogram(placed, edges)[0].astype(np.float64)
        if values.size:
            middle = (edges[:-1] + edges[1:]) / 2
            line = _line(name, middle, np.where(per_bin, per_bin, np.nan), token, dash)
            where = [f"{v:.3g}" for v in np.sinh(middle) * usual]
            line |= {"mode": "lines", "hovertemplate": "%{y:,} readings at %{customdata}"}
            data.append({**line, "customdata": where, "line": {**line["line"], "shape": "hvh"}})
    unit = label(one.unit) if one.unit else "unit not given"
    marks = _outwards(usual, far)
    x_axis = axis(
        f"reading − estimate ({unit})", range=[-reach, reach],
        tickvals=[float(np.arcsinh(v / usual)) for v in marks], ticktext=[f"{v:g}" for v in marks],
    )  # fmt: skip
    y_axis = axis("readings (log scale)", type="log", dtick=1)
    half = measure(float(np.median(np.abs(trusted))), one.unit)
    farthest = groups[1][1]
    beyond = ""
    if farthest.size:
        most = measure(float(np.abs(farthest).max()), one.unit)
        beyond = f" Suspect readings lie up to {most} off."
    return Drawing(
        data,
        frame(x_axis, y_axis, HEIGHT, showlegend=True),
        f"Histogram of reading minus estimate, {shown(one.name)}: half of the trusted readings "
        f"are within {half} of the estimate.{beyond}",
        f"{shown(one.name)}: half of the trusted readings lie within {half} of the estimate."
        f"{beyond} The axis is straight in the middle and goes in decades outwards."
        + ("" if step == 1 else f" Of the trusted ones, one slot in {step} was counted."),
    )


def _off(one: Recovered, flags: tuple[int, ...], step: int) -> Array:
    """Reading minus estimate where a reading has one of these flags, in every so many slots."""
    parts = []
    for rows in blocks(*one.flag.shape):
        some = slice(-(-rows.start // step) * step, rows.stop, step)
        at = np.isin(one.flag[some], flags)
        with np.errstate(over="ignore", invalid="ignore"):
            parts.append(one.observed[some][at] - one.estimate[some][at])
    found: Array = np.concatenate(parts)
    found = found[np.isfinite(found)]
    return found


def _outwards(usual: float, far: float) -> list[float]:
    """Marks of an axis that is straight up to the usual and goes in decades beyond it."""
    first = math.floor(math.log10(usual))
    last = math.floor(math.log10(max(far, usual)))
    every = max(1, -(-(last - first + 1) // 4))
    sizes = [10.0**p for p in range(first, last + 1, every)]
    apart = np.arcsinh(min(far / usual, 1e300)) / 10  # or their labels run into each other
    sizes = [v for v in sizes if np.arcsinh(v / usual) > apart]
    return [*(-v for v in reversed(sizes)), 0.0, *sizes]


def by_gap(recovery: Result, condition: str) -> Drawing | None:
    """Error on hidden readings by the length of their gap, beside a straight line's."""
    one = recovery.conditions[condition]
    rows = [] if one.holdout is None else [row for row in one.holdout.classes if row.count]
    if one.holdout is None or not rows:
        return None
    ticks = [f"{gap_range(o.shortest, o.longest)}<br>{count(o.count)}" for o in rows]
    at = np.arange(len(rows))
    ours, line = (np.array([getattr(o, key) for o in rows]) for key in ("mae", "line_mae"))
    data = [
        _bars(f"method ({label(one.method)})", at, ours, "estimate", ""),
        _bars("straight line", at, line, "straight", "/"),
    ]
    sides = 2 * np.array([o.mae_error for o in rows])
    if np.isfinite(sides).all():
        data[0]["error_y"] = {"array": sides, "color": var("text"), "thickness": 1.5, "width": 4}
    unit = label(one.unit) if one.unit else "unit not given"
    for trace in data:
        trace["hovertemplate"] = f"%{{y:.3g}} {label(one.unit) if one.unit else ''}"
    x_axis = axis(
        f"length of the gap (slots of {slot_length(recovery.grid.slot)}),"
        "<br>number of readings hidden in it",
        tickvals=at.tolist(), ticktext=ticks, showgrid=False, tickangle=0,
    )  # fmt: skip
    y_axis = axis(f"mean absolute error ({unit})", rangemode="tozero")
    wins = int(np.count_nonzero(ours < line))
    said = f"the method is closer than a straight line in {wins} of {len(rows)} gap lengths"
    return Drawing(
        data,
        frame(x_axis, y_axis, HEIGHT, barmode="group", bargap=0.25),
        f"Bars of the error on hidden readings by gap length, {shown(one.name)}: {said}.",
        f"{shown(one.name)}: error on readings that were hidden before anything looked at them, by "
        f"the length of their gap; the thin bars hold nineteen times in twenty. {_beside(one)}",
    )


def _beside(one: Recovered) -> str:
    """What else is to be known about the score, in sentences."""
    held = one.holdout
    if held is None:
        return ""
    share = percent(held.tested)
    said = f"All gaps by their share of what was lost: {measure(held.method.mae, one.unit)}."
    if held.untested:
        said += f" {held.untested[0].upper()}{held.untested[1:]}."
    elif held.tested < 1:
        said += f" Tried was the kind of gap that {share} of what was lost lies in."
    if held.false:
        ours, line = measure(held.all_mae, one.unit), measure(held.all_line_mae, one.unit)
        said += (
            f" {counted(held.false, 'hidden reading')} left out as false: with them "
            f"{ours}, the line {line}."
        )
    if held.far:
        said += (
            f" {counted(held.far, 'hidden reading')} so far off estimate and line both that their "
            f"errors count with a limit: without it {measure(held.plain_mae, one.unit)}."
        )
    return said


def _energy(values: Array) -> Array | None:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            shares = singular_energy(values)
    except (ValueError, np.linalg.LinAlgError):  # all zero, or too large to decompose
        return None
    return shares if np.isfinite(shares).all() else None


def _line(name: str, x: Array, y: Array, token: str, dash: str) -> dict[str, Any]:
    """A line; the second of two is dashed, so that colour is not all that tells them apart."""
    return {
        "type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": y,
        "line": {"color": var(token), "dash": dash, "width": 2},
        "marker": {"color": var(token), "size": 5, "symbol": MARKS[dash]},
    }  # fmt: skip


def _bars(name: str, x: Array, y: Array, token: str, shape: str) -> dict[str, Any]:
    """Bars; the second of two series is hatched, for the same reason."""
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": var("card"), "size": 6}
    return {
        "type": "bar", "name": name, "x": x, "y": y,
        "marker": {"color": var(token), "line": {"width": 0}, "pattern": pattern if shape else {}},
    }  # fmt: skip
