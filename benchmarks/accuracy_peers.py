"""The peers of the accuracy tables: other libraries, each in its own environment, as in peers/.

They are slow beside the rest, so they run on some cells only (`wanted`), of each the first draw,
and a call may take `LIMIT` seconds of CPU, on one thread. *default*: the library's own settings.
*best*: of the default and a small grid, the one with the least RMSE on the hidden readings. The
truth chooses it: no user could do that.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_cells import BOTH, TARGETS, Cell, Plan
from accuracy_grade import Answer, graded

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from driver import Cache, Limits, Worker, fingerprint, worker
from environments import ENVIRONMENTS, ROOT
from settings import Peer, Settings, grid

Row = dict[str, Any]
LIMIT, SEARCH = 120.0, 150.0  # CPU seconds for a call; after how many a grid is left
NOT_RUN = "not run"
SOURCES = (
    "simulated temperature",
    "simulated low_rank",
    "IntelLab temperature",
    "IntelLab humidity",
    "IntelLab light",
    "Redwood temperature",
    "NDBC air",
    "NDBC pressure",
    "faultbench temperature",
    "nine motes",
    "four motes",
)
# Seconds on ten nodes, minutes on thirty, hours on fifty.
SLOW = {
    "statsmodels_dynamic": (
        "faultbench temperature", "nine motes", "four motes", "simulated temperature",
        "simulated low_rank", "Redwood temperature",
    )
}  # fmt: skip
SLOW_LIMIT = 600.0


def _standard(**choices: Any) -> tuple[Settings, ...]:
    """A grid in units of the readings' spread."""
    return grid(standard=True, **choices)


PEERS = (
    Peer(
        "scikit-learn KNN",
        "sklearn_knn",
        "main",
        False,
        grid=grid(n_neighbors=(2, 5, 15), weights="distance")
        + grid(n_neighbors=(2, 5), weights="distance", nodes=True, center=True),
    ),
    Peer(
        "ImputeGAP CDRec",
        "imputegap_cdrec",
        "imputegap",
        False,
        grid=grid(rank=(2, 4, 8, 16), epsilon=1e-6, iterations=100, center=(True, False)),
    ),
    Peer(
        "fancyimpute SoftImpute",
        "fancyimpute_soft",
        "legacy",
        True,
        grid=_standard(shrinkage=(0.015, 0.03, 0.06, 0.12), convergence_threshold=1e-4),
    ),
    Peer(
        "qolmat SoftImpute",
        "qolmat_soft",
        "main",
        True,
        grid=_standard(rank=(3, 8, 16), tau=(0.003, 0.03, 0.1)),
    ),
    Peer(
        "scikit-learn Iterative",
        "sklearn_iterative",
        "main",
        False,
        grid=grid(neighbours=8, max_iter=20, center=True),
    ),
    Peer(
        "qolmat RpcaPcp",
        "qolmat_pcp",
        "main",
        True,
        grid=grid(center=True, lam=(1.4, 2.8, 5.6, 11.0, 22.0), tolerance=1e-4),
    ),
    Peer(
        "PyPOTS SAITS",
        "pypots_saits",
        "pypots",
        False,
        grid=({"epochs": 50}, {"epochs": 100, "stride": 24}),
    ),
    Peer(
        "statsmodels DynamicFactorMQ",
        "statsmodels_dynamic",
        "statsmodels",
        False,
        grid=grid(factors=2),
    ),
    Peer(
        "qolmat RpcaNoisy",
        "qolmat_noisy",
        "main",
        False,
        grid=_standard(rank=(3, 8), tau=(0.003, 0.03), lam=(0.1, 0.4), tolerance=1e-2),
    ),
)


def wanted(plan: Plan) -> bool:
    """Is this one of the peers' cells?"""
    long = plan.name.endswith(f"{BOTH[1]}, none") or plan.name == TARGETS[0]
    short = plan.loss == BOTH[0] and plan.kind in ("none", "spikes")
    return plan.source in SOURCES and (long or short) and not plan.draw


def peer_rows(
    plans: Sequence[Plan], folder: Path, *, jobs: int, fresh: bool = False, ask: bool = True
) -> list[Row]:
    """Two rows, default and best, for every peer and every cell of theirs.

    With `fresh` kept answers are not taken; without `ask` no others are.
    """
    chosen = [plan for plan in plans if wanted(plan)]
    if not chosen:
        return []
    bench = Bench(Cache(folder / "peers.jsonl"), folder / "peers", chosen, fresh, ask)
    with ThreadPool(jobs) as pool:
        return [row for rows in pool.imap(bench.rows, PEERS, chunksize=1) for row in rows]


