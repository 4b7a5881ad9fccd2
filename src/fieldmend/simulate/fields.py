"""Fields without loss, noise or faults: exactly low rank, and like the weather."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from fieldmend.simulate.patterns import FloatArray

Seed = int | np.random.Generator


def low_rank(
    slots: int,
    nodes: int,
    *,
    rank: int = 5,
    bounds: tuple[float, float] = (0.0, 100.0),
    seed: Seed = 0,
) -> FloatArray:
    """Draw a field of exactly the given rank whose values span the bounds (the paper's Fig. 1).

    ``L = c·1·1ᵀ + s·A·Bᵀ`` with A, B uniform on [−1, 1] and of rank − 1 columns: the constant part
    is one of the ranks, so shifting the values into the bounds does not raise it. Rank one is
    a product u·vᵀ.

    Parameters
    ----------
    slots, nodes
        Shape.
    rank
        1 to min(slots, nodes).
    bounds
        Smallest and largest value, both attained (a single entry takes the one farther from 0).
    seed
        Seed or generator.

    Returns
    -------
    ndarray
        Slots × nodes.

    Raises
    ------
    ValueError
        For a rank or bounds that the shape does not allow.

    Notes
    -----
    Time O(TN·rank), memory O(TN).

    Examples
    --------
    >>> field = low_rank(100, 100, rank=5)
    >>> int(np.linalg.matrix_rank(field)), float(field.min()), float(field.max())
    (5, 0.0, 100.0)
    """
    low, high = bounds
    if not 1 <= rank <= min(slots, nodes):
        raise ValueError(f"rank must lie in 1 … {min(slots, nodes)} for this shape, got {rank}")
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"bounds must be finite and increase, got {bounds}")
    rng = np.random.default_rng(seed)
    if rank == 1:
        return _rank_one(slots, nodes, low, high, rng)
    varying = rng.uniform(-1, 1, (slots, rank - 1)) @ rng.uniform(-1, 1, (rank - 1, nodes))
    return _stretch(varying, low, high)


def _rank_one(
    slots: int, nodes: int, low: float, high: float, rng: np.random.Generator
) -> FloatArray:
    if slots == nodes == 1:
        return np.array([[max(low, high, key=abs)]])
    if min(slots, nodes) == 1:
        return _stretch(rng.uniform(size=(slots, nodes)), low, high)
    if high < 0:
        return -_rank_one(slots, nodes, -high, -low, rng)
    # max(u)·max(v) = high; min(u)·min(v) = low if low > 0, max(u)·min(v) = low if not.
    in_time = (np.sqrt(low / high), 1.0) if low > 0 else (0.5, 1.0)
    over_nodes = (np.sqrt(low * high), high) if low > 0 else (low, high)
    u = _stretch(rng.uniform(size=(slots, 1)), *in_time)
    v = _stretch(rng.uniform(size=(1, nodes)), *over_nodes)
    return u * v


def _stretch(values: FloatArray, low: float, high: float) -> FloatArray:
    """Map affinely so that the smallest value is `low` and the largest `high`."""
    unit = (values - values.min()) / np.ptp(values)
    return np.asarray(low * (1 - unit) + high * unit)


@dataclass(frozen=True)
class Climate:
    """What a physical condition does over a day and over the nodes, in its own units.

    Attributes
    ----------
    level
        Mean (of the night, with `daylight`).
    swing
        Half the daily range; with `daylight` the height of noon.
    weather
        Standard deviation of what all nodes share beyond the day.
    offset
        Standard deviation of the nodes' own levels.
    local
        Standard deviation of each node's own smooth wandering.
    bounds
        Physical limits, applied last.
    fronts
        Number of independent weather factors: 1 in a room, more over an ocean.
    lag
        Standard deviation of the nodes' delay behind the mean day, in days.
    daylight
        The day is the positive half of a sine, dark at night; weather and wandering fade with it.
    """

    level: float
    swing: float
    weather: float
    offset: float
    local: float
    bounds: tuple[float, float] = (-np.inf, np.inf)
    fronts: int = 1
    lag: float = 0.02
    daylight: bool = False


CLIMATES: Mapping[str, Climate] = MappingProxyType(
    {
        "temperature": Climate(20.0, 4.0, 1.0, 1.0, 0.2, fronts=2),
        "humidity": Climate(40.0, -6.0, 3.0, 2.0, 0.4, bounds=(0.0, 100.0), fronts=2),
        "light": Climate(
            5.0, 400.0, 80.0, 1.0, 40.0, bounds=(0.0, 2000.0), fronts=2, lag=0.05, daylight=True
        ),
        "pressure": Climate(1015.0, 0.8, 3.0, 4.0, 0.2, fronts=5, lag=0.05),
    }
)


def climate_field(
    slots: int,
    nodes: int,
    *,
    climate: Climate = CLIMATES["temperature"],
    slots_per_day: float = 288,
    seed: Seed = 0,
) -> FloatArray:
    """Draw an approximately low-rank field: day, weather, offsets, lags, local wandering.

    ``X[t,n] = level + offset_n + swing·g_n·day(t − lag_n) + Σ_k w_k[t]·a_k[n] + r_n[t]``: the
    offsets, the day (a lagged sine has rank two) and the weather have low rank, the wandering r_n
    has full rank and little energy. w_k and r_n are smooth: autoregressions of order two with a
    double root, memories of a day and of a tenth of a day.

    Parameters
    ----------
    slots, nodes
        Shape.
    climate
        The physical condition, one of `CLIMATES` or your own.
    slots_per_day
        Slots in 24 hours; 288 is one per five minutes.
    seed
        Seed or generator.

    Returns
    -------
    ndarray
        Slots × nodes.

    Raises
    ------
    ValueError
        For fewer than one slot or node, or days without slots.

    Notes
    -----
    Time and memory O(TN).

    Examples
    --------
    >>> field = climate_field(500, 54, seed=1)
    >>> s = np.linalg.svd(field - field.mean(), compute_uv=False)
    >>> bool((s[:4] ** 2).sum() > 0.98 * (s**2).sum())
    True
    """
    if slots < 1 or nodes < 1:
        raise ValueError(f"slots and nodes must be at least 1, got {slots} and {nodes}")
    if not 0 < slots_per_day < np.inf:
        raise ValueError(f"slots_per_day must be positive, got {slots_per_day}")
    rng = np.random.default_rng(seed)
    day = _day(slots, nodes, climate, slots_per_day, rng)
    shared = _wander(slots, climate.fronts, slots_per_day, rng) @ _loadings(climate, nodes, rng)
    own = climate.local * _wander(slots, nodes, slots_per_day / 10, rng)
    envelope = day if climate.daylight else 1.0
    gain = rng.normal(1, 0.25, nodes)
    level = climate.level + rng.normal(0, climate.offset, nodes)
    field = level + climate.swing * gain * day + envelope * (shared + own)
    return np.clip(field, *climate.bounds)


def _day(
    slots: int, nodes: int, climate: Climate, slots_per_day: float, rng: np.random.Generator
) -> FloatArray:
    time = np.arange(slots)[:, None] / slots_per_day - rng.normal(0, climate.lag, nodes)
    day = np.sin(2 * np.pi * (time - 0.25))  # from midnight; noon is the top
    return np.asarray(np.maximum(day, 0.0) if climate.daylight else day)


def _loadings(climate: Climate, nodes: int, rng: np.random.Generator) -> FloatArray:
    """What each front does to each node: the first is felt by all alike, others here and there."""
    loadings = rng.normal(0, 1, (climate.fronts, nodes))
    loadings[0] = 1 + 0.2 * loadings[0]
    return np.asarray(climate.weather / np.sqrt(climate.fronts) * loadings)


def _wander(slots: int, count: int, memory: float, rng: np.random.Generator) -> FloatArray:
    """Smooth series of unit variance: y[t] = φ·y[t−1] + x[t], x[t] = φ·x[t−1] + e[t].

    φ = exp(−1/memory). Var x = 1/(1−φ²), Cov(x, y) = 1/(1−φ²)², Var y = (1+φ²)/(1−φ²)³: the first
    slot is drawn from these, so the series needs no burn-in.
    """
    phi = np.exp(-1 / memory)
    q = 1 - phi**2
    noise = rng.normal(size=(slots + 1, count))
    x = noise[0] / np.sqrt(q)
    series = np.empty((slots, count))
    series[0] = x / q + phi * q**-1.5 * noise[1]
    for t in range(1, slots):
        x = phi * x + noise[t + 1]
        series[t] = phi * series[t - 1] + x
    return np.asarray(series * np.sqrt(q**3 / (1 + phi**2)))


@dataclass(frozen=True)
class Deployment:
    """One of the paper's data sets (Table I).

    Attributes
    ----------
    slots, nodes
        Its shape.
    slots_per_day
        How many make a day.
    conditions
        Name → climate.
    """

    slots: int
    nodes: int
    slots_per_day: float
    conditions: Mapping[str, Climate]


# Slot lengths. IntelLab: ten times its 30 s (Section V). GreenOrbs: Table I's 750 slots over its
# three days (ten times its 60 s would make 432). NDBC: hourly and with the standard
# meteorological conditions, as the public archive has them; the paper's CTD days are not public.
DEPLOYMENTS: Mapping[str, Deployment] = MappingProxyType(
    {
        "intellab": Deployment(
            500,
            54,
            288,
            MappingProxyType({c: CLIMATES[c] for c in ("temperature", "humidity", "light")}),
        ),
        "greenorbs": Deployment(
            750,
            326,
            250,
            MappingProxyType(
                {
                    "temperature": Climate(24.0, 5.0, 1.5, 1.0, 0.3, fronts=2, lag=0.03),
                    "light": Climate(
                        2.0, 300.0, 80.0, 0.5, 30.0, bounds=(0.0, 2000.0), fronts=2, daylight=True
                    ),
                    "humidity": Climate(
                        75.0, -12.0, 5.0, 3.0, 1.0, bounds=(0.0, 100.0), fronts=2, lag=0.03
                    ),
                }
            ),
        ),
        "ndbc": Deployment(
            300,
            216,
            24,
            MappingProxyType(
                {
                    "air_temperature": Climate(18.0, 1.0, 2.5, 5.0, 0.4, fronts=5),
                    "water_temperature": Climate(
                        17.0, 0.3, 0.8, 6.0, 0.2, bounds=(-2.0, 33.0), fronts=4
                    ),
                    "pressure": CLIMATES["pressure"],
                }
            ),
        ),
    }
)


def deployment(name: str, condition: str, *, seed: Seed = 0) -> FloatArray:
    """Draw a field of the shape and kind of one of the paper's three data sets (Table I).

    Simulated, not measured: say so wherever it is shown.

    Parameters
    ----------
    name
        ``"intellab"`` (500 × 54), ``"greenorbs"`` (750 × 326) or ``"ndbc"`` (300 × 216); upper or
        lower case.
    condition
        ``"temperature"``, ``"humidity"``, ``"light"``; for ``"ndbc"`` ``"air_temperature"``,
        ``"water_temperature"``, ``"pressure"``.
    seed
        Seed or generator.

    Returns
    -------
    ndarray
        Slots × nodes.

    Raises
    ------
    ValueError
        For a name or condition that is not there, with those that are.

    Examples
    --------
    >>> deployment("NDBC", "pressure").shape
    (300, 216)
    """
    if name.casefold() not in DEPLOYMENTS:
        raise ValueError(f"unknown deployment {name!r}, choose from {', '.join(DEPLOYMENTS)}")
    place = DEPLOYMENTS[name.casefold()]
    if condition not in place.conditions:
        raise ValueError(
            f"{name} has no condition {condition!r}, choose from {', '.join(place.conditions)}"
        )
    return climate_field(
        place.slots,
        place.nodes,
        climate=place.conditions[condition],
        slots_per_day=place.slots_per_day,
        seed=seed,
    )
