"""The command: what it refuses, what it shows, a stream from its beginning to its end."""

import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import duckdb
import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.errors import InputError
from fieldmend.live.clock import SetClock
from fieldmend.live.companions import Companions, Drifts
from fieldmend.live.following import Said
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.progress import Progress
from fieldmend.live.settings import MINUTE, Settings
from live_kills import until
from live_site import FITTED, NODES, model, record, site


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["http"], 2, "--state"),
        ([], 2, "one source"),
        (["a", "b", "--state", "x"], 2, "one source"),
        (["status"], 2, "one folder"),
        (["status", "nowhere"], 3, "no journal there"),
        (["http", "--state", "x", "--slot", "soon"], 3, "--slot"),
        (["http", "--state", "x", "--format", "xml"], 3, "zigbee2mqtt"),
        (["mqtt://u:p@h/x", "--check"], 3, "FIELDMEND_MQTT_PASSWORD"),
        (["http", "--state", "x", "--listen", "0.0.0.0:1"], 2, "--token-file"),
        (["ftp://h/x", "--state", "x", "--listen", "127.0.0.1:0"], 3, "no source"),
        (["http", "--state", "x", "--like", "a", "--model", "b"], 2, "not both"),
        (["nothere.csv", "--state", "x", "--listen", "127.0.0.1:0"], 3, "no such file"),
        (["mqtt://127.0.0.1:9/x", "--check"], 3, "no broker at 127.0.0.1:9"),
        (["http", "--state", "x", "--out", "postgresql://u:p@h/d"], 3, "PGPASSWORD"),
        (["http", "--state", "x", "--out", "postgresql://h/d?password=p"], 3, "PGPASSWORD"),
        (["http", "--state", "x", "--out", "ftp://h/x"], 3, "--out"),
    ],
)
def test_what_it_refuses(arguments, code, said, capsys, somewhere):
    assert main(["live", *arguments]) == code
    assert said in capsys.readouterr().err
    assert not list(somewhere.iterdir())  # nor does it leave a folder behind


def test_it_prints_what_mosquitto_should_be_told(capsys):
    assert main(["live", "--print-mosquitto-conf"]) == 0
    said = capsys.readouterr().out
    assert "persistence true" in said
    assert "max_queued_messages 0" in said


def test_check_shows_messages_as_read_and_stores_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(
        "node,time,t\nm1,2026-11-16T08:15:00Z,20.5\nm1,never,1\n"
        "m1,2138-01-19T03:14:07Z,1\nm1,1970-01-02T00:00:00Z,1\n"
    )
    assert main(["live", "a.csv", "--check"]) == 0
    said = capsys.readouterr().out
    assert "m1  t = 20.5  at 2026-11-16T08:15:00Z" in said
    assert "refused, no time" in said
    assert "refused, clock ahead: m1 t 2138-01-19T03:14:07Z" in said  # as when it runs
    assert "refused, clock not set: m1 t" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("source", ["-", "a.ndjson"])
