"""Where records come from: each source, whatever it is, becomes one or more stages."""

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fieldmend.errors import InputError
from fieldmend.records.sources import (
    finding,
    formats,
    growing,
    layouts,
    ndjson,
    platforms,
    separated,
    text,
)
from fieldmend.records.sources.dialect import decide, headerless
from fieldmend.records.sources.layout import stem_of
from fieldmend.records.sources.stage import Chosen, Stage
from fieldmend.records.vocabulary import KNOWN
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

log = logging.getLogger(__name__)
STATED = 1 << 30  # bytes of a file from which on its size is said
NDJSON = (".ndjson", ".jsonl", ".json")


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
        names, notes = finding.files(os.fspath(source))
        found = [stage for name in names for stage in _file(name, chosen, con, work)]
        found[0].notes += notes
        return found
    from fieldmend.records.sources import frames

    return [frames.stage(source)]


def _file(name: str, chosen: Chosen, con: "duckdb.DuckDBPyConnection", work: Path) -> list[Stage]:
    shown_name = "standard input" if name == "-" else name
    path = finding.still(name, work)
    magic = _magic(path, shown_name)
    if shown_name in chosen.growing:
        path = growing.copied(path, work)
    lines = not (text.packing(magic) or formats.is_binary(magic) or name.endswith(".json"))
    mark = growing.Mark.of(path, lines=lines) if path.parent != work else None
    inside = finding.members(path, shown_name, magic, work)
    if inside is not None:
        return [_one(at, member, _magic(at, member), chosen, con, work) for member, at in inside]
    stage = _one(path, shown_name, magic, chosen, con, work)
    stage.mark = mark
    return [stage]


def _one(  # noqa: PLR0917 - one call, what it needs
    path: Path,
    name: str,
    magic: bytes,
    chosen: Chosen,
    con: "duckdb.DuckDBPyConnection",
    work: Path,
) -> Stage:
    notes = _stated(path, name, magic)
    sha, size = text.fingerprint(path)
    stage = formats.read(formats.File(path, name, magic, chosen, con, work))
    if stage is None:
        stage = _text(path, name, sha, chosen, con, work)
    stage.sha256, stage.bytes = sha, size
    stage.notes += notes
    stage.stem = stage.stem or stem_of(name)
    return stage


def _magic(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
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
    if not text.packing(magic) and not formats.is_binary(magic):
        with path.open("rb") as file:
            head = file.read(text.HEAD)
        rows = size * head.count(b"\n") // len(head)
        note += f", about {float(f'{rows:.2g}'):,.0f} rows"
    log.info(note)
    return [note]


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
    found = text.survey(unpacked, name, sha, chosen.encoding)
    found.warnings += warnings
    if not any(line.strip("\ufeff \t") for line in found.head):
        raise InputError("no records in it: blank lines only", file=name)
    first = next(line for line in found.head if line.strip("\ufeff \t")).lstrip("\ufeff \t")
    if marked := re.match(r"<(\?xml|!doctype|[a-z][\w:]*)\b", first, re.IGNORECASE):
        kind = "XML" if marked[1].casefold() in ("?xml",) else "HTML or XML"
        raise InputError(
            f"it is {kind}, a page or a document, no table",
            file=name,
            hint="Save it as CSV: in a spreadsheet's program, or with pandas.read_html, read_xml",
        )
    plain = Path(text.bare(name)).suffix.lower()
    if first.startswith(("{", "[{", "[[{", "[\n")) or first.strip() == "[" or plain in NDJSON:
        platform = platforms.flattened(found, work)
        return ndjson.stage(found, con, work, platform or "NDJSON")
    if chosen.columns is not None:
        dialect = headerless(found.head, chosen.columns, known=KNOWN, file=name)
        return separated.stage(found, dialect, None, work)
    layout = layouts.recognise(found, work)
    dialect = layout.dialect if layout else decide(found.head, known=KNOWN, file=name)
    return separated.stage(found, dialect, layout, work)
