"""Networks of many nodes: cut into regions that belong together, recovered as one."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import automatic
from fieldmend.field.regions import coordinates, cut
from fieldmend.recovery import honest, wide


def houses(slots, each, houses, seed):
    """Nodes that share three causes with their house and one with all; and who is whose."""
    rng = np.random.default_rng(seed)
    house = rng.permutation(np.repeat(np.arange(houses), each))
    causes = rng.standard_normal((slots, houses, 3))
    loadings = rng.standard_normal((len(house), 3))
    X = np.einsum("tnk,nk->tn", causes[:, house], loadings)
    X += 2 * rng.standard_normal((slots, 1)) + 0.1 * rng.standard_normal(X.shape)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X), house


@pytest.mark.parametrize("shape", [(7, 1), (101, 2), (400, 3)])
def test_every_node_is_decided_once_and_its_company_lies_next_to_it(shape):
    at = np.random.default_rng(0).normal(size=shape)
    found = cut(at, most=30, halo=8)
    decided = np.concatenate([region.decided for region in found])
    assert sorted(decided) == list(range(len(at)))
    assert max(len(region.decided) for region in found) <= 30
    for region in found if len(found) > 1 else []:
        company = region.nodes[~region.core]
        assert len(company) == 8
        apart = np.linalg.norm(at[:, None] - at[region.decided], axis=2).min(axis=1)
        apart[region.decided] = np.inf
        assert len(set(company) & set(np.argsort(apart)[:8])) >= 7


def test_places_decide_where_they_are_known_and_likeness_where_not():
    X, house = houses(200, 20, 4, seed=1)
    at = np.random.default_rng(2).normal(size=(80, 2))
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(coordinates(X, seen, at), at)
    for places in (None, np.where(np.arange(80)[:, None] < 60, np.nan, at)):
        like = coordinates(X, seen, places)
        for region in cut(like, most=40, halo=0):
            inside = np.bincount(house[region.decided], minlength=4)
            assert (np.minimum(inside, 20 - inside) <= 2).all()
    heard = seen & (np.arange(80) // 4 != 1)  # four nodes never are
    assert np.isfinite(coordinates(X, heard)).all()
    some = at.copy()
    lost = np.flatnonzero(house == 0)[:3]
    some[lost] = np.nan
    given = coordinates(X, seen, some)
    fellows = at[np.setdiff1d(np.flatnonzero(house == 0), lost)]
    assert all((fellows == one).all(axis=1).any() for one in given[lost])


@pytest.fixture
def few(monkeypatch):
    """Thirty nodes are many."""
    for name, value in (("MANY", 20), ("CORE", 10), ("HALO", 4)):
        monkeypatch.setattr(wide, name, value)
    monkeypatch.setattr(honest, "REGIONS", 2)


@pytest.mark.usefixtures("few")
def test_regions_are_recovered_as_one_network_whoever_does_it(tmp_path):
    net = fm.simulate.network(slots=120, nodes=30, field="temperature", seed=1, anomaly_rate=0.01)
    X = net.readings.copy()
    X[40:, 17] = 21.5  # stuck
    X[:, 4] = np.nan
    X[60:, 25] = np.nan
    at = {str(n + 1): {"x": float(n), "y": 0.0} for n in range(30)}
    grid = replace(fm.Grid.of(X, condition="temperature", unit="°C"), places=at)
    told = []
    rec = fm.recover(grid, workers=1, progress=lambda _, share: told.append(share))
    one = rec["temperature"]
    assert one.choice.startswith("3 regions of up to 14 nodes")
    assert len(set(told)) >= 5
    assert told == sorted(told)
    assert any("scored in 2 of 3 regions" in note for note in one.notes)
    assert one.holdout is not None
    assert one.holdout.method.mae < one.holdout.line.mae
    assert [(e.kind, e.node) for e in one.episodes if e.kind == "stuck"] == [("stuck", 17)]
    assert [e.node for e in one.episodes] == sorted(e.node for e in one.episodes)
    assert one.service.never.tolist() == [n == 4 for n in range(30)]
    life = one.service
    assert (life.node.tolist(), life.start.tolist(), life.stop.tolist()) == ([25], [60], [120])
    rest = np.delete(np.arange(30), [4, 17, 25])
    off = np.abs(one.estimate - net.truth)[:, rest]
    assert off[net.lost[:, rest]].mean() < 0.5
    inside = (one.lower < net.truth) & (net.truth < one.upper)
    assert inside[:, rest].mean() > 0.8
    np.testing.assert_array_equal(one.flag == 9, np.isnan(X))
    with pytest.raises(fm.InputError, match="fitted no model"):
        _ = rec.model
    kept = tmp_path / "kept"

    def until(_, share):
        if share > 0.45:  # two of three regions, then the run is ended
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fm.recover(grid, workers=1, keep=kept, progress=until)
    assert len(list(kept.glob("*.npz"))) == 2
    shared = fm.recover(grid, workers=2, keep=kept)["temperature"]
    for part in ("estimate", "lower", "upper", "flag", "scale", "anomaly", "replaced"):
        np.testing.assert_array_equal(getattr(shared, part), getattr(one, part), part)
    assert shared.episodes == one.episodes
    assert shared.holdout.method.mae == one.holdout.method.mae


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("holdout", "scored"), [(True, 3), (False, 2)])
def test_that_only_some_regions_were_scored_is_said_where_it_is_so(monkeypatch, holdout, scored):
    monkeypatch.setattr(honest, "REGIONS", scored)
    X = fm.simulate.network(slots=60, nodes=30, field="temperature", seed=1).readings
    at = {str(n + 1): {"x": float(n), "y": 0.0} for n in range(30)}
    grid = replace(fm.Grid.of(X, condition="temperature"), places=at)
    one = fm.recover(grid, workers=1, holdout=holdout)["temperature"]
    assert not any("scored in" in note for note in one.notes)


def test_decompose_goes_by_regions_too(monkeypatch):
    for name, value in (("MANY", 20), ("CORE", 10), ("HALO", 4)):
        monkeypatch.setattr(automatic, name, value)
    net = fm.simulate.network(slots=100, nodes=24, field="temperature", seed=2, anomaly_rate=0)
    at = np.arange(24.0)[:, None]
    out = fm.decompose(net.readings, method="auto", places=at, level=0.8)
    assert out.choice.startswith("3 regions of up to 12 nodes")
    assert out.model is None
    for region in cut(at, 10, 4):
        own = fm.decompose(net.readings[:, region.nodes], method="auto", level=0.8)
        for part in ("estimate", "lower", "upper", "sparse", "low_rank"):
            there = getattr(out, part)[:, region.decided]
            np.testing.assert_array_equal(there, getattr(own, part)[:, region.core], part)
    hidden = out.holdout
    np.testing.assert_allclose(hidden.truth, net.readings[hidden.rows, hidden.columns])
    X = net.readings.copy()
    X[:, 12:] = np.nan  # all of one region, and some of another
    silent = fm.decompose(X, method="auto", places=at)
    assert np.isfinite(silent.estimate).all()
    assert np.isinf(silent.upper).any(axis=0).tolist() == [False] * 16 + [True] * 8
    with pytest.raises(ValueError, match="places must be nodes"):
        fm.decompose(net.readings, method="auto", places=at[:3])
