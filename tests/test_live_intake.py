"""Readings into the journal: repeats, wrong clocks, floods, full disks, sequence numbers."""

import json
import threading

import pytest

from fieldmend.live.clock import SetClock
from fieldmend.live.intake import Busy, Intake
from fieldmend.live.journal import Journal
from fieldmend.live.messages import Reading
from fieldmend.live.view import View
from fieldmend.live.writing import NEW_NODES
from live_site import FITTED, record, site

NOW = 1_790_000_000_000_000


@pytest.fixture
def intake(tmp_path):
    journal = Journal.open(tmp_path, slot=300_000_000)
    yield Intake(journal, SetClock(NOW))
    journal.close()


def message(node="m1", seconds=0, **values):
    return {"node": node, "time": NOW // 1_000_000 - seconds, **(values or {"t": 20.5})}


def counts(intake):
    return View(intake.journal.folder).counts()


def test_repeats_are_absorbed_and_everything_is_counted(intake):
    assert intake.post([message(), message()]) == {"stored": 1, "duplicate": 1, "rejected": 0}
    garbage = [message(t=float("nan")), message(t="x"), {"t": 1}, 7, message(t=[1]), {"node": "m1"}]
    assert intake.post(garbage)["rejected"] == 6
    assert intake.post([message(seconds=5, t=None)]) == {"stored": 0, "duplicate": 0, "rejected": 0}
    found = counts(intake)
    assert found["readings"] == {
        "received": 8, "stored": 1, "duplicate": 1, "late": 0, "rejected": 6
    }  # fmt: skip
    assert found["rejected"] == {"no number": 3, "no node": 1, "unreadable": 1, "no value": 1}


def test_readings_without_a_time_are_all_kept_however_fast_they_come(intake):
    each = [{"node": "m1", "t": k} for k in range(3)]
    assert intake.post(each)["stored"] == 3
    body = "\n".join(map(json.dumps, each)).encode()
    assert [intake.post_bytes(body)["stored"] for _ in range(2)] == [3, 3]
    assert intake.post_bytes(json.dumps(each[0]).encode())["stored"] == 1


def test_while_our_own_clock_is_not_set_nothing_is_refused_for_good(intake):
    """A machine without a battery begins in 1970: all true stamps would be ahead of it."""
    intake.clock.time = 3_600_000_000
    with pytest.raises(Busy, match=r"clock is not set: 1970-01-01T01:00"):
        intake.post([message()])
    intake.clock.time = NOW
    assert intake.post([message()])["stored"] == 1
    assert counts(intake)["readings"]["rejected"] == 0


def test_another_value_at_the_same_time_is_no_repeat(intake):
    """The hour that local time has twice in autumn must not be lost as repeats."""
    assert intake.post([message(t=20.5, u=1)])["stored"] == 2
    assert intake.post([message(t=21.5, u=1)]) == {"stored": 0, "duplicate": 1, "rejected": 1}
    found = counts(intake)
    assert found["rejected"] == {"another value": 1}
    assert found["readings"]["received"] == 4
    (refused,) = View(intake.journal.folder).rejects()
    assert refused["text"].startswith("m1 t 2026-")
    assert refused["text"].endswith("21.5, kept: 20.5")


def test_local_time_is_told_from_what_it_looks_like(intake):
    assert intake.post([message(seconds=-7200)])["rejected"] == 1
    (refused,) = View(intake.journal.folder).rejects()
    assert refused["text"].endswith("is 2 h ahead of our clock: local time?")


def test_those_who_post_together_share_a_commit_and_all_is_there(intake):
    def post(k):
        for i in range(20):
            intake.post([message(f"n{k}", 10 * i)])

    threads = [threading.Thread(target=post, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(intake)["readings"]["stored"] == 160


def test_numbers_that_never_came_are_counted_and_late_ones_leave_the_count(intake):
    def number(sequence, seconds):
        intake.post([message(seconds=seconds) | {"seq": sequence}])

    for sequence in (1, 2, 6, 6, 9):
        number(sequence, 1000 - sequence)
    assert counts(intake)["sequence_gaps"] == 5  # 3 4 5 7 8
    number(4, 1000 - 4)
    number(4, 1000 - 4)
    assert counts(intake)["sequence_gaps"] == 4
    number(1, 900)  # the node has started again
    number(2, 899)
    assert counts(intake)["sequence_gaps"] == 4
    intake.writer.forget()  # as after a restart
    number(5, 898)
    assert counts(intake)["sequence_gaps"] == 6


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(intake, caplog):
    caplog.set_level("INFO")
    run = intake.journal.connection.execute
    (pages,) = run("PRAGMA page_count").fetchone()
    run(f"PRAGMA max_page_count = {pages}")
    many = [message(f"n{k}", k) for k in range(3000)]
    with pytest.raises(Busy, match="full"):
        intake.post(many)
    assert intake.health()["status"] == "degraded"
    assert counts(intake)["readings"]["stored"] == 0
    run("PRAGMA max_page_count = 1000000")
    assert intake.post(many)["stored"] == 3000
    assert intake.health()["status"] == "ok"
    assert [one.message[:29] for one in caplog.records] == [
        "the journal cannot be written",
        "the journal can be written ag",
    ]


def test_too_much_at_once_is_pressed_back(intake, monkeypatch):
    monkeypatch.setattr("fieldmend.live.intake.MOST_WAITING", 10)
    entered = threading.Event()
    with intake.journal.lock:
        other = threading.Thread(target=lambda: (entered.set(), intake.post([message()] * 9)))
        other.start()
        entered.wait()
        while not intake._waiting:
            pass
        with pytest.raises(Busy):
            intake.post([message(seconds=k) for k in range(5)])
    other.join()
    assert counts(intake)["readings"]["received"] == 9


def test_a_flood_of_names_is_no_network(tmp_path):
    live = site(tmp_path)
    live.slot(FITTED)
    now = live.clock.now()
    flood = [Reading(f"x{k}", "temperature", now, 1.0) for k in range(10_000)]
    live.take(flood)
    found = live.view.counts()
    assert found["rejected"] == {"new node": 10_000 - NEW_NODES}
    for row in range(FITTED + 1, FITTED + 3):
        live.slot(row)
    assert live.station.closed == record().times[FITTED + 3]
    live.close()


def test_a_disk_that_fills_while_slots_close_loses_nothing(tmp_path):
    live = site(tmp_path)
    for row in range(FITTED, FITTED + 5):
        live.slot(row)
    run = live.rows
    (pages,) = run("PRAGMA page_count").fetchone()
    live.clock.time = int(record().times[FITTED + 5])
    live.take(live.reads(FITTED + 5))
    (pages,) = run("PRAGMA page_count").fetchone()
    run(f"PRAGMA max_page_count = {pages}")
    closed = 0
    for minutes in range(6, 600, 5):  # until it is full
        live.clock.time = int(record().times[FITTED + 5]) + minutes * 60_000_000
        live.station.tick()
        if live.station.intake.health.status == "degraded":
            break
        closed += 1
    assert live.station.intake.health.status == "degraded"
    before = run("SELECT count(*) FROM slots").fetchone()[0]
    run("PRAGMA max_page_count = 1000000")
    live.station.tick()
    assert live.station.intake.health.status == "ok"
    after = [row[0] for row in run("SELECT slot FROM slots WHERE rev = 0 ORDER BY slot")]
    assert run("SELECT count(*) FROM slots").fetchone()[0] > before
    assert after == list(range(int(record().times[FITTED]), after[-1] + 1, live.station.slot))
    live.close()
