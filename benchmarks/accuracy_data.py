"""The truths of the accuracy tables, slots × nodes: real matrices with NaN, simulated ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldmend.simulate import CLIMATES, climate_field, low_rank

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
SLOTS, LONGER = 500, 600
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
MOLENE = {"temperature": "t", "humidity": "u", "wind": "ff", "pressure": "pmer"}
BRIEF = 800  # slots of faultbench
REPEATED, GATES = 36, 54  # slots in a day of the networks whose days repeat
FAULTBENCH = ("temperature", "light")
FAULT_SETS = ("random", "malfunction", "bias", "drift", "polydrift", "mixed")
# Simulated: noise of a reading, in the field's units.
NOISE = {"temperature": 0.5, "low_rank": 0.5, "light": 5.0, "pressure": 0.2}
RANKS = {"temperature": 3, "low_rank": 4, "light": 3, "pressure": 6}  # the oracle is told


@dataclass(frozen=True)
class Source:
    """A data set: how to get its truth and, of simulated ones, what is read from it."""

    truth: Callable[[], Array]
    slots_a_day: int
    noise: float = 0.0
    rank: int = 0  # above 0: simulated, the field's own subspace goes to the oracle
    false: Callable[[Array], BoolArray] | None = None  # readings known not to be true: delivered

    @property
    def days(self) -> float:
        """Length of the record."""
        return len(self.truth()) / self.slots_a_day


def available() -> bool:
    """Is the folder of real data there?"""
    return DATA.exists()


@cache
def sources() -> dict[str, Source]:
    """All data sets by name, the real ones only where the files are."""
    out = {
        f"simulated {field}": Source(lambda f=field: simulated(f), 288, noise, RANKS[field])
        for field, noise in NOISE.items()
    }
    out["simulated repeating"] = Source(repeating, REPEATED)
    out["simulated gates"] = Source(gates, GATES)
    if available():
        out |= {f"Redwood {c}": Source(lambda c=c: redwood(c)[0], 288) for c in CONDITIONS}
        out |= {f"IntelLab {c}": Source(lambda c=c: intellab(c), 288) for c in INTELLAB}
        out |= {f"NDBC {v}": Source(lambda v=v: ndbc(v)[:SLOTS], 24) for v in NDBC}
        out["NDBC water"] = replace(out["NDBC water"], false=ashore)
        out |= {
            f"faultbench {a}": Source(lambda a=a: faultbench(a)[0][:BRIEF], 288) for a in FAULTBENCH
        }
        out |= {
            f"Molène {what}": Source(lambda c=c: molene(c)[:SLOTS, ::2], 24)
            for what, c in MOLENE.items()
        }
        out["PM10"] = Source(lambda: pm10()[:, ::2], 7)  # daily: a week is what a day is elsewhere
        out["nine motes"] = Source(nine_motes, 48)
        out["four motes"] = Source(four_motes, 8640)
    return out


CONDITIONS = ("temperature", "humidity")
# Buoy 41001, the first column, was taken out of the sea on 9 May: its last wave is of 16:00, and
# what it calls water swings by ten degrees a day from then on.
ASHORE = 0, 8 * 24 + 17


def ashore(truth: Array) -> BoolArray:
    """Readings of water that are none."""
    out = np.zeros(truth.shape, dtype=bool)
    node, first = ASHORE
    out[first:, node] = True
    return out


@cache
def simulated(field: str) -> Array:
    """A field of 500 five-minute slots and 30 nodes, without noise."""
    if field == "low_rank":
        return low_rank(SLOTS, 30, rank=RANKS[field], seed=21)
    return climate_field(SLOTS, 30, climate=CLIMATES[field], seed=21)


@cache
def repeating(nodes: int = 30, days: int = 21) -> Array:
    """Gates of a network whose days are alike: counts with peaks, workdays and weekends.

    Each gate mixes five courses of a day; what a day is like scales them for all gates, and what a
    slot is like varies by gate.
    """
    rng = np.random.default_rng(31)
    slot = np.arange(REPEATED)
    peaks = ((6, 1.5), (24, 2.5), (15, 6.0), (28, 3.0), (18, 30.0))
    courses = np.stack([np.exp(-0.5 * ((slot - c) / w) ** 2) for c, w in peaks])
    work = np.exp(0.9 * rng.normal(size=(nodes, len(peaks))))
    rest = work * np.exp(0.4 * rng.normal(size=work.shape) - np.array([1.5, 1.2, 0.2, 0.3, 0.1]))
    size = 100 * np.exp(0.8 * rng.normal(size=nodes))
    out, own = [], np.zeros(nodes)
    for day in range(days):
        mix = (rest if day % 7 >= 5 else work) * np.exp(0.12 * rng.normal(size=len(peaks)))
        for rate in (mix @ courses).T * size:
            own = 0.6 * own + 0.8 * rng.normal(size=nodes)
            expected = rate * np.exp(0.08 * own)
            out.append(expected + np.sqrt(expected + 1.0) * rng.normal(size=nodes))
    return np.array(out)


@cache
def gates(nodes: int = 40, days: int = 21) -> Array:
    """The same with a workday and a weekend of its own at every gate; counts, overdispersed."""
    rng = np.random.default_rng(32)
    hour = np.linspace(6, 24, GATES, endpoint=False)
    peaks = ((8, 0.6), (8.7, 0.9), (18, 1.0), (17.3, 0.7), (12.5, 2.5), (20.5, 1.5))
    courses = np.stack([np.exp(-0.5 * ((hour - c) / w) ** 2) for c, w in peaks])
    work = rng.gamma(0.8, 1.0, (nodes, 6)) * [2, 1.5, 2, 1.2, 0.8, 0.6]
    rest = rng.gamma(0.8, 1.0, (nodes, 6)) * [0.1, 0.1, 0.3, 0.3, 1.6, 1.0]
    size = np.exp(rng.normal(4.3, 0.9, (nodes, 1)))
    out = []
    for day in range(days):
        mix = np.exp(rng.normal(0, 0.08, 6) + rng.normal(0, 0.05, (nodes, 6)))
        rate = size * (((rest if day % 7 >= 5 else work) * mix) @ courses)
        out.append(rng.negative_binomial(160, 160 / (160 + rate)))
    return np.hstack(out).T.astype(np.float64)


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
def ndbc(variable: str, stations: int = 30) -> Array:
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


@cache
def faultbench(attribute: str, fault_set: str = "random") -> tuple[Array, Array, BoolArray]:
    """Clean values, values with a set's injected faults, and which are false: 2016 × 10.

    Every tenth of the half-minute readings: five minutes, and no reading is a mean of true and
    false ones.
    """
    import pandas as pd

    frame = pd.read_parquet(DATA / "faultbench_intel.parquet")
    part = frame[(frame["fault_set"] == fault_set) & (frame["attribute"] == attribute)]
    tables = [
        part.pivot(index="timestamp", columns="node", values=v).to_numpy(np.float64)[::10]
        for v in ("clean", "value", "label")
    ]
    return tables[0], tables[1], tables[2] > 0


def _table(name: str, column: str) -> Array:
    import pandas as pd

    frame = pd.read_parquet(DATA / f"{name}.parquet", columns=["node", "timestamp", column])
    table = frame.pivot_table(
        index="timestamp", columns="node", values=column, observed=True, dropna=False
    )
    return table.to_numpy(np.float64)


@cache
def molene(column: str) -> Array:
    """Stations that have the sensor: at least half of the hours."""
    grid = _table("molene_radome", column)
    return grid[:, np.isfinite(grid).mean(axis=0) >= 0.5]


@cache
def pm10() -> Array:
    """Two years of the stations that were open in them."""
    grid = _table("pm10_germany_rural", "pm10")[2600 : 2600 + LONGER]
    return grid[:, np.isfinite(grid).mean(axis=0) >= 0.8]


@cache
def nine_motes() -> Array:
    """Half-hours of two weeks before the batteries die."""
    import pandas as pd

    frame = pd.read_parquet(DATA / "intellab_full_9nodes.parquet")
    slot = frame["timestamp"].dt.floor("30min")
    table = frame.assign(slot=slot).pivot_table(
        index="slot", columns="node", values="temperature", aggfunc="median"
    )
    every = pd.date_range(table.index.min(), periods=LONGER, freq="30min")
    return table.reindex(every).to_numpy(np.float64)


@cache
def four_motes() -> Array:
    """Every tenth second, the event among them."""
    return _table("suthaharan_multihop", "humidity")[3400:5400:2][:LONGER]
