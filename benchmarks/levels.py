"""Levels first: what it is worth where nodes are offline for a day, and what it costs.

``python benchmarks/levels.py`` (or ``make bench BENCH=levels``). The model chooses how long each
node's own wandering lasts by single steps, and its loadings then fit how nodes step together; over
a day what counts is how their levels go together (`field/levels.py`). ``with / without``: RMSE at
lost readings of `auto` over the same without levels first, mean over three draws of the loss, and
each draw. ``recover``: the same of all of `recover`. ``CPU``: of `auto` with it over without.
"""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from accuracy_cells import DRAWS, Cell, plans
from accuracy_data import Array
from accuracy_methods import METHODS
from table import write

LOSS = "offline 24 h"
WITHOUT = "fieldmend.field.fitting.Levels.learnt"


def main(sources: list[str]) -> int:
    rows = []
    for plan in plans(quick=False):
        if plan.draw or (plan.loss, plan.kind) != (LOSS, "none"):
            continue
        if sources and plan.source not in sources:
            continue
        cells = [one.build(one) for one in (replace(plan, draw=k) for k in range(DRAWS))]
        found = [tried("auto", cell) for cell in cells]
        whole = np.mean([tried("recover", cell) for cell in cells], axis=0)
        with_it, without, spent, usual = np.mean(found, axis=0)
        rows.append(
            {
                "cell": f"{plan.source}, {LOSS}",
                "auto": f"{with_it:.4g}",
                "with / without": f"{with_it / without:.3f}",
                "draws": " ".join(f"{one[0] / one[1]:.3f}" for one in found),
                "recover": f"{whole[0] / whole[1]:.3f}",
                "CPU": f"{spent / usual:.2f}",
            }
        )
        print("  ".join(rows[-1].values()), flush=True)
        if not sources:
            write("levels", rows, __doc__ or "")
    return 0


def tried(method: str, cell: Cell) -> tuple[float, float, float, float]:
    """RMSE with and without, CPU seconds with and without."""
    with_it, spent = _asked(method, cell, out=False)
    without, usual = _asked(method, cell, out=True)
    return with_it, without, spent, usual


def _asked(method: str, cell: Cell, *, out: bool) -> tuple[float, float]:
    taken = patch(WITHOUT, lambda *_: (None, [])) if out else nullcontext()
    start = time.process_time()
    with taken, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate: Array = METHODS[method].run(cell).estimate
    lost = np.isnan(cell.readings) & np.isfinite(cell.truth)
    error = (estimate - cell.truth)[lost]
    return float(np.sqrt((error**2).mean())), time.process_time() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
