"""``fieldmend recover``: check, read, recover, write, tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import typer

from fieldmend.cli.nightly import Nightly, alone, needs_a_person
from fieldmend.cli.outputs import Wish, write
from fieldmend.cli.progress import Silence, progress
from fieldmend.cli.run import DONE, SUSPECTS
from fieldmend.grid import stamp
from fieldmend.records.watching import watched
from fieldmend.result.cropping import cropped

if TYPE_CHECKING:
    from fieldmend.cli.source import Source
    from fieldmend.cli.terminal import Voice
    from fieldmend.records import Records
    from fieldmend.recovery import Recovery


@dataclass(frozen=True)
class Job:
    """How to recover."""

    method: str | None = None
    model: Path | None = None
    new_nodes: str = "refuse"
    option: Sequence[str] = ()
    limits: Sequence[str] = ()
    level: float = 0.9
    joint: bool | None = None
    holdout: bool = True
    replace: str = "certain"
    decisions: Path | None = None
    extrapolate: bool = False
    max_gap: str | None = None
    max_width: Sequence[str] = ()
    on_change: Sequence[str] = ()
    seed: int = 0
    workers: int | None = None
    scheduler: str | None = None
    memory: str | None = None
    resume: bool = False
    fail_on: str | None = None

    def options(self) -> dict[str, Any]:
        """Options of `fm.recover`, checked. Without a method the library's own default is taken."""
        from fieldmend.errors import InputError
        from fieldmend.recovery import Options
        from fieldmend.recovery.decisions import read_decisions
        from fieldmend.recovery.options import bytes_of, divided

        chosen: dict[str, Any] = {} if self.method is None else {"method": self.method}
        options = chosen | {
            "limits": dict(limit_of(one) for one in self.limits),
            "level": self.level,
            "joint": self.joint,
            "holdout": self.holdout,
            "replace": self.replace,
            "extrapolate": self.extrapolate,
            "max_gap": self.max_gap,
            "max_width": by_condition(self.max_width, "--max-width", "WIDTH"),
            "on_change": by_condition(self.on_change, "--on-change", "CHANGE"),
            "seed": self.seed,
        }
        given = dict(_named(one, "--option", "debias=true") for one in self.option)
        more = {name: _value(text) for name, text in given.items()}
        try:
            checked = Options(**options)
            divided(more, checked.method)
            bytes_of(self.memory)
        except (InputError, TypeError) as error:
            raise typer.BadParameter(str(error)) from error
        own: dict[str, Any] = {"model": self.model, "new_nodes": self.new_nodes}
        own["decisions"] = read_decisions(self.decisions)  # before a large file is read
        return options | more | own | self._means()

    def _means(self) -> dict[str, Any]:
        """By how many, and in how much memory."""
        return {"workers": self.workers, "client": self.scheduler, "memory": self.memory}


def run(source: Source, job: Job, wish: Wish, voice: Voice, nightly: Nightly | None = None) -> int:
    """Do the job; the exit code comes back."""
    asked = nightly or Nightly()
    wish = replace(wish, append=asked.append)
    if asked.append and job.model is not None and not job.model.exists():
        wish, job = replace(wish, model=job.model), replace(job, model=None)
    said = {"kinds": source.kinds, "units": source.units}
    options = job.options() | said | {"command": command(source.arguments)}
    files = wish.files(source.name)
    _check_limited(job, asked)
    also = [str(one) for one in (job.model, job.decisions) if one is not None]
    wish.check(files, [*source.files, *also])
    if wish.model is not None and job.method not in (None, "auto"):
        raise typer.BadParameter("--save-model: only method auto fits a model")
    with alone(asked, wish):
        since = asked.begins([files["recovered"]], source.reading.get("tz"))
        work = wish.kept(files)
        with progress(voice.bars) as bars:
            recovery = _recovered(source.since(since), bars, options | {"keep": work})
            new = recovery if since is None else cropped(recovery, since)
            if asked.dated:
                files = replace(wish, date=last_day(new)).files(source.name)
                wish.check(files, source.files)
            force = wish.force or wish.resume
            begun = bars.writing(len(files))
            write(new, files, begun, force=force, since=since if asked.append else None)
            if work is not None:
                rmtree(work)
            summary = new.summary()
            if asked.to is not None:
                from fieldmend.export.database import write_database

                write_database(new, summary, asked.to, asked.to_table)
    summary["files"] = {kind: str(path) for kind, path in files.items()}
    return _tell(summary, voice, job, asked)


