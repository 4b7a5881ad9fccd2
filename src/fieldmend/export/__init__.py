"""Files that a recovery leaves: each appears whole or not at all, the same bytes every time.

`table` (the wide table as SQL over the arrays), `parquet`, `parts` (a folder of it), `comma`
(CSV), `netcdf` with `cf` (its vocabulary), `listing` (anomalies, rejects), `writing` (temporary
file, fsync, rename; checks before any work), `naming` (the files of ``--out DIR``).
"""

from fieldmend.export.comma import write_csv
from fieldmend.export.listing import write_anomalies, write_rejects
from fieldmend.export.netcdf import write_netcdf
from fieldmend.export.parquet import write_parquet
from fieldmend.export.parts import MANIFEST, write_parts
from fieldmend.export.writing import OutputError, check_outputs, whole

__all__ = [
    "MANIFEST",
    "OutputError",
    "check_outputs",
    "whole",
    "write_anomalies",
    "write_csv",
    "write_netcdf",
    "write_parquet",
    "write_parts",
    "write_rejects",
]
