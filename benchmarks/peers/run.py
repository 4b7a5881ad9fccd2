"""Peers in one table: same data, same machine, default and best-known settings each.

    python benchmarks/peers/run.py --setup     make the peers' environments (once)
    python benchmarks/peers/run.py             run all, or go on where a run stopped
    python benchmarks/peers/run.py --sizes 54x500 --sampling 0.5 --seeds 0 --only qolmat

Results go to benchmarks/results/peers.csv and peers.md; cells, data and logs to build/peers, which
git does not see. One process runs at a time, and all of them with the same number of threads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from cases import SAMPLING, SEEDS, SIZES, Case, Truth, prepare
from driver import Cache, Cell, Limits, Worker, solve, worker
from environments import ENVIRONMENTS, ROOT, make_all
from report import Row, write_csv, write_markdown
from settings import OURS, PEERS, Peer, Settings

SCRATCH = ROOT / "build" / "peers"
RESULTS = ROOT / "benchmarks" / "results"
TIE = 1.02  # settings whose NSE is within this factor of the least are equal: the quickest is best


@dataclass(frozen=True)
class Tried:
    """A setting of a grid and how it did."""

    nse: float
    seconds: float
    settings: Settings


@dataclass
class Past:
    """What a peer's earlier cases say about the later ones."""

    ranking: dict[float, list[Tried]] = field(default_factory=dict)  # per sampling, best first
    gave_up: dict[str, str] = field(default_factory=dict)  # per setting: where it timed out


@dataclass(frozen=True)
class Bench:
    """Everything a run needs to know."""

    limits: Limits
    patience: float
    search: float
    cache: Cache
    started: float

    def rows(self, peers: Sequence[Peer], cases: Sequence[Case]) -> Iterable[Row]:
        """Run all peers on all cases, size by size, each peer in one process per size."""
        past = {peer.name: Past() for peer in peers}
        sizes = list(dict.fromkeys(case.size for case in cases))
        for size in sizes:
            of_size = [case for case in cases if case.size == size]
            prepared = {case: prepare(case, SCRATCH / "data") for case in of_size}
            for peer in peers:
                with worker(peer, self.limits, SCRATCH / "peers.log") as at_work:
                    runner = Runner(self, at_work, past[peer.name], prepared)
                    for _, group in groupby(of_size, key=lambda case: case.sampling):
                        yield from runner.compare(list(group), last=size == sizes[-1])
            for path, _ in prepared.values():
                path.unlink()


