"""Fields that are no temperatures: dust, wind directions, rain, rain meters, humidity in fog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fieldmend.simulate.fields import Seed, _wander
from fieldmend.simulate.patterns import FloatArray


def skewed_field(
    slots: int, nodes: int, *, slots_per_day: float = 24, seed: Seed = 0
) -> FloatArray:
    """Concentrations like fine dust: many small values, and episodes of days that all nodes share.

    The logarithm is a sum of weather (episodes, felt more or less by each node), the time of
    day, the node's own level and its own wandering: 10 on a usual day, above 100 in an episode.

    Parameters
    ----------
    slots, nodes
        Shape.
    slots_per_day
        Slots in 24 hours.
    seed
        Seed or generator.

    Returns
    -------
    ndarray
        Slots × nodes, positive.

    Examples
    --------
    >>> dust = skewed_field(500, 20, seed=1)
    >>> bool(dust.min() > 0), bool(np.quantile(dust, 0.99) > 4 * np.median(dust))
    (True, True)
    """
    rng = _checked(slots, nodes, slots_per_day, seed)
    weather = _wander(slots, 2, 2 * slots_per_day, rng)
    episodes = np.maximum(_wander(slots, 1, slots_per_day, rng) - 1, 0)
    felt = rng.uniform(0.6, 1.4, (3, nodes))
    shared = np.hstack([0.5 * weather, 1.2 * episodes]) @ felt
    hour = 2 * np.pi * np.arange(slots)[:, None] / slots_per_day
    day = 0.2 * np.sin(hour - rng.normal(0, 0.3, nodes))
    own = 0.15 * _wander(slots, nodes, slots_per_day / 8, rng)
    level = np.log(10) + rng.normal(0, 0.25, nodes)
    return np.asarray(np.exp(level + shared + day + own))


def direction_field(
    slots: int, nodes: int, *, slots_per_day: float = 24, seed: Seed = 0
) -> FloatArray:
    """Wind directions in degrees, 0 to 360: fronts turn them at once, valleys bend them.

    A wind vector that the network shares, its fronts, each node's own bend, gusts.

    Parameters
    ----------
    slots, nodes, slots_per_day, seed
        As for `skewed_field`.

    Returns
    -------
    ndarray
        Slots × nodes, from 0 to below 360.

    Examples
    --------
    >>> wind = direction_field(500, 20, seed=1)
    >>> bool(0 <= wind.min()), bool(wind.max() < 360)
    (True, True)
    """
    rng = _checked(slots, nodes, slots_per_day, seed)
    slow = _wander(slots, 2, slots_per_day, rng)
    fronts = rng.random(slots) < 1 / (2 * slots_per_day)
    veer = np.cumsum(np.where(fronts, rng.uniform(40, 120, slots), 0.0))
    place = rng.uniform(-1, 1, nodes)
    behind = np.round(0.1 * slots_per_day * place).astype(int)  # a front comes by one after another
    arrived = np.clip(np.arange(slots)[:, None] - behind, 0, slots - 1)
    east, north = (3 * rng.normal() + 2 * slow[:, [k]] for k in range(2))
    gusts = _wander(slots, 2 * nodes, slots_per_day / 12, rng).reshape(2, slots, nodes)
    bend = rng.normal(0, 25, nodes)
    wind = np.arctan2(east + 0.7 * gusts[0], north + 0.7 * gusts[1])
    return np.asarray(np.mod(np.rad2deg(wind) + veer[arrived] + bend, 360.0))


def rain_field(slots: int, nodes: int, *, slots_per_day: float = 24, seed: Seed = 0) -> FloatArray:
    """Rain amounts per slot: cells that pass over a part of the network, zero most of the time.

    Amounts are whole tips of 0.2.

    Parameters
    ----------
    slots, nodes, slots_per_day, seed
        As for `skewed_field`.

    Returns
    -------
    ndarray
        Slots × nodes, 0 or more.

    Examples
    --------
    >>> rain = rain_field(500, 20, seed=1)
    >>> bool((rain == 0).mean() > 0.6), float(rain.min())
    (True, 0.0)
    """
    rng = _checked(slots, nodes, slots_per_day, seed)
    place = rng.uniform(0, 1, (2, nodes))
    total = np.zeros((slots, nodes))
    time = np.arange(slots) / slots_per_day
    for _ in range(max(3, round(1.2 * slots / slots_per_day))):
        middle, lasts = rng.uniform(0, time[-1] + 1e-9), rng.uniform(0.04, 0.25)
        near = np.flatnonzero(np.abs(time - middle) < 3 * lasts)
        start, drift = rng.uniform(-0.2, 1.2, 2), rng.normal(0, 1.0, 2)
        centre = start[:, None] + drift[:, None] * (time[near] - middle) / (4 * lasts)
        away = ((place[:, None, :] - centre[:, :, None]) ** 2).sum(axis=0)
        amount = rng.gamma(1.5, 2.0) * np.exp(-(((time[near] - middle) / lasts) ** 2))
        total[near] += amount[:, None] * np.exp(-away / (2 * rng.uniform(0.15, 0.5) ** 2))
    total *= rng.gamma(8.0, 1 / 8, total.shape)
    return np.asarray(np.round(0.2 * np.floor(total / 0.2), 6))


def meter_field(
    slots: int, nodes: int, *, slots_per_day: float = 24, resets: int = 2, seed: Seed = 0
) -> FloatArray:
    """Rain meters: what `rain_field` let fall since each was last emptied.

    Parameters
    ----------
    slots, nodes, slots_per_day, seed
        As for `skewed_field`.
    resets
        How often each meter is set back to zero, at times of its own.

    Returns
    -------
    ndarray
        Slots × nodes; each node rises, but where it is set back.

    Examples
    --------
    >>> meters = meter_field(500, 20, resets=1, seed=1)
    >>> int((np.diff(meters, axis=0) < 0).sum()) <= 20
    True
    """
    rng = _checked(slots, nodes, slots_per_day, seed)
    amount = rain_field(slots, nodes, slots_per_day=slots_per_day, seed=rng)
    total = np.cumsum(amount, axis=0)
    for n in range(nodes):
        for at in rng.integers(1, max(slots, 2), resets):
            if at < slots:
                total[at:, n] -= total[at - 1, n]
    return np.asarray(np.round(np.maximum(total, 0.0), 6))


def humidity_field(
    slots: int, nodes: int, *, slots_per_day: float = 24, seed: Seed = 0
) -> FloatArray:
    """Relative humidity in per cent that saturates: nights of fog at 100, dry afternoons.

    Parameters
    ----------
    slots, nodes, slots_per_day, seed
        As for `skewed_field`.

    Returns
    -------
    ndarray
        Slots × nodes, 5 to 100.

    Examples
    --------
    >>> damp = humidity_field(500, 20, seed=1)
    >>> bool((damp == 100).mean() > 0.05), float(damp.max())
    (True, 100.0)
    """
    rng = _checked(slots, nodes, slots_per_day, seed)
    hour = 2 * np.pi * np.arange(slots)[:, None] / slots_per_day
    day = 14 * rng.normal(1, 0.2, nodes) * np.cos(hour - rng.normal(0, 0.1, nodes))
    weather = _wander(slots, 2, slots_per_day, rng) @ rng.normal(9, 2, (2, nodes))
    own = 2 * _wander(slots, nodes, slots_per_day / 8, rng)
    return np.asarray(np.clip(84 + rng.normal(0, 3, nodes) + day + weather + own, 5.0, 100.0))


def _checked(slots: int, nodes: int, slots_per_day: float, seed: Seed) -> np.random.Generator:
    if slots < 1 or nodes < 1:
        raise ValueError(f"slots and nodes must be at least 1, got {slots} and {nodes}")
    if not 0 < slots_per_day < np.inf:
        raise ValueError(f"slots_per_day must be positive, got {slots_per_day}")
    return np.random.default_rng(seed)


QUANTITIES: Mapping[str, Callable[..., FloatArray]] = MappingProxyType(
    {
        "positive": skewed_field,
        "circular": direction_field,
        "intermittent": rain_field,
        "accumulator": meter_field,
        "bounded": humidity_field,
    }
)
"""Kind of quantity → a field of it; all take slots, nodes, slots_per_day and seed."""
