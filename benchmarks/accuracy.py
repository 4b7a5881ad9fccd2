"""How good is the recovery? ``make bench-accuracy``: errors on hidden readings, flags, intervals.

Every answer (data × loss × anomalies × method) is kept under benchmarks/cache/ and not computed
again unless its data or, for fieldmend's own methods, the code of the solver changed; the peers'
unless data or pins did. ``--quick`` takes a few cells; ``--fresh`` computes kept ones again. The
tables of a whole run go to benchmarks/results/, those of a part to benchmarks/cache/part/.

``make bench-accuracy BENCH='--quick --peers none'`` hands options over.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from accuracy_cells import Cell, Plan, plans
from accuracy_grade import graded
from accuracy_methods import METHODS, code, warm_up
from accuracy_peers import absent, peer_rows
from accuracy_report import Row, report
from table import RESULTS

KEPT = Path(__file__).parent / "cache"
CACHE, PART = KEPT / "accuracy", KEPT / "part"


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    chosen = [plan for plan in plans(quick=options.quick) if options.only in plan.name]
    methods = options.methods.split(",")
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not chosen:
        print(f"no method {', '.join(unknown)}" if unknown else f"no cell with {options.only!r}")
        return 2
    CACHE.mkdir(parents=True, exist_ok=True)
    work = partial(_answered, methods=methods, fresh=options.fresh, ask=not options.kept)
    with get_context("spawn").Pool(options.jobs, warm_up) as pool:
        rows = [row for answered in pool.imap(work, chosen) for row in answered]
    peers = []
    if options.peers != "none":
        for folder in absent():
            print(f"no {folder}: its peers are left out (benchmarks/peers/run.py --setup)")
        ask = options.peers == "run"
        peers = peer_rows(chosen, CACHE, jobs=options.jobs, fresh=options.fresh and ask, ask=ask)
    whole = not (options.quick or options.only or options.methods != ",".join(METHODS))
    report(rows, peers, RESULTS if whole else PART)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few cells, under five minutes")
    parser.add_argument("--fresh", action="store_true", help="compute kept cells again")
    parser.add_argument("--kept", action="store_true", help="tables of what is kept: ask nobody")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of the methods")
    parser.add_argument("--jobs", type=int, default=2, help="processes, a cell each")
    parser.add_argument(
        "--peers",
        choices=("run", "kept", "none"),
        default="run",
        help="run what is not kept (an hour of CPU without any), take what is kept, or leave out",
    )
    return parser.parse_args(arguments)


def _answered(plan: Plan, methods: list[str], *, fresh: bool, ask: bool) -> list[Row]:
    """One row for each method that can be asked."""
    cell = plan.build(plan)
    asked = [method for method in methods if METHODS[method].allowed(cell)]
    rows = [_row(cell, method, fresh=fresh, ask=ask) for method in asked]
    return [row for row in rows if row]


def _row(cell: Cell, method: str, *, fresh: bool, ask: bool) -> Row:
    """What is kept, or what the method says now; nothing if it is not to be asked."""
    name = f"{cell.name}-{cell.draw}-{method}.json"
    kept = CACHE / name.replace("/", "_").replace(" ", "_")
    key = f"{cell.fingerprint} {code(method)}"
    if kept.exists() and not fresh:
        row = json.loads(kept.read_text())
        if row.get("key") == key:
            return dict(row)
    if not ask:
        return {}
    row = {"cell": cell.name, "draw": cell.draw, "method": method, "key": key}
    row |= _graded(cell, method)
    print(f"{cell.name}: {method}: {row.get('rmse', row.get('error'))}", flush=True)
    if "error" not in row:
        kept.write_text(json.dumps(row))
    return row


def _graded(cell: Cell, method: str) -> Row:
    """Run and grade a method. One that fails has a row that says so; the rest goes on."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits reached by the baselines: their errors tell
        try:
            answer = METHODS[method].run(cell)
        except Exception as problem:
            return {"error": f"{type(problem).__name__}: {problem}"}
    seconds = time.process_time() - start
    return {**graded(cell, answer), "cpu": round(seconds, 3)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
