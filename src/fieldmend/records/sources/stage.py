"""Where records come from: each source becomes a `Stage`, a relation that DuckDB can read.

Columns are called c0, c1, … in every relation: names from outside stay in Python and never reach
SQL, except those of Parquet files, which `quoted` quotes.
"""

import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.errors import InputError
from fieldmend.records.sources import layouts, text
from fieldmend.records.sources.dialect import BLANKS, Dialect, decide
from fieldmend.records.sources.text import Reject, Text
from fieldmend.records.table.columns import KNOWN
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

log = logging.getLogger(__name__)
SAMPLED = 1000
STATED = 1 << 30  # bytes of a file from which on its size is said
BATCH = 100_000
PARQUET, SQLITE, HDF5, CDF = b"PAR1", b"SQLite format 3\x00", b"\x89HDF", b"CDF"
NDJSON = (".ndjson", ".jsonl", ".json")


@dataclass
class Stage:
    """One file or table, ready for DuckDB."""

    name: str
    names: list[str]
    relation: str = ""
    """What stands after FROM; empty if the rows come in batches."""
    params: dict[str, Any] = field(default_factory=dict)
    batches: Iterator[list[Any]] | None = None
    """Columns as arrays, one list per batch."""
    kinds: list[str] = field(default_factory=list)
    """text, number, integer, naive, zoned or other, per column."""
    sample: list[list[str | None]] = field(default_factory=list)
    words: str = ""
    decimal: str = "."
    sha256: str | None = None
    bytes: int | None = None
    layout: layouts.Layout | None = None
    text: Text | None = None
    skip: int = 0
    stem: str = ""
    rejects: list[Reject] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    places: dict[str, dict[str, float]] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    """Gives a database's connection back."""


