"""Cells: pieces of work that are done once, in parallel, and never repeated.

A cell is an experiment's name and its parameters. What it found is one line of JSON in a folder,
under a key made of the parameters, the data and the code that computes; a run that was killed
goes on where it was. One process writes; a line that a kill cut short is not read.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.experiments.data import Matrix
from fieldmend.experiments.tables import Row

Progress = Callable[[int, int, float], object]
Measure = Callable[..., list[Row]]
# What the numbers depend on. Editing a figure or the page does not invalidate a night's work.
COMPUTING = (
    "automatic.py", "core", "decomposition.py", "diagnostics", "faults", "field", "geo.py",
    "leading.py", "methods.py", "metrics.py", "quantities", "simulate",
)  # fmt: skip
SHARED = ("contestants", "sampling")  # of the experiments
# Names in an experiment's file that say which cells there are, or sum them up.
PLANNING = frozenset(
    {"RUNS", "FEWER", "RATES", "QUICK_RATES", "cells", "table", "loss_table", "energy_table",
     "separation_table", "TITLES"}
)  # fmt: skip
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
TRUTH = ("field", "false")  # what is known of a simulated matrix
AHEAD = 3  # cells waiting per worker: enough to keep it busy, few enough to stop soon


@dataclass(frozen=True)
class Cell:
    """One piece of work: the experiment, its parameters, and the matrix it is about, if any."""

    experiment: str
    params: Mapping[str, Any]
    matrix: str = ""  # fingerprint


@lru_cache
def code_version(experiment: str = "") -> str:
    """A hash of the source that computes: the core and the experiment's own file."""
    found = _core_version().copy()
    for name in filter(None, (experiment, *SHARED)):
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        found.update(computing(source, without=PLANNING).encode())
    return found.hexdigest()[:16]


@lru_cache
def _core_version() -> hashlib._Hash:
    """What all experiments share, looked at once."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for path in (root / name for name in COMPUTING):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(computing(file.read_text(encoding="utf-8")).encode())
    return found


def computing(source: str, without: frozenset[str] = frozenset()) -> str:
    r"""What a module computes: its code without comments, docstrings and some of its names.

    Examples
    --------
    >>> one = computing("RUNS = 10\ndef f(): return 1  # one", without=frozenset({"RUNS"}))
    >>> one == computing("def f():\n    return 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [part for part in body if not (_is_text(part) or _named(part) & without)]
    return ast.dump(tree)


def _is_text(part: ast.AST) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _named(part: ast.AST) -> set[str]:
    """The names that a statement defines."""
    if isinstance(part, ast.Assign):
        return {target.id for target in part.targets if isinstance(target, ast.Name)}
    return {part.name} if isinstance(part, ast.FunctionDef | ast.ClassDef) else set()


class Store:
    """The folder of finished cells and of the matrices they are about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        self.lines = folder / "cells.jsonl"
        self.done: dict[str, list[Row]] = {}
        self._load()

    def _load(self) -> None:
        if not self.lines.exists():
            return
        text = self.lines.read_bytes()
        whole, cut = text.rpartition(b"\n")[::2]
        if cut:  # a kill came while this line was written
            self.lines.write_bytes(whole + b"\n" if whole else b"")
        for line in whole.splitlines():
            entry = json.loads(line)
            self.done[entry["key"]] = entry["rows"]

    def key(self, cell: Cell) -> str:
        """The same for the same work."""
        version = code_version(cell.experiment)
        text = json.dumps([cell.experiment, cell.params, cell.matrix, version], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def add(self, key: str, rows: list[Row]) -> None:
        """Append one finished cell; it is on the disk when this returns."""
        line = json.dumps({"key": key, "rows": rows}) + "\n"
        with self.lines.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        self.done[key] = rows

    def keep(self, matrix: Matrix) -> str:
        """Put a matrix where workers find it; its fingerprint."""
        path = self.folder / f"{matrix.fingerprint}.npz"
        if not path.exists():
            parts: dict[str, Any] = {"values": matrix.values}
            for name in TRUTH:
                if getattr(matrix, name) is not None:
                    parts[name] = getattr(matrix, name)
            labels = json.dumps([matrix.deployment, matrix.condition, matrix.simulated])
            temporary = path.with_suffix(".part.npz")
            np.savez(temporary, labels=np.array(labels), **parts)
            temporary.replace(path)
        return matrix.fingerprint


@lru_cache(maxsize=2)
def matrix_of(folder: Path, fingerprint: str) -> Matrix:
    """A matrix from the store."""
    with np.load(folder / f"{fingerprint}.npz") as parts:
        deployment, condition, simulated = json.loads(str(parts["labels"]))
        truth = {name: parts[name] for name in TRUTH if name in parts}
        return Matrix(deployment, condition, parts["values"], simulated, **truth)


def measure(folder: Path, cell: Cell) -> list[Row]:
    """Do the work of a cell (in a worker)."""
    from importlib import import_module

    module = import_module(f"fieldmend.experiments.{cell.experiment}")
    given = (matrix_of(folder, cell.matrix),) if cell.matrix else ()
    rows: list[Row] = module.measure(*given, **cell.params)
    return rows


def work(
    cells: Sequence[Cell], store: Store, *, jobs: int, progress: Progress | None = None
) -> list[list[Row]]:
    """The rows of every cell, in the cells' order; what was done before is not done again.

    Workers are processes with one BLAS thread each, so that the number of jobs changes no digit;
    ``jobs=0`` works in this process.
    """
    keys = [store.key(cell) for cell in cells]
    open_ = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in store.done}
    begun, total = time.monotonic(), len(set(keys))
    finished = total - len(open_)
    say = progress or (lambda *_: None)
    say(finished, total, 0.0)
    for key, rows in _results(open_, store.folder, jobs):
        store.add(key, rows)
        finished += 1
        say(finished, total, time.monotonic() - begun)
    return [store.done[key] for key in keys]


def _results(open_: Mapping[str, Cell], folder: Path, jobs: int) -> Iterator[tuple[str, list[Row]]]:
    if jobs == 0 or not open_:
        for key, cell in open_.items():
            yield key, _plain(measure(folder, cell))
        return
    with (
        _one_thread(),
        ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_dependent) as pool,
    ):
        waiting = iter(open_.items())
        running = dict(_submitted(pool, folder, waiting, AHEAD * jobs))
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    key = running.pop(future)
                    running.update(_submitted(pool, folder, waiting, 1))
                    yield key, _plain(future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _dependent() -> None:
    """In a worker: interrupts are the parent's business, and without it there is no work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def outlive_nobody() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=outlive_nobody, daemon=True).start()


def _submitted(
    pool: ProcessPoolExecutor, folder: Path, waiting: Iterator[tuple[str, Cell]], count: int
) -> Iterable[tuple[Any, str]]:
    for key, cell in islice(waiting, count):
        yield pool.submit(measure, folder, cell), key


def _plain(rows: list[Row]) -> list[Row]:
    """As they will be read back: NumPy's numbers become Python's."""
    plain: list[Row] = json.loads(json.dumps(rows, default=lambda number: number.item()))
    return plain


@contextmanager
def _one_thread() -> Iterator[None]:
    """One BLAS thread in processes started within."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
