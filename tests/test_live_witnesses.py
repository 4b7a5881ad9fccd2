"""Odd readings when a slot is over: alone, they are false; with witnesses, something happened."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field.power import Power
from fieldmend.flags import Flag
from fieldmend.live import implied, witnesses
from fieldmend.live.companions import Companions, Drifts
from fieldmend.live.episodes import Sighting
from fieldmend.live.following import Calm, Follower, Said
from fieldmend.live.implied import Implied
from fieldmend.live.witnesses import Witness

SLOTS, NODES, FITTED = 420, 16, 360
NAMES = tuple(f"m{k}" for k in range(NODES))


def places(seed):
    """Rooms: a common course, and rooms where somebody opens a window now and then."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(rng.normal(0, 0.1, (SLOTS, 2)), axis=0) @ rng.normal(1, 0.3, (2, NODES))
    opened = (rng.random((SLOTS, NODES)) < 0.01) * rng.normal(0, 0.6, (SLOTS, NODES))
    own = np.zeros((SLOTS, NODES))
    for t in range(1, SLOTS):
        own[t] = 0.8 * own[t - 1] + opened[t]
    own[FITTED:] *= 0.02  # quiet days to test in
    noise = rng.normal(0, 0.05, (2, SLOTS, NODES))
    return {"t": 20 + common + own + noise[0], "rh": 50 - 2 * common - 3 * own + 2 * noise[1]}


@pytest.fixture(scope="module")
def followed():
    values = places(1)
    past = fm.Grid(
        {name: X[:FITTED] for name, X in values.items()},
        NAMES,
        300_000_000 * np.arange(FITTED, dtype=np.int64),
        300_000_000,
    )
    model = fm.FieldModel.fit(past)
    return model, witnesses.fit(model, past), values


def flags(followed, changed, row, *, heard=True):
    """Flags of the temperature at one slot, after some slots that are as they were."""
    model, found, values = followed
    follower = Follower(model, witnesses=found if heard else {})
    for t in range(FITTED, row + 1):
        readings = {name: X[t].copy() for name, X in values.items()}
        if t == row:
            for name, node, off in changed:
                readings[name][node] += off
        said = follower.follow(readings, NAMES, 300_000_000 * t, 300_000_000)
    return said["t"].flag, follower


def test_the_past_says_who_is_heard_and_the_gate_falls(followed):
    _, found, _ = followed
    assert (found["t"].other, found["t"].side) == ("rh", -1.0)
    assert found["t"].gate < 0.8 * found["t"].alone


@pytest.mark.parametrize("node", [2, 9])
def test_a_reading_that_is_odd_alone_is_false(followed, node):
    flag, _ = flags(followed, [("t", node, 1.5)], FITTED + 20)
    assert np.flatnonzero(flag == Flag.SUSPECT).tolist() == [node]
    without, _ = flags(followed, [("t", node, 1.5)], FITTED + 20, heard=False)
    assert without[node] == Flag.PASS  # as odd as an open window


def test_its_other_condition_speaks_for_it(followed):
    flag, follower = flags(followed, [("t", 4, 4.0), ("rh", 4, -12.0)], FITTED + 20)
    assert (flag == Flag.PASS).all()
    assert follower.told["t"].estimate[4] > followed[2]["t"][FITTED + 20, 4] + 1.0
    wrong, _ = flags(followed, [("t", 4, 4.0), ("rh", 4, 12.0)], FITTED + 20)
    assert wrong[4] == Flag.SUSPECT  # warmer is not wetter here
    broken, _ = flags(followed, [("t", 4, 4.0), ("rh", 4, -300.0)], FITTED + 20)
    assert broken[4] == Flag.SUSPECT  # a packet that is false in both


def test_three_that_are_alike_are_an_event(followed):
    model, found, _ = followed
    three = [2, *found["t"].near[2][:2].tolist()]
    flag, follower = flags(followed, [("t", k, 4.0) for k in three], FITTED + 20)
    assert flag[2] == Flag.PASS
    assert follower.odd["t"][2]  # no fault, but worth an episode
    assert witnesses.nearest(model["t"]).shape == (NODES, 10)


