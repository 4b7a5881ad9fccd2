"""The picture of a situation: who was heard when, and one node's readings beside its estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates as mdates
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from fieldmend.recovery.notebook import COLOURS, WORDS, squeezed
from fieldmend.report.palette import LIGHT

DOTS = 100  # per inch
TRUTH = "#d55e00"


def draw(table: dict[str, Any], condition: str, unit: str, node: str, path: Path,
         *, days: tuple[str, str], truth: Any = None) -> None:  # fmt: skip
    """Draw it from the columns of the recovered table."""
    nodes = list(dict.fromkeys(table["node"].tolist()))
    times = table["time"].reshape(-1, len(nodes))[:, 0].astype("datetime64[us]")
    flags = table[f"{condition}_flag"].reshape(-1, len(nodes)).astype(np.int8)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8.4, 4.6), dpi=DOTS, height_ratios=(2, 3), layout="constrained"
    )
    _heard(above, flags, times, len(nodes))
    at = nodes.index(node)
    mine = {key: column.reshape(-1, len(nodes))[:, at] for key, column in table.items()
            if key.startswith(condition)}  # fmt: skip
    low, high = (
        np.datetime64(day) if day else times[i] for day, i in zip(days, (0, -1), strict=True)
    )
    kept = (times >= low) & (times <= high)
    mine = {key: column[kept] for key, column in mine.items()}
    known = None if truth is None else truth[kept]
    _curve(below, times[kept], mine, condition, known)
    below.set_ylabel(condition + (f" ({unit})" if unit else ""))
    below.set_title(f"node {node}", loc="left", fontsize=9)
    figure.savefig(path, metadata={"Software": None}, pil_kwargs={"optimize": True})
    plt.close(figure)
    _fewer_colours(path)


def _heard(axes: Any, flags: np.ndarray, times: np.ndarray, nodes: int) -> None:
    extent = (*mdates.date2num(times[[0, -1]]), nodes, 0)
    axes.imshow(squeezed(flags), aspect="auto", cmap=ListedColormap(COLOURS), vmin=0,
                vmax=len(COLOURS) - 1, interpolation="nearest", extent=extent)  # fmt: skip
    _dated(axes)
    axes.set_ylabel(f"{nodes} nodes")
    used = [i for i in range(len(WORDS)) if (squeezed(flags) == i).any()]
    marks = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[i]) for i in used]
    axes.legend(marks, [WORDS[i] for i in used], ncols=4, loc="lower right",
                bbox_to_anchor=(1, 1), frameon=False, fontsize=8)  # fmt: skip


def _curve(axes: Any, times: np.ndarray, mine: dict[str, Any], name: str, truth: Any) -> None:
    ends = mine.get(f"{name}_lower"), mine.get(f"{name}_upper")
    if ends[0] is not None and np.isfinite(ends[0]).any():
        axes.fill_between(times, *ends, color=LIGHT["estimate"], alpha=0.18, lw=0, label="interval")
    if truth is not None:
        axes.plot(times, truth, color=TRUTH, lw=0.8, label="what was really there")
    axes.plot(times, mine[f"{name}_estimate"], color=LIGHT["estimate"], lw=1, label="estimate")
    bad = np.isin(mine[f"{name}_flag"], (3, 4))
    axes.plot(
        times,
        np.where(bad, np.nan, mine[name]),
        ".",
        ms=2.5,
        color=LIGHT["observed"],
        label="reading",
    )
    if bad.any():
        axes.plot(times[bad], mine[name][bad], "x", ms=4, color=LIGHT["suspect"], label="suspect")
    _dated(axes)
    axes.legend(ncols=5, loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)


def _dated(axes: Any) -> None:
    axes.xaxis_date()
    locator = mdates.AutoDateLocator(maxticks=7)
    axes.xaxis.set_major_locator(locator)
    step = float(np.diff(axes.get_xticks()).min(initial=1.0))
    if step < 1 and len(axes.get_xticks()) > 6:  # long words need room
        axes.xaxis.set_major_locator(mdates.DayLocator())
        step = 1.0
    form = "%d %b %H:%M" if step < 1 else "%d %b" if step < 25 else "%b %Y"
    axes.xaxis.set_major_formatter(mdates.DateFormatter(form))
    axes.tick_params(labelsize=8)


def _fewer_colours(path: Path) -> None:
    """Sixty-four colours are enough for lines, and a third of the bytes."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE)
    small.save(path, optimize=True)
