"""``fieldmend recover``: check, read, recover, write, tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from fieldmend.cli.outputs import Wish, prepare, write
from fieldmend.cli.progress import Silence, progress
from fieldmend.cli.run import DONE, SUSPECTS

if TYPE_CHECKING:
    from fieldmend.cli.screen import Voice
    from fieldmend.cli.source import Source
    from fieldmend.grid import Grid
    from fieldmend.recovery import Recovery


@dataclass(frozen=True)
class Job:
    """How to recover."""

    method: str | None = None
    limits: Sequence[str] = ()
    level: float = 0.9
    holdout: bool = True
    seed: int = 0
    fail_on_suspect: bool = False

    def options(self) -> dict[str, Any]:
        """Options of `fm.recover`, checked. Without a method the library's own default is taken."""
        chosen = {} if self.method is None else {"method": _method(self.method)}
        return chosen | {
            "limits": dict(_limit(one) for one in self.limits),
            "level": self.level,
            "holdout": self.holdout,
            "seed": self.seed,
        }


def run(source: Source, job: Job, wish: Wish, voice: Voice) -> int:
    """Do the job; the exit code comes back."""
    options = job.options()
    files = wish.files(source.name)
    prepare(wish, files, source.files)
    with progress(voice.bars) as bars:
        grid = read_grid(source, bars, job.seed)
        recovery = _recovered(grid, bars, options | {"command": command(source.arguments)})
        write(recovery, files, force=wish.force)
    summary = recovery.summary()
    summary["files"] = {kind: str(path) for kind, path in files.items()}
    from fieldmend.cli.story import of_recovery

    voice.tell(summary, [] if voice.as_json or voice.quiet else of_recovery(summary))
    return SUSPECTS if job.fail_on_suspect and _flagged(summary) else DONE


def read_grid(source: Source, bars: Silence, seed: int = 0) -> Grid:
    """The readings as slots × nodes."""
    from fieldmend.records import shown

    done = bars.reading(shown(" ".join(source.files)))
    records = source.read()
    try:
        grid = records.grid(source.slot, source.slot_value, seed)
    finally:
        records.close()
    done(grid.origin.read)
    return grid


def _recovered(grid: Grid, bars: Silence, options: dict[str, Any]) -> Recovery:
    from fieldmend.recovery import recover

    step = bars.recovering(len(grid.values) * grid.shape[0] * grid.shape[1])
    return recover(grid, progress=step, **options)


def _flagged(summary: dict[str, Any]) -> bool:
    conditions = summary["conditions"].values()
    return any(one["flags"]["suspect"] or one["flags"]["fail"] for one in conditions)


def command(arguments: Sequence[str]) -> str:
    """The command as it was typed, for the report; passwords in addresses are left out.

    Examples
    --------
    >>> command(["recover", "postgresql://me:secret@host/db", "--table", "my readings"])
    "fieldmend recover postgresql://me:***@host/db --table 'my readings'"
    """
    hidden = [re.sub(r"(?<=://)([^:/@]*):[^@]*@", r"\1:***@", one) for one in arguments]
    return shlex.join(["fieldmend", *hidden])


def _method(name: str) -> str:
    from fieldmend.solvers.methods import METHODS

    # The oracle has to be told the truth, which a file of readings does not hold.
    usable = [one for one in METHODS if one != "oracle"]
    if name not in usable:
        raise typer.BadParameter(f"there is no method {name!r}; there are {', '.join(usable)}")
    return name


def _limit(text: str) -> tuple[str, tuple[float, float]]:
    """``temperature=-40:60`` → ("temperature", (-40.0, 60.0)); an empty end has no limit."""
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        limits = float(low or "-inf"), float(high or "inf")
    except ValueError:
        colon = ""
    if not name or not colon or not limits[0] <= limits[1]:
        raise typer.BadParameter(
            f"--limits {text!r} is not NAME=LOW:HIGH, such as temperature=-40:60"
        )
    return name, limits