def _check_limited(job: Job, asked: Nightly) -> None:
    """A run in little memory is a whole run; only such a run can be resumed."""
    if job.memory is None and job.resume:
        raise typer.BadParameter("--resume: only a run with --memory can be resumed")
    if job.memory is not None and (asked.append or asked.since or asked.dated):
        raise typer.BadParameter("--memory: not with --append, --since or --dated")


def _tell(summary: dict[str, Any], voice: Voice, job: Job, asked: Nightly) -> int:
    """Print what there is to say, and turn it into an exit code."""
    from fieldmend.cli.printed import of_attention, of_recovery

    summary["attention"] = needs_a_person(summary)
    if asked.brief and not voice.as_json:
        if summary["attention"]:
            voice.tell(summary, of_attention)
    else:
        voice.tell(summary, of_recovery)
    failing = {"suspect": _flagged(summary), "attention": bool(summary["attention"])}
    return SUSPECTS if failing.get(job.fail_on or "") else DONE


def last_day(recovery: Recovery) -> str:
    """The day, UTC, that the last slot begins on: 2024-05-03."""
    return stamp(int(recovery.grid.times[-1])).partition("T")[0]


def _recovered(source: Source, bars: Silence, options: dict[str, Any]) -> Recovery:
    from fieldmend import spill
    from fieldmend.recovery import recover
    from fieldmend.recovery.options import bytes_of

    with spill.limited(bytes_of(options["memory"])):
        records = read(source, bars)
    try:
        step = bars.recovering(records.origin.used * max(1, len(records.conditions)))
        # Slots are made before anything is recovered: the first fifth of the bar.
        with watched(lambda what, share: step(what, 0.2 * share)):
            return recover(
                records, slot=source.slot, slot_value=source.slot_value, progress=step, **options
            )
    finally:
        records.close()


def read(source: Source, bars: Silence) -> Records:
    """The records, with a bar."""
    from fieldmend.text import shown

    bar = bars.reading(shown(" ".join(source.files)))
    with watched(bar.stage):
        records = source.read()
    bar.done(records.origin.read)
    return records


def _flagged(summary: dict[str, Any]) -> bool:
    conditions = summary["conditions"].values()
    return any(one["flags"]["suspect"] or one["flags"]["fail"] for one in conditions)


def command(arguments: Sequence[str]) -> str:
    """The command as it was typed, for the report; passwords in addresses are left out.

    Examples
    --------
    >>> command(["recover", "postgresql://me:secret@host/db", "--table", "my readings"])
    "fieldmend recover postgresql://me:HIDDEN@host/db --table 'my readings'"
    """
    hidden = [re.sub(r"(?<=://)([^:/@]*):[^@]*@", r"\1:HIDDEN@", one) for one in arguments]
    return shlex.join(["fieldmend", *hidden])


def limit_of(text: str) -> tuple[str, tuple[float, float]]:
    """``temperature=-40:60`` → ("temperature", (-40.0, 60.0)); an empty end has no limit."""
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        if name and colon:
            return name, (float(low or "-inf"), float(high or "inf"))
    except ValueError:
        pass
    raise typer.BadParameter(f"--limits {text!r} is not NAME=LOW:HIGH, such as temperature=-40:60")


def by_condition(given: Sequence[str], option: str, what: str) -> float | dict[str, float] | None:
    """``2`` for every condition, or ``temperature=2`` for one; None if nothing is given."""
    found: dict[str, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found = {}
        if not found or bool(name) != bool(equals):
            raise typer.BadParameter(
                f"{option} {text!r} is neither a number, such as 2, nor NAME={what}"
            )
    if "" in found and len(found) > 1:
        raise typer.BadParameter(f"{option}: one for all conditions, or one for each named")
    return found.get("", found) if found else None


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    """``t=degC`` → ("t", "degC")."""
    name, equals, value = text.rpartition("=")
    if not name or not equals or not value:
        raise typer.BadParameter(f"{option} {text!r} is not NAME=VALUE, such as {example}")
    return name, value


def _value(text: str) -> bool | int | float | str:
    """What a text says: true, false, a whole number, a number, or itself.

    Examples
    --------
    >>> _value("true"), _value("5"), _value("1e-3"), _value("x")
    (True, 5, 0.001, 'x')
    """
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
