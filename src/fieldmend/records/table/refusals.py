"""Records that are refused as a whole, each with the option that would help."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from fieldmend.errors import InputError
from fieldmend.grid import Cells
from fieldmend.records.sources.cutting import NUMBER
from fieldmend.records.sources.dialect import GROUPED
from fieldmend.records.table import owner, parts
from fieldmend.records.table.duplicates import Twice
from fieldmend.records.table.ledger import Ledger
from fieldmend.records.table.loading import Plan, headed
from fieldmend.records.table.shapes import LONG, MATRIX, Shape
from fieldmend.records.vocabulary import FLAGS, listing, words_of
from fieldmend.text import escaped, shown, typed

TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s*[ap]\.?\s?m\.?)?", re.IGNORECASE)
FORMS = (
    "%H:%M %d/%m/%Y", "%H:%M:%S %d/%m/%Y", "%H:%M %Y-%m-%d", "%H:%M:%S %Y-%m-%d",
    "%H:%M %d.%m.%Y", "%H:%M:%S %d.%m.%Y", "%d/%m/%Y %Hh%M", "%d/%m/%Y %Hh", "%Y-%m-%d %Hh%M",
    "%d-%b-%y %I.%M.%S.%f %p", "%d-%b-%Y %I.%M.%S.%f %p", "%Y年%m月%d日 %H時%M分",
    "%Y年%m月%d日%H时%M分", "%Y年%m月%d日 %H:%M", "%Y/%m/%d/%H:%M", "%G-W%V-%uT%H:%M",
)  # fmt: skip
"""Ways of writing stamps that are shown in an option; others are put together alike."""
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
    if plan.roles.shape is MATRIX and len(ledger.plans) > 1:
        raise InputError(
            f"{twice.clashing:,} of {sound:,} rows are of times that another file tells otherwise: "
            f"matrices of different quantities, or versions of one; first {twice.example}",
            file=plan.stage.name,
            hint="Hand in those of one quantity at a time; if they belong together, say so with "
            "on_duplicate='mean' (--on-duplicate mean)",
        )
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
    if found in names and taken is not None and not owner.stands_alone(
        plan.stage, plan.roles, found, names, ledger.con
    ):  # fmt: skip
        both = f"{names[taken]},{found}"
        value = _values_beside(plan, found)
        perhaps = (
            f": if {shown(found)} says what is measured, {typed('--variable', found, *value)}; if "
            f"both name it together, {typed('--node', both)}"
        )
    raise InputError(
        f"{twice.clashing:,} of {sound:,} rows contradict others of their node and time "
        f"({as_node}; found: {listing(names)}); first {twice.example}",
        file=plan.stage.name,
        hint=_parts(headers) if headers and taken is None and not found else
        f"Name the node's column{perhaps}; if these rows belong together, say so with "
        "on_duplicate='mean' (--on-duplicate mean)",
    )  # fmt: skip


def _values_beside(plan: Plan, kind: str) -> list[str]:
    """The option that names the values, where one column of readings alone may hold them."""
    there = [plan.stage.names[c] for c in plan.slots]
    there = [n for n in there if n != kind and not {*words_of(n)} & FLAGS]
    return ["--value", there[0]] if len(there) == 1 else []


def _parts(headers: int) -> str:
    """What to do about a file put together from several, none of which names its node."""
    return (
        f"The header stands in it {headers + 1:,} times: if each part is a station's, hand the "
        "parts in as files of their own, each called after its station"
    )


def refuse_headers(ledger: Ledger) -> None:
    """Files put together whose columns are not in one order: another header stands between."""
    rows = ledger.con.execute(
        "SELECT min(rowid), bad FROM r WHERE bad[1] = 'h' GROUP BY bad ORDER BY 1"
    ).fetchall()
    for row, bad in rows:
        plan = ledger.plans[max(f for f, base in enumerate(ledger.bases) if base <= row)]
        cells = bad.partition("\x1f")[2].split("\x1e")
        names = [plan.stage.header[c] for c, _ in headed(plan)] if plan.stage.header else []
        for name, cell in zip(names, cells, strict=False):
            # Of a header of several rows one stands there: it is a part of the name.
            if cell.casefold() not in name.casefold() and name.casefold() not in cell.casefold():
                raise InputError(
                    f"another header stands there: {shown(cell)} over the column that is called "
                    f"{shown(name)} above",
                    file=plan.stage.name,
                    line=int(ledger.where([row])[0].rpartition(" ")[2]),
                    hint="Hand the parts in as files of their own: columns are then known by "
                    "their names",
                )


def refuse_ragged(ledger: Ledger, read: int, totals: Mapping[str, int]) -> None:
    """Most rows have more cells than the header, or fewer: it is not theirs."""
    lost = totals.get("ragged", 0)
    if lost < CLASHES or lost * 2 <= read:
        return
    plan = next(p for p in ledger.plans if any("ragged" in r.reason for r in p.stage.rejects))
    first = next(r for r in plan.stage.rejects if "ragged" in r.reason)
    raise InputError(
        f"{lost:,} of {read:,} rows have {'more' if 'many' in first.reason else 'fewer'} cells "
        f"than the header, which has {len(plan.stage.names)}, such as {first.text!r}",
        file=first.file,
        line=first.line,
        hint="Name the columns as the rows have them with columns= (--columns time,node,-,...); "
        "numbers with a decimal comma have to stand in quotes where commas part the cells",
    )


def refuse_all(
    ledger: Ledger, read: int, set_aside: int, rejects: Sequence[Any], outside: int
) -> None:
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
            hint=_about(first, ledger.plans[0]),
        )


def _about(first: Any, plan: Plan) -> str:
    """What to do about rows such as this one."""
    if first.reason.startswith(("time", "clock")):
        return _about_times(first.text, plan)
    if _is_numeral(first):
        return _about_numbers(first)
    return "Look at that line; roles can be named with node=, time= and value= (--node …)"


def _is_numeral(reject: Any) -> bool:
    """Whether a cell is a number in another way of writing: 1,234. "off" is a state."""
    return reject.reason.startswith("number") and bool(re.search(r"\d[.,’\']\d", reject.text))


def _about_numbers(first: Any) -> str:
    """What to do about cells such as this one."""
    name = '"' + _column(first).replace('"', '""') + '"'
    decimal = re.fullmatch(r"[+-]?\d*,\d+", first.text) and not GROUPED.fullmatch(first.text)
    marks = f"SELECT * REPLACE (replace({name}, ',', '{'.' * bool(decimal)}') AS {name}) FROM input"
    what = "Make its comma a point" if decimal else "Take its marks out"
    return f"{what} with a query: {typed('--query', marks)}"


def _column(first: Any) -> str:
    return str(first.reason).removeprefix("number: ").removesuffix(" is no number")


def _about_times(text: str, plan: Plan) -> str:
    """What to do about times such as this one."""
    number = text.strip().replace(",", ".")
    if option := parts.likely([number]):
        return f"They look like days: {option}"
    if NUMBER.fullmatch(number):
        return "Say what they count: --time-unit h --origin 2024-01-31"
    if re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4} \d+(\.\d+)?", text.strip()):
        return "If the second counts the seconds of the day, say so: --time-unit s"
    if TIME_OF_DAY.fullmatch(text.strip()):
        return (
            "That is a time of day without its day: write the day before it (2024-01-31 "
            "12:00), or into a column of its own called date"
        )
    if len(plan.roles.time) > 1:
        return "Write times as 2024-01-31T12:00:00Z or in epoch seconds"
    column = '"' + plan.stage.names[plan.roles.time[0]].replace('"', '""') + '"'
    form = f"strptime({column}, '{_form(text)}')"
    query = f"SELECT * REPLACE ({form} AS {column}) FROM input"
    return (
        "Write times as 2024-01-31T12:00:00Z or in epoch seconds, or say how they are written: "
        f"{typed('--query', query)}"
    )


def _form(text: str) -> str:
    """How a stamp may be written, for `strptime`; a usual way if it is none of those known."""
    for form in FORMS:
        with suppress(ValueError):
            datetime.strptime(text.strip(), form)
            return form
    return FORMS[0]


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


def refuse_unread(cells: Mapping[str, Cells], rejects: Sequence[Any]) -> None:
    """A condition all of whose numbers are written in another way: it is not to be left out."""
    for name, found in cells.items():
        lost = found.why.get("number", 0)
        if found.used or lost < CLASHES:
            continue
        about = f"number: {shown(name)} is"
        first = next((one for one in rejects if one.reason.startswith(about)), None)
        if first is not None and _is_numeral(first):
            raise InputError(
                f"none of {lost:,} numbers of {shown(name)} can be read, such as {first.text!r}",
                file=first.file,
                line=first.line,
                hint=f"{_about_numbers(first)}; or name the conditions to keep (--condition)",
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
