"""What goes out: at least once and always the same; old days into Parquet; a folder recovered."""

import json
import sqlite3
import stat
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import duckdb
import numpy as np
import pytest

import fieldmend as fm
import postgresql
from fieldmend.errors import InputError
from fieldmend.live.journal import FILE, Journal, read_only
from fieldmend.live.keeping import Keeper, move_old_days
from fieldmend.live.lock import Lock, holder
from fieldmend.live.outbox import Sender
from fieldmend.live.settings import DAY
from fieldmend.live.targets.postgres import Tables
from fieldmend.live.targets.target import Unsent
from fieldmend.live.targets.webhook import Webhook
from live_site import FITTED, NODES, record, site


class Memory:
    """A target that fails when it is told to."""

    name, rows = "memory", True

    def __init__(self):
        self.got, self.alerts, self.fails = [], [], 0

    def send(self, rows, alerts):
        self.got += [json.dumps(row) for row in rows]  # what arrived before it broke
        self.alerts += alerts
        if self.fails:
            self.fails -= 1
            raise Unsent("broken")

    def status(self, said):
        self.said = said

    def close(self):
        pass


@pytest.fixture
def live(tmp_path):
    one = site(tmp_path / "site")
    yield one
    one.close()


def test_each_row_goes_out_at_least_once_and_is_always_the_same(live):
    target = Memory()
    sender = Sender(live.station.journal, target)
    with live.station.journal.writing() as connection:
        connection.execute("INSERT INTO sent VALUES ('memory', 0, 0)")
    for row in range(FITTED, FITTED + 10):
        live.slot(row)
    target.fails = 2
    with closing(read_only(live.station.journal.folder)) as connection:
        for _ in range(2):
            with pytest.raises(Unsent, match="broken"):
                sender.flush(connection)
        while sender.flush(connection):
            pass
        assert not sender.flush(connection)
    by = {}
    for text in target.got:
        row = json.loads(text)
        by.setdefault((row["node"], row["condition"], row["slot"], row["rev"]), set()).add(text)
    assert len(target.got) > len(by)  # some came twice
    assert len(by) == NODES * (10 + 4)
    assert all(len(texts) == 1 for texts in by.values())
    row = json.loads(target.got[0])
    assert list(row) == [
        "network", "node", "condition", "slot", "rev", "observed", "estimate", "lower", "upper",
        "flag", "model",
    ]  # fmt: skip
    assert live.view.counts()["outbox"] == 0


def test_a_thread_sends_and_ends(live):
    target = Memory()
    sender = Sender(live.station.journal, target)
    sender.start()
    live.slot(FITTED)
    sender.wake()
    sender.stop()
    assert len(target.got) == NODES
    assert target.said["nodes"] == NODES


def test_alerts_are_posted_and_their_address_is_shown_nowhere(tmp_path, live):
    got, answers = [], [500, 200, 200]

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0))
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "hook.txt"
    file.write_text(f"http://127.0.0.1:{server.server_port}/secret\n")
    hook = Webhook(file)
    alert = {"id": 1, "state": "open", "node": "m1"}
    with pytest.raises(Unsent) as failed:
        hook.send([], [alert])
    hook.send([], [alert])
    assert got == [alert, alert]
    assert "secret" not in str(failed.value) + hook.name
    server.shutdown()
    server.server_close()
    file.write_text("ftp://x")
    with pytest.raises(InputError, match="no http address"):
        Webhook(file)


def test_old_days_move_into_parquet_and_a_folder_is_recovered_with_them(live, tmp_path):
    for row in range(FITTED, FITTED + 300):
        live.clock.time = int(record().times[row])
        live.take(live.reads(row))
    live.end(FITTED + 299)
    while live.station.tick():
        pass
    before = fm.read(str(tmp_path / "site")).grid("5min")
    stop = int(record().times[FITTED + 290])
    assert move_old_days(live.station.journal, stop) == 1
    days = sorted(path.name for path in (tmp_path / "site" / "days").iterdir())
    assert days == ["2026-03-02.parquet", "2026-03-02.readings.parquet"]
    rows = duckdb.read_parquet(str(tmp_path / "site" / "days" / days[0]))
    assert set(rows.columns) >= {"node", "condition", "slot", "rev", "observed", "estimate", "flag"}
    kept = live.rows("SELECT min(time), count(*) FROM readings").fetchone()
    assert kept[0] >= record().times[FITTED] // DAY * DAY + DAY
    assert kept[1] < 300 * NODES
    after = fm.read(str(tmp_path / "site")).grid("5min")
    assert after.nodes == before.nodes
    assert after.units == {"temperature": "degC"}
    np.testing.assert_array_equal(after.times, before.times)
    np.testing.assert_array_equal(after.values["temperature"], before.values["temperature"])
    inside = np.isin(record().times, after.times)
    columns = [record().nodes.index(name) for name in after.nodes]
    truth = record().values["temperature"][inside][:, columns]
    np.testing.assert_allclose(after.values["temperature"], truth, rtol=1e-12)


