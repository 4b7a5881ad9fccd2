"""The station of live: revisions, late readings, clocks, restarts, models, episodes."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.faults import Episode, Kind
from fieldmend.flags import Flag
from fieldmend.live import watching
from fieldmend.live.companions import Companions, Drifts
from fieldmend.live.following import Follower
from fieldmend.live.intake import Busy
from fieldmend.live.messages import Reading
from fieldmend.live.modelling import Models
from fieldmend.live.settings import DAY, MINUTE
from fieldmend.live.station import Station
from live_site import FITTED, NODES, cut, model, record, site


@pytest.fixture
def live(tmp_path):
    one = site(tmp_path)
    yield one
    one.close()


def column(one, slot, rev, what):
    (blob,) = one.rows(
        f"SELECT k.{what} FROM clean k JOIN slots s ON s.id = k.closing "
        "WHERE s.slot = ? AND s.rev = ?",
        (slot, rev),
    ).fetchone()
    return np.frombuffer(blob, "<f8" if what != "flag" else np.uint8)


def test_a_slot_is_said_at_its_end_and_settled_half_an_hour_later(live):
    for row in range(FITTED, FITTED + 8):
        live.slot(row, skip=("m3",))
    found = live.rows("SELECT slot, rev FROM slots ORDER BY id").fetchall()
    times = record().times
    assert [slot for slot, rev in found if rev == 0] == times[FITTED : FITTED + 8].tolist()
    assert [slot for slot, rev in found if rev == 1] == times[FITTED : FITTED + 2].tolist()
    flag = column(live, int(times[FITTED]), 0, "flag")
    assert flag[3] == Flag.MISSING
    assert (np.delete(flag, 3) == Flag.PASS).all()
    truth = record().values["temperature"][FITTED + 7, 3]
    at = int(times[FITTED + 7])
    assert abs(column(live, at, 0, "estimate")[3] - truth) < 1.0
    low, high = column(live, at, 0, "lower")[3], column(live, at, 0, "upper")[3]
    assert low < truth < high


def test_a_settled_slot_is_what_recover_says_of_its_window_in_whatever_order_readings_came(live):
    rng = np.random.default_rng(0)
    rows = range(FITTED, FITTED + 40)
    reads = [read for row in rows for read in live.reads(row)]
    # Each reading is up to 25 minutes late: within what is settled.
    due = sorted((read.time + int(rng.integers(25 * MINUTE)), read) for read in reads)
    for at, read in due:
        live.clock.time = at
        live.take([read])
        live.station.tick()
    live.end(FITTED + 46)
    settled = live.rows(
        "SELECT slot, window_first, window_stop FROM slots WHERE rev = 1 ORDER BY slot"
    ).fetchall()
    assert len(settled) >= 30
    grid, width = record(), 0.0
    for slot, first, stop in settled[10:20:3]:
        inside = (grid.times >= first) & (grid.times < stop)
        X = np.where(
            (grid.times < grid.times[FITTED + 40])[:, None], grid.values["temperature"], np.nan
        )
        window = replace(grid, values={"temperature": X[inside]}, times=grid.times[inside])
        rec = fm.recover(window, model=model(), holdout=False)["temperature"]
        row = int((slot - first) // grid.slot)
        for what in ("estimate", "lower", "upper"):
            np.testing.assert_allclose(
                column(live, slot, 1, what), getattr(rec, what)[row], rtol=0, atol=1e-6
            )
        np.testing.assert_array_equal(column(live, slot, 1, "flag"), rec.flag[row])
        width = max(width, float((rec.upper - rec.lower).max()))
    assert width > 0


def test_late_readings_are_kept_counted_and_settled(live):
    live.slot(FITTED, skip=("m5",))
    late = next(read for read in live.reads(FITTED) if read.node == "m5")
    live.take([late])
    for row in range(FITTED + 1, FITTED + 8):
        live.slot(row)
    at = int(record().times[FITTED])
    assert column(live, at, 0, "flag")[5] == Flag.MISSING
    assert column(live, at, 1, "flag")[5] == Flag.PASS
    assert column(live, at, 1, "observed")[5] == late.value
    assert live.view.counts()["readings"]["late"] == 1


def test_one_wrong_clock_moves_no_time(live):
    live.slot(FITTED)
    before = live.station.closed
    live.take([Reading("m0", "temperature", live.clock.now() + 4 * MINUTE, 20.0)])
    live.take([Reading("m0", "temperature", 2**31 * 1_000_000, 20.0)])  # 2038
    live.take([Reading("m0", "temperature", 86_400_000_000, 20.0)])  # 1970
    live.station.tick()
    assert live.station.closed == before
    assert live.view.counts()["rejected"] == {"clock ahead": 1, "clock not set": 1}


def test_a_false_reading_is_flagged_at_once_and_moves_nothing(live):
    X = record().values["temperature"].copy()
    X[FITTED + 5, 2] += 15.0
    for row in range(FITTED, FITTED + 6):
        live.slot(row, X)
    at = int(record().times[FITTED + 5])
    assert column(live, at, 0, "flag")[2] == Flag.SUSPECT
    assert abs(column(live, at, 0, "estimate")[2] - (X[FITTED + 5, 2] - 15.0)) < 2.0
    assert not live.view.episodes()  # a single one is a flag, no alert


def test_a_restart_goes_on_where_the_journal_ends(live, tmp_path):
    for row in range(FITTED, FITTED + 20):
        live.slot(row)
    before = live.rows("SELECT id, slot, rev FROM slots").fetchall()
    again = Station(
        live.station.intake,
        live.station.settings,
        live.clock,
        Models(live.station.journal, live.station.settings),
    )
    again.start()
    assert again.follower.model is not None
    assert again.closed == live.station.closed
    one, two = (s.follower.states["temperature"] for s in (live.station, again))
    assert one.slot == two.slot
    # The filter has forgotten how it began: it was replayed from the journal.
    np.testing.assert_allclose(one.belief.factors, two.belief.factors, atol=1e-6)
    assert live.rows("SELECT id, slot, rev FROM slots").fetchall() == before


def test_without_a_model_readings_pass_unjudged_until_one_is_fitted(tmp_path):
    live = site(tmp_path, first=0, given=False, learn=60, window=400 * 5 * MINUTE)
    for row in range(60):
        live.slot(row)
    assert set(column(live, int(record().times[59]), 0, "flag")) == {Flag.NOT_EVALUATED}
    live.station.tick()
    assert live.station.models._child is not None
    live.station.models._child.wait()
    live.slot(60)
    live.slot(61)
    assert set(column(live, int(record().times[61]), 0, "flag")) == {Flag.PASS}
    assert live.view.counts()["model"]["name"]
    assert live.view.node("m0")["neighbours"]
    live.close()


def test_a_model_that_is_worse_on_the_newest_readings_is_refused(tmp_path):
    from fieldmend.live.refitting import refit

    live = site(tmp_path)
    rng = np.random.default_rng(1)
    X = record().values["temperature"].copy()
    # The past before the newest part is another world: what is fitted to it is worse.
    X[FITTED : FITTED + 90] = rng.normal(0.0, 30.0, (90, NODES)) + rng.normal(0, 100, NODES)
    for row in range(FITTED, FITTED + 120):
        live.take(live.reads(row, X))
        live.clock.time = int(record().times[row]) + live.station.slot
    order = {
        "folder": str(tmp_path),
        "first": int(record().times[FITTED]),
        "stop": int(record().times[FITTED + 120]),
        "slot": live.station.slot,
        "level": 0.9,
        "limits": {},
        "old": str(live.station.models._file(live.station.models.name)),
        "out": str(tmp_path / "new.npz"),
    }
    found = refit(order)
    assert not found["taken"]
    assert "times that of the one in use" in found["why"]
    assert not (tmp_path / "new.npz").exists()
    live.close()


def test_a_silent_node_is_an_episode_that_closes_when_it_is_heard(live):
    for row in range(FITTED, FITTED + 30):
        live.slot(row)
    for row in range(FITTED + 30, FITTED + 36):
        live.slot(row, skip=("m4",))
    (one,) = live.view.episodes()
    assert (one["kind"], one["node"], one["state"]) == ("silent", "m4", "open")
    assert one["since"] == fm.grid.stamp(int(record().times[FITTED + 30]))
    assert "power and radio" in one["text"]
    live.slot(FITTED + 36)
    (one,) = live.view.episodes()
    assert one["state"] == "close"
    assert live.view.now()["nodes"][0]["cadence_seconds"] == 300.0
    said = [json.loads(row[0]) for row in live.rows("SELECT said FROM alerts ORDER BY id")]
    assert [(one["id"], one["state"]) for one in said] == [(1, "open"), (1, "close")]


def test_a_gateway_that_is_gone_is_one_episode_not_one_a_node(live):
    for row in range(FITTED, FITTED + 30):
        live.slot(row)
    for row in range(FITTED + 30, FITTED + 40):
        live.slot(row, skip=[f"m{k}" for k in range(1, NODES)])
    found = live.view.episodes()
    assert [(one["kind"], one["node"]) for one in found] == [("silent", "")]


def test_a_stuck_node_and_an_event_are_episodes(live):
    X = record().values["temperature"].copy()
    X[FITTED + 150 :, 6] = X[FITTED + 149, 6]
    X[FITTED + 177 : FITTED + 181, 8:12] += 12.0
    live.clock.time = int(record().times[FITTED + 145])
    live.take([read for row in range(FITTED, FITTED + 145) for read in live.reads(row, X)])
    while live.station.tick():  # a backlog is settled some slots at a time
        pass
    for row in range(FITTED + 145, FITTED + 184):
        live.slot(row, X)
    kinds = {one["kind"]: one for one in live.view.episodes()}
    assert kinds["stuck"]["node"] == "m6"
    since = int(np.datetime64(kinds["stuck"]["first_seen"][:-1], "us").astype(np.int64))
    assert (since - record().times[FITTED + 150]) / live.station.slot <= 25
    assert kinds["event"]["nodes"] == 4
    stuck = kinds["stuck"]
    said = re.search(
        r"stuck at \S+ degC since 2 Mar \d\d:\d\d UTC, when found (\S+) degC (above|below) what "
        r"the other nodes tell\. Look at .* wiring",
        stuck["text"],
    )
    # As the numbers beside it have it, of the newest slots then.
    assert (said[2] == "above") == (stuck["deviation"] > 0)
    assert float(said[1]) == pytest.approx(abs(stuck["deviation"]), rel=0.35)


def test_a_sentence_keeps_the_battery_and_needs_an_estimate():
    X = np.arange(20.0)[:, None]
    said = {"observed": X + 3.0, "estimate": X}
    told = "stuck at 3, 0.1 above what its 5 nearest companions imply since noon, voltage 2.31"
    one = Episode(0, "lx", 0, 20, Kind.STUCK, 20, 1.0, 1.0, told)
    text = watching._off_now(one, said, "lx", 0)
    assert text.startswith(
        "stuck at 3 since 1 Jan 00:00 UTC, when found 3 lx above what the other "
    )
    assert text.endswith("nodes tell, voltage 2.31")
    assert watching._off_now(one, said | {"estimate": X * np.nan}, "", 0) == ""


def test_a_gap_of_days_makes_no_slots(live):
    live.slot(FITTED)
    live.clock.time += 3 * DAY
    grid = record()
    for row in range(FITTED + 1, FITTED + 9):
        later = [r._replace(time=r.time + 3 * DAY) for r in live.reads(row)]
        live.clock.time = later[0].time + 5 * MINUTE
        live.take(later)
        live.clock.time = int(grid.times[row]) + 3 * DAY + 6 * MINUTE
        live.station.tick()
    number = live.rows("SELECT count(*) FROM slots WHERE rev = 0").fetchone()[0]
    assert number < 9 + DAY // live.station.slot
    newest = live.rows("SELECT max(slot) FROM slots").fetchone()[0]
    assert newest == grid.times[FITTED + 8] + 3 * DAY


def test_limits_fail_and_what_no_model_knows_passes_unjudged(tmp_path):
    live = site(tmp_path, limits={"temperature": (-50.0, 60.0)})
    X = record().values["temperature"].copy()
    X[FITTED, 1] = 99.0
    live.clock.time = int(record().times[FITTED]) + MINUTE
    live.take(
        [Reading("m0", "rain", live.clock.now(), 1.5), Reading("new", "rain", live.clock.now(), 2)]
    )
    live.slot(FITTED, X)
    at = int(record().times[FITTED])
    assert column(live, at, 0, "flag")[1] == Flag.FAIL
    now = live.view.now()
    assert now["nodes"][0]["values"]["rain"]["flag"] == Flag.NOT_EVALUATED
    assert [n["node"] for n in now["nodes"]][-1] == "new"
    assert now["conditions"]["temperature"] == "degC"
    live.close()


def test_directions_are_shown_not_judged_and_their_mean_is_between_them(live):
    at = int(record().times[FITTED])
    live.clock.time = at + 2 * MINUTE
    live.take([Reading("m0", "wind_direction", at + k, x) for k, x in enumerate((350.0, 20.0))])
    live.slot(FITTED)
    ((observed, estimate, flag),) = live.rows(
        "SELECT observed, estimate, flag FROM clean JOIN conditions c ON c.id = condition "
        "WHERE c.name = 'wind_direction'"
    )
    assert np.frombuffer(observed)[0] == pytest.approx(5.0)
    assert np.isnan(np.frombuffer(estimate)).all()
    assert flag[0] == Flag.NOT_EVALUATED
    assert "not judged, for lack of a model: wind_direction" in live.view.now()["why"]


def test_at_once_as_when_settled_nothing_is_estimated_that_cannot_be():
    part = replace(model()["temperature"], quantity={"low": 18.0, "high": 18.5})
    follower = Follower(replace(model(), conditions={"temperature": part}))
    grid = record()
    y = grid.values["temperature"][FITTED]
    said = follower.follow({"temperature": y}, grid.nodes, int(grid.times[FITTED]), grid.slot)
    for edge in (said["temperature"].lower, said["temperature"].upper):
        assert ((edge >= 18.0) & (edge <= 18.5)).all()
    np.testing.assert_array_equal(said["temperature"].observed, y)


def test_a_shower_is_not_flagged_at_once():
    grid, row = record(), FITTED
    y = grid.values["temperature"][row].copy()
    y[4] += 50.0
    flags = []
    for quantity in (None, {"low": 0.0, "spikes": 0.0}):
        part = replace(model()["temperature"], quantity=quantity)
        follower = Follower(replace(model(), conditions={"temperature": part}))
        said = follower.follow({"temperature": y}, grid.nodes, int(grid.times[row]), grid.slot)
        flags.append(said["temperature"].flag[4])
    assert flags == [Flag.SUSPECT, Flag.PASS]


def test_a_disk_with_room_for_one_word_is_still_full(live):
    """Or the status would change at every look while every POST is refused."""
    live.slot(FITTED)
    health, (pages,) = live.station.intake.health, live.rows("PRAGMA page_count").fetchone()
    live.rows(f"PRAGMA max_page_count = {pages + 2}")
    many = [Reading(f"n{k}", "temperature", live.clock.now(), 1.0) for k in range(3000)]
    with pytest.raises(Busy, match="full"):
        live.take(many)
    for _ in range(3):
        live.station.tick()
        assert health.status == "degraded"
    live.rows("PRAGMA max_page_count = 1000000")
    live.station.tick()
    assert health.status == "ok"
    assert live.station.journal.get("room") == ""


def test_who_was_on_the_way_to_a_drift_is_so_after_a_restart_and_with_a_new_model(tmp_path):
    one = site(tmp_path)
    one.station.models.companions = Companions.fit(cut(record(), slice(0, 600)))
    one.station.drifts = Drifts(one.station.models.companions)
    for row in range(FITTED, FITTED + 20):
        one.slot(row)
    before = one.station.drifts._past["temperature"]
    assert before.heard.tolist() == [20] * NODES
    with one.station.journal.lock:
        one.station._reload(one.station.journal.connection)
    after = one.station.drifts._past["temperature"]
    one.close()
    assert after is not before
    assert after.heard.tolist() == [20] * NODES
    np.testing.assert_allclose(after.ratio, before.ratio, atol=1e-9)