def quoted(identifier: str) -> str:
    """An identifier for SQL. The only place where one is quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def one(con: "duckdb.DuckDBPyConnection", sql: str, params: object = None) -> tuple[Any, ...]:
    """The one row of a query that has one, with nothing left open on the connection."""
    rows = con.execute(sql, params).fetchall()
    return rows[0] if rows else ()


@dataclass(frozen=True)
class Chosen:
    """What the user said about the source."""

    table: str | None = None
    query: str | None = None
    salvage: bool = False


def stages(
    source: Any, chosen: Chosen, con: "duckdb.DuckDBPyConnection", work: Path
) -> list[Stage]:
    """The stages of a source: a path, `-`, an address of PostgreSQL, a frame, or several."""
    if isinstance(source, list | tuple):
        if not source:
            raise InputError("no file was given")
        return [stage for one in source for stage in stages(one, chosen, con, work)]
    if isinstance(source, str) and re.match(r"postgres(ql)?://", source):
        from fieldmend.records.sources import databases

        return [databases.postgres(source, chosen.table, chosen.query)]
    if isinstance(source, str | os.PathLike):
        return [_file(os.fspath(source), chosen, con, work)]
    from fieldmend.records.sources import frames

    return [frames.stage(source)]


def _file(name: str, chosen: Chosen, con: "duckdb.DuckDBPyConnection", work: Path) -> Stage:
    path = _spooled(work) if name == "-" else Path(name)
    shown_name = "standard input" if name == "-" else name
    magic = _magic(path, shown_name)
    notes = _stated(path, shown_name, magic)
    sha = text.fingerprint(path)
    stage = _binary(path, shown_name, magic, chosen, con, work)
    if stage is None:
        stage = _text(path, shown_name, sha, chosen, con, work)
    stage.sha256, stage.bytes = sha, path.stat().st_size
    stage.notes += notes
    stage.stem = stage.stem or Path(shown_name).name.split(".")[0]
    return stage


def _magic(path: Path, name: str) -> bytes:
    try:
        if path.is_dir():
            raise InputError("it is a folder", file=name, hint="Name the files in it")
        with path.open("rb") as file:
            return file.read(16)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=name) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"it cannot be opened ({shown(why)})", file=name) from error


def _stated(path: Path, name: str, magic: bytes) -> list[str]:
    """The size of a large file, said before the work begins."""
    size = path.stat().st_size
    if size < STATED:
        return []
    note = f"{shown(name)}: {size / 1e9:,.1f} GB"
    if magic[:2] != text.GZIP and magic[:4] not in (text.ZSTD, PARQUET, SQLITE[:4], HDF5):
        with path.open("rb") as file:
            head = file.read(text.HEAD)
        rows = size * head.count(b"\n") // len(head)
        note += f", about {float(f'{rows:.2g}'):,.0f} rows"
    log.info(note)
    return [note]


def _spooled(work: Path) -> Path:
    path = work / "stdin.tmp"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, text.BLOCK)
    return path


def _binary(  # noqa: PLR0917 - one call, what it needs
    path: Path,
    name: str,
    magic: bytes,
    chosen: Chosen,
    con: "duckdb.DuckDBPyConnection",
    work: Path,
) -> Stage | None:
    suffix = Path(name).suffix.lower()
    if magic.startswith(PARQUET):
        return _parquet(path, name, con, work)
    if magic.startswith(SQLITE):
        from fieldmend.records.sources import databases

        return databases.sqlite(path, name, chosen.table, chosen.query)
    if magic.startswith((HDF5, CDF)):
        from fieldmend.records.sources import netcdf

        return netcdf.stage(path, name)
    wrong = {".parquet": "Parquet", ".pq": "Parquet", ".nc": "netCDF", ".sqlite": "SQLite",
             ".db": "SQLite", ".npz": "text", ".xlsx": "text", ".zip": "text"}  # fmt: skip
    if suffix in wrong and magic:
        kind = wrong[suffix]
        raise InputError(
            f"named {suffix}, but it is not {kind}"
            if kind != "text"
            else f"{suffix} files are not read",
            file=name,
            hint="Hand in CSV, Parquet, NDJSON, netCDF or SQLite",
        )
    return None


def literal(path: Path, work: Path) -> str:
    """A path that DuckDB takes as it is: `*`, `?`, `[` and `s3://` are letters, not patterns."""
    full = str(path.absolute())
    if not re.search(r"[*?\[\]{}]|://", full):
        return full
    link = work / f"link-{len(list(work.iterdir()))}"
    try:
        link.symlink_to(full)
    except OSError:
        shutil.copyfile(full, link)
    return str(link)


def _parquet(path: Path, name: str, con: "duckdb.DuckDBPyConnection", work: Path) -> Stage:
    import duckdb

    params = {"path": literal(path, work)}
    source = "read_parquet($path, hive_partitioning = false)"
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {source}", params).fetchall()
    except duckdb.Error as error:
        raise InputError(
            f"the Parquet file cannot be read ({shown(_first_line(error))})",
            file=name,
            hint="Fetch it again",
        ) from error
    names = [row[0] for row in described]
    picked = ", ".join(f"{quoted(n)} AS c{i}" for i, n in enumerate(names))
    relation = f"(SELECT {picked} FROM {source})"
    return describe(Stage(name, names, relation, params, words="Parquet"), con)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def describe(stage: Stage, con: "duckdb.DuckDBPyConnection") -> Stage:
    """Fill in the kinds of the columns and a sample, from the relation itself."""
    described = con.execute(f"DESCRIBE SELECT * FROM {stage.relation}", stage.params).fetchall()
    stage.kinds = [kind_of_type(row[1]) for row in described]
    cells = ", ".join(f"CAST(c{i} AS VARCHAR)" for i in range(len(stage.names)))
    rows = con.execute(
        f"SELECT {cells} FROM {stage.relation} LIMIT {SAMPLED}", stage.params
    ).fetchall()
    stage.sample = [list(row) for row in rows]
    return stage


def kind_of_type(name: str) -> str:
    """What a DuckDB type is to us."""
    upper = name.upper()
    if upper.startswith("TIMESTAMP WITH TIME ZONE"):
        return "zoned"
    if upper.startswith(("TIMESTAMP", "DATE")):
        return "naive"
    if upper.startswith(("VARCHAR", "ENUM", "UUID")):
        return "text"
    if upper.startswith(("DOUBLE", "FLOAT", "DECIMAL")) and "[" not in upper:
        return "number"
    return "integer" if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER", upper) else "other"


def _text(  # noqa: PLR0917 - one call, what it needs
    path: Path,
    name: str,
    sha: str,
    chosen: Chosen,
    con: "duckdb.DuckDBPyConnection",
    work: Path,
) -> Stage:
    unpacked, warnings = text.unpack(path, name, work, salvage=chosen.salvage)
    if unpacked.stat().st_size == 0:
        raise InputError("no records in it: the file is empty", file=name)
    found = text.survey(unpacked, name, sha)
    found.warnings += warnings
    if not any(line.strip("\ufeff \t") for line in found.head):
        raise InputError("no records in it: blank lines only", file=name)
    first = next(line for line in found.head if line.strip("\ufeff \t")).lstrip("\ufeff \t")
    if (
        first.startswith("{")
        or Path(name.removesuffix(".gz").removesuffix(".zst")).suffix in NDJSON
    ):
        return _ndjson(found, con, work)
    layout = layouts.recognise(found, work)
    dialect = layout.dialect if layout else decide(found.head, known=KNOWN, file=name)
    return _csv(found, dialect, layout, work)


def _csv(found: Text, dialect: Dialect, layout: "layouts.Layout | None", work: Path) -> Stage:
    found = text.rewritten(found, dialect.delimiter, len(dialect.header), work)
    if found.path.parent == work:
        found.quotes = _quotes_in(found.path)
    names = list(dialect.header)
    stage = Stage(
        found.name,
        names,
        csv_relation(len(names), dialect, quotes=found.quotes),
        {"path": literal(found.path, work)},
        kinds=["text"] * len(names),
        decimal=dialect.decimal,
        layout=layout,
        text=found,
        skip=dialect.skip,
        rejects=found.rejects,
        warnings=found.warnings,
    )
    lines = text.head_lines(found.path, "utf-8")[dialect.skip :]
    mark = " " if dialect.delimiter == BLANKS else dialect.delimiter
    rows = [text.split(line, mark) for line in lines[:SAMPLED] if line.strip()]
    stage.sample = [list(row) for row in rows if len(row) == len(names)]
    title = f"{layout.name}: " if layout else ""
    stage.words = title + ", ".join([dialect.words, *found.words])
    return stage


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


def _ndjson(found: Text, con: "duckdb.DuckDBPyConnection", work: Path) -> Stage:
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
    cells = ", ".join(f"json_extract_string(line, $k{i}) AS c{i}" for i in range(len(names)))
    bad = "CASE WHEN coalesce(json_type(line) <> 'OBJECT', true) THEN left(raw, 64) END AS broken"
    stage = Stage(
        found.name,
        names,
        f"(SELECT {cells}, {bad} FROM {sound})",
        params | pointers,
        kinds=["text"] * len(names),
        words="NDJSON",
        text=found,
        warnings=found.warnings,
    )
    stage.sample = _json_sample(found.head, names)
    return stage


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
