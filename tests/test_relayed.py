"""One value at many nodes at once, which nobody measured: found; what really happens: never."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults.relayed import relayed
from fieldmend.quantities import Kind, Quantity, identify

SLOT = 600_000_000
DEGREES = identify("temperature", "°C", np.linspace(10, 30, 100)[:, None])
NAMELESS = Quantity(Kind.LINEAR)


def wandering(rng, slots, nodes, memory, size):
    out = np.zeros((slots, nodes))
    for t in range(1, slots):
        out[t] = memory * out[t - 1] + rng.normal(0, size, nodes)
    return out


def warm(seed, nodes=20, slots=720, step=0.1):
    """Temperatures of a warm week, told in steps, a fifth of them lost."""
    rng = np.random.default_rng(seed)
    day = 3 * np.sin(2 * np.pi * np.arange(slots)[:, None] / 144 + rng.normal(0, 0.2, nodes))
    X = rng.normal(18, 2, nodes) + day + wandering(rng, slots, nodes, 0.97, 0.05)
    X = np.round(X / step) * step
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def coded(X, level, nodes, *parts):
    """With one value in the place of all that some nodes tell at some times; and which."""
    false = np.zeros(X.shape, dtype=bool)
    for part in parts:
        false[part, :nodes] = True
    false &= ~np.isnan(X)
    return np.where(false, level, X), false


@pytest.mark.parametrize("level", [0.0, -37.0, 106.0])
@pytest.mark.parametrize("nodes", [3, 6, 13, 20])
@pytest.mark.parametrize("slots", [1, 3, 40])
def test_what_a_gateway_writes_is_found_to_the_reading(level, nodes, slots):
    X, false = coded(warm(1), level, nodes, slice(400, 400 + slots), slice(600, 600 + slots))
    assert np.array_equal(relayed(X, DEGREES), false)


def test_it_is_flagged_and_replaced_and_one_line_of_the_summary():
    pd = pytest.importorskip("pandas")
    X, false = coded(warm(2), 0.0, 13, slice(400, 403))
    frame = pd.DataFrame(X, index=pd.date_range("2024-05-01", periods=len(X), freq="10min"))
    frame.columns = [f"n{n:02}" for n in range(X.shape[1])]
    rec = fm.recover(frame, conditions=["value"], units={"value": "°C"}, kinds={"value": "linear"})
    flag = np.asarray(rec.flags["value"])
    assert (flag[false] == 3).all()
    assert (flag[~false] == 3).mean() < 0.001
    assert not (np.asarray(rec.filled["value"])[false] == 0).any()
    first = rec.summary()["look_first"][0]
    assert len(first["nodes"]) == 13
    assert "gateway" in first["visit"]


def test_a_value_that_is_read_at_other_times_is_a_code_where_chance_is_no_reason():
    X, false = coded(warm(1), 15.0, 13, slice(400, 440))
    found = relayed(X, DEGREES)
    assert found[false].mean() > 0.9
    assert not (found & ~false).any()
    few, _ = coded(warm(1, slots=3000), 15.0, 2, slice(400, 440))
    assert not relayed(few, DEGREES).any()


def test_a_code_is_one_wherever_it_comes():
    X, false = coded(warm(3), 0.0, 6, slice(400, 403))
    X[100, 15], X[650, 17] = 0.0, 0.0
    found = relayed(X, DEGREES)
    assert found[100, 15]
    assert found[650, 17]
    assert found.sum() == false.sum() + 2


def test_two_are_no_crowd_and_what_nobody_named_asks_for_five():
    assert not relayed(coded(warm(1), -37.0, 2, slice(400, 403))[0], DEGREES).any()
    assert not relayed(coded(warm(1), -37.0, 4, slice(400, 403))[0], NAMELESS).any()
    X, false = coded(warm(1), -37.0, 6, slice(400, 403))
    assert np.array_equal(relayed(X, NAMELESS), false)


def test_zero_of_what_nobody_named_may_be_a_plant_that_was_shut_down():
    X, _ = coded(warm(1), 0.0, 20, slice(400, 403))
    assert not relayed(X, NAMELESS).any()


def test_what_comes_from_one_value_to_another_at_all_times_is_set():
    rng = np.random.default_rng(1)
    X = np.tile(np.round(rng.normal(40, 4, 20)) / 2, (2000, 1))
    X[rng.random(X.shape) < 0.01] += 0.5
    X[700:780] = 15.0
    assert not relayed(X, NAMELESS).any()


def front(rng):
    X = rng.normal(15, 2, 30) + wandering(rng, 2000, 30, 0.9, 0.2)
    for start in rng.integers(0, 1970, 6):
        X[start : start + rng.integers(1, 20)] -= rng.uniform(5, 9)
    return "temperature", "°C", np.round(X, 1)


def coarse(rng):
    """Rain that takes all to about one temperature, in whole degrees."""
    X = rng.normal(20, 2, 30) + wandering(rng, 2000, 30, 0.9, 0.2)
    for start in rng.integers(0, 1970, 6):
        X[start : start + rng.integers(1, 20)] = 10
    return "temperature", "°C", np.round(X + rng.normal(0, 0.3, X.shape))


def dust(rng):
    """Clipped at the end of the sensors' scale."""
    X = np.exp(3 + wandering(rng, 2000, 12, 0.95, 0.2))
    for start in rng.integers(0, 1960, 6):
        X[start : start + rng.integers(1, 30)] *= rng.uniform(10, 80, 12)
    return "pm25", "µg/m³", np.round(np.minimum(X, 500), 1)


def calm(rng):
    X = np.maximum(0, 4 + wandering(rng, 2000, 1, 0.98, 0.5) + wandering(rng, 2000, 15, 0.9, 0.6))
    for start in rng.integers(0, 1990, 8):
        X[start : start + rng.integers(1, 4)] = 0
    return "wind_speed", "m/s", np.round(X, 1)


def fog(rng):
    X = 75 + wandering(rng, 2000, 1, 0.98, 3) + wandering(rng, 2000, 15, 0.95, 1)
    for start in rng.integers(0, 1970, 5):
        X[start : start + rng.integers(1, 20)] += 40
    return "humidity", "%", np.round(np.clip(X, 10, 100))


def waves(rng):
    """Periods in a spectrum's bands."""
    bands = np.round(3 * 1.1 ** np.arange(18), 1)
    band = 8 + wandering(rng, 2000, 1, 0.98, 0.4) + wandering(rng, 2000, 12, 0.5, 2)
    return "dominant_wave_period", "s", bands[np.clip(np.round(band), 0, 17).astype(int)]


@pytest.mark.parametrize("kind", [front, coarse, dust, calm, fog, waves])
def test_what_really_happens_to_many_is_never_taken_for_a_code(kind):
    for seed in range(3):
        name, unit, X = kind(np.random.default_rng(seed))
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
        assert not relayed(X, identify(name, unit, X)).any()


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 5), (5, 1)])
def test_nothing_is_found_in_next_to_nothing(shape):
    assert not relayed(np.zeros(shape), DEGREES).any()
    assert not relayed(np.full(shape, np.nan), DEGREES).any()


def test_the_search_holds_it_for_false_whatever_others_see():
    X, false = coded(warm(4), 0.0, 13, slice(400, 403))
    found = faults.search(X, faults.Context(slot=SLOT, quantity=DEGREES))
    assert found.gross[false].all()
    assert not found.events[false].any()
