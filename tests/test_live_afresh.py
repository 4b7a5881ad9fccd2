"""Directions and meters in live: when settled, what a recovery says; at once, onward.py."""

from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.flags import Flag
from fieldmend.live import afresh
from fieldmend.live.messages import Reading
from fieldmend.live.settings import MINUTE
from fieldmend.live.settling import smooth
from fieldmend.result.options import Options
from fieldmend.simulate import QUANTITIES
from live_site import FITTED, cut, model, record, site

SLOTS = afresh.LEAST


def wind(kind="circular"):
    X = QUANTITIES[kind](slots=SLOTS, nodes=4, slots_per_day=288, seed=5)
    return np.where(np.random.default_rng(6).random(X.shape) < 0.2, np.nan, X)


@pytest.mark.parametrize(
    ("name", "kind"), [("wind_direction", "circular"), ("energy_total", "accumulator")]
)
def test_a_window_of_them_is_settled_as_recover_does(name, kind):
    window = cut(record(), slice(FITTED, FITTED + SLOTS))
    X = np.full(window.shape, np.nan)
    X[:, 3:7] = wind(kind)
    both = replace(window, values={**window.values, name: X})
    settled = smooth(model(), both, {}, 0.9, {})
    alone = replace(window, values={name: X[:, 3:7]}, nodes=window.nodes[3:7])
    one = fm.recover(alone, holdout=False)[name]
    for part in ("estimate", "lower", "upper", "flag"):
        said = settled.said[name][part]
        np.testing.assert_allclose(said[:, 3:7], getattr(one, part), atol=1e-6)
    assert np.isfinite(settled.said[name]["estimate"][:, 3:7]).all()
    assert not settled.said[name]["flag"][:, :3].any()  # nothing is said of who has no vane


def test_what_is_short_or_made_up_or_on_a_line_is_not_solved():
    window = cut(record(), slice(FITTED, FITTED + SLOTS))
    options = Options(holdout=False)
    X = np.full(window.shape, np.nan)
    X[:, :4] = wind()
    X[5, 4:] = 10.0  # heard once
    whole = replace(window, values={"wind_direction": X, "level": X})
    found = afresh.recovered(whole, "wind_direction", options)
    assert found is not None
    assert found[1].tolist() == [0, 1, 2, 3]
    assert afresh.recovered(cut(whole, slice(1, None)), "wind_direction", options) is None
    assert afresh.recovered(window, "temperature", options) is None


def test_they_are_judged_when_settled_and_from_half_a_day_on_at_once(tmp_path):
    live, grid, X = site(tmp_path, given=False), record(), np.vstack([wind(), wind()[:6]])
    live.clock.time = int(grid.times[FITTED + len(X)]) + 10 * MINUTE
    live.take(
        [
            Reading(grid.nodes[k], "wind_direction", int(grid.times[FITTED + t]), float(X[t, k]))
            for t, k in np.argwhere(np.isfinite(X)).tolist()
        ]
    )
    live.station.ending = True
    while live.station.tick():
        pass
    live.clock.time += MINUTE  # nothing more comes
    while live.station.tick():
        pass
    assert live.view.now()["why"] == "no model yet: it is fitted to the first 400 slots"
    flags = {
        rev: [np.frombuffer(one, np.uint8)[:4] for (one,) in live.rows(FLAGS, (rev,))]
        for rev in (0, 1)
    }
    assert set(np.concatenate(flags[0][:SLOTS]).tolist()) == {0, Flag.NOT_EVALUATED}
    assert set(np.concatenate(flags[0][SLOTS:]).tolist()) == {Flag.PASS, Flag.MISSING}
    assert Flag.PASS in np.concatenate(flags[1])
    live.close()


FLAGS = (
    "SELECT k.flag FROM clean k JOIN slots s ON s.id = k.closing WHERE s.rev = ? ORDER BY s.slot"
)