def test_without_the_other_condition_the_gate_is_higher_the_more_so_the_more_restless_it_is():
    one = Witness(np.zeros((3, 0), np.intp), alone=7.0, gate=6.0, other="rh")
    calm, restless = np.ones(3), np.full(3, 2.0)
    assert one.gates(np.array([1.0, np.nan, 2.0]), calm).tolist() == [6.0, 7.0, 6.0]
    assert one.gates(np.array([1.0, np.nan, 2.0]), restless).tolist() == [6.0, 14.0, 6.0]
    score = np.array([10.0, 10.0, -10.0])
    left = one.left(score, np.array([4.0, np.nan, 4.0]), np.arange(3))
    assert left.tolist() == [6.0, 10.0, 10.0]
    assert one.left(score, np.array([5.0, 4.0, -25.0]), np.arange(3)).tolist() == [0.0, 6.0, 10.0]


def test_unrest_is_of_late_and_one_false_reading_does_not_blind():
    calm = witnesses.unrest(None, np.array([0.5, np.nan, 100.0]))
    assert calm.tolist()[:2] == [1.0, 1.0]
    assert 1.2 < calm[2] < 2.0
    for _ in range(24):
        calm = witnesses.unrest(calm, np.array([3.0, 3.0, 0.5]))
    assert (calm[:2] > 2.5).all()
    assert calm[2] < 1.1


def test_one_node_like_it_speaks_where_it_is_as_odd_the_same_way():
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    one, nothing = Witness(near, alone=7.0, gate=7.0), np.full(4, np.nan)
    first = np.array([0])
    assert one.left(np.array([12.0, 9.0, 0.0, 0.0]), nothing, first)[0] == 6.0
    assert one.left(np.array([12.0, -9.0, 0.0, 0.0]), nothing, first)[0] == 12.0
    assert one.left(np.array([12.0, 5.0, 0.0, 0.0]), nothing, first)[0] == 12.0


def test_a_calm_other_condition_halves_what_the_unrest_of_nodes_like_it_explains():
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    one, first = Witness(near, alone=7.0, gate=6.0, other="rh"), np.array([0])
    score = np.array([12.0, -18.0, 18.0, 0.0])  # they jump both ways
    assert one.left(score, np.full(4, np.nan), first)[0] == 3.0
    assert one.left(score, np.zeros(4), first)[0] == 6.0
    assert one.left(np.abs(score), np.zeros(4), first)[0] == 3.0  # an event


def test_two_conditions_seldom_so_odd_speak_for_each_other_though_they_differ():
    far = Witness(np.zeros((1, 0), np.intp), alone=7.0, gate=6.0, other="rh", seldom=11.0)
    first, left = np.array([0]), []
    for its in (7.0, 11.0, 44.0, 61.0, -44.0):
        left.append(far.left(np.array([15.0]), np.array([its]), first)[0])
    assert left == [8.0, 0.0, 0.0, 15.0, 15.0]
    assert far.left(np.array([40.0]), np.array([11.0]), first)[0] == 0.0
    assert far.left(np.array([40.0]), np.array([10.5]), first)[0] == 29.5
    usual = replace(far, seldom=np.inf)
    assert usual.left(np.array([15.0]), np.array([44.0]), first)[0] == 15.0


def test_witnesses_are_in_the_file(followed, tmp_path):
    _, found, _ = followed
    Companions(NAMES, {}, found).save(tmp_path / "c.npz")
    again = Companions.load(tmp_path / "c.npz").witnesses
    assert again["t"].other == "rh"
    assert again["rh"].gate == found["rh"].gate
    assert again["t"].seldom == found["t"].seldom > witnesses.ODD
    np.testing.assert_array_equal(again["t"].near, found["t"].near)


