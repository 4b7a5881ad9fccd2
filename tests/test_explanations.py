"""An explanation never contradicts its flag: asked of every episode of several networks."""

import re

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults
from fieldmend.flags import Flag

NUMBER = r"-?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?"


def temperature(seed):
    net = fm.simulate.network(400, 16, field="temperature", noise=0.1, sampling=0.9, seed=seed)
    X = net.readings.copy()
    X[100:170, 3] += np.linspace(0, 8, 70)
    X[200:260, 5] = X[199, 5]
    X[300:, 7] += 25
    return X


def dust(seed):
    X = fm.simulate.skewed_field(400, 16, seed=seed)
    X[100:150, 3] = X[100, 3]
    X[[30, 80, 200], 5] += 40 * X.std()
    X[250:320, 8] += np.linspace(0, 12, 70) * X.std()
    return X


def wind(seed):
    X = fm.simulate.direction_field(400, 12, seed=seed)
    X[200:280, 4] = 0.0
    X[300:360, 6] = 355.0
    return X


def speed(seed):
    X = fm.simulate.happening("rush", nodes=16, days=2, seed=seed).readings.copy()
    X[100:160, 3] = 0.0
    X[300:420, 9] -= 40
    return X


NETWORKS = {"temperature": temperature, "pm10": dust, "dd": wind, "speed": speed}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_said_of_an_episode_is_true_of_its_readings(name):
    X = NETWORKS[name](seed=2)
    rec = fm.recover(fm.Grid.of(X, condition=name, slot_seconds=3600), holdout=False)[name]
    turn = rec.quantity.period
    assert any(e.kind != "event" for e in rec.episodes)
    in_one = np.zeros(X.shape, dtype=int)
    for e in rec.episodes:
        readings, flags = X[e.start : e.stop, e.node], rec.flag[e.start : e.stop, e.node]
        said = e.explanation
        bad = np.isin(flags, (Flag.SUSPECT, Flag.FAIL))
        if e.kind == "event":
            assert "no fault" in said or "not a fault" in said
            continue
        in_one[e.start : e.stop, e.node] += bad
        assert np.count_nonzero(flags == Flag.SUSPECT) == e.readings > 0, said
        assert "event" not in said
        if e.kind == "stuck":
            value = float(re.search(rf"stuck at ({NUMBER})", said)[1].replace(",", ""))
            usual = float(np.nanmedian(readings))
            off = value - usual
            off = (off + turn / 2) % turn - turn / 2 if turn else off
            assert abs(off) <= 0.006 * max(abs(usual), 1), said
            assert not turn or 0 <= value < turn
        if e.kind == "burst":
            assert e.readings <= 30, said
        gap = re.search(rf"({NUMBER})(?: [^\d\s]+)? (?:above|below|off) what", said)
        if gap:
            size = float(gap[1].replace(",", ""))
            assert size > 0, said
            if turn:
                assert size <= turn / 2
            if e.kind in ("bias", "drift"):  # not within what is usual for the node
                assert size > rec.scale[e.node] / 2, said
    assert (in_one[rec.flag == Flag.SUSPECT] == 1).all()


def test_a_direction_is_said_as_it_is_read():
    """Judged on the turn nearest to the estimate, a vane that reads 0 would be said to read 360."""
    X = fm.simulate.direction_field(300, 8, seed=3)
    X[:, :] = (X - X.mean() + 340) % 360
    X[100:180, 2] = 0.0
    rec = fm.recover(fm.Grid.of(X, condition="dd", slot_seconds=3600), holdout=False)["dd"]
    (one,) = [e for e in rec.episodes if e.node == 2 and e.kind == faults.Kind.STUCK]
    assert "stuck at 0" in one.explanation
