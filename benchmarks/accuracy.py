"""How good is the recovery? ``make bench-accuracy``: errors on hidden readings, flags, intervals.

Every cell (data × loss × anomalies × method) is kept under benchmarks/cache/ and not computed
again; ``--quick`` takes a few cells only, ``--fresh`` computes kept ones again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from accuracy_cells import Cell, cells
from accuracy_methods import METHODS, Answer
from accuracy_report import report

CACHE = Path(__file__).parent / "cache" / "accuracy"
GAPS = ((1, 2), (2, 10), (10, 50), (50, 10**9))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few cells, under five minutes")
    parser.add_argument("--fresh", action="store_true", help="compute kept cells again")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of the methods")
    options = parser.parse_args(arguments)
    chosen = [c for c in cells(quick=options.quick) if options.only in c.name]
    rows = []
    for cell in chosen:
        for method in options.methods.split(","):
            if METHODS[method].allowed(cell):
                rows.append(_row(cell, method, fresh=options.fresh))
    report("accuracy_quick" if options.quick else "accuracy", rows)
    return 0


def _row(cell: Cell, method: str, *, fresh: bool) -> dict[str, object]:
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"{cell.name}-{method}.json".replace("/", "_").replace(" ", "_")
    if kept.exists() and not fresh:
        return dict(json.loads(kept.read_text()))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits reached by the baselines: their errors tell
        answer = METHODS[method].run(cell)
    seconds = time.process_time() - start
    row = {"cell": cell.name, "method": method, **_graded(cell, answer), "cpu": round(seconds, 3)}
    kept.write_text(json.dumps(row))
    print(row, flush=True)
    return row


def _graded(cell: Cell, answer: Answer) -> dict[str, object]:
    """Errors on hidden readings; F1 of the flags; coverage of the intervals, by gap too."""
    hidden = np.isfinite(cell.truth) & np.isnan(cell.readings)
    error = (answer.estimate - cell.truth)[hidden]
    energy = float((cell.truth[hidden] ** 2).sum())
    out: dict[str, object] = {
        "hidden": int(hidden.sum()),
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "nse": float((error**2).sum()) / energy,
    }
    if answer.flags is not None:
        seen = np.isfinite(cell.readings)
        flags, false = answer.flags[seen], cell.support[seen]
        out["flagged"] = float(flags.mean())
        if false.any():
            out["f1"] = float(2 * (flags & false).sum() / (flags.sum() + false.sum()))
    if answer.lower is not None:
        # Simulated truths are noise-free, but intervals are for readings.
        would_be = cell.truth if cell.again is None else cell.again
        inside = (would_be >= answer.lower) & (would_be <= answer.upper)
        out["coverage"] = float(inside[hidden].mean())
        gaps = _gaps(np.isfinite(cell.readings))
        for low, high in GAPS:
            here = hidden & (gaps >= low) & (gaps < high)
            if here.sum() >= 500:
                out[f"coverage_{low}"] = float(inside[here].mean())
    return out


def _gaps(seen: np.ndarray) -> np.ndarray:
    from fieldmend.diagnostics import gap_at

    return np.asarray(gap_at(seen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
