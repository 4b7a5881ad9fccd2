"""What the hour brings, and what jumps out and back: against the slow and obvious."""

import numpy as np
import pytest
from scipy.stats import binom

import naive_faults as naive
from fieldmend.faults import history
from fieldmend.faults.daily import _Habits, _quiet, daily
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import rare

HALF_HOUR = 1_800_000_000
A_DAY = 48


def flecks(seed, days):
    """Whole numbers; excursions at some hours of most days, and some anywhere."""
    rng = np.random.default_rng(seed)
    slots = days * A_DAY + int(rng.integers(0, 30))
    X = rng.integers(-1, 2, (slots, 5)).astype(float)
    X[(np.arange(slots) % A_DAY) < 16] = 0.0  # calm at night
    flagged = np.zeros(X.shape, dtype=bool)
    for day in range(days):
        for hour, share in ((10, 0.9), (15, 0.6), (20, 0.2), (3, 0.1)):
            for n in np.flatnonzero(rng.random(5) < share / 2):
                first = day * A_DAY + 2 * hour + int(rng.integers(-1, 3))
                flagged[first : first + int(rng.integers(1, 3)), n] = True
    X[flagged] += rng.choice([4.0, 8.0, 16.0], size=int(flagged.sum()))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[3 * A_DAY : 3 * A_DAY + 30] = np.nan
    return X, flagged & ~np.isnan(X)


def brought(X, flagged):
    """Excursions that came on most other days at that hour, at three nodes, and hardly in calm."""
    hour_of = (np.arange(len(X)) // 2) % 24
    day_of = np.arange(len(X)) // A_DAY
    quiet = _quiet(X, flagged, hour_of)
    heard = {(day_of[t], hour_of[t]) for t in range(len(X)) if not np.isnan(X[t]).all()}
    found = []
    for n in range(X.shape[1]):
        at = [t for t in range(len(X)) if not np.isnan(X[t, n])]
        for a, b in naive.runs(flagged[at, n]):
            jumps = [abs(X[at[i], n] - X[at[i - 1], n]) for i in (a, b) if 0 < i < len(at)]
            size = min(jumps) if jumps else 0.0
            found.append((n, at[a], at[b - 1] + 1, size))
    out = np.zeros(X.shape, dtype=bool)
    for n, start, stop, size in found:
        h, least = hour_of[start], size / 2
        about = {(h - 1) % 24, h, (h + 1) % 24}
        alike = [one for one in found if one[3] >= least]
        here = [one for one in alike if hour_of[one[1]] in about]
        days = {d for d, hour in heard if hour in about} - {day_of[start]}
        came = len({day_of[one[1]] for one in here} & days)
        busy = [one for one in here if not quiet[hour_of[one[1]]]]
        calm = [one for one in alike if quiet[hour_of[one[1]]]]
        often = len(busy) / max(sum(hour in about and not quiet[hour] for _, hour in heard), 1)
        seldom = len(calm) / max(sum(bool(quiet[hour]) for _, hour in heard), 1)
        if (
            not quiet[h]
            and came > 0
            and binom.sf(came - 1, len(days), 0.5) <= 0.1
            and len({one[0] for one in here}) >= 3
            and seldom <= often / 4
        ):
            out[start:stop, n] = flagged[start:stop, n]
    return out


@pytest.mark.parametrize("days", [4, 5, 8, 14])
@pytest.mark.parametrize("seed", range(6))
def test_what_the_hour_brings(seed, days, monkeypatch):
    monkeypatch.setattr(_Habits, "have", lambda *_: False)  # a node's own are asked apart
    X, flagged = flecks(seed, days)
    got = daily(X, flagged, Context(slot=HALF_HOUR))
    if days < 5:
        assert not got.any()  # too few to tell
        return
    np.testing.assert_array_equal(got, brought(X, flagged))
    assert (got & flagged).any() or days < 14
    assert (flagged & ~got).any()


def test_slots_longer_than_an_hour_have_none():
    X, flagged = flecks(0, 14)
    assert not daily(X, flagged, Context(slot=3 * HALF_HOUR)).any()
    assert not daily(X, flagged, Context(slot=0)).any()


# Out and back


def way_back(series, cuts, k):
    """Which of the next cuts leads to where the node was before this one; None if none does."""
    before = np.median(series[max(cuts[k] - 4, 0) : cuts[k] + 1])
    out = series[cuts[k] + 1] - before
    for back in range(k + 1, min(k + 20, len(cuts))):
        after = np.median(series[cuts[back] + 1 : cuts[back] + 6])
        inner = series[cuts[back]] - after
        near = abs(after - before) < min(abs(out), abs(inner)) / 2
        if near and (out > 0) == (inner > 0) and out != 0 != inner:
            inside = np.median(series[cuts[k] + 1 : cuts[back] + 1])
            return back if (inside - before) * np.sign(out) > 0.3 * abs(out) else None
    return None


def displaced(values, relative, slots):
    jumps = [
        values[i + 1] - values[i] if slots[i + 1] - slots[i] <= 3 else 0.0
        for i in range(len(values) - 1)
    ]
    limit = rare(np.array(jumps))
    cuts = [
        i
        for i, jump in enumerate(jumps)
        if abs(jump) > limit and abs(relative[i + 1] - relative[i]) > abs(jump) / 2
    ]
    out, usual, k = np.zeros(len(values), dtype=bool), np.median(relative), 0
    while k < len(cuts):
        ways = [way_back(series, cuts, k) for series in (values, relative)]
        ways = [way for way in ways if way is not None]
        k += 1
        if not ways:
            continue
        start, stop = cuts[k - 1] + 1, cuts[min(ways)] + 1
        beside = [*relative[max(start - 5, 0) : start], *relative[stop : stop + 5]]
        if abs(np.median(relative[start:stop]) - usual) > abs(np.median(beside) - usual):
            out[start:stop] = True
            k = min(ways) + 1
    return out


@pytest.mark.parametrize("seed", range(40))
def test_stretches_between_a_jump_and_one_back(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-1, 2, 1500).astype(float)
    own = np.zeros(1500)
    for _ in range(4):
        first = int(rng.integers(0, 1480))
        own[first : first + int(rng.integers(1, 12))] += rng.choice([-16.0, 7.0, 8.0, 16.0])
    field = np.where(np.arange(1500) > rng.integers(1500), rng.choice([0.0, 8.0]), 0.0)
    relative = values + own + rng.integers(-1, 2, 1500)
    values = values + own + field
    slots = np.cumsum(rng.choice([1, 1, 1, 2, 3, 4], 1500))
    want = displaced(values, relative, slots)
    np.testing.assert_array_equal(history.displaced(values, relative, slots), want)


def test_noise_reaches_half_a_window_beyond_its_core():
    wild = np.zeros(300, dtype=bool)
    wild[100:180] = True
    wild[140] = False
    core = np.zeros(300, dtype=bool)
    core[125:150] = True
    half = history.NOISY_WINDOW // 2
    got = history._trimmed(core, wild)
    assert np.flatnonzero(got).tolist() == [*range(125 - half, 150 + half)]
    few = wild & (np.arange(300) % 3 == 0)
    assert history._trimmed(core, few).any() == (few[125 - half : 150 + half].sum() >= half)
