"""The job as far as saqc goes: flags, node by node, by its local outlier factor with defaults."""

from __future__ import annotations

import pandas as pd
from pivot import save, tables
from saqc import SaQC

for name, table in tables().items():
    heard = table.dropna(axis=1, how="all")
    heard.columns = [str(int(mote)) for mote in heard.columns]
    checked = SaQC(heard)
    for mote in heard.columns:
        checked = checked.flagUniLOF(mote)
    save(name, pd.DataFrame({mote: checked.flags[mote] for mote in heard.columns}))
