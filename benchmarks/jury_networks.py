"""Simulated networks for `jury`: kinds of sensors that no constant of the package was chosen on.

Each maker takes a random generator and gives a `Network`: readings as a sound network sends them,
slots × nodes, and where something real happens that one node, some or all of them see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Rng = np.random.Generator


@dataclass(frozen=True)
class Network:
    """Sound readings, slots × nodes, and which of them are of an event."""

    column: str
    minutes: int
    readings: Array
    event: Array


def chain(rng: Rng, slots: int, phi: float, *nodes: int) -> Array:
    """First-order autoregression of unit size."""
    from scipy.signal import lfilter

    noise = rng.standard_normal((slots + 200, *nodes)) * np.sqrt(1 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise, axis=0))[200:]


def clock(slots: int, minutes: int) -> tuple[Array, Array]:
    """Hour of the day and number of the day."""
    time = np.arange(slots) * minutes / 60
    return time % 24, (time // 24).astype(int)


def pulse(slots: int, start: float, rise: float, decay: float) -> Array:
    """Up to 1 within `rise` slots, then away by `decay`."""
    t = np.arange(slots) - start
    return np.where(t < 0, 0.0, np.where(t < rise, t / rise, np.exp(-(t - rise) / decay)))


def wells(rng: Rng) -> Network:
    """Groundwater levels: rain reaches all wells by and by, pumping tests draw down a few."""
    slots, nodes = 24 * 45, 9
    place = rng.uniform(0, 3, (nodes, 2))
    level = rng.uniform(180, 190, nodes) + 0.15 * chain(rng, slots, 0.999, 1)
    level = level + 0.01 * chain(rng, slots, 0.98, 1) * rng.uniform(0.5, 1.5, nodes)
    for _ in range(3):
        start = rng.integers(0, slots)
        for n in range(nodes):
            lag = rng.uniform(5, 80)
            level[:, n] += 0.2 * rng.uniform(0.5, 1.5) * pulse(slots, start + lag, 2 * lag, 400)
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(4):
        start, length = int(rng.integers(50, slots - 100)), int(rng.integers(8, 50))
        centre = place[rng.integers(nodes)]
        far = np.hypot(*(place - centre).T)
        t = np.maximum(np.arange(slots) - start, 0.0)
        drawn = np.log1p(t) - np.log1p(np.maximum(t - length, 0.0))
        drawn = np.where(
            np.arange(slots) < start + length, drawn, drawn * np.exp(-(t - length) / 30)
        )
        effect = 0.25 * drawn[:, None] * np.exp(-far / 0.5)
        level -= effect
        event |= effect > 0.05
    return Network("level_m", 60, np.round(level + rng.normal(0, 0.004, level.shape), 3), event)


def meltwater(rng: Rng) -> Network:
    """Discharge below glaciers: an afternoon wave every warm day, and a flood after a storm."""
    slots, nodes = 24 * 50, 7
    warm = np.clip(1 + 0.6 * chain(rng, slots, 0.99), 0, None)
    area, lag = rng.uniform(0.5, 6, nodes), rng.uniform(0, 6, nodes)
    hour, _ = clock(slots, 60)
    flow = np.zeros((slots, nodes))
    for n in range(nodes):
        day = np.clip(np.cos(2 * np.pi * (hour - 16 - lag[n]) / 24) + 0.5, 0, None)
        flow[:, n] = area[n] * (0.6 + 0.4 * warm + warm * day)
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(2):
        start = rng.integers(100, slots - 100)
        for n in range(nodes):
            wave = area[n] * rng.uniform(1, 8) * pulse(slots, start + lag[n], 3, 10)
            flow[:, n] += wave
            event[:, n] |= wave > area[n]
    surge = int(rng.integers(nodes))  # a pond breaks: one stream alone
    wave = 10 * area[surge] * pulse(slots, rng.integers(100, slots - 50), 1, 4)
    flow[:, surge] += wave
    event[:, surge] |= wave > area[surge]
    flow *= np.exp(0.05 * chain(rng, slots, 0.9, nodes) + rng.normal(0, 0.02, flow.shape))
    return Network("discharge_m3s", 60, np.round(flow, 2), event)


def streets(rng: Rng) -> Network:
    """NO2 in a city: traffic hours, stagnant days, street canyons, works beside a few stations."""
    slots, nodes = 24 * 42, 22
    hour, day = clock(slots, 60)
    rush = np.exp(-(((hour - 8) / 1.8) ** 2)) + 0.9 * np.exp(-(((hour - 18) / 2.5) ** 2))
    rush = rush * np.where(day % 7 < 5, 1.0, 0.45)
    mixing = np.exp(0.45 * chain(rng, slots, 0.98))
    canyon = np.where(
        rng.random(nodes) < 0.35, rng.uniform(25, 60, nodes), rng.uniform(4, 20, nodes)
    )
    base = rng.uniform(8, 20, nodes)
    own = np.exp(0.22 * chain(rng, slots, 0.85, nodes))
    value = (base + canyon * rush[:, None]) * mixing[:, None] * own
    event = np.zeros((slots, nodes), dtype=bool)
    stagnant = int(rng.integers(100, slots - 100))
    whole = pulse(slots, stagnant, 12, 20)[:, None] * rng.uniform(0.6, 1.6, nodes)
    value *= 1 + 1.5 * whole
    event |= whole > 0.3
    for count in (1, 1, 3):
        who = rng.choice(nodes, count, replace=False)
        start, length = int(rng.integers(50, slots - 60)), int(rng.integers(4, 30))
        more = rng.uniform(30, 90, count) * np.exp(0.3 * chain(rng, length, 0.7, count))
        value[start : start + length, who] += more
        event[start : start + length, who] = True
    value = np.maximum(value + rng.normal(0, 1.0, value.shape), 0.2)
    return Network("no2", 60, np.round(value, 1), event)


def counts(rng: Rng) -> Network:
    """Vehicles in a quarter of an hour along a road: accidents stop what comes after them."""
    slots, nodes = 96 * 12, 28
    hour, day = clock(slots, 15)
    usual = 0.15 + np.exp(-(((hour - 7.7) / 1.4) ** 2)) + 0.8 * np.exp(-(((hour - 17.3) / 2) ** 2))
    usual += 0.5 * np.exp(-(((hour - 12.5) / 4) ** 2))
    usual *= np.where(day % 7 < 5, 1.0, 0.55)
    size = rng.uniform(120, 420, nodes) * np.exp(0.02 * chain(rng, slots, 0.95, 1))
    value = usual[:, None] * size * np.exp(0.04 * chain(rng, slots, 0.7, nodes))
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(4):
        where, reach = int(rng.integers(nodes)), int(rng.integers(1, 6))
        start, length = int(rng.integers(20, slots - 30)), int(rng.integers(2, 12))
        part = slice(start, start + length), slice(where, where + reach)
        value[part] *= rng.uniform(0.05, 0.5)
        event[part] = True
    return Network("vehicles", 15, rng.poisson(np.maximum(value, 0)).astype(float), event)


def strings(rng: Rng) -> Network:
    """A solar plant: clouds that cross it, inverters that clip, a mast's shadow every morning."""
    slots, nodes = 144 * 8, 24
    hour, _ = clock(slots, 10)
    sun = np.clip(np.sin(np.pi * (hour - 6) / 13), 0, None) ** 1.2
    dull = np.clip(chain(rng, slots + 30, 0.97), -1, 1.5)
    lag = np.sort(rng.integers(0, 3, nodes))
    value = np.zeros((slots, nodes))
    for n in range(nodes):
        cloud = 1 - 0.35 * np.clip(dull[lag[n] : lag[n] + slots] + 0.3, 0, None)
        value[:, n] = sun * np.clip(cloud + 0.03 * chain(rng, slots, 0.5), 0.05, 1.15)
    event = np.zeros((slots, nodes), dtype=bool)
    shaded = rng.choice(nodes, 3, replace=False)
    morning = (hour > 7.5) & (hour < 9)
    value[np.ix_(morning, shaded)] *= 0.4
    event[np.ix_(morning, shaded)] = True
    for _ in range(3):  # small clouds over a few strings
        where, width = int(rng.integers(nodes - 5)), int(rng.integers(1, 6))
        start = int(rng.integers(8) * 144 + rng.integers(55, 95))
        part = slice(start, start + int(rng.integers(1, 5))), slice(where, where + width)
        value[part] *= 0.3
        event[part] = True
    value = np.minimum(5200 * value * rng.uniform(0.94, 1.03, nodes), 4600)
    value = np.where(value > 0, value + rng.normal(0, 12, value.shape), 0.0)
    return Network("power_w", 10, np.round(np.maximum(value, 0)), event)


