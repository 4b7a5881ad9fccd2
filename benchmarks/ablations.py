"""What each piece of the automatic recovery is worth: the same cells without it.

``python benchmarks/ablations.py`` (or ``make bench BENCH=ablations``); pieces by name are taken
alone, on few cells, into a table of their own (``ablations_recent``). Cells of the accuracy
benchmark, each drawn three times; every row is ``auto`` with one piece taken out. ``RMSE without /
with``: the geometric mean over the cells, then the cells where it helped and hurt most. ``held``:
share of hidden readings in 90 % intervals, without and with. What pays has a mean above 1.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

import fieldmend as fm
from accuracy_cells import Cell, plans
from accuracy_grade import Answer, graded
from table import write

CELLS = (
    "NDBC water, offline 24 h, none",
    "NDBC wind, network silent 12 h, none",
    "Molène temperature, network silent 12 h, none",
    "Molène humidity, uniform p=.5, none",
    "Molène temperature, uniform p=.5, spikes",
    "nine motes, network silent 12 h, none",
    "Redwood humidity, offline 24 h, none",
    "PM10, uniform p=.5, spikes",
    "PM10, offline 24 h, none",
    "simulated repeating, offline 24 h, none",
    "simulated gates, offline 24 h, none",
    "simulated temperature, uniform p=.5, mixed",
    "faultbench temperature, uniform p=.5, its mixed",
    "four motes, uniform p=.5, none",
    "simulated pressure, network silent 12 h, none",
    "IntelLab humidity, network silent 12 h, none",
)
FEW = (  # for pieces by name
    "IntelLab light, offline 24 h, none",
    "Redwood humidity, offline 24 h, none",
    "NDBC water, offline 24 h, none",
    "PM10, offline 24 h, none",
    "simulated gates, offline 24 h, none",
    "simulated low_rank, uniform p=.5, spikes",
)
FIELD = "fieldmend.field"


@dataclass(frozen=True)
class Piece:
    """What is taken out, and how."""

    said: str
    out: Callable[[], AbstractContextManager[object]] = nullcontext
    options: tuple[tuple[str, object], ...] = ()


def _patched(name: str, value: object) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch(f"{FIELD}.{name}", value)


def _unpaid(rule: object, channels: object, data: object, field: object) -> tuple[object, object]:
    found = rule.segments(channels, data.used, data.slots)  # type: ignore[attr-defined]
    return found.mask(data.used), rule  # type: ignore[attr-defined]


def _flagless(rule: object, channels: object, data: object, field: object) -> tuple[object, object]:
    return np.zeros_like(data.used), rule  # type: ignore[attr-defined]


PIECES = (
    Piece(
        "the second look at each node",
        _patched("fitting.second_looks", lambda *_, **__: (None, None)),
    ),
    Piece("blocks as long as the gaps", _patched("second._usual_gap", lambda _: 1)),
    Piece("levels first", _patched("fitting.Levels.learnt", lambda *_: (None, []))),
    Piece("the same time of the days around", _patched("second._same_time", lambda z, *_: 0 * z)),
    Piece("leans and intervals of silent slots apart", _patched("honest._OUTAGES", 10**9)),
    Piece("the usual course in silence", _patched("fitting.Routine.learnt", lambda *_: None)),
    Piece("the usual course everywhere", _patched("auto.choose_course", lambda *_: None)),
    Piece("kinds of days", _patched("choosing.with_kinds", lambda course, *_: course)),
    Piece("flags by distance that have to pay", _patched("slotwise._pays", lambda *_: True)),
    Piece("hold-outs that forget", _patched("trials.forgetful", lambda field, *_: field)),
    Piece("flags that have to pay", _patched("fitting.paying", _unpaid)),
    Piece("flags of single readings", _patched("fitting.paying", _flagless)),
    Piece("weak flags only beside strong ones", _patched("paying._PLAIN", (0.0, 0.0))),
    Piece("outages worse than those hidden", _patched("holdout._next_outage", lambda *_: 0.0)),
    Piece("lasting faults left out", options=(("faults", False),)),
)  # fmt: skip


def answers(piece: Piece | None, cells: list[Cell]) -> Iterator[dict[str, float]]:
    """RMSE and coverage, one for each draw of each cell."""
    for cell in cells:
        options = {} if piece is None else dict(piece.options)
        period = (cell.slots_a_day, 7 * cell.slots_a_day)
        with nullcontext() if piece is None else piece.out(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = fm.decompose(cell.readings, method="auto", period=period, **options)
        yield graded(cell, Answer(out.estimate, out.sparse != 0, out.lower, out.upper))


def main(asked: list[str]) -> int:
    pieces = [piece for piece in PIECES if not asked or piece.said in asked]
    table, where = ("ablations_recent", FEW) if asked else ("ablations", CELLS)
    chosen = [plan for plan in plans(quick=False) if plan.name in where]
    cells = [plan.build(plan) for plan in chosen]
    names = list(dict.fromkeys(cell.name for cell in cells))
    whole = _by_cell(cells, list(answers(None, cells)))
    rows = []
    for piece in pieces:
        part = _by_cell(cells, list(answers(piece, cells)))
        ratio = {name: part[name][0] / whole[name][0] for name in names}
        best, worst = max(ratio, key=ratio.get), min(ratio, key=ratio.get)
        held = [np.mean([side[name][1] for name in names]) for side in (part, whole)]
        rows.append(
            {
                "without": piece.said,
                "RMSE without / with": f"{np.exp(np.mean(np.log(list(ratio.values())))):.3f}",
                "helps most": f"{ratio[best]:.3f} ({best})",
                "helps least": f"{ratio[worst]:.3f} ({worst})",
                "held": f"{held[0]:.3f} / {held[1]:.3f}",
            }
        )
        print("  ".join(rows[-1].values()), flush=True)
        # After each: it takes a while.
        write(table, rows, f"{__doc__}\n\nCells: {'; '.join(names)}.")
    return 0


def _by_cell(cells: list[Cell], found: list[dict[str, float]]) -> dict[str, tuple[float, float]]:
    """Means over the draws."""
    out = {}
    for name in dict.fromkeys(cell.name for cell in cells):
        own = [row for cell, row in zip(cells, found, strict=True) if cell.name == name]
        out[name] = (
            float(np.mean([row["rmse"] for row in own])),
            float(np.mean([row["coverage"] for row in own])),
        )
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
