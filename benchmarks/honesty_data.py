"""Records for `honesty`: real ones as they are, faults and gaps included, and simulated ones.

Cut to at most 20 nodes and about 600 slots: the question is not how good, but how honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import accuracy_data as data
from fieldmend.simulate import CLIMATES, climate_field, corrupt, low_rank

Array = np.ndarray
NODES, SLOTS = 20, 600


@dataclass(frozen=True)
class Record:
    """A record: how to get it, slots × nodes with NaN, and what it is."""

    name: str
    condition: str
    unit: str
    slots_a_day: float
    get: Callable[[int], Array]  # of a seed, which real ones do not look at
    truth: Callable[[], Array] | None = None  # where it is known that some readings are false


def records() -> Iterator[Record]:
    """All of them, the real ones only where the files are."""
    for name, unit, make in (
        ("temperature", "°C", _temperature), ("pm", "ug/m3", _skewed), ("low rank", "", _low_rank),
    ):  # fmt: skip
        yield Record(f"simulated {name}", name.split()[0], unit, 288, make)
    if not data.available():
        return
    for name, unit in (("temperature", "°C"), ("humidity", "%"), ("light", "lx")):
        yield _real(f"IntelLab {name}", name, unit, 288, lambda n=name: data.intellab(n))
    for name, column, unit in (
        ("air", "air_temp_c", "°C"), ("pressure", "pressure_hpa", "hPa"),
        ("wind", "wind_speed_kt", "kt"),
    ):  # fmt: skip
        yield _real(f"NDBC {name}", column, unit, 24, lambda n=name: data.ndbc(n, 30))
    for name, unit in (("temperature", "°C"), ("humidity", "%")):
        yield _real(f"Redwood {name}", name, unit, 288, lambda n=name: data.redwood(n)[0][:SLOTS])
    for name, what, unit in (
        ("t", "temperature", "K"), ("u", "humidity", "%"), ("ff", "wind", "m/s"),
        ("pmer", "pressure", "Pa"),
    ):  # fmt: skip
        yield _real(f"Molène {what}", name, unit, 24, lambda n=name: data.molene(n))
    yield _real("PM10", "pm10", "ug/m3", 1, data.pm10)
    faulty = _real(
        "faultbench temperature", "temperature", "°C", 288,
        lambda: data.faultbench("temperature", "mixed")[1],
    )  # fmt: skip
    clean = data.faultbench("temperature", "mixed")[0][:SLOTS, :NODES]
    yield replace(faulty, truth=lambda: clean)
    yield _real("nine motes", "temperature", "°C", 48, data.nine_motes)
    yield _real("four motes", "humidity", "%", 8640, data.four_motes)


def _real(name: str, condition: str, unit: str, day: float, get: Callable[[], Array]) -> Record:
    return Record(name, condition, unit, day, lambda _: get()[:SLOTS, :NODES])


def _temperature(seed: int) -> Array:
    """A day and a half of 24 rooms, 1 % of the readings false."""
    field = climate_field(500, 24, climate=CLIMATES["temperature"], seed=seed + 50)
    rng = np.random.default_rng(seed)
    noisy = field + 0.1 * rng.standard_normal(field.shape)
    return corrupt(noisy, kind="spikes", rate=0.01, seed=seed).readings


def _skewed(seed: int) -> Array:
    """Concentrations: the exponential of a field of fronts, with nodes of their own."""
    field = climate_field(500, 24, climate=CLIMATES["pressure"], seed=seed + 60)
    rng = np.random.default_rng(seed)
    scaled = (field - field.mean()) / field.std()
    return 20 * np.exp(0.8 * scaled + 0.15 * rng.standard_normal(field.shape))


def _low_rank(seed: int) -> Array:
    return low_rank(500, 24, rank=4, seed=seed + 70) + 0.3 * np.random.default_rng(
        seed
    ).standard_normal((500, 24))
