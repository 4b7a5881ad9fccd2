"""What is looked up of a long record is what a look at the whole of it finds."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldmend.faults import who_moved
from fieldmend.faults.excursions import LAG
from fieldmend.faults.stretches import grown, joined, rolling, stretches

daily = importlib.import_module("fieldmend.faults.daily")  # the package has a function of that name
SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_are_joined_and_grown_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    marks, hull = rng.random((2, int(rng.integers(0, 60)))) < rng.random()
    gap = int(rng.integers(0, 5))
    one, two = marks.copy(), marks.copy()
    for a, b in zip(*stretches(~marks), strict=True):
        if a > 0 and b < marks.size and b - a <= gap:
            one[a:b] = True
    for a, b in zip(*stretches(hull | marks), strict=True):
        two[a:b] = marks[a:b].any()
    np.testing.assert_array_equal(joined(marks, gap), one)
    np.testing.assert_array_equal(grown(marks, hull), two)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_departure_reaches_as_far_as_in_the_whole_record(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=1500) + 2.0 * (rng.random(1500).cumsum() % 90 < 70)
    start = int(rng.integers(0, 1490))
    far = size >= 1.0
    core = np.zeros(1500, dtype=np.bool_)
    core[start] = True
    run = np.flatnonzero(grown(core, joined(far | core, who_moved.JOINED)))
    assert start - who_moved._reach(size[:start][::-1], 1.0, 1.0) == run[0]
    assert start + who_moved._reach(size[start + 1 :], 1.0, 1.0) == run[-1]


def rare(step: NDArray[np.float64], between: tuple[int, int], least: float) -> bool:
    """By masks of the whole record."""
    first, last = max(between[0] + 1 - LAG, 0), between[1] + LAG + 1
    slot, away = np.arange(step.size), LAG + who_moved.SIDE
    elsewhere = (slot < first - away) | (slot >= last + away)
    here = step[first:last].max()
    around = rolling((step >= here).astype(float), last - first) > 0
    return bool(
        elsewhere.any()
        and here >= least
        and here > 0
        and (step[elsewhere] >= here).mean() <= who_moved.RARE
        and around[elsewhere].mean() <= who_moved.RARE
    )


def test_a_step_is_as_rare_as_in_the_whole_record() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        step = np.abs(rng.normal(size=int(rng.integers(20, 4000)))).round(1)
        step[rng.integers(0, step.size, size=4)] += 3.0
        at = int(rng.integers(0, step.size - 3))
        step[at] += rng.choice([0.0, 2.0, 4.0])
        between = at, at + int(rng.integers(1, 3))
        found.append(rare(step, between, 2.0))
        assert who_moved._rare([who_moved._Steps(step)], between, 2.0) is found[-1]
    assert 50 < sum(found) < 250


def habitual(own: NDArray[np.float64], start: int, stop: int, a_day: float) -> bool:
    """Day by day."""
    inside = own[start:stop]
    size = float(np.median(inside[~np.isnan(inside)]))
    length, hour = stop - start, max(round(a_day / daily.HOURS), 1)
    half, came = (length + 1) // 2, []
    for shift in (0.0, 0.25, 0.5, 0.75):
        far = asked = 0
        for day in range(-int(start / a_day) - 2, int((own.size - stop) / a_day) + 3):
            first = start - hour + round((day + shift) * a_day)
            there = own[max(first, 0) : max(first + length + 2 * hour, 0)]
            if day == 0 or np.count_nonzero(~np.isnan(there)) < half:
                continue
            asked += 1
            far += np.count_nonzero(there * np.sign(size) >= daily.ALIKE * abs(size)) >= half
        came.append((far, asked))
    (then, asked), total = came[0], sum(count for count, _ in came)
    by_chance = daily.bdtrc(then - 1, total, 0.25)
    return bool(then > daily.HABIT * asked and by_chance <= daily.BY_CHANCE)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_habits_are_those_found_day_by_day(length: int) -> None:
    rng, found = np.random.default_rng(length), []
    for _ in range(25):
        a_day = float(rng.choice([24, 48, 144]))
        own = rng.normal(size=int(a_day * rng.uniform(6, 20)))
        hour, often = int(rng.integers(0, a_day)), rng.choice([0.05, 0.5, 0.9])
        for at in range(hour, own.size, int(a_day)):
            own[at : at + length] += 8.0 * (rng.random() < often)
        own[rng.random(own.size) < 0.2] = np.nan
        start = min(hour + int(a_day) * int(rng.integers(0, 6)), own.size - length)
        own[start] = 8.0
        habits = daily._Habits(own, a_day)
        found.append(habitual(own, start, start + length, a_day))
        assert habits.have(start, start + length) is found[-1]
        if length <= daily.SHORT:  # many at once
            every = np.array([start, *np.flatnonzero(~np.isnan(own[: own.size - length]))[:40]])
            each = [habits.have(at, at + length) for at in every.tolist()]
            assert habits.all_have(every, length).tolist() == each
            assert each[0] is found[-1]
    assert 5 < sum(found) < 20


@pytest.mark.parametrize("width", [1, 2, 3, 8, 14])
def test_the_highest_of_so_many_places_is_that_of_each_slice(width: int) -> None:
    values = np.random.default_rng(width).normal(size=50)
    values[::7] = np.nan
    beside = np.full(width, -np.inf)
    padded = np.concatenate([beside, np.where(np.isnan(values), -np.inf, values), beside])
    each = [padded[at : at + width].max() for at in range(50 + width + 1)]
    np.testing.assert_array_equal(daily._highest(values, width), each)
