"""Real matrices, slots × nodes with NaN: what the accuracy tables are made on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
SLOTS = 500
# Best 500-slot windows of IntelLab: see the README beside the data.
INTELLAB = {
    "temperature": "2004-03-06 18:10",
    "humidity": "2004-03-06 18:10",
    "light": "2004-03-06 15:40",
}
NDBC = {
    "air": "air_temp_c",
    "pressure": "pressure_hpa",
    "water": "water_temp_c",
    "wind": "wind_speed_kt",
}


def available() -> bool:
    """Is the folder of real data there?"""
    return DATA.exists()


@cache
def intellab(condition: str) -> Array:
    """Five-minute medians of 500 slots, the motes that were heard in at least 90 % of them."""
    import pandas as pd

    frame = pd.read_parquet(DATA / "intellab_mar04_08.parquet")
    start = pd.Timestamp(INTELLAB[condition])
    frame["slot"] = (frame["timestamp"] - start) // pd.Timedelta("5min")
    frame = frame[(frame["slot"] >= 0) & (frame["slot"] < SLOTS)]
    table = frame.pivot_table(index="slot", columns="node", values=condition, aggfunc="median")
    grid = table.reindex(range(SLOTS)).to_numpy(np.float64)
    return np.ascontiguousarray(grid[:, np.isfinite(grid).mean(axis=0) >= 0.9])


@cache
def ndbc(variable: str, stations: int = 60) -> Array:
    """Every k-th of the stations with at least 90 % of the 744 hours, about `stations` of them."""
    import pandas as pd

    frame = pd.read_parquet(
        DATA / "ndbc_may2013.parquet", columns=["node", "timestamp", NDBC[variable]]
    )
    table = frame.pivot_table(
        index="timestamp", columns="node", values=NDBC[variable], observed=True, dropna=False
    )
    grid = table.to_numpy(np.float64)
    grid = grid[:, np.isfinite(grid).mean(axis=0) >= 0.9]
    return np.ascontiguousarray(grid[:, :: max(1, grid.shape[1] // stations)])


@cache
def redwood(condition: str) -> tuple[Array, Array]:
    """What the motes logged, and what the radio delivered: slots 2000–3499 of its period.

    The motes present in both sources and heard in that window.
    """
    import pandas as pd

    frame = pd.read_parquet(DATA / "redwood_sonoma.parquet")
    tables = {}
    for source, part in frame.groupby("source", observed=True):
        slot = part["timestamp"].dt.round("5min")
        tables[source] = part.assign(slot=slot).pivot_table(
            index="slot", columns="node", values=condition, aggfunc="mean"
        )
    net, log = tables["net"], tables["log"]
    slots = pd.date_range(net.index.min(), net.index.max(), freq="5min")
    both = net.columns.intersection(log.columns)
    heard = net.reindex(index=slots, columns=both).to_numpy(np.float64)[2000:3500]
    logged = log.reindex(index=slots, columns=both).to_numpy(np.float64)[2000:3500]
    kept = np.isfinite(heard).any(axis=0)
    return logged[:, kept], heard[:, kept]