def test_many_false_companions_make_nobody_false():
    rng = np.random.default_rng(0)
    weight, which = np.full((20, 6), 1 / 6), np.array([rng.permutation(19)[:6] for _ in range(20)])
    which += which >= np.arange(20)[:, None]
    part = Implied(np.zeros(20), which, weight, np.full(20, 2.0))
    y = rng.normal(0, 0.1, 20)
    y[[1, 5, 9]] += (8.0, -30.0, 15.0)
    known = np.arange(20) == 5
    off = part.soundly(y, known)
    assert np.flatnonzero(np.abs(off) > 1.0).tolist() == [1, 5, 9]
    np.testing.assert_allclose(off[[1, 5, 9]], (8.0, -30.0, 15.0), atol=0.5)
    told, restless, apart = part.judged(y, known)
    np.testing.assert_array_equal(told, off)
    assert restless == 1.0
    assert apart[[1, 5, 9]].all()


@pytest.mark.parametrize(("noise", "wider"), [(0.0, False), (0.5, True)])
def test_intervals_are_as_wide_as_it_is_restless(followed, noise, wider):
    model, found, values = followed
    heard, plain = Follower(model, witnesses=found), Follower(model)
    rng = np.random.default_rng(3)
    for t in range(FITTED, SLOTS):
        readings = {name: X[t] + noise * rng.normal(size=NODES) for name, X in values.items()}
        readings["t"][0] = np.nan
        one, other = (
            follower.follow(readings, NAMES, 300_000_000 * t, 300_000_000)["t"]
            for follower in (heard, plain)
        )
    assert one.lower[0] < one.estimate[0] < one.upper[0]
    assert (one.upper[0] - one.lower[0] > other.upper[0] - other.lower[0]) is np.bool_(wider)


def test_a_network_that_grows_restless_has_wide_intervals_within_half_an_hour(followed):
    model, found, values = followed
    follower, rng, widths = Follower(model, witnesses=found), np.random.default_rng(3), []
    for t in range(FITTED, FITTED + 36):
        noise = rng.normal(0, 0.5, NODES) * (t >= FITTED + 30)
        readings = {name: X[t] + noise for name, X in values.items()}
        readings["t"][0] = np.nan
        one = follower.follow(readings, NAMES, 300_000_000 * t, 300_000_000)["t"]
        widths.append(one.upper[0] - one.lower[0])
    assert widths[-1] > 2.0 * widths[29]


def test_a_place_that_changed_in_both_conditions_does_not_drift():
    ring = (np.arange(12)[:, None] + np.arange(1, 7)) % 12
    part = Implied(np.zeros(12), ring, np.full((12, 6), 1 / 6), np.full(12, 2.0))
    near = np.zeros((12, 0), np.intp)
    found = Companions(
        NAMES[:12], {"t": part, "rh": part}, {"t": Witness(near, 9.0, 6.0, "rh", -1.0)}
    )

    def seen(rh):
        drifts, nothing = Drifts(found), np.full(12, np.nan)
        for time in range(40):
            rows = {"t": np.zeros(12), "rh": np.zeros(12)}
            rows["t"][3], rows["rh"][3] = 5.0 * time / 39, rh * time / 39
            said = {
                name: Said(y, y, nothing, nothing, np.ones(12, np.uint8))
                for name, y in rows.items()
            }
            drifts.hear(said, NAMES[:12], time, {"t": 1, "rh": 2}, set())
        small = Sighting("lasting", 8, 1, "drift", 0, "")
        assert not drifts.may_be(small)  # no farther off than on other days
        assert drifts.may_be(replace(small, kind="stuck"))
        return [one.node for one in drifts.news() if one.condition == 1]

    assert seen(0.0) == [4]
    assert seen(4.0) == [4]
    assert seen(-4.0) == []


def two_days(seed=2):
    """Two days of ten places, now and then warm and dry by the sun for an hour."""
    rng = np.random.default_rng(seed)
    common = np.cumsum(rng.normal(0, 0.1, (576, 1)), axis=0)
    sun = np.repeat(rng.random((48, 10)) < 0.1, 12, axis=0) * 2.0
    noise = rng.normal(0, 0.05, (2, 576, 10))
    return {"t": common + sun + noise[0], "rh": -2 * common - 3 * sun + noise[1]}