def glasshouse(rng: Rng) -> Network:
    """Humidity under glass: wet nights, vents that open bay by bay, fog nozzles."""
    slots, nodes = 144 * 7, 12
    hour, _ = clock(slots, 10)
    sun = np.clip(np.sin(np.pi * (hour - 6) / 13), 0, None)[:, None]
    value = 93 - 30 * sun * np.clip(1 + 0.3 * chain(rng, slots, 0.97, 1), 0.2, 1.6)
    value = value + 3 * chain(rng, slots, 0.99, 1) + rng.normal(0, 2, nodes)
    value = value + 1.2 * chain(rng, slots, 0.9, nodes)
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(14):
        bay, width = int(rng.integers(nodes)), int(rng.integers(1, 5))
        start = int(rng.integers(7) * 144 + rng.integers(50, 110))
        up = rng.random() < 0.4
        wave = pulse(slots, start, 2, rng.uniform(3, 9)) * (12 if up else -16)
        value[:, bay : bay + width] += wave[:, None] * rng.uniform(
            0.6, 1.2, value[:, bay : bay + width].shape[1]
        )
        event[:, bay : bay + width] |= (np.abs(wave) > 3)[:, None]
    value = np.clip(value + rng.normal(0, 0.4, value.shape), 5, 100)
    return Network("humidity", 10, np.round(value, 1), event)


