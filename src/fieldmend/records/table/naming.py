"""The names of columns: the units that they carry, and whether they tell the columns apart."""

import re
from collections import Counter
from collections.abc import Sequence

from fieldmend.errors import InputError
from fieldmend.quantities.names import is_gas
from fieldmend.quantities.units import spelt
from fieldmend.records.table.cells import cells_of, column_kind, no_reading
from fieldmend.records.table.stamps import holds_stamps
from fieldmend.records.vocabulary import MAX_COLUMNS, listing
from fieldmend.text import shown, typed

MOST_TYPED = 24  # names of columns in an option that is shown
UNIT_IN_NAME = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]()")
SERIAL = re.compile(r"(.+[\])])\s*[\[(]\d{4,}[\])]")  # "Depth (ft) (445566)"
DECLARED = re.compile(r"""units?\s*[=:]\s*["']?([^"']*)["']?""")  # temp[unit="celsius"]
UNIT_INSIDE = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]\s+([^\[\]()]+)")


def clean(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Column names without the unit some carry in brackets, and those units."""
    out, units = [], {}
    for written in names:
        name = SERIAL.sub(r"\1", written.strip())
        found = UNIT_IN_NAME.fullmatch(name.strip()) or _inside(name.strip())
        bare = f"{found[1]} {found[3] or ''}".strip() if found else name.strip()
        if found and is_gas(found[2]):
            bare = name.strip()
        elif found and found[2].strip():
            units[bare] = DECLARED.sub(r"\1", found[2].strip())
        out.append(bare)
    if len(set(out)) < len(out):  # "T [C]" beside "T [F]": the brackets tell them apart
        return [name.strip() for name in names], {}
    return out, units


def _inside(name: str) -> re.Match[str] | None:
    """A unit in brackets amid a name: "Snow Depth (in) Start of Day Values"."""
    found = UNIT_INSIDE.fullmatch(name)
    return found if found and spelt(found[2])[0] else None


def without_empty(names: Sequence[str], sample: Sequence[Sequence[str | None]]) -> list[str]:
    """The names, for a column without one: time, if it holds stamps; -4, if it holds no reading."""
    out = list(names)
    for i, name in enumerate(names):
        if not name.strip() and (i or len(names) > 2):
            cells = [row[i] for row in sample if i < len(row) and (row[i] or "").strip()]
            stamps = "time" not in {n.casefold() for n in out} and holds_stamps(cells_of(i, sample))
            if stamps:
                out[i] = "time"
            elif not cells or column_kind(cells) == "text" or no_reading(i, sample):
                out[i] = f"-{i}"
    return out


def check_names(names: Sequence[str], file: str) -> None:
    """Refuse names that cannot tell the columns apart."""
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"{len(names)} columns; at most {MAX_COLUMNS} can be nodes or conditions",
            file=file,
            hint="Hand the readings in as records: node, time, value",
        )
    empty = [i + 1 for i, name in enumerate(names) if not name.strip()]
    if empty:
        raise InputError(
            f"column {empty[0]} has no name; found: {listing(names)}",
            file=file,
            hint=_renamed(names),
        )
    twice = [name for name, n in Counter(name.casefold() for name in names).items() if n > 1]
    if twice:
        raise InputError(
            f"two columns are named {shown(twice[0])!r}; found: {listing(names)}",
            file=file,
            hint=_renamed(names),
        )


def _renamed(names: Sequence[str]) -> str:
    """What to do about names that do not tell the columns apart."""
    option = typed("--columns", ",".join(_numbered(names)))
    return f"Give each column a name of its own in the first line, or with columns= ({option})"


def _numbered(names: Sequence[str]) -> list[str]:
    """The names with a number behind those that repeat; "-" for those that are none."""
    seen: Counter[str] = Counter()
    out = []
    for name in names[:MOST_TYPED]:
        seen[name.casefold()] += 1
        count = seen[name.casefold()]
        plain = re.sub(r"\s*,\s*", " ", name.strip())
        out.append((f"{plain}_{count}" if count > 1 else plain) if plain else "-")
    return [*out, "..."] if len(names) > MOST_TYPED else out