@dataclass(frozen=True)
class Runner:
    """One peer at one size."""

    bench: Bench
    at_work: Worker
    past: Past
    prepared: dict[Case, tuple[Path, Truth]]

    def compare(self, cases: Sequence[Case], *, last: bool) -> Iterable[Row]:
        """Rows for one sampling rate: the default and, where there is a grid, the best."""
        peer = self.at_work.peer
        yield self._row(cases, "default", peer.default, peer.told)
        if peer.grid:
            settings = self._best(cases[0], last=last)
            ranked = {"rank", "max_rank", "k"} & settings.keys()
            yield self._row(cases, "best", settings, "setting, rank" if ranked else "setting")

    def _best(self, case: Case, *, last: bool) -> Settings:
        """Search the grid on one case, the best of the size before first, until time is up."""
        known = self.past.ranking.get(case.sampling, [])
        queue = self._queue(known)
        if "best" in self.past.gave_up or (known and last):
            return known[0].settings if known else queue[0]
        scored, spent = self._default(case), 0.0
        while queue and (spent <= self.bench.search or not scored):
            settings = queue.pop(0)
            cell = self._solve(case, settings)
            if cell["status"] == "done":
                scored.append(Tried(cell["nse"], cell["seconds"], settings))
            elif cell["status"] == "error" or spent > self.bench.search:
                break  # it does not run here, or is twice too slow: the row will say so
            elif not scored:
                quick = sorted(known, key=lambda tried: tried.seconds)
                queue = [tried.settings for tried in quick if tried.settings in queue] or queue
            spent += cell.get("seconds", self.bench.limits.seconds) * cell.get("runs", 1)
        if not scored:
            return settings
        least = TIE * min(tried.nse for tried in scored)
        scored.sort(key=lambda tried: (max(tried.nse, least), tried.seconds))
        self.past.ranking[case.sampling] = scored
        return scored[0].settings

    def _queue(self, known: Sequence[Tried]) -> list[Settings]:
        """All that is worth a try, in order; the default has had its turn."""
        first = [tried.settings for tried in known]
        rest = [settings for settings in self.at_work.peer.grid if settings not in first]
        return [settings for settings in first + rest if settings != self.at_work.peer.default]

    def _default(self, case: Case) -> list[Tried]:
        """The default's score, known by now: no best is worse than the default."""
        if "default" in self.past.gave_up:
            return []
        settings = self.at_work.peer.default
        cell = self._solve(case, settings)
        done = cell["status"] == "done"
        return [Tried(cell["nse"], cell["seconds"], settings)] if done else []

    def _row(self, cases: Sequence[Case], setting: str, settings: Settings, told: str) -> Row:
        cells: list[Cell] = []
        note = self.past.gave_up.get(setting, "")
        for case in () if note else cases:
            cells.append(self._solve(case, settings))
            if cells[-1]["status"] == "timeout":
                self.past.gave_up[setting] = f"timed out at {case.size}, p = {case.sampling:g}"
            if cells[-1]["status"] != "done":
                break
            if cells[-1]["seconds"] > self.bench.patience and case != cases[-1]:
                note = f"over {self.bench.patience:g} s: other seeds left out"
                break
        first, peer = cases[0], self.at_work.peer
        row = Row(
            *(first.nodes, first.slots, first.sampling, peer.name, setting, peer.convex, told),
            settings=json.dumps(settings),
            cells=tuple(cells),
            note=note,
        )
        self._tell(row)
        return row

    def _solve(self, case: Case, settings: Settings) -> Cell:
        return solve(self.at_work, self.bench.cache, case, settings, self.prepared[case])

    def _tell(self, row: Row) -> None:
        nse, seconds = row.mean("nse"), row.mean("seconds")
        scores = "" if nse is None else f"NSE {nse:.2e} in {seconds:.2f} s"
        print(
            f"[{time.time() - self.bench.started:6.0f} s] {row.nodes}×{row.slots} "
            f"p={row.sampling:g} {row.peer:30s} {row.setting:8s}{scores} {row.reason[:70]}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run, write."""
    options = _parser().parse_args(arguments)
    if options.setup:
        make_all()
        return
    if options.fresh:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the worker ends too
    options.out.mkdir(parents=True, exist_ok=True)
    peers = [peer for peer in (*OURS, *PEERS) if _wanted(peer, options.only)]
    limits = Limits(options.limit, options.threads)
    cache = Cache(SCRATCH / "cells.jsonl")
    bench = Bench(limits, options.patience, options.search, cache, time.time())
    rows = list(bench.rows(peers, _cases(options)))
    rows.sort(key=lambda row: (row.nodes * row.slots, -row.sampling))
    write_csv(rows, options.out / "peers.csv")
    write_markdown(rows, options.out / "peers.md", _conditions(options))


def _wanted(peer: Peer, only: Sequence[str]) -> bool:
    return not only or any(word.lower() in peer.name.lower() for word in only)


def _cases(options: argparse.Namespace) -> list[Case]:
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes]
    return [
        Case(nodes, slots, sampling, seed)
        for nodes, slots in sizes
        for sampling in options.sampling
        for seed in options.seeds
    ]


def _conditions(options: argparse.Namespace) -> list[str]:
    return [
        f"{options.threads} threads for every method, one process at a time",
        f"limit {options.limit:g} s a call; after a time-out larger cases are not tried; after "
        f"{options.patience:g} s on a seed the other seeds are left out",
        f"a grid is searched for {options.search:g} s per size and p, the best of the size before "
        "first; the largest size takes over the winner of the size before",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--setup", action="store_true", help="make the environments of the peers and stop")
    add("--fresh", action="store_true", help="forget the cells of earlier runs")
    add("--sizes", nargs="+", default=[f"{n}x{t}" for n, t in SIZES], help="nodes x slots")
    add("--sampling", nargs="+", type=float, default=list(SAMPLING))
    add("--seeds", nargs="+", type=int, default=list(SEEDS))
    add("--only", nargs="+", default=[], help="words of the names of methods to run")
    add("--limit", type=float, default=45.0, help="seconds a call may take")
    add("--patience", type=float, default=8.0, help="seconds above which one seed is enough")
    add(
        "--search", type=float, default=15.0, help="seconds to search a grid, per size and sampling"
    )
    add("--threads", type=int, default=2)
    add("--out", type=Path, default=RESULTS, help="folder for peers.csv and peers.md")
    return parser


if __name__ == "__main__":
    missing = [e.folder for e in ENVIRONMENTS.values() if not e.python.exists()]
    if missing and "--setup" not in sys.argv:
        print(f"not there: {', '.join(missing)} (--setup makes them)", file=sys.stderr)
    main()