def foehn(rng: Rng) -> Network:
    """Valley stations: cold pools at night; a warm wind breaks through at some, for hours."""
    slots, nodes = 144 * 9, 14
    hour, _ = clock(slots, 10)
    height = np.sort(rng.uniform(400, 2200, nodes))
    value = 11 - 0.006 * (height - 400) + 4 * chain(rng, slots, 0.999, 1)
    pool = np.clip(np.cos(2 * np.pi * (hour - 5) / 24), 0, None)[:, None]
    calm = np.clip(0.6 + chain(rng, slots, 0.995, 1), 0, None)
    value = value - 6 * pool * calm * np.exp(-(height - 400) / 350)
    value = value + 5 * np.clip(np.sin(np.pi * (hour - 7) / 12), 0, None)[:, None] * rng.uniform(
        0.6, 1.3, nodes
    )
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(3):
        start = int(rng.integers(60, slots - 90))
        for n in rng.choice(nodes, int(rng.integers(1, 6)), replace=False):
            a = start + int(rng.integers(0, 18))
            b = a + int(rng.integers(6, 60))
            gust = rng.uniform(4, 10) * (1 + 0.15 * chain(rng, b - a, 0.6))
            part = value[a:b, n]
            value[a:b, n] = part + gust[: part.size]
            event[a:b, n] = True
    value = value + 0.35 * chain(rng, slots, 0.9, nodes) + rng.normal(0, 0.08, (slots, nodes))
    return Network("air_temperature_c", 10, np.round(value, 1), event)


