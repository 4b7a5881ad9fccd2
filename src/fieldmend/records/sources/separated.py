"""CSV and its kin: the dialect is decided first, then DuckDB reads with every choice made."""

from pathlib import Path

from fieldmend.records.sources import text
from fieldmend.records.sources.cutting import BLANKS
from fieldmend.records.sources.dialect import Dialect
from fieldmend.records.sources.layout import Layout
from fieldmend.records.sources.stage import SAMPLED, Stage, literal
from fieldmend.records.sources.text import Text


def stage(found: Text, dialect: Dialect, layout: Layout | None, work: Path) -> Stage:
    """A text file of known dialect as a stage."""
    found = text.rewritten(found, dialect.delimiter, len(dialect.header), work)
    if found.path.parent == work:
        found.quotes = _quotes_in(found.path)
    names = list(dialect.header)
    out = Stage(
        found.name,
        names,
        csv_relation(len(names), dialect, quotes=found.quotes),
        {"path": literal(found.path, work)},
        kinds=["text"] * len(names),
        decimal=dialect.decimal,
        layout=layout,
        text=found,
        skip=dialect.skip,
        header=tuple(name.strip() for name in names),
        rejects=found.rejects,
        warnings=found.warnings,
        units=dict(dialect.units),
    )
    lines = text.head_lines(found.path, "utf-8")[dialect.skip :]
    mark = " " if dialect.delimiter == BLANKS else dialect.delimiter
    rows = [text.split(line, mark) for line in lines[:SAMPLED] if line.strip()]
    # One empty cell too many is a delimiter that ends every line; DuckDB passes over it too.
    out.sample = [
        list(row[: len(names)])
        for row in rows
        if len(row) == len(names) or (len(row) == len(names) + 1 and not row[-1].strip())
    ]
    # Where files were put together the header stands between records: it tells no column's kind.
    again = {name.strip().casefold() for name in names if name.strip()}
    out.sample = [
        row
        for row in out.sample
        if 2 * sum((cell or "").strip().casefold() in again for cell in row) < len(again)
    ]
    said = [dialect.words, *found.words]
    if layout is not None:  # one that was written anew was not separated by commas
        said = found.words if layout.line_column else said
        said = [": ".join(filter(None, [layout.name, ", ".join(said)]))]
    out.words = ", ".join(said)
    return out


def _quotes_in(path: Path) -> bool:
    with path.open("rb") as file:
        return any(b'"' in block for block in iter(lambda: file.read(text.BLOCK), b""))


def csv_relation(width: int, dialect: Dialect, *, quotes: bool) -> str:
    """read_csv with every choice made: nothing is left for DuckDB to detect."""
    mark = " " if dialect.delimiter == BLANKS else dialect.delimiter
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    # Without quotes in the file, quoting is off: the reader is faster and cannot run over a line.
    quote = "quote = '\"', escape = '\"'" if quotes else "quote = '', escape = ''"
    return (
        f"read_csv($path, auto_detect = false, header = false, skip = {dialect.skip}, "
        f"delim = '{mark}', {quote}, columns = {{{columns}}}, compression = 'none', "
        f"store_rejects = true, hive_partitioning = false)"
    )