def test_what_another_condition_tells_is_taken_off_and_the_limit_is_lower_for_it():
    values = two_days()
    both, alone = implied.fit(values, days=2), implied.fit({"t": values["t"]}, days=2)
    one = both["t"]
    assert (one.other, alone["t"].other) == ("rh", "")
    assert np.median(one.rest) < 0.5 * np.median(alone["t"].rest)
    off = np.array([2.0, 2.0, 2.0])
    part = replace(one, gain=-0.3)
    part = replace(part, rest=np.full(3, 0.5), limit=np.full(3, 4.0))
    left, limit = part.left(off, np.array([-6.0, 0.0, 6.0]))
    np.testing.assert_allclose(left, (0.2, 2.0, 2.0))
    assert limit.tolist() == [0.5] * 3
    assert part.left(off, np.array([-60.0, 0.0, 0.0]))[0][0] == 0.0  # it tells more than there is
    assert part.left(off, None)[1].tolist() == [4.0] * 3


def test_a_condition_that_drifts_makes_no_other_one_drift():
    values = two_days()
    grid = fm.Grid(values, NAMES[:10], 300_000_000 * np.arange(576, dtype=np.int64), 300_000_000)
    drifts, nothing = Drifts(Companions.fit(grid)), np.full(10, np.nan)
    for time in range(48):
        rows = {name: X[-1].copy() for name, X in two_days().items()}
        rows["t"][3] += 6.0 * time / 47
        said = {
            name: Said(y, y, nothing, nothing, np.ones(10, np.uint8)) for name, y in rows.items()
        }
        drifts.hear(said, NAMES[:10], time, {"t": 1, "rh": 2}, set())
    (one,) = drifts.news()
    assert (one.node, one.condition) == (4, 1)
    assert "what its companions and its rh imply, and growing" in one.text


def test_companions_are_in_the_file_and_those_of_earlier_files_are_read(tmp_path):
    found = implied.fit(two_days(), days=2)
    Companions(NAMES[:10], found).save(tmp_path / "c.npz")
    again = Companions.load(tmp_path / "c.npz").parts["t"]
    assert again.other == "rh"
    np.testing.assert_array_equal(again.rest, found["t"].rest)
    assert again.times == found["t"].times == implied.beyond(2)
    with np.load(tmp_path / "c.npz") as file:
        earlier = {
            k: v
            for k, v in file.items()
            if k.rstrip("01") not in ("other", "gain", "rest", "times", "usual")
        }
    np.savez(tmp_path / "d.npz", **earlier)
    off, limit = Companions.load(tmp_path / "d.npz").parts["t"].left(np.ones(10), np.ones(10))
    np.testing.assert_array_equal(limit, found["t"].limit)
    assert off.tolist() == [1.0] * 10


def network(rng, slots=1152, nodes=24, loud=1.0):
    """Days of places that follow three courses, each with its own unrest, more so by day."""
    courses = np.cumsum(rng.normal(0, 0.1, (slots, 3)), axis=0)
    by_day = 1.0 + 2.0 * (np.sin(2 * np.pi * np.arange(slots) / 288) > 0)[:, None]
    own = np.zeros((slots, nodes))
    for t in range(1, slots):
        own[t] = 0.9 * own[t - 1] + rng.normal(0, 0.05, nodes)
    return courses @ rng.normal(0, 1, (3, nodes)) + loud * by_day * own


def test_where_all_are_off_more_is_no_wonder_and_half_of_them_may_drift_at_once():
    rng = np.random.default_rng(5)
    X = network(rng)
    one = implied.fit({"t": X[:864]}, days=3)["t"]
    nobody = np.zeros(24, np.bool_)
    far = np.median([one.judged(y, nobody)[1] for y in X[864:]])
    loud = X[864:] + 4.0 * rng.normal(0, np.median(one.limit), (288, 24))
    assert np.median([one.judged(y, nobody)[1] for y in loud]) > 3.0 * far
    y = X[900].copy()
    y[:5] += (8.0 * one.limit * np.resize((1.0, -1.0), 24))[:5]
    off, restless, apart = one.judged(y, nobody)
    assert restless < 2.0
    assert (np.abs(off[:5]) > restless * one.rest[:5]).all()
    assert apart[:5].all()
    known = nobody.copy()
    known[:5] = True  # who is known to be false is still off, and still alone
    off, restless, apart = one.judged(y, known)
    assert restless < 2.0
    assert apart[:5].all()