def fridges(rng: Rng) -> Network:
    """A cold store: each compressor has its own saw, each fridge its defrosts and its door."""
    slots, nodes = 288 * 4, 18
    hour, _ = clock(slots, 5)
    value = np.tile(rng.uniform(2, 6, nodes), (slots, 1))
    event = np.zeros((slots, nodes), dtype=bool)
    for n in range(nodes):
        period = rng.uniform(4, 9)
        value[:, n] += 0.7 * ((np.arange(slots) / period + rng.random()) % 1 - 0.5)
        every = int(rng.integers(60, 110))
        for start in range(int(rng.integers(every)), slots, every):
            wave = rng.uniform(3, 6) * pulse(slots, start, 4, 4)
            value[:, n] += wave
            event[:, n] |= wave > 1
        for _ in range(int(rng.integers(4, 15))):
            start = int(rng.integers(4) * 288 + rng.integers(80, 230))
            wave = rng.uniform(1, 5) * pulse(slots, start, rng.integers(1, 4), 3)
            value[:, n] += wave
            event[:, n] |= wave > 1
    value += 0.25 * np.sin(2 * np.pi * (hour - 9) / 24)[:, None]
    value += 0.15 * chain(rng, slots, 0.95, nodes) + rng.normal(0, 0.06, value.shape)
    return Network("temperature", 5, np.round(value, 2), event)


def mains(rng: Rng) -> Network:
    """Pressure in pipes: demand by the hour, a main that bursts, a pump that trips."""
    slots, nodes = 96 * 9, 16
    hour, _ = clock(slots, 15)
    demand = np.exp(-(((hour - 7.3) / 1.6) ** 2)) + 0.7 * np.exp(-(((hour - 19) / 2.5) ** 2))
    demand = demand * (1 + 0.1 * chain(rng, slots, 0.95))
    value = rng.uniform(38, 62, nodes) - demand[:, None] * rng.uniform(2, 9, nodes)
    value = value + 0.5 * chain(rng, slots, 0.9, 1) + 0.35 * chain(rng, slots, 0.5, nodes)
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(2):
        where, start = rng.uniform(0, nodes), int(rng.integers(50, slots - 60))
        length = int(rng.integers(6, 40))
        near = np.exp(-((np.arange(nodes) - where) ** 2) / rng.uniform(1, 5))
        value[start : start + length] -= rng.uniform(6, 15) * near
        event[start : start + length] |= near > 0.15
    trip = int(rng.integers(50, slots - 60))
    value[trip : trip + 3] -= rng.uniform(8, 20) * rng.uniform(0.7, 1.1, nodes)
    event[trip : trip + 3] = True
    return Network("pressure_m", 15, np.round(value + rng.normal(0, 0.15, value.shape), 2), event)


def muddy(rng: Rng) -> Network:
    """Turbidity of five streams: two orders of magnitude within an hour of a shower."""
    slots, nodes = 24 * 40, 5
    value = np.exp(1.3 + 0.3 * chain(rng, slots, 0.98, 1) + 0.2 * chain(rng, slots, 0.95, nodes))
    event = np.zeros((slots, nodes), dtype=bool)
    for _ in range(5):
        start = rng.integers(20, slots - 40)
        for n in range(nodes):
            if rng.random() < 0.75:
                wave = np.exp(rng.uniform(3, 5.5)) * pulse(slots, start + rng.integers(0, 6), 2, 9)
                value[:, n] += wave
                event[:, n] |= wave > 10
    value *= np.exp(0.06 * rng.standard_normal(value.shape))
    return Network("turbidity_ntu", 60, np.round(value, 1), event)


