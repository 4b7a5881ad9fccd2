"""Read records of any dialect into one canonical table; every row is used or accounted for.

``read`` → `Records` → ``Records.grid()`` → `Grid`. One file per purpose: `text` (bytes to safe
text), `dialect` (how it is written), `layouts` (files with rules of their own), `columns` (what
each column is), `clock` (time), `sources`, `frames`, `databases`, `netcdf` (where rows come from),
`loading` (the one SQL pass), `settling` (zones, clocks, duplicates), `places`, `suspects`,
`reading` (the whole).
"""

from fieldmend.records.errors import InputError, shown
from fieldmend.records.reading import Records, read

__all__ = ["InputError", "Records", "read", "shown"]
