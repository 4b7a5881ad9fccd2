"""Where models come from: a file, the stream's own past; fitted again daily in a child process.

A new model is fitted to the past without its newest part, and both models are replayed on that
part with readings hidden. One that is worse than 1.1 times the old one is refused, and said.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import stamp
from fieldmend.live.companions import Companions
from fieldmend.live.journal import Journal, put
from fieldmend.live.settings import Settings

log = logging.getLogger(__name__)
FOLDER = "model"
COMPANIONS = ".companions"
WORSE = 1.1
KEPT = 10  # model files
NEIGHBOURS = 3
FAILED_WAIT = 3_600_000_000  # µs after a fit that failed until the next


class Models:
    """The model in use, and the one that is being fitted.

    Parameters
    ----------
    journal
        Whose past models are fitted to.
    settings
        When, and to how long a past.
    given, companions
        A model to begin with, taken if the journal has none, and what came with it.
    """

    def __init__(
        self,
        journal: Journal,
        settings: Settings,
        given: FieldModel | None = None,
        companions: Companions | None = None,
    ) -> None:
        self.journal, self.settings, self.given = journal, settings, given
        self.companions = companions or Companions()
        self.folder = journal.folder / FOLDER
        self.name = ""
        self.fitted_to = 0  # µs
        self._child: subprocess.Popen[bytes] | None = None
        self._wanted = ""
        self._next = 0
        self.refused = ""  # why the last fit came to nothing

    @property
    def fitting(self) -> bool:
        """Whether a child is at work."""
        return self._child is not None

    def start(self) -> FieldModel | None:
        """The model that was in use, or the one given; None while there is none."""
        name = self.journal.get("model")
        if name and self._file(name).exists():
            self.name, self.fitted_to = name, int(self.journal.get("model_time") or 0)
            self.companions = Companions.load(companions_file(self._file(name)))
            return FieldModel.load(self._file(name))
        if self.given is None:
            return None
        last = max(part.fitted_on.last or 0 for part in self.given.conditions.values())
        name = f"{stamp(last // 60_000_000 * 60_000_000)[:16]}Z"
        self.folder.mkdir(exist_ok=True)
        self.given.save(self._file(name))
        self.companions.save(companions_file(self._file(name)))
        self._note(name, last, {"why": "given"}, self.given)
        return self.given

    def poll(self, closed: int, now: int) -> FieldModel | None:
        """Begin a fit if one is due; the new model if one has ended well."""
        if self._child is not None:
            return self._ended(now)
        if now < self._next or not self._due(closed):
            return None
        self._begin(closed)
        return None

    def stop(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.terminate()
            self._child.wait()
            self._child = None

    def _due(self, closed: int) -> bool:
        if self.name:
            return closed - self.fitted_to >= self.settings.refit and self._slots(closed) > 0
        return self._slots(closed) >= self.settings.learn

    def _slots(self, closed: int) -> int:
        """Closed slots since the last model."""
        with self.journal.lock:
            return int(
                self.journal.connection.execute(
                    "SELECT count(*) FROM slots WHERE rev = 0 AND slot >= ?",
                    (max(self.fitted_to, closed - self.settings.window),),
                ).fetchone()[0]
            )

    def _begin(self, closed: int) -> None:
        first = closed - self.settings.window
        self._wanted = f"{stamp(closed // 60_000_000 * 60_000_000)[:16]}Z"
        self.folder.mkdir(exist_ok=True)
        self.fitting_to = closed
        order = {
            "folder": str(self.journal.folder),
            "first": first,
            "stop": closed,
            "slot": self.settings.slot,
            "level": self.settings.level,
            "limits": self.settings.limits,
            "old": str(self._file(self.name)) if self.name else None,
            "out": str(self._file(self._wanted)),
        }
        command = [sys.executable, "-m", "fieldmend.live.refitting", json.dumps(order)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        log.info("fitting a model to the past until %s", stamp(closed))
        self._child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
        )

    def _ended(self, now: int) -> FieldModel | None:
        assert self._child is not None
        if self._child.poll() is None:
            return None
        child, self._child = self._child, None
        said = b"" if child.stdout is None else child.stdout.read()
        if child.stdout is not None:
            child.stdout.close()
        try:
            found: dict[str, Any] = json.loads(said)
        except ValueError:
            found = {"why": f"the fit failed (exit code {child.returncode})"}
        if not found.get("taken"):
            log.warning("no new model: %s", found["why"])
            self._refused(found, now)
            return None
        try:
            model = FieldModel.load(self._file(self._wanted))
        except InputError as error:
            self._refused({"why": str(error)}, now)
            return None
        self.companions = Companions.load(companions_file(self._file(self._wanted)))
        self._note(self._wanted, self.fitting_to, found, model)
        self._tidy()
        log.info("a new model is in use: %s", found["why"])
        return model

    def _refused(self, found: dict[str, Any], now: int) -> None:
        self.refused = str(found["why"])
        self._next = now + (self.settings.refit if "error" in found else FAILED_WAIT)
        with self.journal.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO models VALUES (?, ?, 0, ?, ?, ?)",
                (self._wanted, now, found.get("error"), found.get("before"), found["why"]),
            )

    def _note(self, name: str, until: int, found: dict[str, Any], model: FieldModel) -> None:
        self.name, self.fitted_to = name, until
        with self.journal.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO models VALUES (?, ?, 1, ?, ?, ?)",
                (name, until, found.get("error"), found.get("before"), found["why"]),
            )
            put(connection, model=name, model_time=until, neighbours=json.dumps(neighbours(model)))

    def _file(self, name: str) -> Path:
        return self.folder / f"{name.replace(':', '')}.npz"

    def _tidy(self) -> None:
        models = [file for file in self.folder.glob("*.npz") if file != self._file(self.name)]
        for old in sorted(file for file in models if COMPANIONS not in file.name)[:-KEPT]:
            old.unlink(missing_ok=True)
            companions_file(old).unlink(missing_ok=True)


def companions_file(model: Path) -> Path:
    """The file beside a model that says what nodes' companions imply."""
    return model.with_name(f"{model.stem}{COMPANIONS}.npz")


def neighbours(model: FieldModel) -> dict[str, list[str]]:
    """The nodes whose loadings point the way of a node's own: its witnesses, the nearest first."""
    part = next(iter(model.conditions.values()))
    loadings = part.field.loadings[part.view.back]
    length = np.linalg.norm(loadings, axis=1, keepdims=True)
    unit = loadings / np.maximum(length, 1e-12)
    out = {}
    for k, name in enumerate(model.nodes):
        likeness = unit @ unit[k]
        likeness[k] = -np.inf  # its own comes last, and of three nodes two are others
        nearest = np.argsort(-likeness, kind="stable")[: min(NEIGHBOURS, len(unit) - 1)]
        out[name] = [model.nodes[int(j)] for j in nearest]
    return out
