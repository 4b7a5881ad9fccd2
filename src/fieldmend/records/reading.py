"""`read`: from any source to `Records`."""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fieldmend.errors import InputError
from fieldmend.records.records import Records
from fieldmend.records.sources.opening import stages
from fieldmend.records.sources.stage import Chosen, Stage
from fieldmend.records.steps import Steps
from fieldmend.records.table import duplicates, parts, zones
from fieldmend.records.table.abbreviations import parted
from fieldmend.records.table.dates import ORDERS
from fieldmend.records.table.planning import words_for_missing
from fieldmend.records.table.roles import Wanted
from fieldmend.records.table.session import Session, is_small, raise_readable
from fieldmend.text import shown

GREW = "{} changed while it was read: the lines that it had then are used"
CHANGED = "{} changed while it was read: its SHA-256 is of how it was before"
AMBIGUOUS = (None, "earlier", "later", "missing")


def read(  # noqa: PLR0913 - the options of the reader, keyword-only
    source: Any,
    *,
    node: str | Sequence[str] | None = None,
    time: str | Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    conditions: Sequence[str] | None = None,
    missing: Sequence[float | str] | Mapping[str, Sequence[float | str]] = (),
    tz: str | None = None,
    ambiguous: str | None = None,
    dates: str | None = None,
    on_duplicate: str | None = None,
    salvage: bool = False,
    locations: Any = None,
    table: str | None = None,
    query: str | None = None,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    time_unit: str | None = None,
    origin: str | None = None,
    encoding: str | None = None,
    start: str | None = None,
    end: str | None = None,
) -> Records:
    """Read records of any dialect.

    Parameters
    ----------
    source : path, "-", address, frame, or a list of these
        CSV and its kin, NDJSON, Parquet, netCDF, SQLite; ``postgresql://…``; a pandas, Polars or
        PyArrow frame. A path is taken literally.
    node, time, value, variable : str, optional
        Columns, where their names are not known ones. `time` may be several columns: a date and a
        time, or year, month, day, hour, …; `node` several, which make its name together.
    conditions : sequence of str, optional
        The conditions to keep; all by default.
    missing : sequence, or mapping from condition to sequence
        Values that stand for no reading, such as -9999; nothing is guessed. In a mapping, those
        under "" are of every condition.
    tz : str, optional
        The zone of stamps that carry none, such as "Europe/Berlin" or "+05:30"; UTC by default,
        and it is said. "BST=+01:00" says what an abbreviation means that means several zones.
    ambiguous : {"earlier", "later", "missing"}, optional
        For local times that come twice or never; an error by default.
    dates : {"dmy", "mdy", "ymd"}, optional
        The order of day, month and year in dates such as 3/4/2024, where neither the column's name
        nor the course of the stamps tells it.
    on_duplicate : {"mean", "first", "last", "error"}, optional
        For rows of one node and time that differ; the mean by default. Where most rows are such,
        the node's column may be another: then it must be said, or `node` be named.
    salvage : bool
        Keep what can be read of a damaged compressed file.
    locations : path, frame or mapping, optional
        Where the nodes are.
    table : str, optional
        Of a database.
    query, where : str, optional
        ``"SELECT … FROM input WHERE …"`` over any file, or its condition alone; of a database the
        query is its own.
    columns : sequence of str, optional
        Names of the columns of a file without a header; "-" for one of no use. Of a file with one:
        the columns to use, if they are fewer.
    time_unit : {"us", "ms", "s", "min", "h", "d", "w"}, optional
        Of times that are numbers since `origin` (1970 if not given).
    origin : str, optional
        Such as "2018-03-01"; or excel, matlab, julian or mjd, whose days have origins of their own.
    encoding : str, optional
        Of text, such as "cp932" or "gb18030"; UTF-8, UTF-16, Latin letters and Shift-JIS are found.
    start, end : str, optional
        Rows from `start` on and before `end` are used, such as "2024-01-31T12:00".

    Returns
    -------
    Records

    Raises
    ------
    InputError
        What is wrong, in which file and line, and what to try.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({
    ...     "node": ["a", "b", "a", "b"],
    ...     "time": ["2024-01-01 00:00"] * 2 + ["2024-01-01 00:10"] * 2,
    ...     "temperature": [20.5, 21.0, 20.6, None],
    ... })
    >>> records = read(frame)
    >>> records.nodes, records.origin.read, records.origin.used
    (('a', 'b'), 4, 4)
    >>> records.grid().values["temperature"]
    array([[20.5, 21. ],
           [20.6,  nan]])
    """
    if isinstance(conditions, str):
        conditions = [conditions]
    if conditions is not None and not conditions:
        raise InputError("conditions= names none", hint="Leave it out to keep all")
    if time is not None and not time:
        raise InputError("time= names no column")
    if ambiguous not in AMBIGUOUS:
        raise InputError(f"ambiguous={shown(ambiguous)!r}", hint="earlier, later or missing")
    if dates not in (None, *ORDERS):
        raise InputError(f"dates={shown(dates)!r}", hint=", ".join(ORDERS))
    if on_duplicate not in (None, *duplicates.ON_DUPLICATE):
        raise InputError(
            f"on_duplicate={shown(on_duplicate)!r}", hint=", ".join(duplicates.ON_DUPLICATE)
        )
    zone, meanings = parted(tz)
    job = Steps(
        Wanted(node, time, value, variable, conditions, words_for_missing(missing)),
        missing,
        zone,
        ambiguous,
        on_duplicate,
        meanings,
        query=query,
        where=where,
        columns=columns,
        count=parts.counted(time_unit, origin),
        dates=dates or "",
        edges=(zones.edge(start, zone, "start"), zones.edge(end, zone, "end")),
    )
    chosen = Chosen(table, query, salvage, columns, encoding)
    records, changed = _read(source, chosen, job, locations)
    if changed:
        again = replace(job, notes=[*map(GREW.format, sorted(map(shown, changed)))], warnings=[])
        records, _ = _read(source, replace(chosen, growing=changed), again, locations)
    return records


def _read(
    source: Any, chosen: Chosen, job: Steps, locations: Any
) -> tuple[Records, frozenset[str]]:
    """The records, and the files that have to be read again: they changed meanwhile."""
    session = Session.open(small=is_small(source))
    found: list[Stage] = []
    try:
        found = stages(source, chosen, session.con, session.work)
        records = job.run(session, found, locations)
    except BaseException as error:
        session.close()
        raise_readable(error, found)
        raise
    finally:
        for stage in found:
            stage.close()
    weakref.finalize(records, session.close)
    return records, _changed(records, found)


def _changed(records: Records, found: list[Stage]) -> frozenset[str]:
    """Files that changed while they were read and can be read again: lines of text, no stream.

    Of others it is said.
    """
    changed = [stage for stage in found if stage.mark is not None and not stage.mark.holds]
    lines = [stage.name for stage in changed if stage.mark is not None and stage.mark.lines]
    if lines and all(stage.mark is not None for stage in found):
        return frozenset(lines)
    said = tuple(CHANGED.format(shown(stage.name)) for stage in changed)
    if said:
        origin = records.origin
        records.origin = replace(origin, warnings=(*origin.warnings, *said))
    return frozenset()