def test_what_comes_of_a_day_that_was_moved_joins_it(live, tmp_path):
    """A gateway that was away for weeks: its readings are added, those that are there stay."""
    for row in range(FITTED, FITTED + 300):
        live.clock.time = int(record().times[row])
        live.take(live.reads(row))
    live.end(FITTED + 299)
    while live.station.tick():
        pass
    journal, stop = live.station.journal, int(record().times[FITTED + 290])
    assert move_old_days(journal, stop) == 1
    readings = tmp_path / "site" / "days" / "2026-03-02.readings.parquet"
    clean = tmp_path / "site" / "days" / "2026-03-02.parquet"
    ask = "SELECT count(*), count(DISTINCT (node, time, variable)) FROM read_parquet(?)"
    with duckdb.connect() as con:
        before = con.execute(ask, [str(readings)]).fetchone()
        said = con.execute("SELECT count(*) FROM read_parquet(?)", [str(clean)]).fetchone()
        repeats = live.reads(FITTED)
        late = [one._replace(time=one.time + 1) for one in repeats]
        live.take(repeats + late)
        assert move_old_days(journal, stop) == 1
        after = con.execute(ask, [str(readings)]).fetchone()
        assert after == (before[0] + len(late), before[1] + len(late))
        assert con.execute("SELECT count(*) FROM read_parquet(?)", [str(clean)]).fetchone() == said
    for file in (readings, clean):  # as the journal
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_days_stay_while_the_disk_is_full_and_are_tried_again(live, monkeypatch, caplog):
    """A thread that died of it would never try again, and tell nobody."""
    from fieldmend.live import keeping

    def full(*given):
        raise sqlite3.OperationalError("database or disk is full")

    live.slot(FITTED)
    keeper = Keeper(live.station, keep=0)
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "move_old_days", full)
        keeper.look(live.clock.now())
        keeper.end(whole=True)
    assert "old days stay in the journal: database or disk is full" in caplog.text
    keeper.look_again(live.clock.now())
    keeper.end(whole=True)


def test_a_reading_that_comes_while_its_day_is_moved_is_not_forgotten(live, monkeypatch):
    from fieldmend.live import keeping

    for row in range(FITTED, FITTED + 300):
        live.clock.time = int(record().times[row])
        live.take(live.reads(row))
    live.end(FITTED + 299)
    while live.station.tick():
        pass
    late = [one._replace(time=one.time + 1) for one in live.reads(FITTED)]
    write = keeping._write_clean

    def meanwhile(*given):
        write(*given)
        live.take(late)

    monkeypatch.setattr(keeping, "_write_clean", meanwhile)
    stop = int(record().times[FITTED + 290])
    assert move_old_days(live.station.journal, stop) == 0
    kept = {time for (time,) in live.rows("SELECT time FROM readings")}
    assert {one.time for one in late} <= kept
    monkeypatch.undo()
    assert move_old_days(live.station.journal, stop) == 1


def test_days_stay_while_a_model_is_fitted_to_them(monkeypatch):
    from types import SimpleNamespace

    from fieldmend.live import keeping

    moved = []
    monkeypatch.setattr(keeping, "move_old_days", lambda _, before, __: moved.append(before))
    one = SimpleNamespace(models=SimpleNamespace(fitting=True), closed=9 * DAY, journal=None)
    keeper = Keeper(one, 2 * DAY)
    keeper.look(9 * DAY)
    assert keeper.thread is None
    one.models.fitting = False
    keeper.look(9 * DAY)
    keeper.thread.join()
    assert moved == [7 * DAY]


def test_a_day_that_was_not_sent_stays(live):
    with live.station.journal.writing() as connection:
        connection.execute("INSERT INTO sent VALUES ('slow', 0, 0)")
    for row in range(FITTED, FITTED + 10):
        live.slot(row)
    assert move_old_days(live.station.journal, live.clock.now() + 9 * DAY) == 0


def test_a_second_instance_is_refused_with_the_pid_of_the_first(tmp_path):
    import os

    first = Lock(tmp_path)
    with pytest.raises(InputError, match=f"pid {os.getpid()}"):
        Lock(tmp_path)
    assert holder(tmp_path) == os.getpid()
    first.release()
    assert holder(tmp_path) is None
    Lock(tmp_path).release()


def test_a_journal_is_for_its_owner_and_for_slots_of_one_length(tmp_path):
    Journal.open(tmp_path, slot=300_000_000).close()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    with pytest.raises(InputError, match="300 s long, not 60 s"):
        Journal.open(tmp_path, slot=60_000_000)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE).write_text("no database at all, but some text")
    with pytest.raises(InputError, match="no journal"):
        Journal.open(tmp_path / "other", slot=1)


def test_clean_rows_and_alerts_go_into_tables_once():
    psycopg = pytest.importorskip("psycopg")
    row = {
        "network": "site", "node": "m1", "condition": "t", "slot": "2026-11-16T08:15:00Z", "rev": 0,
        "observed": None, "estimate": 20.5, "lower": 20.0, "upper": 21.0, "flag": 9, "model": None,
    }  # fmt: skip
    alert = {
        "id": 1, "state": "open", "node": "m1", "condition": "t", "kind": "stuck",
        "since": "2026-11-16T08:15:00Z", "text": "look",
    }  # fmt: skip
    with pytest.raises(InputError, match="PGPASSWORD"):
        Tables("postgresql://u:secret@h/d", "site")
    with postgresql.server() as address:
        target = Tables(address.replace(":secret", ""), "site")
        target.send([row], [alert])
        anew = alert | {"since": "2026-11-17T08:15:00Z"}  # of a state that was begun anew
        target.send([row | {"rev": 1}, row], [alert, anew])
        target.close()
        with psycopg.connect(address, client_encoding="utf8") as con:
            found = con.execute("SELECT node, rev, observed, estimate, flag FROM fieldmend_clean")
            assert found.fetchall() == [("m1", 0, None, 20.5, 9), ("m1", 1, None, 20.5, 9)]
            said = con.execute("SELECT kind, said ->> 'text' FROM fieldmend_alert").fetchall()
            assert said == [("stuck", "look")] * 2
