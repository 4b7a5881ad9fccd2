"""One reading of a day that the node's other conditions foretell is what happened."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm

HOUR, DAY = 3600, 86_400


def masts(seed, storms=6, packets=6):
    """Gusts and wind of six masts far from each other; storms of one node and one slot; packets."""
    rng = np.random.default_rng(seed)
    slots, nodes = 700, 6
    wind = 4 + np.zeros((slots, nodes))
    for t in range(1, slots):
        wind[t] = np.maximum(0.2, 4 + 0.8 * (wind[t - 1] - 4) + rng.normal(size=nodes))
    cells = rng.choice((slots - 40) * nodes // 4, storms + packets, replace=False) * 4
    at = [(20 + c // nodes, c % nodes) for c in cells]
    for t, n in at[:storms]:
        wind[t, n] = 14 + 2 * rng.random()
    gust = 1.7 * wind + 1.5 * rng.normal(size=wind.shape)
    for t, n in at[storms:]:
        gust[t, n] += 25 + 10 * rng.random()
    return wind, gust, at[:storms], at[storms:]


def flagged(slot, seed):
    wind, gust, storms, packets = masts(seed)
    grid = fm.Grid.of(gust, condition="gust", slot_seconds=slot)
    grid = replace(grid, values={"wind": wind, "gust": gust})
    flag = fm.recover(grid, holdout=False)["gust"].flag
    return [np.mean([flag[t, n] in (3, 4) for t, n in some]) for some in (storms, packets)]


@pytest.mark.parametrize("seed", range(2))
def test_a_storm_of_a_day_is_kept_and_what_it_alone_says_is_not(seed):
    storms, packets = flagged(DAY, seed)
    assert storms == 0
    assert packets > 0.9


def test_one_reading_of_an_hour_may_be_a_corrupt_packet():
    storms, _ = flagged(HOUR, 0)
    assert storms > 0.5


def test_a_day_in_another_unit_is_no_storm():
    """All conditions ten times as large: they go together, farther than they ever went."""
    wind, gust, _, packets = masts(0, storms=0, packets=6)
    for t, n in packets:
        wind[t, n], gust[t, n] = 40 + n, 68 + 2 * n
    grid = fm.Grid.of(gust, condition="gust", slot_seconds=DAY)
    flag = fm.recover(replace(grid, values={"wind": wind, "gust": gust}), holdout=False)[
        "gust"
    ].flag
    assert np.mean([flag[t, n] in (3, 4) for t, n in packets]) > 0.8
