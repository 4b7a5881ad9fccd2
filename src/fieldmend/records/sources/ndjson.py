"""NDJSON: one object per line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fieldmend.errors import InputError
from fieldmend.records.sources import text
from fieldmend.records.sources.cutting import COMMA_NUMBER, NUMBER
from fieldmend.records.sources.stage import SAMPLED, Stage, literal
from fieldmend.records.sources.text import Text

if TYPE_CHECKING:
    import duckdb


def stage(
    found: Text, con: "duckdb.DuckDBPyConnection", work: Path, words: str = "NDJSON"
) -> Stage:
    """One object per line, each line read as text so that a bad one can be named."""
    found = text.rewritten(found, "\x01", 1, work) if found.rewrite else found
    raw = (
        "read_csv($path, auto_detect = false, header = false, delim = '\x01', quote = '', "
        "escape = '', columns = {'line': 'VARCHAR'}, compression = 'none', store_rejects = true)"
    )
    params = {"path": literal(found.path, work)}
    # Broken lines become NULL before any function of JSON sees them: those raise.
    # An empty line is no row.
    sound = (
        f"(SELECT line AS raw, CASE WHEN json_valid(line) THEN line END AS line FROM {raw} "
        "WHERE line IS NOT NULL)"
    )
    names = [
        row[0]
        for row in con.execute(
            f"SELECT DISTINCT unnest(json_keys(line)) FROM {sound} "
            "WHERE json_type(line) = 'OBJECT'",
            params,
        ).fetchall()
    ]
    con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    if not names:
        raise InputError(
            "no line holds a JSON object", file=found.name, hint="Write one object per line"
        )
    names = _in_order(names, found.head)
    pointers = {f"k{i}": "/" + n.replace("~", "~0").replace("/", "~1") for i, n in enumerate(names)}
    sample = _json_sample(found.head, names)
    commas = [i for i in range(len(names)) if _has_commas([row[i] for row in sample])]
    cells = ", ".join(f"{_cell(i, comma=i in commas)} AS c{i}" for i in range(len(names)))
    if commas:
        words += ", decimal comma"
        for row in sample:
            for i in commas:
                row[i] = _with_point(row[i])
    bad = "CASE WHEN coalesce(json_type(line) <> 'OBJECT', true) THEN left(raw, 64) END AS broken"
    stage = Stage(
        found.name,
        names,
        f"(SELECT {cells}, {bad} FROM {sound})",
        params | pointers,
        kinds=["text"] * len(names),
        words=words,
        json=True,
        text=found,
        warnings=found.warnings,
    )
    stage.sample = sample
    return stage


def _has_commas(cells: Sequence[str | None]) -> bool:
    """Whether a column's texts are numbers with a decimal comma: "7,4"; JSON's own have points."""
    there = [cell for cell in cells if cell]
    commas = sum(bool(COMMA_NUMBER.fullmatch(cell)) for cell in there)
    points = sum("." in cell and bool(NUMBER.fullmatch(cell)) for cell in there)
    return commas * 2 > len(there) and not points


def _with_point(cell: str | None) -> str | None:
    return cell.replace(",", ".") if cell and COMMA_NUMBER.fullmatch(cell) else cell


def _cell(i: int, *, comma: bool) -> str:
    cell = f"json_extract_string(line, $k{i})"
    if not comma:
        return cell
    number = f"regexp_full_match({cell}, '{COMMA_NUMBER.pattern}')"
    return f"CASE WHEN {number} THEN replace({cell}, ',', '.') ELSE {cell} END"


def _in_order(names: list[str], head: Sequence[str]) -> list[str]:
    """Keys in the order of the first object, the others after them by name."""
    try:
        first = list(json.loads(head[0]))
    except (ValueError, TypeError):
        first = []
    lead = [name for name in first if name in names]
    return lead + sorted(set(names) - set(lead))


def _json_sample(head: Sequence[str], names: Sequence[str]) -> list[list[str | None]]:
    rows = []
    for line in head[:SAMPLED]:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, Mapping):
            cells = [found.get(name) for name in names]
            rows.append([None if cell is None else str(cell) for cell in cells])
    return rows
