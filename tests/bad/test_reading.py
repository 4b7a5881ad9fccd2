"""Bad input, and what it gets: a table. Each case is refused with a message, or counted.

A case is a name, the bytes of a file, and what must come of it. Counts are
(read, used, duplicates, set aside); `why` holds the totals by reason.
"""

import gzip
import io
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.records.sources.text import zstd_module

HEAD = "node,time,temperature\n"
GOOD = "a,2024-01-01 00:00,20.5\nb,2024-01-01 00:00,21.5\na,2024-01-01 00:10,20.6\n"
LONG = "node,time,variable,value,unit\n"


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes | str
    counts: tuple[int, int, int, int] | None = None
    why: dict[str, int] = field(default_factory=dict)
    refused: str = ""
    lines: tuple[int, ...] | None = None
    file: str = "x.csv"
    options: dict[str, Any] = field(default_factory=dict)
    warns: str = ""
    notes: str = ""


def ok(name, data, counts, **more):
    return Case(name, data, counts, **more)


def no(name, data, refused, **more):
    return Case(name, data, refused=refused, **more)


def row(cell):
    """A file with one odd temperature among three good rows."""
    return HEAD + GOOD + f"b,2024-01-01 00:10,{cell}\n"


def at(stamp):
    """A file with one odd time among three good rows."""
    return HEAD + GOOD + f"b,{stamp},21\n"


def named(node):
    """A file with one odd node among three good rows."""
    return HEAD + GOOD + f'"{node}",2024-01-01 00:10,21\n'


def times(*stamps):
    return HEAD + "".join(f"a,{stamp},{i}\n" for i, stamp in enumerate(stamps))


def berlin(*stamps, **options):
    return {"data": times(*stamps), "options": {"tz": "Europe/Berlin", **options}}


GZ = gzip.compress((HEAD + GOOD * 4000).encode())
ZST = zstd_module().compress(
    (
        HEAD
        + "".join(
            f"n{i * 7919 % 1000},2024-01-01 00:00:{i % 60:02d},{i * 0.37:.3f}\n"
            for i in range(50000)
        )
    ).encode()
)

NOTHING = [
    no("empty file", b"", "no records"),
    no("header only", HEAD, "no records"),
    no("header without an end", HEAD.strip(), "no records"),
    no("blank lines only", "\n\n\n", "no records"),
    no("blanks only", "   \n  \n", "no records"),
    no("BOM only", b"\xef\xbb\xbf", "no records"),
    no("comments only", "# a\n# b\n", "no records"),
    no("all readings missing", HEAD + "a,2024-01-01,\nb,2024-01-01,NaN\n", "all readings are missing"),
    no("all readings declared missing", HEAD + "a,2024-01-01,-9999\n", "all readings are missing",
       options={"missing": [-9999]}),
    ok("one condition all missing", "node,time,temperature,humidity\na,2024-01-01,1,\nb,2024-01-01,2,\n",
       (2, 2, 0, 0), warns="humidity has no reading"),
    ok("one node", HEAD + "a,2024-01-01 00:00,1\na,2024-01-01 00:10,2\n", (2, 2, 0, 0)),
    ok("one slot", HEAD + "a,2024-01-01 00:00,1\nb,2024-01-01 00:00,2\n", (2, 2, 0, 0)),
    ok("one reading", HEAD + "a,2024-01-01 00:00,1\n", (1, 1, 0, 0)),
    no("no file", None, "no such file"),
    no("not text", bytes(range(256)) * 40 + b"\0" * 9000, "not text"),
]  # fmt: skip

