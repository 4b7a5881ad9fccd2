"""Finished windows, kept in a folder: a run that was ended goes on where it was.

A window is one file of arrays and a text of JSON, written whole or not at all; nothing in it is
run when it is read. What the run is of (readings, options, windows) is written first, and a run of
anything else does not go on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.errors import InputError
from fieldmend.faults import Episode
from fieldmend.field.fitted import FittedField
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Quantity
from fieldmend.recovery.solving import Solved
from fieldmend.recovery.window import WindowResult
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service
from fieldmend.text import shown
from fieldmend.version import __version__

RUN = "run.json"
ENDS = ("estimate", "lower", "upper")
REGION = (*ENDS, "anomaly", "flag", "replaced", "scale")
SMALL = ("method", "rank", "gap", "status", "choice")


@dataclass(frozen=True)
class Kept:
    """The windows of one condition that are finished."""

    folder: Path
    condition: int

    def _file(self, window: int) -> Path:
        return self.folder / f"{self.condition}-{window:06d}.npz"

    def count(self) -> int:
        """How many windows from the first on are there: they are finished in order."""
        count = 0
        while self._file(count).exists():
            count += 1
        return count

    def save(self, window: int, found: WindowResult) -> None:
        """Keep a finished window."""
        solved = found.solved
        words = {name: getattr(solved, name) for name in SMALL}
        words |= {"notes": solved.notes, "episodes": [asdict(one) for one in found.episodes]}
        arrays = {name: getattr(solved, name) for name in ENDS}
        self._write(window, words, arrays | {"flag": found.flag, "spread": found.spread})

    def load(self, window: int, fitted: FittedField | None = None) -> WindowResult:
        """A window as it was; `fitted` is the model, of which windows keep nothing."""
        words, held = self._read(window)
        ends: dict[str, Any] = {name: held.get(name) for name in ENDS}
        flag, spread = held["flag"], held["spread"]
        small = {name: words[name] for name in SMALL}
        solved = Solved(**ends, **small, notes=tuple(words["notes"]), fitted=fitted)
        return WindowResult(
            solved, flag, spread, tuple(Episode(**one) for one in words["episodes"])
        )

    def save_region(self, region: int, found: Recovered) -> None:
        """Keep a finished region, of a network that is recovered region by region."""
        words = {name: getattr(found, name) for name in (*SMALL, "notes", "warnings")}
        words |= {"episodes": [asdict(one) for one in found.episodes]}
        life = {} if found.service is None else vars(found.service)
        arrays = {name: getattr(found, name) for name in REGION} | life
        self._write(region, words, arrays)

    def load_region(self, region: int, name: str, unit: str, quantity: Quantity) -> Recovered:
        """A region as it was."""
        words, held = self._read(region)
        episodes = tuple(Episode(**one) for one in words.pop("episodes"))
        said: dict[str, Any] = {key: tuple(words.pop(key)) for key in ("notes", "warnings")}
        arrays: dict[str, Any] = {key: held.get(key) for key in REGION}
        life = Service(*(held[key] for key in ("node", "start", "stop", "never", "closed")))
        nothing = np.empty((0, len(life.never)))
        return Recovered(
            name=name, unit=unit, observed=nothing, holdout=None, episodes=episodes, service=life,
            quantity=quantity, **said, **words, **arrays,
        )  # fmt: skip

    def _write(self, number: int, words: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        part = self._file(number).with_suffix(".part")
        with part.open("wb") as file:
            np.savez(
                file,
                words=np.frombuffer(json.dumps(words, default=_plain).encode(), np.uint8),
                **{name: array for name, array in arrays.items() if array is not None},
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self._file(number))

    def _read(self, number: int) -> tuple[dict[str, Any], dict[str, Array]]:
        with np.load(self._file(number), allow_pickle=False) as held:
            arrays = {name: held[name] for name in held if name != "words"}
            return json.loads(held["words"].tobytes()), arrays


def single(found: WindowResult) -> WindowResult:
    """The same in single precision, as it is kept and given out."""
    ends: dict[str, Any] = {name: _single(getattr(found.solved, name)) for name in ENDS}
    return replace(found, solved=replace(found.solved, **ends))


def _single(array: Array | None) -> Array | None:
    if array is None:
        return None
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float32)


def opened(folder: Path, grid: Grid, options: Options) -> list[Kept]:
    """The folder of this very run, made if it is not there; one `Kept` per condition, in order.

    Raises
    ------
    InputError
        If what is there belongs to other readings or options.
    """
    run = _run(grid, options)
    file = folder / RUN
    if file.exists():
        try:
            same = json.loads(file.read_text()) == run
        except (OSError, ValueError):
            same = False
        if not same:
            raise InputError(
                f"{shown(str(folder))}: the run that was ended there was of other readings or "
                "options",
                hint="Start anew: without --resume, with --force",
            )
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        file.write_text(json.dumps(run))
    return [Kept(folder, i) for i in range(len(grid.values))]


def _run(grid: Grid, options: Options) -> dict[str, Any]:
    """What a run is of, as JSON gives it back."""
    said = {name: value for name, value in vars(options).items() if name != "command"}
    run = {
        "version": __version__,
        "options": said,
        "nodes": grid.nodes,
        "first": int(grid.times[0]),
        "slot": grid.slot,
        "readings": {name: _digest(X) for name, X in grid.values.items()},
    }
    plain: dict[str, Any] = json.loads(json.dumps(run, default=_plain))
    return plain


def _digest(X: Array) -> str:
    """SHA-256 of readings, by blocks; whatever bits their NaN have."""
    out = hashlib.sha256(str(X.shape).encode())
    for block in blocks(*X.shape):
        part = np.asarray(X[block], dtype=np.float64)
        out.update(np.where(np.isnan(part), np.nan, part).tobytes())
    return out.hexdigest()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
