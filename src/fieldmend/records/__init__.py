"""Read records of any dialect into one canonical table; every row is used or accounted for.

``read`` → `Records` → ``Records.grid()`` → `Grid`. `sources`: any source as a relation; `table`:
its rows judged and counted; `gridding`: slots × nodes; `reading`: the order of the steps.
"""

from fieldmend.records.reading import read
from fieldmend.records.records import Records

__all__ = ["Records", "read"]