NUMBERS = [
    *(ok(f"missing as {token!r}", row(token), (4, 4, 0, 0)) for token in
      ["", "NaN", "nan", "NA", "N/A", "null", "None", "-", "unavailable", "unknown", "MM",
       "inf", "-inf", "Infinity"]),
    *(ok(f"number {cell!r}", row(cell), (4, 4, 0, 0)) for cell in
      ["1e308", "5e-324", "1e30", "-0", "+5", ".5", "5.", " 7 ", "1E3"]),
    *(ok(f"no number {cell!r}", row(cell), (4, 3, 0, 1), why={"number": 1}, lines=(5,)) for cell in
      ['"1,234.5"', '"1.234,5"', "20.5°C", "0x1F", "1_000", "12abc", "true", "#REF!", "1e", "--5",
       "9007199254740993", "123456789012345678901234567890", "\uff12\uff10", "20.5 C", "'5"]),
    ok("an infinity is no reading", row("1e999"), (4, 4, 0, 0)),
    no("a whole column with units", HEAD + "a,2024-01-01,20.5°C\nb,2024-01-01,21.5°C\n",
       "none of 2 rows can be used; number: temperature is no number ('20.5°C')"),
    no("a whole column of thousands", HEAD + 'a,2024-01-01,"1,234.5"\n', "temperature is no number"),
    ok("point where the comma is the mark", "node;time;temperature\na;2024-01-01;20,5\nb;2024-01-01;21,5\n"
       "c;2024-01-01;1.234\n", (3, 2, 0, 1), why={"number": 1}, lines=(4,)),
    ok("thousands with the comma as the mark", "node;time;temperature\na;2024-01-01;20,5\nb;2024-01-01;21,5\n"
       "c;2024-01-01;1.234,5\n", (3, 2, 0, 1), why={"number": 1}, lines=(4,)),
    no("whole numbers over 2^53 only", HEAD + "a,2024-01-01,9007199254740993\n", "over 2^53"),
    no("missing that is no number", HEAD + GOOD, "neither a number nor a word", options={"missing": [None]}),
    ok("missing as one number", row("-9999"), (4, 4, 0, 0), options={"missing": -9999}),
    ok("missing as one word", row("-9999"), (4, 4, 0, 0), options={"missing": "-9999"}),
    ok("missing of a condition that is not there", HEAD + GOOD, (3, 3, 0, 0), options={"missing": {"x": [1]}},
       warns="missing= names x"),
    ok("a sentinel is kept unless declared", row("-9999"), (4, 4, 0, 0)),
]  # fmt: skip

