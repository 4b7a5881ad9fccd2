"""What was lost because of what it would have been: said; lost by chance, at night or not: not."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.recovery import selective

SLOTS, NODES = 900, 5


def weather(seed):
    """Wind speed, temperature and gusts of a small network, every hour."""
    rng = np.random.default_rng(seed)
    hour = np.arange(SLOTS)
    common = np.convolve(rng.normal(size=SLOTS + 24), np.ones(24) / 5, "valid")[:SLOTS]
    wind = np.exp(1.5 + 0.5 * common[:, None] + 0.1 * rng.normal(size=(SLOTS, NODES)))
    temperature = 10 + 5 * np.sin(hour / 24 * 2 * np.pi)[:, None] + rng.normal(0, 0.3, wind.shape)
    gust = wind * rng.uniform(1.4, 1.8, wind.shape)
    return {"gust": gust, "wind_speed": wind, "temp": temperature}


def warnings(values):
    grid = fm.Grid(
        values=values,
        nodes=tuple("abcde"),
        times=3_600_000_000 * np.arange(SLOTS),
        slot=3_600_000_000,
        units={},
    )
    # Whatever fills the gaps: what was lost is asked, not its estimates.
    return fm.recover(grid, method="mc", holdout=False).summary()["warnings"]


@pytest.mark.parametrize("seed", [1])
def test_gusts_that_are_told_only_when_it_blows_are_said_to_be(seed):
    values = weather(seed)
    values["gust"][values["wind_speed"] < np.quantile(values["wind_speed"], 0.6)] = np.nan
    (told,) = warnings(values)
    assert told.startswith("gust: most of what was lost lies where wind_speed was lower")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_fails_in_storms_is_told_by_the_other_nodes(seed):
    rng = np.random.default_rng(seed)
    wind = weather(seed)["wind_speed"]
    storm = wind > np.quantile(wind, 0.85, axis=0)
    storm &= rng.random(wind.shape) < 0.5
    (told,) = warnings({"wind_speed": np.where(storm, np.nan, wind)})
    assert told.startswith("wind_speed: most of what was lost lies where the other nodes were high")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_lost_by_chance_and_in_long_gaps_is_no_choice(seed):
    rng = np.random.default_rng(seed)
    values = weather(seed)
    for X in values.values():
        X[rng.random(X.shape) < 0.2] = np.nan
        for _ in range(4):
            a, n = rng.integers(0, SLOTS - 60), rng.integers(0, NODES)
            X[a : a + 60, n] = np.nan
    assert not warnings(values)


def test_few_gaps_cannot_tell():
    rng = np.random.default_rng(5)
    y = np.sort(rng.normal(size=(SLOTS, 1)), axis=0)
    lost = np.zeros((SLOTS, 1), dtype=bool)
    lost[:300] = True
    assert selective._apart(y, ~lost, lost) == 0.5
    shuffled = rng.permutation(SLOTS)
    assert selective._apart(y[shuffled], ~lost[shuffled], lost[shuffled]) == 0.0


def test_a_long_record_is_looked_at_in_stretches(monkeypatch):
    monkeypatch.setattr(selective, "ENTRIES", 16 * 10 * 3)
    parts = selective._stretches(5000, 3)
    assert len(parts) == 16
    assert parts[0].start == 0
    assert parts[-1].stop == 5000
    assert all(part.stop - part.start == 10 for part in parts)
    assert selective._stretches(160, 3) == [slice(0, 160)]
