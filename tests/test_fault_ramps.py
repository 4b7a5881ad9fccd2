"""Ramps as long as the record: no level is left, and yet the node goes away from the others."""

import numpy as np
import pytest

from faulty import context, readings
from fieldmend import faults
from fieldmend.faults import implied, ramps

SLOTS = 1500


def asked(X):
    field = implied.implied(X, ~np.isnan(X))
    return ramps.ramped(X, field, np.zeros(X.shape, dtype=bool), context(X))


@pytest.mark.parametrize("seed", range(3))
def test_a_ramp_through_the_whole_record_is_found_by_itself_and_by_the_search(seed):
    X = readings(SLOTS, seed=seed)
    assert not asked(X).any()
    X[:, 4] += np.linspace(0, 12, SLOTS)
    for found in (asked(X), faults.persistent(X, context(X))):
        heard = ~np.isnan(X[:, 4])
        assert found[SLOTS // 2 :, 4][heard[SLOTS // 2 :]].mean() > 0.95
        assert not found[: SLOTS // 6, 4].any()
        assert not np.delete(found, 4, axis=1).any()


def test_a_ramp_that_begins_later_is_off_from_a_third_of_its_way():
    X = readings(SLOTS)
    X[500:, 4] += np.linspace(0, 30, SLOTS - 500)
    found = asked(X)
    assert found[1100:, 4][~np.isnan(X[1100:, 4])].mean() > 0.95
    assert not found[:600, 4].any()


def test_a_node_that_comes_back_by_a_ramp_is_off_at_its_beginning():
    X = readings(SLOTS)
    X[:, 4] += np.linspace(30, 0, SLOTS)
    found = asked(X)
    assert found[: SLOTS // 2, 4][~np.isnan(X[: SLOTS // 2, 4])].mean() > 0.95
    assert not found[-SLOTS // 4 :, 4].any()


def test_what_two_others_do_too_is_no_fault_of_one():
    X = readings(SLOTS)
    X[:, [4, 7, 9]] += np.linspace(0, 12, SLOTS)[:, None] * [1.0, 0.6, 0.5]
    assert not asked(X).any()


def test_a_short_record_and_few_nodes_tell_nothing_of_ramps():
    X = readings(SLOTS)
    X[:, 4] += np.linspace(0, 12, SLOTS)
    assert not asked(X[:500]).any()  # of two days
    field = implied.implied(X, ~np.isnan(X))
    none = np.zeros(X.shape, dtype=bool)
    assert not ramps.ramped(
        X[:, :2], implied.implied(X[:, :2], ~none[:, :2]), none[:, :2], context(X[:, :2])
    ).any()
    known = none.copy()
    known[:, 4] = True
    assert not ramps.ramped(X, field, known, context(X)).any()


def test_a_line_is_fitted_to_the_blocks_that_were_heard():
    rng = np.random.default_rng(0)
    told = rng.normal(0, 0.1, (24, 5))
    told[:, 2] += 3 + 8 * np.clip(np.arange(24) - 6, 0, None) / 17
    told[[3, 12], 2] = np.nan
    lines = ramps._Lines(told)
    assert abs(int(lines.first[2]) - 6) <= 1
    assert lines.home[2] == pytest.approx(3, abs=0.2)
    assert lines.size[2] == pytest.approx(8, abs=0.4)
    ramp = np.clip(np.arange(24) - lines.first[2], 0, None) / (23 - lines.first[2])
    heard = ~np.isnan(told[:, 2])
    (slope, level), (left,), *_ = np.polyfit(ramp[heard], told[heard, 2], 1, full=True)
    assert (lines.size[2], lines.home[2]) == pytest.approx((slope, level))
    spread = max(np.sqrt(left / heard.sum()), lines.usual)
    assert lines.spread[2] == pytest.approx(spread)
    speaking = np.sqrt(((ramp[heard] - ramp[heard].mean()) ** 2).sum())
    assert lines.clear[2] == pytest.approx(slope * speaking / spread)
