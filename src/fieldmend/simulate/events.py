"""Networks in which something real happens: what a fault search must not take for a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fieldmend.simulate.fields import CLIMATES, climate_field
from fieldmend.simulate.patterns import BoolArray, FloatArray

Rng = np.random.Generator
HOUR = 3_600_000_000


@dataclass(frozen=True)
class Happening:
    """Sound readings in which something happens, and where it does.

    Attributes
    ----------
    readings
        Slots × nodes, nothing lost.
    event
        True where what happens moves a reading by more than three times the noise.
    at
        Nodes × 2: positions, metres.
    slot
        Microseconds.
    """

    readings: FloatArray
    event: BoolArray
    at: FloatArray
    slot: int


def happening(kind: str, nodes: int = 25, days: int = 10, *, seed: int = 0) -> Happening:
    """A network without any fault to which something happens.

    Parameters
    ----------
    kind
        ``"rush"``: speeds along a road, five minutes; queues grow from one detector to those
        behind it, most mornings and afternoons, and now and then at any hour. ``"fireworks"``:
        hourly concentrations, skewed; one night all stations rise 5 to 30 times within two hours,
        and plumes pass over a few. ``"rain"``: ten minutes, zero most of the time; cells drift
        across. ``"sun"``: temperatures, five minutes; on some days the sun reaches some of the
        nodes, one after the other. ``"front"``: hourly temperatures; air 6 to 10 degrees colder
        crosses the network within hours.
    nodes, days
        Size.
    seed
        Of everything random.

    Returns
    -------
    Happening

    Raises
    ------
    ValueError
        For an unknown kind, with those that are there.

    Examples
    --------
    >>> road = happening("rush", days=5, seed=1)
    >>> road.readings.shape, bool(road.readings[road.event].mean() < 45)
    ((1440, 25), True)
    """
    if kind not in HAPPENINGS:
        raise ValueError(f"unknown event {kind!r}, choose from {', '.join(HAPPENINGS)}")
    rng = np.random.default_rng(seed)
    return HAPPENINGS[kind](nodes, days, rng)


def _rush(nodes: int, days: int, rng: Rng) -> Happening:
    slots, noise = 288 * days, 2.0
    t = np.arange(slots)
    free = 64 + 3 * rng.normal(size=nodes)
    lost = np.zeros((slots, nodes))
    starts, necks = [], (nodes // 3, 3 * nodes // 4)
    for day in range(days):
        for hour in (7.5, 16.5):
            if day % 7 < 5 and rng.random() < 0.8:
                starts += [(288 * day + 12 * (hour + rng.normal(0, 0.4)), neck) for neck in necks]
        if rng.random() < 0.3:
            starts.append((288 * day + rng.uniform(0, 288), int(rng.integers(nodes))))
    for start, neck in starts:
        lasts, back = rng.uniform(9, 30), int(rng.integers(3, 8))
        size, pace = rng.uniform(25, 45), rng.uniform(1, 3)
        for k in range(min(back, neck + 1)):
            into = (t - start - pace * k) / (lasts * (1 - 0.08 * k))
            shape = np.clip(np.minimum(into / 0.15, (1 - into) / 0.25), 0, 1)
            lost[:, neck - k] = np.maximum(lost[:, neck - k], size * (1 - 0.07 * k) * shape)
    readings = free - lost + noise * rng.normal(size=lost.shape)
    readings -= lost * 0.12 * np.abs(rng.normal(size=lost.shape))
    at = np.column_stack([800.0 * np.arange(nodes), np.zeros(nodes)])
    return Happening(np.maximum(readings, 3.0), lost > 3 * noise, at, HOUR // 12)


def _fireworks(nodes: int, days: int, rng: Rng) -> Happening:
    slots = 24 * days
    at = rng.uniform(0, 30_000, (nodes, 2))
    log = np.log(12) + 0.5 * _smooth(slots, 1, 36, rng) + 0.25 * _smooth(slots, nodes, 12, rng)
    quiet = np.exp(log + 0.2 * rng.normal(size=nodes))
    extra = np.zeros(quiet.shape)
    t = np.arange(slots)[:, None]
    night = 24 * rng.integers(days // 3, days - 1) + 22 + rng.uniform(0, 2, nodes)
    height = quiet.mean() * rng.uniform(5, 30, nodes)
    extra += height * np.clip(t - night, 0, 1) * np.exp(-np.maximum(t - night - 1, 0) / 3)
    for _ in range(days // 3):  # plumes
        centre, start = at[rng.integers(nodes)], rng.uniform(0, slots)
        far = np.hypot(*(at - centre).T)
        into = t - start - far / 4000
        shape = np.clip(into / 2, 0, 1) * np.exp(-np.maximum(into - 2, 0) / 3)
        extra += quiet.mean() * rng.uniform(1, 4) * np.exp(-((far / 7000) ** 2)) * shape
    noise = 0.1 * quiet
    readings = quiet + extra + 0.1 * (quiet + extra) * rng.normal(size=quiet.shape)
    return Happening(np.maximum(readings, 0.0), extra > 3 * noise, at, HOUR)


def _rain(nodes: int, days: int, rng: Rng) -> Happening:
    slots = 144 * days
    at = rng.uniform(0, 40_000, (nodes, 2))
    fall = np.zeros((slots, nodes))
    t = np.arange(slots)[:, None]
    for _ in range(4 * days):
        wind, turn = rng.uniform(2_000, 8_000), rng.uniform(0, 2 * np.pi)
        way = np.array([np.cos(turn), np.sin(turn)])
        start, aside = rng.uniform(0, slots), rng.uniform(-20_000, 20_000)
        along = (at - 20_000) @ way - wind * (t - start)
        across = (at - 20_000) @ np.array([-way[1], way[0]]) - aside
        size = rng.uniform(3_000, 9_000)
        fall += rng.gamma(1.5, 0.7) * np.exp(-(along**2 + across**2) / size**2)
    fall *= np.exp(0.3 * rng.normal(size=fall.shape))
    readings = np.floor(fall / 0.1) * 0.1
    return Happening(readings, readings > 0, at, HOUR // 6)


def _sun(nodes: int, days: int, rng: Rng) -> Happening:
    slots, noise = 288 * days, 0.1
    quiet = climate_field(slots, nodes, seed=rng)
    at = rng.uniform(0, 40, (nodes, 2))
    extra = np.zeros(quiet.shape)
    t = np.arange(slots)
    east = np.argsort(at[:, 0])
    for day in np.flatnonzero(rng.random(days) < 0.5):
        first = int(rng.integers(nodes - 6))
        for k, node in enumerate(east[first : first + rng.integers(3, 7)]):
            begin = 288 * day + 12 * 9.0 + 4 * k + rng.normal(0, 1)
            lasts = rng.uniform(15, 40)
            into = t - begin
            up = 1 - np.exp(-np.maximum(into, 0) / 4)
            shape = np.where(into < lasts, up, up * np.exp(-np.maximum(into - lasts, 0) / 8))
            extra[:, node] += rng.uniform(3, 9) * shape
    readings = quiet + extra + noise * rng.normal(size=quiet.shape)
    return Happening(readings, extra > 3 * noise, at, HOUR // 12)


def _front(nodes: int, days: int, rng: Rng) -> Happening:
    slots, noise = 24 * days, 0.3
    at = rng.uniform(0, 200_000, (nodes, 2))
    quiet = climate_field(slots, nodes, climate=CLIMATES["temperature"], slots_per_day=24, seed=rng)
    change = np.zeros(quiet.shape)
    t = np.arange(slots)[:, None]
    for start in np.sort(rng.uniform(24, slots - 24, max(1, days // 5))):
        turn = rng.uniform(0, 2 * np.pi)
        reaches = at @ np.array([np.cos(turn), np.sin(turn)])
        reaches = (reaches - reaches.min()) / rng.uniform(25_000, 60_000)
        into = t - start - reaches
        size = rng.uniform(6, 10) * np.exp(0.1 * rng.normal(size=nodes))
        change -= size * np.clip(into / 1.5, 0, 1) * np.exp(-np.maximum(into - 12, 0) / 24)
    readings = quiet + change + noise * rng.normal(size=quiet.shape)
    return Happening(readings, change < -3 * noise, at, HOUR)


def _smooth(slots: int, count: int, memory: float, rng: Rng) -> FloatArray:
    """Autoregressions of unit variance."""
    keep = np.exp(-1 / memory)
    out = rng.normal(size=(slots, count))
    out[1:] *= np.sqrt(1 - keep**2)
    for i in range(1, slots):
        out[i] += keep * out[i - 1]
    return out


HAPPENINGS: Mapping[str, Callable[[int, int, Rng], Happening]] = MappingProxyType(
    {"rush": _rush, "fireworks": _fireworks, "rain": _rain, "sun": _sun, "front": _front}
)
