"""A model that no longer fits says so."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.checking import _error
from test_fieldmodel import grid_of, network


@pytest.fixture(scope="module")
def net():
    return network(700, 14, seed=3)


@pytest.fixture(scope="module")
def model(net):
    return fm.FieldModel.fit(net.readings[:450])


def test_a_model_of_the_days_before_fits(net, model):
    found = model.still_fits(net.readings[450:])
    assert found
    assert found.error <= 1.1 * found.fresh
    assert 0.8 <= found.held <= 1.0
    assert found.hidden > 100
    assert found.said.startswith("the model still fits: on ")


@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 60])
def test_the_error_is_the_mean_without_the_largest_twentieth(count):
    rng = np.random.default_rng(count)
    scaling = SimpleNamespace(scale=np.array([2.0, 5.0, 1.0]))
    part = SimpleNamespace(nodes=3, view=SimpleNamespace(order=[1, 2, 0], scaling=scaling))
    X, estimate = rng.normal(size=(2, 30, 3))
    hidden = np.zeros(90, dtype=bool)
    hidden[rng.permutation(90)[:count]] = True
    hidden = hidden.reshape(30, 3)
    scales = {1: 2.0, 2: 5.0, 0: 1.0}  # of the node that each stands for
    off = [abs(X[t, n] - estimate[t, n]) / scales[n] for t, n in np.argwhere(hidden)]
    while len(off) > 1 and len(off) > 0.95 * count:
        off.remove(max(off))
    assert _error(part, estimate, X, hidden) == pytest.approx(np.mean(off))
    assert np.isnan(_error(part, estimate, X, np.zeros_like(hidden)))


def test_another_field_does_not(net, model):
    """The same nodes, but what they have in common is another field, at other levels."""
    other = network(250, 14, seed=77, field="low_rank", rank=3, noise=0.3).readings
    found = model.still_fits(other)
    assert not found
    assert "the model no longer fits: on " in found.said
    assert found.said.endswith("fit it again")
    assert not model.still_fits(other, fresh=False)


def test_levels_that_moved_are_seen_beside_a_fresh_fit(net, model):
    moved = net.readings[450:] + 5.0 * np.arange(14)
    found = model.still_fits(moved)
    assert not found
    assert found.error > 1.1 * found.fresh
    assert "times that of a fresh fit" in found.said


def test_noise_that_grew_is_seen_in_the_intervals(net, model):
    rng = np.random.default_rng(0)
    found = model.still_fits(net.readings[450:] + rng.normal(0.0, 0.5, (250, 14)), fresh=False)
    assert not found
    assert np.isnan(found.fresh)
    assert found.held < 0.8
    assert "90 % intervals hold" in found.said
    found = model.still_fits(net.readings[450:] + rng.normal(0.0, 3.0, (250, 14)))
    assert not found
    assert found.false > 0.1
    assert "of the readings false" in found.said


def test_its_error_is_that_on_readings_it_did_not_see(net, model):
    """By hand, with the same hidden readings."""
    X = net.readings[450:]
    seen, part = [], model["value"]
    plain = type(part).apply

    class Spy(type(part)):
        def apply(self, X, observed, **options):
            seen.append(observed)
            return plain(self, X, observed, **options)

    spied = fm.FieldModel({"value": Spy(**vars(part))}, model.nodes)
    found = spied.still_fits(X, fresh=False)
    hidden = seen[0] & ~seen[1]
    assert hidden.sum() == found.hidden
    out = model.apply(np.where(hidden, np.nan, X))
    false = model.apply(X).sparse != 0
    assert not (hidden & false).any()
    scale = part.view.scaling.scale[np.argsort(part.view.order)]
    off = np.sort((np.abs(out.estimate - X) / scale)[hidden])
    assert found.error == pytest.approx(off[: int(0.95 * off.size)].mean(), rel=0.02)
    inside = (out.lower <= X) & (X <= out.upper)
    assert found.held == pytest.approx(inside[hidden].mean(), abs=0.01)


def test_of_few_readings_nothing_is_said(net, model):
    found = model.still_fits(net.readings[450:460])
    assert found
    assert "too few" in found.said


def test_conditions_are_asked_one_by_one(net):
    X = net.readings
    model = fm.FieldModel.fit(grid_of({"t": X[:450], "h": 2 * X[:450] + 3}))
    noise = np.random.default_rng(0).normal(0.0, 1.0, (250, 14))
    new = {"t": X[450:], "h": 2 * X[450:] + 3 + noise}
    found = model.still_fits(grid_of(new, start="2024-02-01"), fresh=False)
    assert {name: bool(one) for name, one in found.items()} == {"t": True, "h": False}