DIALECTS = [
    ok("semicolon, decimal comma", "node;time;temperature\na;2024-01-01;20,5\n", (1, 1, 0, 0),
       notes="decimal comma"),
    ok("tab", HEAD.replace(",", "\t") + GOOD.replace(",", "\t"), (3, 3, 0, 0), notes="tab"),
    ok("bar", HEAD.replace(",", "|") + GOOD.replace(",", "|"), (3, 3, 0, 0), notes="bar"),
    ok("blanks", "node  time                 temperature\na     2024-01-01T00:00:00  20.5\n",
       (1, 1, 0, 0), notes="blanks"),
    ok("BOM", b"\xef\xbb\xbf" + (HEAD + GOOD).encode(), (3, 3, 0, 0)),
    ok("UTF-16", (HEAD + GOOD).encode("utf-16"), (3, 3, 0, 0), notes="UTF-16"),
    ok("UTF-16 without BOM", (HEAD + GOOD).encode("utf-16-le"), (3, 3, 0, 0), notes="UTF-16"),
    ok("Latin-1", (HEAD + "Köln,2024-01-01,20\n").encode("latin-1"), (1, 1, 0, 0), notes="LATIN-1"),
    ok("CRLF", (HEAD + GOOD).replace("\n", "\r\n"), (3, 3, 0, 0)),
    ok("CR", (HEAD + GOOD).replace("\n", "\r"), (3, 3, 0, 0), notes="CR"),
    ok("line ends mixed", HEAD + GOOD.replace("\n", "\r\n", 1), (3, 3, 0, 0), notes="mixed"),
    ok("no end of the last line", (HEAD + GOOD).rstrip(), (3, 3, 0, 0)),
    ok("NUL in a cell", HEAD + GOOD + "a\0,2024-01-01,1\n", (4, 4, 0, 0)),
    ok("NUL in a number", row("2\0"), (4, 3, 0, 1), why={"number": 1}, lines=(5,)),
    ok("broken UTF-8 beside sound UTF-8", (HEAD + "Köln,2024-01-01,20\n").encode() + b"\xff,2024-01-01,2\n",
       (2, 1, 0, 1), why={"encoding": 1}, lines=(3,)),
    ok("lone quote", HEAD + 'a,2024-01-01,1\n"b,2024-01-01,2\nc,2024-01-01,3\n', (3, 2, 0, 1),
       why={"quote": 1}, lines=(3,)),
    ok("two lone quotes", HEAD + '"a,2024-01-01,1\nb,2024-01-01,2\n"c,2024-01-01,3\nd,2024-01-01,4\n',
       (4, 2, 0, 2), why={"quote": 2}, lines=(2, 4)),
    ok("a line end within quotes", HEAD + '"a\nb",2024-01-01,1\nc,2024-01-01,x\n', (2, 1, 0, 1),
       why={"number": 1}, lines=(4,)),
    ok("delimiter within quotes", HEAD + '"a,b",2024-01-01,1\n', (1, 1, 0, 0)),
    ok("doubled quotes", HEAD + '"a ""b""",2024-01-01,1\n', (1, 1, 0, 0)),
    ok("ragged: too few", HEAD + "a,2024-01-01\n" + GOOD, (4, 3, 0, 1), why={"ragged": 1}, lines=(2,)),
    ok("ragged: too many", HEAD + GOOD + "a,2024-01-01,1,2,3\n", (4, 3, 0, 1), why={"ragged": 1},
       lines=(5,)),
    ok("ragged, as DuckDB's sniffer loses it", HEAD + "a,2024-01-01,1\nb,2024-01-01\nc,2024-01-01,3,4\n",
       (3, 1, 0, 2), why={"ragged": 2}, lines=(3, 4)),
    ok("blank lines in the middle", HEAD + "\n\n" + GOOD + "\nb,2024-01-01 00:10,x\n", (4, 3, 0, 1),
       why={"number": 1}, lines=(8,)),
    ok("a header repeated in the middle", HEAD + GOOD + HEAD + "b,2024-01-01 00:10,5\n", (5, 4, 0, 1),
       why={"header": 1}, lines=(5,)),
    ok("comments on top", "# station\n# made 2024\n" + HEAD + GOOD, (3, 3, 0, 0)),
    ok("UTF-32", (HEAD + GOOD).encode("utf-32"), (3, 3, 0, 0), notes="UTF-32"),
    ok("UTF-16 with half a letter at the end", (HEAD + GOOD).encode("utf-16") + b"x", (4, 3, 0, 1), why={"ragged": 1},
       lines=(5,)),
    ok("Windows letters", HEAD.encode() + b"\x80uro,2024-01-01,1\n", (1, 1, 0, 0), notes="CP1252"),
    ok("Excel's sep= line", "sep=;\nnode;time;temperature\na;2024-01-01;20,5\n", (1, 1, 0, 0), notes="decimal comma"),
    ok("titles above the header", "My mast\nmade in 2024\n" + HEAD + "a,2024-01-01,x\n" + GOOD, (4, 3, 0, 1),
       why={"number": 1}, lines=(4,), notes="2 lines above the header"),
    ok("a million blank lines", HEAD + "\n" * 1_000_000 + "a,2024-01-01,1\nb,2024-01-01,x\n", (2, 1, 0, 1),
       why={"number": 1}, lines=(1_000_003,)),
    ok("a comment in the middle", HEAD + "# new battery\n" + GOOD, (4, 3, 0, 1), why={"ragged": 1}, lines=(2,)),
    ok("a total at the end", HEAD + GOOD + "Total,,62\n", (4, 3, 0, 1), why={"time": 1}, lines=(5,)),
    ok("a line of 5 MB", HEAD + '"' + "x" * 5_000_000 + '",2024-01-01,1\n' + GOOD, (4, 3, 0, 1), why={"line": 1}, lines=(2,)),
    no("a page of HTML", "<html><body>404</body></html>\n", "HTML or XML"),
    no("no header", "a,2024-01-01,1\nb,2024-01-01,2\n", "no header"),
    no("an endless line", HEAD + "a,2024-01-01," + "9" * 3_000_000 + "\n", "none of 1 rows"),
]  # fmt: skip

