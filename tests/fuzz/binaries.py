"""Binary inputs for the fuzz run: good Parquet, netCDF, SQLite and JSON, their bytes broken."""

import io
import random
import sqlite3
import tempfile
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
from inputs import SEEDS, cut, drop, flip

ROWS = 60
TABLE = (
    f"SELECT 'n' || (i % 3) AS node, make_timestamp(1704067200000000 + i * 60000000) AS time, "
    f"20 + sin(i) AS temperature, i AS count, 'note ' || i AS note FROM range({ROWS}) r(i)"
)


def _parquet(codec):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.parquet")
        duckdb.sql(f"COPY ({TABLE}) TO '{path}' (FORMAT parquet, COMPRESSION {codec})")
        return path.read_bytes()


def _sqlite():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.db")
        con = sqlite3.connect(path)
        con.execute("CREATE TABLE readings (node TEXT, time TEXT, temperature REAL, light BLOB)")
        rows = [(f"n{i % 3}", f"2024-01-01 00:{i:02d}", 20 + i / 7, b"\x01" if i % 9 else None)
                for i in range(ROWS)]  # fmt: skip
        con.executemany("INSERT INTO readings VALUES (?, ?, ?, ?)", rows)
        con.commit()
        con.close()
        return path.read_bytes()


def _netcdf(engine):
    import xarray as xr

    times = np.datetime64("2024-01-01", "ns") + np.arange(8) * np.timedelta64(1, "h")
    data = xr.Dataset(
        {"t": (("station", "time"), np.arange(16.0).reshape(2, 8), {"units": "degC"})},
        coords={"time": times, "station": np.array([1, 2], dtype=np.int32)},
    )
    if engine == "scipy":
        return bytes(data.to_netcdf(format="NETCDF3_64BIT"))
    out = io.BytesIO()
    data.to_netcdf(out, engine="h5netcdf")
    return out.getvalue()


@cache
def good():
    """Name and bytes of every kind; made once."""
    json = [(name, text.encode()) for name, text in SEEDS if "json" in name]
    return [
        *(("x.parquet", _parquet(codec)) for codec in ("uncompressed", "snappy", "zstd")),
        ("x.db", _sqlite()),
        *(("x.nc", _netcdf(engine)) for engine in ("scipy", "h5netcdf")),
        *json,
    ]


def zero(data, rng):
    """A few bytes as nothing, or as everything."""
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice((b"\0", b"\xff")) * rng.randint(1, 9) + data[at + 5 :]


def swap(data, rng):
    """A block put elsewhere: an index that leads astray."""
    a, b = rng.randint(0, len(data)), rng.randint(0, len(data))
    block = data[a : a + rng.randint(1, 64)]
    return data[:b] + block + data[b + len(block) :]


BREAKS = [flip, flip, flip, zero, zero, swap, drop, cut]


def made(seed, kinds=None):
    """A file name and its bytes; the same for the same seed, of all kinds or the first so many."""
    rng = random.Random(seed)
    name, data = rng.choice(good()[:kinds])
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        data = rng.choice(BREAKS)(data, rng)
    return name, data
