"""Records that are refused as a whole, each with the option that would help."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fieldmend.errors import InputError
from fieldmend.records.sources.cutting import NUMBER
from fieldmend.records.table import owner, parts
from fieldmend.records.table.duplicates import Twice
from fieldmend.records.table.ledger import Ledger
from fieldmend.records.table.shapes import LONG, Shape
from fieldmend.records.vocabulary import listing
from fieldmend.text import escaped, shown, typed

TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s*[ap]\.?\s?m\.?)?", re.IGNORECASE)
CLASHES = 6  # rows that contradict each other, from which on it is no chance


def refuse_doubtful(ledger: Ledger, tz: str | None, ambiguous: str | None) -> None:
    """Local times that the zone has twice or never, and nobody said which is meant."""
    if ambiguous is not None or tz is None:
        return
    ids = ledger.con.execute(
        "SELECT rowid FROM r WHERE bad[1] = 'a' ORDER BY rowid LIMIT 10"
    ).fetchall()
    if ids:
        raise InputError(
            f"local times that come twice or never in {shown(tz)}: "
            + "; ".join(ledger.where([row[0] for row in ids])),
            hint="Say which is meant with ambiguous= earlier, later or missing (--ambiguous)",
        )


def refuse_clashes(ledger: Ledger, twice: Twice, sound: int, headers: int) -> None:
    """Where most rows contradict each other, several sensors are taken for one.

    `headers`: how often the header stands among the rows.
    """
    if twice.clashing < CLASHES:
        return
    if twice.clashing * 2 <= sound:
        return
    plan = ledger.plans[0]
    names = plan.stage.names
    found = owner.likely(plan.stage, plan.roles, names, ledger.con) if plan.stage.relation else ""
    taken = plan.roles.node
    as_node = (
        "no column was taken for the node"
        if taken is None
        else (f"{shown(names[taken])} was taken for the node")
    )
    if not found and taken is not None and plan.stage.relation:
        deep = owner.levels(plan.stage, plan.roles, names, ledger.con)
        # A profile: each depth of a station is a node.
        found = f"{names[taken]},{deep}" if deep else ""
    perhaps = (
        f", perhaps with node={escaped(found)!r} ({typed('--node', found)})"
        if found
        else (" with node= (--node)")
    )
    raise InputError(
        f"{twice.clashing:,} of {sound:,} rows contradict others of their node and time "
        f"({as_node}; found: {listing(names)}); first {twice.example}",
        file=plan.stage.name,
        hint=_parts(headers) if headers and taken is None and not found else
        f"Name the node's column{perhaps}; if these rows belong together, say so with "
        "on_duplicate='mean' (--on-duplicate mean)",
    )  # fmt: skip


def _parts(headers: int) -> str:
    """What to do about a file put together from several, none of which names its node."""
    return (
        f"The header stands in it {headers + 1:,} times: if each part is a station's, hand the "
        "parts in as files of their own, each called after its station"
    )


def refuse_all(read: int, set_aside: int, rejects: Sequence[Any], outside: int) -> None:
    """No row is left to be used."""
    if outside and read == set_aside:
        raise InputError(
            f"no row lies between start and end; {outside:,} of {read:,} lie outside",
            hint="Look at start= and end= (--start, --end), and at tz=",
        )
    if read == set_aside:
        first = rejects[0]
        raise InputError(
            f"none of {read:,} rows can be used; {first.reason} ({first.text!r})",
            file=first.file,
            line=first.line,
            hint=_about(first),
        )


def _about(first: Any) -> str:
    """What to do about rows such as this one."""
    if first.reason.startswith(("time", "clock")):
        return _about_times(first.text)
    if _is_numeral(first):
        return _about_numbers(first)
    return "Look at that line; roles can be named with node=, time= and value= (--node …)"


def _is_numeral(reject: Any) -> bool:
    """Whether a cell is a number in another way of writing: 1,234. "off" is a state."""
    return reject.reason.startswith("number") and bool(re.search(r"\d[.,’\']\d", reject.text))


def _about_numbers(first: Any) -> str:
    """What to do about cells such as this one."""
    name = '"' + _column(first).replace('"', '""') + '"'
    marks = f"SELECT * REPLACE (replace({name}, ',', '') AS {name}) FROM input"
    return f"Take its marks out with a query: {typed('--query', marks)}"


def _column(first: Any) -> str:
    return str(first.reason).removeprefix("number: ").removesuffix(" is no number")


def _about_times(text: str) -> str:
    """What to do about times such as this one."""
    number = text.strip().replace(",", ".")
    if option := parts.likely([number]):
        return f"They look like days: {option}"
    if NUMBER.fullmatch(number):
        return "Say what they count: --time-unit h --origin 2024-01-31"
    if TIME_OF_DAY.fullmatch(text.strip()):
        return (
            "That is a time of day without its day: write the day before it (2024-01-31 "
            "12:00), or into a column of its own called date"
        )
    return "Write times as 2024-01-31T12:00:00Z or in epoch seconds"


def refuse_most(
    ledger: Ledger, read: int, totals: Mapping[str, int], named: Mapping[str, bool]
) -> None:
    """Most rows have no node or no time where these were looked for: the column is another.

    `named`: whether the user named it, who then is obeyed.
    """
    plan = ledger.plans[0]
    columns = {"node": plan.roles.node, "time": plan.roles.time[0]}
    for role, column in columns.items():
        lost = totals.get(role, 0)
        if column is None or named[role] or lost < CLASHES or lost * 2 <= read:
            continue
        raise InputError(
            f"{lost:,} of {read:,} rows have no {role} that can be read in "
            f"{shown(plan.stage.names[column])}, taken for the {role}; "
            f"found: {listing(plan.stage.names)}",
            file=plan.stage.name,
            hint=f"Name another column with {role}= (--{role}), or this one if it is meant",
        )


def refuse_numbers(read: int, totals: Mapping[str, int], rejects: Sequence[Any]) -> None:
    """Most rows hold a number that is written in another way: the few others are not the record.

    Words are no numbers at all: a house's history is full of "on" and "off".
    """
    lost = totals.get("number", 0)
    cells = [one for one in rejects if one.reason.startswith("number")]
    numerals = [one for one in cells if _is_numeral(one)]
    if lost < CLASHES or lost * 2 <= read or len(numerals) * 2 <= len(cells):
        return
    first = numerals[0]
    raise InputError(
        f"{lost:,} of {read:,} rows have no number that can be read, such as {first.text!r} in "
        f"{_column(first)}",
        file=first.file,
        line=first.line,
        hint=_about_numbers(first),
    )


def refuse_empty(
    ledger: Ledger, names: list[str], conditions: Sequence[str], shape: Shape
) -> list[str]:
    """Refuse records without a reading; what is said of columns without one."""
    counts = shape.counts(ledger.con, names)
    if shape is LONG:
        counts = {name: counts.get(name, 0) for name in conditions}
    if not any(counts.values()):
        raise InputError(
            "all readings are missing",
            file=ledger.plans[0].stage.name,
            hint="Look at missing= (--missing), and at the columns taken: " + listing(names),
        )
    empty = [name for name, n in counts.items() if not n]
    if len(empty) > 3:
        return [f"{len(empty)} {shape.column_is}s have no reading at all: {listing(empty)}"]
    return [f"{shape.column_is} {shown(name)} has no reading at all" for name in empty]