def test_check_says_what_is_no_text(source, capsys, monkeypatch, somewhere):
    """Bytes that no text has are refused as they are when it runs: they do not end it."""
    data = b'{"node": "m1", "t": 20.5}\n\xff\xfe\x80 garbage\n{"node": "m2", "t": 3}\n'
    (somewhere / "a.ndjson").write_bytes(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    assert main(["live", source, "--check"]) == 0
    said = capsys.readouterr().out
    assert "refused, unreadable" in said
    assert "m2  t = 3" in said


def test_a_stream_with_an_end_is_closed_to_its_last_reading(tmp_path, capsys):
    """NDJSON in, all slots closed, then it ends by itself; recover takes its folder."""
    model().save(tmp_path / "model.npz")
    grid = record()
    rows = [
        {"node": node, "time": int(grid.times[row]) // 1000, "temperature": float(y)}
        for row in range(FITTED, FITTED + 20)
        for node, y in zip(grid.nodes, grid.values["temperature"][row], strict=True)
    ]
    command = [
        sys.executable, "-m", "fieldmend", "live", "-", "--state", str(tmp_path / "site"),
        "--model", str(tmp_path / "model.npz"), "--refit", "1000d", "--listen", "127.0.0.1:0",
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, rows))
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert main(["live", "status", str(tmp_path / "site"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["readings"]["stored"] == 20 * NODES
    assert found["slots"] == {"closed": 20, "settled": 14}
    assert found["pid"] is None
    assert main(["live", "status", str(tmp_path / "site")]) == 0
    assert "does not run" in capsys.readouterr().out
    out = str(tmp_path / "out")
    arguments = [str(tmp_path / "site"), "--slot", "5min", "--out", out, "--no-report", "--json"]
    assert main(["recover", *arguments, "--no-holdout"]) == 0
    capsys.readouterr()
    (table,) = (tmp_path / "out").glob("*.recovered.parquet")
    with duckdb.connect() as con:
        rows = con.execute("SELECT count(*) FROM read_parquet(?)", [str(table)]).fetchone()
    assert rows == (20 * NODES,)


def test_status_shows_what_was_refused_the_newest_first(tmp_path, capsys):
    with closing(Journal.open(tmp_path / "site", slot=300_000_000)) as journal:
        intake = Intake(journal, SetClock(1_790_000_000_000_000))
        assert main(["live", "status", str(tmp_path / "site")]) == 0
        assert "refused" not in capsys.readouterr().out
        for k in range(4):
            intake.post([{"node": f"m{k}", "temperature": "wet"}, {"temperature": k}])
    assert main(["live", "status", str(tmp_path / "site")]) == 0
    out = capsys.readouterr().out
    assert "refused   4 no node, 4 no number; the newest:\n" in out
    assert out.splitlines()[-3].endswith("no node: {'temperature': 3}")
    assert out.splitlines()[-2].endswith("no number: m3 temperature wet")


def test_a_stream_that_ends_has_moved_its_old_days(tmp_path):
    """It waits for the day that is being written: a process that ends beside it is killed by it."""
    rows = [
        {"node": f"m{k}", "time": f"2026-03-{1 + hour // 24:02}T{hour % 24:02}:00Z", "t": 20.0 + k}
        for hour in range(120)
        for k in range(3)
    ]
    command = [
        sys.executable, "-m", "fieldmend", "live", "-", "--state", str(tmp_path / "site"),
        "--keep", "2d", "--listen", "127.0.0.1:0",
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, rows))
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    days = sorted(path.name for path in (tmp_path / "site" / "days").glob("*.readings.parquet"))
    assert days == [f"2026-03-0{day}.readings.parquet" for day in (1, 2)]


def test_a_service_that_is_stopped_has_not_failed(tmp_path):
    """SIGTERM, as systemd sends it: exit 0, and one JSON object where that was asked for."""
    command = [
        sys.executable, "-m", "fieldmend", "live", "http", "--state", str(tmp_path / "site"),
        "--listen", "127.0.0.1:0", "--json",
    ]  # fmt: skip
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: _status(tmp_path / "site") == "ok")
    running.terminate()
    out, said = running.communicate(timeout=30)
    assert running.returncode == 0, said
    assert json.loads(out)["readings"]["received"] == 0
    assert not said


def _status(folder):
    from fieldmend.live.view import View

    try:
        return View(folder).counts()["status"]
    except (InputError, sqlite3.Error):
        return "not there yet"


def test_lengths_of_time_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="--window is too short"):
        Settings(window=MINUTE)
    with pytest.raises(InputError, match="--keep is shorter"):
        Settings(keep=MINUTE)
    assert Settings(slot=10_000_000).smoothed == 540


def test_progress_waits_for_a_backlog_and_not_for_the_slowest():
    progress = Progress(slot=5 * MINUTE, late=MINUTE)
    now = 10_000 * MINUTE
    progress.begin(now)
    assert progress.until(now) < 0  # what waited for us may come now
    old = {f"m{k}": 100 * MINUTE + k for k in range(20)}
    progress.note(old.items(), now)
    assert progress.until(now) == 100 * MINUTE + 1 - MINUTE  # two of twenty may be behind
    progress.note([("m19", 9_999 * MINUTE)], now)  # one clock is right, or wrong
    assert progress.until(now) == 100 * MINUTE + 1 - MINUTE
    later = now + 6_000_000
    assert progress.until(later) == later - MINUTE
    progress.note([(name, later) for name in old], later)
    assert progress.until(later) == later - MINUTE


def ten_nodes():
    """Three factors, ten nodes; companions of two days, and 300 slots after them."""
    rng = np.random.default_rng(2)
    common = np.cumsum(rng.normal(0, 0.3, (900, 3)), axis=0)
    X = common @ rng.normal(0, 1, (3, 10)) + rng.normal(0, 0.1, (900, 10))
    return X, Companions.fit(fm.Grid.of(X[:600], nodes="abcdefghij", condition="t"))


def hear(drifts, row, y, aside=frozenset()):
    nothing = np.full(10, np.nan)
    said = Said(y, y, nothing, nothing, np.ones(10, np.uint8))
    drifts.hear({"t": said}, tuple("abcdefghij"), row, {"t": 1}, set(aside))


def test_a_drift_is_found_by_companions_and_theirs_is_left_alone(tmp_path):
    X, companions = ten_nodes()
    path = tmp_path / "c.npz"
    companions.save(path)
    drifts = Drifts(Companions.load(path))
    Y = X[600:].copy()
    Y[100:, 4] += 0.05 * np.arange(200)
    seen: dict[int, int] = {}
    for row, y in enumerate(Y):
        hear(drifts, row, y, {node for node, at in seen.items() if at < row})
        for one in drifts.news():
            seen.setdefault(one.node, row)
    assert list(seen) == [5]
    assert 100 < seen[5] < 160
    assert not Companions.fit(fm.Grid.of(X[:300], condition="t")).parts  # a day is too little


def test_a_drift_that_shows_between_two_looks_is_told_and_opened_at_the_next(tmp_path):
    X, companions = ten_nodes()
    drifts, Y = Drifts(companions), X[600:].copy()
    Y[100:170, 4] += 0.05 * np.arange(70)  # catching up, it is looked at every 24 slots or more
    for row, y in enumerate(Y[:220]):
        hear(drifts, row, y)
    (one,) = drifts.news()
    assert one.node == 5
    assert one.times >= 2
    assert drifts.news() == []
    live = site(tmp_path)
    with live.station.journal.writing() as connection:
        live.station.episodes.see(connection, ("lasting",), [one], row, None)
    live.close()
    assert [key[1] for key in live.station.episodes.open] == [5]


def test_a_new_node_is_followed_by_its_own_readings_until_a_model_knows_it(tmp_path):
    live = site(tmp_path)
    from fieldmend.live.messages import Reading

    for row in range(FITTED, FITTED + 9):
        live.clock.time = int(record().times[row]) + MINUTE
        live.take([Reading("new", "temperature", live.clock.now(), 20.0 + row % 2)])
        live.slot(row)
    found = live.view.node("new")["conditions"]["temperature"]
    assert found["estimate"][0] is not None  # settled: by its own past and future
    assert found["rev"][0] == 1
    assert found["rev"][-1] == 0
    assert found["estimate"][-1] is None
    live.close()