FILES = [
    no("gzip cut short", GZ[: len(GZ) // 2], "the last good row is", file="x.csv.gz"),
    ok("gzip cut short, salvaged", GZ[:-8], (12000, 3, 11997, 0), file="x.csv.gz",
       options={"salvage": True}, warns="cut short"),
    no("gzip with a wrong sum", GZ[:-8] + b"\0" * 8, "damaged", file="x.csv.gz"),
    ok("gzip", GZ, (12000, 3, 11997, 0), file="x.csv.gz"),
    no("Zstandard cut short", ZST[: len(ZST) // 2], "cut short", file="x.csv.zst"),
    ok("Zstandard", zstd_module().compress((HEAD + GOOD).encode()), (3, 3, 0, 0), file="x.csv.zst"),
    ok("two Zstandard frames", zstd_module().compress(HEAD.encode()) + zstd_module().compress(GOOD.encode()),
       (3, 3, 0, 0), file="x.csv.zst"),
    no("a gzip bomb", gzip.compress(b"\0" * 30_000_000), "expands more than 1000 times", file="x.csv.gz"),
    no("text named .gz", HEAD + GOOD, "not gzip", file="x.csv.gz"),
    no("text named .zst", HEAD + GOOD, "not Zstandard", file="x.csv.zst"),
    no("gzip named .csv", GZ, "gzip data", file="x.csv"),
    no("text named .parquet", HEAD + GOOD, "not Parquet", file="x.parquet"),
    no("broken Parquet", b"PAR1" + b"\0" * 100, "Parquet file cannot be read", file="x.parquet"),
    no("text named .nc", HEAD + GOOD, "not netCDF", file="x.nc"),
    no("broken netCDF", b"\x89HDF\r\n\x1a\n" + b"\0" * 100, "netCDF file cannot be read", file="x.nc"),
    no("broken SQLite", b"SQLite format 3\0" + b"\1" * 200, "SQLite says", file="x.db"),
    no("a zip of nothing", b"PK\3\4" + b"\0" * 99, "the archive cannot be read", file="x.zip"),
    no("a pickle in an npz", b"PK\3\4" + b"\0" * 99, "not read", file="x.npz"),
    *(ok(f"file name {name!r}", HEAD + GOOD, (3, 3, 0, 0), file=name) for name in
      ["a*.csv", "a?.csv", "[ab].csv", "{a}.csv", "-rf.csv", "a b.csv", "$(id).csv", "ü.csv", "'.csv",
       "%s.csv", ";.csv", "no suffix"]),
]  # fmt: skip

COLUMNS = [
    no("two columns of one name", "node,time,t,t\na,2024-01-01,1,2\n", "two columns are named 't'"),
    no("names that differ in case", "node,time,T,t\na,2024-01-01,1,2\n", "two columns"),
    no("an empty name", "node,time,\na,2024-01-01,1\n", "column 3 has no name"),
    no("10 000 columns", "time," + ",".join(f"n{i}" for i in range(10_000)) + "\n2024-01-01"
       + ",1" * 10_000 + "\n", "10001 columns"),
    no("no time", "node,when,temperature\na,2024-01-01,1\n", "no column holds the time; found: node, when"),
    no("a role that is not there", HEAD + GOOD, "no column 'zeit' for time", options={"time": "zeit"}),
    no("a node that is not there", HEAD + GOOD, "no column 'x' for node", options={"node": "x"}),
    no("a condition that is not there", HEAD + GOOD, "no column 'x'", options={"conditions": ["x"]}),
    no("conditions that are none", HEAD + GOOD, "names none", options={"conditions": []}),
    ok("conditions as one name", HEAD + GOOD, (3, 3, 0, 0), options={"conditions": "temperature"}),
    no("time that is none", HEAD + GOOD, "names no column", options={"time": []}),
    no("one column for two roles", HEAD + GOOD, "cannot be both time and value", options={"value": "time"}),
    ok("node under another name", "sensor,time,temperature\na,2024-01-01,1\nb,2024-01-01,2\n", (2, 2, 0, 0),
       notes="sensor is taken for the node: 2 values"),
    no("no readings", "node,time,name\na,2024-01-01,hello\n", "no column holds readings"),
    ok("roles named", "wer,wann,was\na,2024-01-01,1\n", (1, 1, 0, 0),
       options={"node": "wer", "time": "wann", "value": "was"}),
    *(ok(f"a column named {name!r}", f"node,time,{name}\na,2024-01-01,1\n", (1, 1, 0, 0)) for name in
      ["; DROP TABLE r;--", "select", "x" * 200, "v0", "bad", "used", "{{7*7}}", "<script>", "a'b"]),
    ok("a quoted column name", 'node,time,"a""; DROP TABLE r;--"\na,2024-01-01,1\n', (1, 1, 0, 0)),
]  # fmt: skip

CLOCKS = [
    *(ok(f"clock at {stamp}", at(stamp), (4, 3, 0, 1), why={"clock": 1}, lines=(5,)) for stamp in
      ["1970-01-01 00:00:05", "2036-02-07 06:28:16", "2038-01-19 03:14:07", "2106-02-07 06:28:15",
       "9999-12-31 23:59:59", "0001-01-01 00:00", "1980-01-06 00:00:00", "2000-01-01 00:00:01",
       "2023-02-29 00:00", "2024-01-01 23:59:60", "2024-13-01 00:00", "2024-01-32", "2024-01-01 25:00"]),
    ok("29 February of a leap year", HEAD + "a,2024-02-28 23:00,1\na,2024-02-29 00:00,2\n", (2, 2, 0, 0)),
    ok("all of it in 1970", times("1970-01-01 00:00", "1970-01-01 00:10"), (2, 2, 0, 0)),
    *(ok(f"no time {stamp!r}", at(stamp), (4, 3, 0, 1), why={"time": 1}, lines=(5,)) for stamp in
      ["", "yesterday", "now", "infinity", "12:00", "NaN", "1704067200"]),
    no("naive and zoned", times("2024-01-01 00:00", "2024-01-01 00:10Z"), "mixed: x.csv, line 2 has none, x.csv, line 3"),
    no("naive and an offset", times("2024-01-01 00:00:00", "2024-01-01 00:10:00+02:00"), "mixed"),
    ok("offsets that differ", times("2024-01-01 00:00:00+00:00", "2024-01-01 02:10:00+02:00"), (2, 2, 0, 0)),
    ok("epoch s and ms", times("1704067200", "1704067260000"), (2, 2, 0, 0),
       notes="seconds (1 rows) and milliseconds (1 rows)"),
    ok("epoch µs", times("1704067200000000", "1704067260000000"), (2, 2, 0, 0), notes="microseconds"),
    ok("epoch ns", times("1704067200000000001", "1704067260000000001"), (2, 2, 0, 0), notes="nanoseconds"),
    ok("epoch with a fraction", times("1704067200.25", "1704067201.25"), (2, 2, 0, 0)),
    ok("epoch 0 among others", times("1704067200", "1704067260", "0"), (3, 2, 0, 1), why={"clock": 1}),
    ok("epoch 2^32-1 among others", times("1704067200", "1704067260", "4294967295"), (3, 2, 0, 1),
       why={"clock": 1}),
    ok("day first, by dots", times("31.01.2024 00:00", "01.02.2024 00:00"), (2, 2, 0, 0)),
    ok("day first, by a 31", times("31/01/2024 00:00", "01/02/2024 00:00"), (2, 2, 0, 0)),
    ok("days without marks", times("20240101", "20240102"), (2, 2, 0, 0), notes="slot 1 d"),
    ok("stamps without marks", times("202401010000", "202401010010"), (2, 2, 0, 0), notes="slot 10 min"),
    ok("month by name", times("01-Jan-2024 00:00", "01-Jan-2024 00:10"), (2, 2, 0, 0), notes="slot 10 min"),
    ok("twelve hours", times("1/31/2024 10:00 PM", "1/31/2024 10:10 PM"), (2, 2, 0, 0), notes="slot 10 min"),
    no("years of two digits", times("01/31/24 10:00", "02/01/24 10:00"), "the year has two digits"),
    ok("one year of two digits", at("01/31/24 10:00"), (4, 3, 0, 1), why={"clock": 1}, lines=(5,)),
    ok("fraction after a comma", HEAD + 'a,"2024-01-01 00:00:00,5",1\na,"2024-01-01 00:00:01,5",1\n', (2, 2, 0, 0),
       notes="slot 1 s"),
    ok("small t and z", times("2024-01-01t00:00:00z", "2024-01-01t00:10:00z"), (2, 2, 0, 0), notes="carry their zone"),
    ok("a zone that is no zone", times("2024-01-01 00:00 UTC", "2024-01-01 00:10 UTC", "2024-01-01 00:20 XYZ"), (3, 2, 0, 1),
       why={"time": 1}, lines=(4,)),
    no("Excel's day numbers", times("45292.5", "45293.5"), "They look like days: --time-unit d --origin excel"),
    ok("Excel's day numbers, said to be so", times("45292.5", "45293.5"), (2, 2, 0, 0),
       options={"time_unit": "d", "origin": "excel"}),
    no("hours since a start", times("0", "1"), "Say what they count: --time-unit h"),
    ok("a year beyond all clocks", times("294000-01-01", "2024-01-01"), (2, 1, 0, 1), why={"clock": 1}, lines=(2,)),
    no("day or month", times("01/02/2024 00:00", "02/02/2024 00:00"), "day and month cannot be told apart"),
    no("an hour that comes twice", refused="come twice or never in Europe/Berlin: x.csv, line 3",
       **berlin("2024-10-27 00:30", "2024-10-27 02:30")),
    no("an hour that never comes", refused="line 2", **berlin("2024-03-31 02:30", "2024-03-31 04:30")),
    ok("the earlier of two hours", counts=(2, 2, 0, 0), **berlin("2024-10-27 02:30", "2024-10-27 04:30", ambiguous="earlier")),
    ok("the later of two hours", counts=(2, 2, 0, 0), **berlin("2024-10-27 02:30", "2024-10-27 04:30", ambiguous="later")),
    ok("neither of two hours", counts=(2, 1, 0, 1), why={"local time": 1},
       **berlin("2024-10-27 02:30", "2024-10-27 04:30", ambiguous="missing")),
    no("a zone that is none", HEAD + GOOD, "no time zone 'Mars/Base'", options={"tz": "Mars/Base"}),
    no("a zone that is a path", HEAD + GOOD, "no time zone", options={"tz": "../../etc/passwd"}),
]  # fmt: skip

TWICE = [
    ok("out of order", HEAD + "a,2024-01-01 00:10,1\na,2024-01-01 00:00,2\n", (2, 2, 0, 0)),
    ok("exact duplicates", HEAD + GOOD + GOOD, (6, 3, 3, 0)),
    ok("duplicates that differ", HEAD + GOOD + "a,2024-01-01 00:00,30.5\n", (4, 3, 1, 0),
       warns="1 times have readings that differ; mean taken; first node a at 2024-01-01 00:00:00 UTC: "
       "x.csv, line 2 and x.csv, line 5"),
    no("duplicates refused", HEAD + GOOD + "a,2024-01-01 00:00,30.5\n", "1 times have readings that differ",
       options={"on_duplicate": "error"}),
    ok("exact duplicates are no error", HEAD + GOOD + GOOD, (6, 3, 3, 0), options={"on_duplicate": "error"}),
    ok("rows that complete each other", "node,time,t,h\na,2024-01-01,1,\na,2024-01-01,,2\n", (2, 2, 0, 0)),
    no("a choice that is none", HEAD + GOOD, "on_duplicate", options={"on_duplicate": "max"}),
    ok("long duplicates", LONG + "a,2024-01-01,t,1,C\na,2024-01-01,h,1,%\na,2024-01-01,t,1,C\n", (3, 2, 1, 0)),
    no("two units", LONG + "a,2024-01-01,t,1,C\nb,2024-01-01,t,60,F\n", "t is given in 2 units: C, F"),
    ok("a variable without a name", LONG + "a,2024-01-01,t,1,C\nb,2024-01-01,,60,C\n", (2, 1, 0, 1),
       why={"variable": 1}, lines=(3,)),
]  # fmt: skip

NODES = [
    *(ok(f"node {node[:20]!r}, {len(node)} long", named(node), (4, 4, 0, 0)) for node in
      ["🌲", "\u202eabc", "../../etc/passwd", "CON", "a/b", "-rf", "$(id)", "{{7*7}}", "%s", "<script>",
       "</script><img onerror=x>", "\u2028", "\x1b[31m\x07", "'; DROP TABLE r;--", "=1+1", "x" * 256]),
    *(ok(f"node {node[:20]!r}, {len(node)} long", named(node), (4, 3, 0, 1), why={"node": 1}, lines=(5,)) for node in
      ["", "   ", "x" * 257, "x" * 10_000, "é" * 129]),
    ok("node with a line end", named("a\nb"), (4, 4, 0, 0)),
]  # fmt: skip

JSON = [
    ok("NDJSON", '{"node": "a", "time": "2024-01-01", "t": 1}\n{"node": "b", "time": "2024-01-01", "t": null}\n',
       (2, 2, 0, 0), file="x.ndjson"),
    ok("NDJSON with bad lines", '{"node": "a", "time": "2024-01-01", "t": 1}\n{"node": \n[1]\n7\n'
       '{"node": "b", "time": "2024-01-01", "t": "x"}\n', (5, 1, 0, 4), why={"json": 3, "number": 1},
       lines=(2, 3, 4, 5), file="x.ndjson"),
    ok("a key that comes late", "".join(json.dumps({"node": "a", "time": 1704067200 + i, "t": i}) + "\n"
       for i in range(3000)) + '{"node": "a", "time": 1704070300, "t": 1, "h": 5}\n', (3001, 3001, 0, 0),
       file="x.jsonl"),
    ok("NDJSON, blank lines, CRLF", '{"node": "a", "time": "2024-01-01", "t": 1}\r\n\r\n{"node": "b", "time": "2024-01-01", '
       '"t": "x"}\r\n', (2, 1, 0, 1), why={"number": 1}, lines=(3,), file="x.ndjson"),
    ok("NDJSON, half a letter", '{"node": "\\ud800", "time": "2024-01-01", "t": 1}\n{"node": "b", "time": "2024-01-01", "t": 1}\n',
       (2, 1, 0, 1), why={"json": 1}, lines=(1,), file="x.ndjson"),
    no("JSON over several lines", '{\n "node": "a",\n "time": "2024-01-01"\n}\n', "no line holds a JSON object", file="x.json"),
    no("one JSON array without times", '[{"node": "a"}]\n', "no column holds the time", file="x.json"),
    no("half a JSON array", '[{"node": "a", "time": "2024-01-01", "t": 1}, {"no\n', "no line holds a JSON object", file="x.json"),
    no("an array of numbers", "[1, 2, 3]\n", "no line holds a JSON object", file="x.json"),
    no("brackets without end", "[" * 100_000 + "\n", "no line holds a JSON object", file="x.json"),
    ok("a key that is SQL", '{"node": "a", "time": "2024-01-01", "\\"; DROP TABLE r;--": 1}\n', (1, 1, 0, 0),
       file="x.ndjson"),
]  # fmt: skip

CASES = [*NOTHING, *NUMBERS, *DIALECTS, *FILES, *COLUMNS, *CLOCKS, *TWICE, *NODES, *JSON]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}: {c.name}" for i, c in enumerate(CASES)])
def test_bad_input(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if case.data is not None:
        raw = case.data if isinstance(case.data, bytes) else case.data.encode()
        (tmp_path / case.file).write_bytes(raw)
    if case.refused:
        with pytest.raises(fm.InputError) as error:
            fm.read(case.file, **case.options).grid()
        assert case.refused in str(error.value)
        return
    records = fm.read(case.file, **case.options)
    origin = records.origin
    assert (origin.read, origin.used, origin.duplicates, origin.set_aside) == case.counts
    assert dict(origin.rejects.totals) == case.why
    assert sum(case.why.values()) == case.counts[3]
    if case.lines is not None:
        assert tuple(reject.line for reject in origin.rejects.listed) == case.lines
    assert all(reject.file == case.file for reject in origin.rejects.listed)
    assert case.warns in " | ".join(origin.warnings)
    for cells in origin.cells.values():
        assert cells.read == cells.used + cells.missing + cells.duplicates + cells.set_aside
        assert min(cells.used, cells.missing, cells.duplicates, cells.set_aside) >= 0
        assert sum(cells.why.values()) == cells.set_aside
    grid = records.grid()
    assert case.notes in " | ".join([origin.dialect, *grid.origin.notes])
    assert not any(np.isinf(array).any() for array in grid.values.values())
    records.close()


def test_there_are_enough_cases():
    assert len(CASES) >= 250
    assert len({case.name for case in CASES}) == len(CASES)


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    good = tmp_path / "x.csv"
    good.write_text(HEAD + GOOD)
    records = fm.read(good)
    records.grid()
    assert list((tmp_path / "t").iterdir())
    del records
    bad = tmp_path / "y.csv"
    bad.write_text(HEAD)
    with pytest.raises(fm.InputError):
        fm.read(bad)
    assert not list((tmp_path / "t").iterdir())


def test_one_broken_clock_does_not_stretch_the_grid(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(at("1970-01-01 00:00"))
    assert fm.read(path).grid(slot="10min").shape == (2, 2)


def test_a_grid_far_longer_than_its_nodes_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        HEAD
        + "".join(f"{n},2024-01-01 00:{m},1\n" for n in "ab" for m in ("00", "10"))
        + "".join(f"c,2024-06-01 00:{m},1\n" for m in ("00", "10"))
    )
    with pytest.raises(fm.InputError, match="over 50 times"):
        fm.read(path).grid()


def test_a_grid_larger_than_any_memory_is_refused_before_it_is_made(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD + "b,2024-01-01 01:00,1\n")
    with pytest.raises(fm.InputError, match="GB"):
        fm.read(path).grid(slot="1us")


def test_a_grid_larger_than_memory_lies_on_disk(tmp_path, monkeypatch, caplog):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD + "b,2024-01-01 01:00,1\n")
    inside = fm.read(path).grid(slot="1min")
    monkeypatch.setattr("fieldmend.records.gridding.filling.free_memory", lambda: 1950)
    monkeypatch.setattr("fieldmend.records.gridding.filling.PART", 5)
    outside = fm.read(path).grid(slot="1min")
    assert isinstance(outside.values["temperature"], np.memmap)
    np.testing.assert_array_equal(outside.values["temperature"], inside.values["temperature"])
    assert "kept on disk" in caplog.text
    assert "kept on disk" in outside.origin.notes[-1]
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("", (), {"free": 900}))
    with pytest.raises(fm.InputError, match="GB of disk are free"):
        fm.read(path).grid(slot="1min")


def test_a_large_file_says_its_size_first(tmp_path, monkeypatch, caplog):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD)
    monkeypatch.setattr("fieldmend.records.sources.opening.STATED", 10)
    assert "about 4 rows" in fm.read(path).origin.notes[0]
    assert "about 4 rows" in caplog.text


def test_a_bomb_in_a_large_file_is_refused_early(tmp_path, monkeypatch):
    """What was read so far counts, not the whole file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    noise = zstd_module().compress(np.random.default_rng(0).bytes(2_000_000))
    path = tmp_path / "x.csv.zst"
    path.write_bytes(zstd_module().compress(b"\0" * 50_000_000) * 4 + noise)
    with pytest.raises(fm.InputError, match="expands more than 1000 times"):
        fm.read(path)


def test_no_room_to_unpack(tmp_path, monkeypatch):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(GZ)
    full = type("Full", (), {"write": lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
                             "__enter__": lambda self: self, "__exit__": lambda *_: None})  # fmt: skip
    before = type(path).open
    monkeypatch.setattr(
        type(path),
        "open",
        lambda self, mode="r", **k: (
            full() if "unpacked" in self.name and mode == "wb" else before(self, mode, **k)
        ),
    )
    with pytest.raises(OSError, match="set TMPDIR"):
        fm.read(path)


def test_two_ids_with_the_same_data_are_named(tmp_path):
    path = tmp_path / "x.csv"
    rows = [(n, m, m * (1 if n != "c" else 2)) for n in "abc" for m in range(5)]
    path.write_text(HEAD + "".join(f"{n},2024-01-01 00:0{m},{v}\n" for n, m, v in rows))
    (warning,) = fm.read(path).grid().origin.warnings
    assert warning.startswith("nodes a, b have the same readings throughout")
    path.write_text(HEAD + "".join(f"{n},2024-01-01 00:0{m},0\n" for n, m, _ in rows))
    assert not fm.read(path).grid().origin.warnings


def test_messages_show_foreign_text_escaped_and_cut(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD + "b,2024-01-01 00:10,\x1b[31m" + "z" * 500 + "\n")
    (reject,) = fm.read(path).origin.rejects.listed
    assert reject.text.startswith("\\x1b[31mz")
    assert len(reject.text) <= 70


@pytest.mark.parametrize(
    "address", ["http://example.org/x.csv", "s3://bucket/x.csv", "https://h/*.csv"]
)
def test_nothing_is_fetched(address):
    with pytest.raises(fm.InputError, match="no such file"):
        fm.read(address)


def test_an_object_that_is_no_source():
    with pytest.raises(fm.InputError, match="cannot read records from"):
        fm.read(object())


def test_no_source():
    with pytest.raises(fm.InputError, match="no file"):
        fm.read([])


@pytest.mark.parametrize(
    "slot",
    [
        "0s",
        "-5min",
        "five",
        "nan",
        "",
        float("nan"),
        float("inf"),
        0,
        -1,
        "1 furlong",
        1e300,
        "99999999999999999d",
        object(),
        np.timedelta64("NaT"),
    ],
)
def test_a_slot_that_is_no_length(slot, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD)
    with pytest.raises(fm.InputError, match="no length of time"):
        fm.read(path).grid(slot=slot)


@pytest.mark.parametrize(
    "env", [{"TZ": "Asia/Kathmandu"}, {"LANG": "C"}, {"LC_ALL": "tr_TR.UTF-8"}]
)
def test_the_environment_changes_nothing(env, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text(HEAD + GOOD)
    before = fm.read(path).grid()
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    after = fm.read(path).grid()
    np.testing.assert_array_equal(before.times, after.times)
    np.testing.assert_array_equal(before.values["temperature"], after.values["temperature"])


def test_standard_input(monkeypatch):
    class Piped:
        buffer = io.BytesIO((HEAD + GOOD).encode())

    monkeypatch.setattr("sys.stdin", Piped)
    assert fm.read("-").origin.read == 3