def test_three_alike_that_are_off_together_do_not_drift():
    ring = (np.arange(12)[:, None] + np.arange(1, 7)) % 12
    one = Implied(np.zeros(12), ring, np.full((12, 6), 1 / 6), np.full(12, 2.0))
    y = np.zeros(12)
    y[[3, 4, 5]] = 6.0
    nobody = np.zeros(12, np.bool_)
    assert not one.judged(y, nobody)[2][3]  # 4 and 5 are like 3
    assert one.judged(y, nobody)[2][5]  # neither is like 5
    y[4] = -6.0
    assert one.judged(y, nobody)[2][3]  # the other way: no event
    y[4], y[5] = 2.0, 2.0
    assert one.judged(y, nobody)[2][3]  # less than half as far


def test_skewed_quantities_are_judged_on_their_scale_and_told_in_their_units(tmp_path):
    rng = np.random.default_rng(3)
    X = np.exp(0.5 * network(rng) / 1.0 + 3.0)
    power = Power(1 / 3, 1.0)
    found = implied.fit({"dust": X[:864]}, 3, {"dust": power})
    names = tuple(f"n{k}" for k in range(24))
    Companions(names, found).save(tmp_path / "c.npz")
    again = Companions.load(tmp_path / "c.npz")
    assert again.parts["dust"].scale == power
    root = implied.fit({"dust": power.forward(X[:864])}, 3)["dust"]
    np.testing.assert_allclose(found["dust"].rest, root.rest)
    drifts, nothing = Drifts(again), np.full(24, np.nan)
    for row in range(864, 1000):
        y = X[row].copy()
        y[5] = power.back(power.forward(y[5]) + 0.1 * found["dust"].rest[5] * max(0, row - 900))
        said = {"dust": Said(y, y, nothing, nothing, np.ones(24, np.uint8))}
        drifts.hear(said, names, row, {"dust": 1}, set())
        if seen := drifts.news():
            break
    (one,) = seen
    assert one.node == 6
    assert one.value == y[5]
    assert 0.3 < one.expected / X[row, 5] < 3.0


def test_readings_speak_for_gaps_such_as_they_end_and_for_longer_ones_the_wider_measure_is_taken(
    followed,
):
    model, found, values = followed
    heard, plain = Follower(model, witnesses=found), Follower(model)
    for t in range(FITTED, FITTED + 8):
        heard._calm["t"] = Calm(held=0.5, odd=2.0, gap=1.0)
        readings = {name: X[t].copy() for name, X in values.items()}
        readings["t"][0] = np.nan if t > FITTED else readings["t"][0]
        readings["t"][1] = np.nan if t == FITTED + 7 else readings["t"][1]
        one, other = (
            follower.follow(readings, NAMES, 300_000_000 * t, 300_000_000)["t"]
            for follower in (heard, plain)
        )
    wide = (one.upper - one.lower) / (other.upper - other.lower)
    np.testing.assert_allclose(wide[:2], (2.0, 0.5))
    now = heard.told["t"]
    assert now.gap[:3].tolist() == [7.0, 1.0, 1.0]
    np.testing.assert_allclose(now.allowed, model["t"].live.calibration.at(now.gap))


def test_where_gaps_are_usual_readings_tell_how_long_they_are(followed):
    model, found, values = followed
    follower = Follower(model, witnesses=found)
    for t in range(FITTED, SLOTS):
        readings = {name: X[t].copy() for name, X in values.items()}
        readings["t"][(np.arange(NODES) + t) % 4 > 0] = np.nan
        follower.follow(readings, NAMES, 300_000_000 * t, 300_000_000)
    assert 3.5 < follower._calm["t"].gap <= 4.0
    assert follower._calm["rh"].gap == 1.0
