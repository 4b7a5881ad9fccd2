"""Every night: a file of options, new days only, a database, silence unless someone is needed."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fieldmend.cli.config import obey
from fieldmend.cli.help import flag

if TYPE_CHECKING:
    from fieldmend.cli.outputs import Wish

PANEL = "Every night"
DAY = 86_400_000_000  # microseconds
BUSY = 75  # what BSD's sysexits call "try again later"


@dataclass(frozen=True)
class Nightly:
    """What sets a job that comes back every night apart from one that does not."""

    config: Path | None = None
    append: bool = False
    since: str | None = None
    dated: bool = False
    brief: bool = False
    to: str | None = None
    to_table: str = "recovered"

    def begins(self, tables: list[Path], tz: str | None) -> int | None:
        """The moment that results are wanted from, microseconds; None for all there is.

        Without ``--since``, one day before the end of what is there: the end of a record is
        estimated from its past alone, and readings arrive late.
        """
        if self.since is not None:
            from fieldmend.records.table.zones import edge

            return edge(self.since, tz, "since")
        if not self.append:
            return None
        from fieldmend.export.appending import last_slot
        from fieldmend.export.database import newest

        ends = [last_slot(table) for table in tables if table.exists()]
        if self.to is not None:
            ends.append(newest(self.to, self.to_table))
        there = [end for end in ends if end is not None]
        # The one that is furthest behind: nothing is left out of any.
        return min(there) - DAY if there and len(there) == len(ends) else None


def nightly(
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Take all options from this file, which 'fieldmend config' writes; those on the "
            "command line count first.",
            metavar="FILE",
            rich_help_panel=PANEL,
            callback=obey,
            is_eager=True,
        ),
    ] = None,
    append: Annotated[
        bool,
        flag(
            "--append",
            help="Recover what is new and add it to the tables that are there. The last day in "
            "them is recovered again. With --model, a model that is not there yet is fitted and "
            "saved.",
            panel=PANEL,
        ),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            help="Give results from this moment on: 2024-05-03. The day before it is read too, "
            "as its past.",
            metavar="MOMENT",
            rich_help_panel=PANEL,
        ),
    ] = None,
    dated: Annotated[
        bool,
        flag(
            "--dated",
            help="Put the last day of the record into the names of the files, so that every night "
            "leaves its own.",
            panel=PANEL,
        ),
    ] = False,
    brief: Annotated[
        bool,
        flag(
            "--brief",
            help="Print only what needs a person, and nothing if nothing does.",
            panel=PANEL,
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            help="Write results to a database too: postgresql://..., sqlite:///site.db. Rows of "
            "the same node, time and condition are replaced.",
            metavar="ADDRESS",
            rich_help_panel=PANEL,
        ),
    ] = None,
    to_table: Annotated[
        str,
        typer.Option(
            help="The table there; NAME_episodes and NAME_runs stand beside it.",
            metavar="NAME",
            rich_help_panel=PANEL,
        ),
    ] = "recovered",
) -> Nightly:
    """What was asked, checked as far as it can be before any work."""
    _check(append=append, since=since, dated=dated)
    if to is not None:
        from fieldmend.errors import InputError
        from fieldmend.export.database import check_address

        try:
            check_address(to, to_table)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
    return Nightly(config, append, since, dated, brief, to, to_table)


def _check(*, append: bool, since: str | None, dated: bool) -> None:
    from fieldmend.errors import InputError
    from fieldmend.records.table.parts import moment_of

    if append and dated:
        raise typer.BadParameter("--append adds to one file, --dated makes one a day: choose")
    try:
        _ = since and moment_of(since, "--since")
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def takes_nightly(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `nightly`; it gets them as one `Nightly`, by that name."""
    own = inspect.signature(command, eval_str=True)
    shared = inspect.signature(nightly, eval_str=True)

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> Any:
        asked = nightly(**{name: given.pop(name) for name in shared.parameters})
        return command(*args, nightly=asked, **given)

    rest = [p for p in own.parameters.values() if p.name != "nightly"]
    parameters = [*rest, *shared.parameters.values()]
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


class Busy(Exception):
    """Another run of the same job is at work."""

    exit_code = BUSY


@contextmanager
def alone(asked: Nightly, wish: Wish) -> Iterator[None]:
    """Hold the job's lock: the configuration itself, or the folder that is added to.

    No file is left for it, and a run that was killed holds none.
    """
    held = asked.config or (wish.folder if asked.append and wish.folder.is_dir() else None)
    if held is None or os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(held, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"{held}: another run of this job is at work. Try again later"
            raise Busy(msg) from error
        yield
    finally:
        os.close(handle)


def needs_a_person(summary: dict[str, Any]) -> list[str]:
    """What someone should look at, a sentence each; empty after a night like all others.

    Faults that last, and those of many nodes at one time; single false readings are flagged and
    replaced without anyone.
    """
    from fieldmend.faults import Kind
    from fieldmend.text import shown, stretch

    lasting = {str(kind) for kind in Kind if kind.lasts}
    said = [
        f"node {shown(one['node'])}, {shown(one['condition'])}, "
        f"{stretch(one['start'], one['end'])}: {one['kind']}; {one['explanation']}"
        for one in summary["look_first"]
        if one["kind"] in lasting or len(one["nodes"]) > 1
    ]
    said += summary["warnings"]
    said += [f"{code}: say --missing if it stands for no reading" for code in summary["suspects"]]
    said += [
        f"{shown(name)}: {one['holdout']['verdict']}"
        for name, one in summary["conditions"].items()
        if one["holdout"] and one["holdout"]["closer"] == "line"
    ]
    return said