def hives(rng: Rng) -> Network:
    """Weights of six beehives: foraging days; a swarm leaves and a keeper harvests, for good."""
    slots, nodes = 24 * 40, 6
    hour, day = clock(slots, 60)
    good = np.clip(chain(rng, 41, 0.6), -0.5, None)[day]
    gain = good * np.clip(np.sin(np.pi * (hour - 8) / 11), 0, None)
    strong = rng.uniform(0.4, 1.4, nodes)
    value = rng.uniform(28, 45, nodes) + np.cumsum(0.08 * gain)[:, None] * strong
    value = value - 0.6 * np.clip(np.sin(np.pi * (hour - 8) / 11), 0, None)[:, None] * strong
    event = np.zeros((slots, nodes), dtype=bool)
    who = rng.permutation(nodes)
    start = int(rng.integers(slots // 4, slots // 2))
    value[start:, who[0]] -= 2.5
    event[start : start + 24, who[0]] = True
    start = int(rng.integers(slots // 2, 4 * slots // 5))
    value[start:, who[1:]] -= rng.uniform(6, 12, nodes - 1)
    event[start : start + 24, who[1:]] = True
    value = value + 0.08 * chain(rng, slots, 0.97, nodes) + rng.normal(0, 0.03, (slots, nodes))
    return Network("weight_kg", 60, np.round(value, 2), event)


def racks(rng: Rng) -> Network:
    """Inlet temperatures of sixty racks: batch jobs, and a cooler that fails for one aisle."""
    slots, nodes = 288 * 3, 60
    aisle = np.arange(nodes) // 10
    hour, _ = clock(slots, 5)
    load = np.clip(chain(rng, slots, 0.98, 6), -1.5, 2.5)
    value = 21 + 0.8 * load[:, aisle] + 0.6 * np.sin(2 * np.pi * (hour - 15) / 24)[:, None]
    value = value + rng.normal(0, 0.8, nodes) + 0.25 * chain(rng, slots, 0.9, nodes)
    event = np.zeros((slots, nodes), dtype=bool)
    start, length = int(rng.integers(60, slots - 60)), int(rng.integers(6, 30))
    wave = (
        pulse(slots, start, length, 6)[:, None]
        * (aisle == rng.integers(6))
        * rng.uniform(5, 10, nodes)
    )
    value += wave
    event |= wave > 1
    for n in rng.choice(nodes, 8, replace=False):  # single racks under a job of their own
        start, length = int(rng.integers(20, slots - 50)), int(rng.integers(3, 40))
        wave = rng.uniform(2, 5) * (
            pulse(slots, start, 3, 1e9) - pulse(slots, start + length, 4, 1e9)
        )
        value[:, n] += wave
        event[:, n] |= wave > 1
    return Network("inlet_temp_c", 5, np.round(value + rng.normal(0, 0.05, value.shape), 2), event)


def school(rng: Rng) -> Network:
    """Fine dust at three places: sweeping raises one, a smoky evening all of them."""
    slots, nodes = 48 * 25, 3
    value = np.exp(2.4 + 0.5 * chain(rng, slots, 0.99, 1) + 0.2 * chain(rng, slots, 0.9, nodes))
    event = np.zeros((slots, nodes), dtype=bool)
    for d in rng.choice(25, 8, replace=False):
        n, start = int(rng.integers(nodes)), int(d * 48 + rng.integers(14, 34))
        wave = rng.uniform(15, 60) * pulse(slots, start, 1, 2)
        value[:, n] += wave
        event[:, n] |= wave > 5
    wave = (
        80
        * pulse(slots, rng.integers(100, slots - 100), 4, 8)[:, None]
        * rng.uniform(0.5, 1.3, nodes)
    )
    value += wave
    event |= wave > 5
    value = np.maximum(value * (1 + 0.05 * rng.standard_normal(value.shape)), 0.5)
    return Network("pm25", 30, np.round(value, 1), event)


def showers(rng: Rng) -> Network:
    """Hourly rain of twelve gauges: fronts wet all of them, cells one or two."""
    slots, nodes = 24 * 50, 12
    wet = np.clip(chain(rng, slots, 0.9, 1) - 1.3, 0, None)
    value = 3 * wet * rng.gamma(2, 0.5, (slots, nodes))
    event = value > 0.2
    for _ in range(12):
        start, length = int(rng.integers(slots - 4)), int(rng.integers(1, 4))
        who = (int(rng.integers(nodes)) + np.arange(int(rng.integers(1, 3)))) % nodes
        value[start : start + length, who] += rng.exponential(8, (length, who.size))
        event[start : start + length, who] = True
    return Network("rain_mm", 60, np.round(value * 5) / 5, event)


NETWORKS: dict[str, Callable[[Rng], Network]] = {
    maker.__name__: maker
    for maker in (
        wells, meltwater, streets, counts, strings, glasshouse, foehn,
        fridges, mains, muddy, hives, racks, school, showers,
    )
}  # fmt: skip
