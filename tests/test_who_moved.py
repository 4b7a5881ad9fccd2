"""Who moved, the node or the others: a step of the network accuses nobody, one of a node does."""

from __future__ import annotations

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.faults.lasting import undecided
from fieldmend.faults.who_moved import OthersMoved

HOUR = 3_600_000_000
SLOTS = 720


def hives(nodes: int, movers: int, seed: int = 4, size: float = 8.0) -> tuple[np.ndarray, int]:
    """Places that go together; the first of them take a step for good, each its own."""
    rng = np.random.default_rng(seed)
    day = np.sin(2 * np.pi * np.arange(SLOTS) / 24)[:, None]
    common = np.cumsum(rng.normal(0, 0.05, (SLOTS, 1)), axis=0)
    X = 20 + rng.normal(0, 3, nodes) + day * rng.uniform(0.5, 1.5, nodes)
    X = X + common * rng.uniform(0.5, 1.5, nodes) + 0.1 * rng.normal(size=(SLOTS, nodes))
    start = int(rng.integers(200, 400))
    X[start:, :movers] += size * rng.uniform(0.6, 1.4, movers)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, start


def share(X: np.ndarray) -> float:
    found = faults.search(X, faults.Context(slot=HOUR)).faults
    return float(found.sum() / (~np.isnan(X)).sum())


@pytest.mark.parametrize(("nodes", "movers"), [(4, 3), (5, 4), (6, 3), (6, 5)])
@pytest.mark.parametrize("seed", [4, 5, 12])
def test_a_step_of_most_or_half_of_the_network_accuses_nobody(nodes, movers, seed):
    assert share(hives(nodes, movers, seed)[0]) < 0.006


def test_the_one_that_moves_alone_is_found():
    X, start = hives(6, 1)
    found = faults.search(X, faults.Context(slot=HOUR)).faults
    heard = ~np.isnan(X)
    assert found[start:, 0][heard[start:, 0]].mean() > 0.95
    assert not found[:, 1:].any()


def test_a_drift_is_found_whatever_the_others_do_meanwhile():
    X, start = hives(6, 5, seed=6)
    X[start - 60 :, 5] -= np.linspace(0, 30, SLOTS - start + 60)
    found = faults.search(X, faults.Context(slot=HOUR)).faults
    late = slice((start + SLOTS) // 2, None)
    assert found[late, 5][~np.isnan(X[late, 5])].mean() > 0.9


def test_a_spike_in_the_midst_of_such_an_event_stays_a_spike():
    X, start = hives(6, 5, seed=12)
    at = np.arange(start + 50, start + 250, 40)
    X[at, 5] = 60.0
    assert faults.search(X, faults.Context(slot=HOUR)).events[start + 20 :, 5].sum() > 200
    grid = fm.Grid.of(X, condition="weight_kg", slot_seconds=3600)
    flag = np.asarray(fm.recover(grid, holdout=False)["weight_kg"].flag)
    assert (flag[at, 5] == 3).all()
    assert (flag == 3).sum() == len(at)


def test_a_step_over_a_gap_of_the_node_counts_and_one_of_every_day_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SLOTS, 6))
    X[300:, :5] -= 8.0
    away = np.where(np.arange(SLOTS) >= 300, 8.0, 0.0)
    away[280:320] = np.nan  # nothing heard as it happened
    asked = np.arange(SLOTS) >= 320
    assert OthersMoved(X)(5, away, asked)[320:].all()
    often = X.copy()
    for t in range(25, SLOTS, 50):
        often[t : t + 25, :5] -= 12.0
    assert not OthersMoved(often)(5, away, asked).any()


def test_of_many_nodes_a_short_record_cannot_tell_what_is_rare():
    def excused(slots: int, nodes: int) -> bool:
        X = np.random.default_rng(0).normal(size=(slots, nodes))
        X[slots // 2 :, 1:] -= 8.0
        late = np.arange(slots) >= slots // 2
        return bool(OthersMoved(X)(0, 8.0 * late, late).any())

    assert excused(240, 6)
    assert not excused(240, 7)
    assert excused(1300, 7)


def test_more_accused_than_accusers_is_undecided():
    accused = np.zeros((40, 5), dtype=bool)
    accused[10:30, :3] = True
    assert undecided(accused, ~accused)[10:30, :3].all()
    accused[:, 2] = False
    assert not undecided(accused, ~accused).any()


def test_in_a_record_too_short_nothing_is_rare():
    X = np.tile(np.r_[np.zeros(8), np.full(8, 5.0)][:, None], (1, 4))
    X += 0.1 * np.random.default_rng(0).normal(size=X.shape)
    late = np.arange(16) >= 8
    assert not OthersMoved(X)(3, np.where(late, 5.0, 0.0), late).any()
