"""Who stands apart throughout is told, never flagged."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults import Context, standing_apart
from fieldmend.faults.neighbours import panel
from fieldmend.quantities.conversion import conversions


def network(seed=0, slots=400, nodes=10):
    rng = np.random.default_rng(seed)
    day = 4 * np.sin(np.arange(slots) * 2 * np.pi / 144)[:, None]
    return 12 + day + np.linspace(-1, 1, nodes) + rng.normal(size=(slots, nodes))


def told(X, unit=""):
    return [(one.node, one.unit) for one in standing_apart(X, unit)]


@pytest.mark.parametrize("seed", range(5))
def test_of_usual_networks_nothing_is_told(seed):
    assert told(network(seed), "°C") == []


@pytest.mark.parametrize(
    ("unit", "other"), [("°C", "°F"), ("°C", "K"), ("K", "°C"), ("°F", "°C"), ("hPa", "Pa")]
)
def test_one_in_another_unit_is_told_with_it(unit, other):
    X = network() + (1000 if unit == "hPa" else 0)
    factor, offset = next((f, b) for name, f, b in conversions(unit) if name == other)
    X[:, 4] = (X[:, 4] - offset) / factor
    assert told(X, unit) == [(4, other)]
    assert told(X) == [(4, "")]  # whoever does not know the unit cannot name another


def test_an_offset_is_no_unit():
    X = network()
    X[:, 4] += 25
    assert told(X, "°C") == [(4, "")]


def test_throughout_is_throughout():
    X = network()
    X[100:, 4] += 25  # a fault of this record: others tell of it
    assert told(X, "°C") == []
    X[:100, 4] += 25
    assert told(X, "°C") == [(4, "")]
    X[:, 5] -= 25
    assert told(X, "°C") == [(4, ""), (5, "")]


def test_less_than_nodes_wander_is_nothing():
    X = network() - np.linspace(-1, 1, 10)
    X += np.linspace(-0.01, 0.01, 10)
    X[:, 4] += 2
    assert told(X, "°C") == []


def test_few_nodes_have_no_middle():
    X = network(nodes=5)
    X[:, 2] += 40
    assert told(X) == []
    X = network(nodes=7)
    X[:, 2] += 40
    X[:, 3] = np.nan
    assert told(X) == [(2, "")]


def test_recover_says_so_and_flags_nobody_for_it():
    X = network() - 7
    X[:, 4] = 1.8 * X[:, 4] + 32
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    rec = fm.recover(fm.Grid.of(X, condition="air_temp_c", slot_seconds=600.0), holdout=False)
    (note,) = [line for line in rec["air_temp_c"].notes if "throughout" in line]
    assert "in °F? That would be 5" in note
    flagged = np.asarray(rec["air_temp_c"].flag)[:, 4] == 3
    assert flagged.mean() < 0.01


def test_how_far_a_node_is_off_is_told_by_what_others_did_meanwhile():
    """A front of 6 degrees came between its sound week and the rest: it was told as its own."""
    X = network(slots=800)
    X[300:] -= 6.0
    flagged = np.zeros(X.shape, dtype=bool)
    flagged[200:, 2] = True
    X[200:, 2] += 15.0
    seen = panel(X, flagged, Context())
    off = X[400:, 2] - seen.implied(2, np.arange(400, 800))
    assert np.median(off) == pytest.approx(15.0, abs=0.3)


def smoke(seed, slots=500, nodes=9):
    """Concentrations: nodes differ by factors, and most of the time little is in the air."""
    rng = np.random.default_rng(seed)
    shared = np.cumsum(rng.normal(0, 0.1, slots))[:, None] * 0.3
    return np.exp(2.5 + shared + np.linspace(-0.5, 0.5, nodes) + rng.normal(0, 0.3, (slots, nodes)))


@pytest.mark.parametrize("seed", range(5))
def test_what_differs_by_factors_is_asked_by_factors(seed):
    X = smoke(seed)
    assert standing_apart(X, "µg/m³", ratios=True) == []
    X[:, 2] /= 1000
    X[::7, 2] = 0.0  # below what its display shows
    (found,) = standing_apart(X, "µg/m³", ratios=True)
    assert (found.node, found.unit) == (2, "mg/m³")
    assert found.off < 0 < found.level < 0.1 < 2 < found.converted


def test_recover_tells_of_a_column_that_is_another_quantity():
    X = smoke(0)
    X[:, 3] = 1013 + np.random.default_rng(1).normal(0, 2, len(X))
    rec = fm.recover(fm.Grid.of(X, condition="pm25", slot_seconds=3600.0), holdout=False)
    (note,) = [line for line in rec["pm25"].notes if "throughout" in line]
    assert "node 4 is 1,0" in note
    assert "another place or quantity" in note
