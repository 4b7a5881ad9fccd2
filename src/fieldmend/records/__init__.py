"""Read records of any dialect into one canonical table; every row is used or accounted for.

``read`` → `Records` → ``Records.grid()`` → `Grid`. One file per purpose: `text` (bytes to safe
text), `dialect` (how it is written), `layouts` (files with rules of their own), `columns` (what
each column is), `clock` (time), `sources`, `frames`, `databases`, `netcdf` (where rows come from),
`planning` (what becomes of the columns), `session` (the database), `loading` (the one SQL pass),
`ledger` (the account of the rows), `labels`, `places`, `suspects`, `settling` (zones, clocks,
duplicates), `reading` (the whole); `slotting`, `filling`, `ordering`, `twins` make the grid.
"""

from fieldmend.records.errors import InputError, shown
from fieldmend.records.reading import Records, read

__all__ = ["InputError", "Records", "read", "shown"]
