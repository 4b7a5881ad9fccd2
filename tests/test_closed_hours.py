"""Hours at which nobody is ever heard: nothing was lost there, and nothing is made up."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.outages import closed_slots
from fieldmend.recovery.onchange import resting
from fieldmend.recovery.regional import _Whole
from fieldmend.recovery.service import service
from fieldmend.result.cropping import cropped
from fieldmend.result.spaced import spaced
from fieldmend.result.states import Service, State

DAY = 24


def heard_at(hours, days=8):
    out = np.zeros(days * DAY, dtype=bool)
    out.reshape(days, DAY)[:, list(hours)] = True
    return out


@pytest.mark.parametrize(
    ("hours", "closed"),
    [
        (range(6, 24), range(6)),  # a metro
        (range(3, 21), (21, 22, 23, 0, 1, 2)),  # over midnight
        ((*range(6, 11), *range(16, 22)), (22, 23, 0, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15)),
        (range(24), ()),
        (range(0, 24, 3), ()),  # seldom, not closed
        (range(1, 24), ()),  # an hour is no rest
        ((12,), ()),  # once a day
    ],
)
def test_hours_without_anybody_on_any_day(hours, closed):
    heard = heard_at(hours)
    got = closed_slots(heard, np.arange(len(heard)), DAY)
    want = np.isin(np.arange(len(heard)) % DAY, list(closed))
    np.testing.assert_array_equal(got, want)


def test_one_night_with_a_reading_and_four_days_are_no_rest():
    heard = heard_at(range(6, 24))
    assert not closed_slots(heard[: 4 * DAY], np.arange(4 * DAY), DAY).any()
    assert closed_slots(heard[: 5 * DAY], np.arange(5 * DAY), DAY).sum() == 5 * 6  # five tell
    heard[3 * DAY + 3] = True
    got = closed_slots(heard, np.arange(len(heard)), DAY)
    assert set(np.flatnonzero(got) % DAY) <= {0, 1, 2, 4, 5}


def test_states_of_closed_slots():
    life = Service.throughout(2)
    life = Service(life.node, life.start, life.stop, life.never, np.array([[1, 3], [5, 6]]))
    read = np.zeros((6, 2), dtype=bool)
    read[2, 0] = True
    N, L, R = State.NOT_IN_SERVICE, State.LOST, State.READ
    want = [[L, L], [N, N], [R, N], [L, L], [L, L], [N, N]]
    assert life.states(read).tolist() == want
    assert life.states(read[2:4], 2).tolist() == want[2:4]
    assert life.of(1).states(read[:, 1:])[:, 0].tolist() == [row[1] for row in want]


def stations(days=10, seed=0):
    """Six stations, slots of an hour from 09:00, closed from 22 to 5; some readings are lost."""
    rng = np.random.default_rng(seed)
    slot = np.arange(days * DAY)
    hour = (slot + 9) % DAY
    X = 50 * np.sin(2 * np.pi * hour / DAY)[:, None] * rng.uniform(1, 2, 6) + rng.normal(
        size=(len(slot), 6)
    )
    lost = rng.random(X.shape) < 0.15
    X[lost] = np.nan
    closed = (hour >= 22) | (hour < 5)
    X[closed] = np.nan
    return (
        fm.Grid.of(X, start="2024-03-01 09:00", slot_seconds=3600),
        lost & ~closed[:, None],
        closed,
    )


def test_recover_fills_no_night_that_nobody_measures():
    grid, lost, closed = stations()
    rec = fm.recover(grid)
    one = rec.conditions["value"]
    assert np.isnan(one.estimate[closed]).all()
    assert np.isfinite(one.estimate[~closed]).all()
    found = one.counts()
    assert found["lost"] == lost.sum()
    assert found["not_in_service"] == closed.sum() * 6
    notes = " ".join(one.notes)
    assert "nobody is heard from 22:00 to 05:00 on any day" in notes
    assert not any("node " in note and "has no reading" in note for note in one.notes)


def test_recover_extrapolates_into_the_night_if_asked():
    grid, _, closed = stations()
    rec = fm.recover(grid, extrapolate=True)
    one = rec.conditions["value"]
    assert np.isfinite(one.estimate[closed]).all()
    assert any("estimated all the same" in note for note in one.notes)


def test_a_cropped_record_keeps_its_nights():
    grid, _, closed = stations()
    rec = fm.recover(grid, holdout=False)
    later = cropped(rec, int(grid.times[30])).conditions["value"]
    assert (later.state[closed[30:]] == State.NOT_IN_SERVICE).all()
    assert (later.state[~closed[30:]] != State.NOT_IN_SERVICE).all()
    some = spaced(rec, 3 * grid.values["value"].size // 4).conditions["value"]
    assert len(some.observed) < len(closed)
    step = round(len(closed) / len(some.observed))
    np.testing.assert_array_equal((some.state == State.NOT_IN_SERVICE)[:, 0], closed[::step])


def test_who_sends_on_change_rests_at_night_and_is_in_service():
    X = stations()[0].values["value"]
    life = service(X, 3_600_000_000)
    assert len(life.closed)
    assert not len(resting(life, X).closed)


def test_what_one_region_rests_from_another_may_have_lost():
    nights = np.array([[3, 9], [27, 33]])
    whole = _Whole(np.zeros((48, 4)), None)
    for at, closed in (([0, 1], nights), ([2, 3], nights[:1])):
        life = replace(Service.throughout(2), closed=closed)
        one = SimpleNamespace(service=life)
        whole.parts.append((SimpleNamespace(decided=np.array(at)), one))
    assert whole._service().closed.tolist() == [[3, 9]]