@dataclass(frozen=True)
class Bench:
    """What all peers share."""

    cache: Cache
    folder: Path
    plans: Sequence[Plan]
    fresh: bool  # ask again what was kept
    ask: bool  # ask what was not

    def rows(self, peer: Peer) -> list[Row]:
        """All rows of one peer, from one process that imports it once."""
        folder = self.folder / peer.method
        folder.mkdir(parents=True, exist_ok=True)
        environment = ENVIRONMENTS[peer.environment]
        if self.ask and not environment.python.exists():
            note = f"not here: no {environment.folder} (benchmarks/peers/run.py --setup makes it)"
            return [
                _row(p.name, peer, which, {}, {"note": note}) for p in self.plans for which in WHICH
            ]
        few = SLOW.get(peer.method)
        plans = [plan for plan in self.plans if few is None or plan.source in few]
        with worker(peer, Limits(3 * limit(peer), 1), folder / "log") as at_work:
            runner = Runner(at_work, self, folder)
            return [row for plan in plans for row in runner.compare(plan.build(plan))]


WHICH = ("default", "best")


def limit(peer: Peer) -> float:
    """CPU seconds for a call."""
    return SLOW_LIMIT if peer.method in SLOW else LIMIT


@dataclass(frozen=True)
class Runner:
    """One peer at work."""

    at_work: Worker
    bench: Bench
    folder: Path

    def compare(self, cell: Cell) -> Iterator[Row]:
        """The default's row, then that of the best."""
        peer = self.at_work.peer
        tried = list(self._tried(cell))
        settings, answer = tried[0]
        yield _row(cell.name, peer, "default", settings, answer)
        done = [each for each in tried if "rmse" in each[1]] or tried
        settings, answer = min(done, key=lambda each: each[1].get("rmse", 0.0))
        if any(each["note"] == NOT_RUN for _, each in tried):
            settings, answer = {}, {"note": NOT_RUN}  # the best of a part is not the best
        yield _row(cell.name, peer, "best", settings, answer)

    def _tried(self, cell: Cell) -> Iterator[tuple[Settings, Row]]:
        """The default, then the grid, until it fails or time is up."""
        peer, spent = self.at_work.peer, 0.0
        for settings in ({}, *peer.grid):
            answer = self._call(cell, settings)
            yield settings, answer
            spent += answer.get("cpu", LIMIT)
            late = answer["status"] == "timeout" and settings
            if spent > SEARCH or late or answer["status"] == "error":
                return

    def _call(self, cell: Cell, settings: Settings) -> Row:
        peer = self.at_work.peer
        most = limit(peer)
        parts = [cell.name, cell.fingerprint, peer.method, settings, most]
        key = json.dumps([*parts, fingerprint(peer.environment)])
        known = self.bench.cache.get(key)
        if known is not None and not self.bench.fresh:
            return known
        if not self.bench.ask:
            return {"status": "error", "note": NOT_RUN}
        readings, out = self.folder / "readings.npz", self.folder / "answer.npz"
        np.savez(readings, readings=cell.readings)
        answer = {"key": key, **self.at_work.run(settings, readings, out)}
        if answer["status"] == "timeout" or answer.get("cpu", 0.0) > most:
            answer |= {"status": "timeout", "note": f"over {most:g} s"}
        elif answer["status"] == "done":
            answer |= _graded(cell, out)
        self.bench.cache.put(answer)
        figure = answer.get("rmse", answer["note"])
        print(f"{cell.name}: {peer.name} {settings}: {figure}", flush=True)
        return answer


def _graded(cell: Cell, path: Path) -> Row:
    answer = np.load(path)
    sparse = answer.get("sparse")
    flags = None if sparse is None else np.abs(sparse) > 1e-6 * np.nanmax(np.abs(cell.truth))
    return graded(cell, Answer(answer["estimate"], flags))


def _row(cell: str, peer: Peer, which: str, settings: Settings, answer: Row) -> Row:
    figures = {k: answer.get(k) for k in ("rmse", "mae", "f1", "cpu")}
    named = {"cell": cell, "peer": peer.name, "setting": which, "settings": json.dumps(settings)}
    return {**named, **figures, "note": answer.get("note") or answer.get("error", "")}


def absent() -> list[str]:
    """The environments that are not there, by folder."""
    needed = {ENVIRONMENTS[peer.environment] for peer in PEERS}
    return sorted(e.folder for e in needed if not (ROOT / e.folder).exists())
