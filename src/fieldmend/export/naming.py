"""The files of ``--out DIR``, named after the first input."""

from __future__ import annotations

import re

LONGEST = 80  # characters of a name that come from the input
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # devices on Windows
SUFFIXES = re.compile(
    r"(?i)(\.(gz|zst|csv|tsv|txt|dat|json|ndjson|jsonl|parquet|pq|nc|nc4|h5|hdf5|sqlite3?|db))+$"
)


def safe_name(source: str) -> str:
    """A name for files from an input's: no folders, no odd characters, no reserved names.

    Examples
    --------
    >>> safe_name("../../etc/passwd"), safe_name("CON.csv"), safe_name("-"), safe_name("$(id).csv")
    ('passwd', '_CON', 'stdin', 'id')
    >>> safe_name("speeds.h5")
    'speeds'
    """
    if source == "-":
        return "stdin"
    last = re.split(r"[/\\]", source.rstrip("/\\"))[-1].partition("?")[0]
    bare = SUFFIXES.sub("", last)
    name = re.sub(r"[^\w.-]+", "_", bare)[:LONGEST].strip("._-")
    if not name:
        return "fieldmend"
    return f"_{name}" if RESERVED.fullmatch(name) else name
