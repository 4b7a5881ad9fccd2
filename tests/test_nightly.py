"""Every night: the same job from a file of options, new days only, tables and a database."""

import fcntl
import json
import os
import re
import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.main import get_command

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.cli.app import app
from fieldmend.cli.config import load
from fieldmend.cli.nightly import needs_a_person
from fieldmend.export.appending import joined, last_slot
from fieldmend.export.database import newest, write_database
from fieldmend.export.staging import staged
from fieldmend.grid import stamp
from fieldmend.result.cropping import cropped
from postgresql import server

DAY, SLOT = 24, 3_600_000_000
START = 1_714_521_600_000_000  # 2024-05-01
FAST = ["--no-holdout", "--no-report"]


def readings(days, nodes=6, stuck=False, seed=4):
    """Hourly records of some days: the same days every time, whatever their number."""
    net = fm.simulate.network(DAY * 6, nodes, field="temperature", sampling=0.85, noise=0.05,
                              anomaly_rate=0.0, seed=seed)  # fmt: skip
    X = net.readings.copy()
    if stuck:
        X[DAY * 3 + 4 :, 1] = X[net.observed[:, 1]][DAY * 2, 1]
    lines = ["node,time,temperature [°C]"]
    for t, n in zip(*np.nonzero(net.observed[: DAY * days]), strict=True):
        lines.append(f"n{n},{stamp(START + SLOT * int(t))},{X[t, n]:.2f}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(readings(3))
    return tmp_path


def call(capsys, *arguments):
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def rows(table):
    return duckdb.sql(
        f"SELECT node, epoch_us(time) AS us, * EXCLUDE (node, time) FROM '{table}' ORDER BY ALL"
    ).fetchall()


# The file of options


def test_config_writes_what_recover_obeys(home, capsys):
    given = "--out results --missing -9999 --limits temperature=-40:60 --units temperature=degC"
    code, text, _ = call(capsys, "config", "data.csv", *given.split(), *FAST)
    assert code == 0
    assert 'slot = "1h"  # found: 6 nodes, temperature' in text
    Path("site.toml").write_text(text)
    Path("results").mkdir()
    code, out, err = call(capsys, "recover", "--config", "site.toml", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["grid"]["slot_seconds"] == 3600
    assert Path("results/data.recovered.parquet").exists()
    assert not Path("results/data.report.html").exists()
    assert summary["conditions"]["temperature"]["unit"] == "degC"
    # Written once more from itself, it says the same.
    _, again, _ = call(capsys, "config", "--config", "site.toml")
    told = [line for line in again.splitlines() if line and not line.startswith("#")]
    assert 'missing = ["-9999"]' in told
    assert 'limits = ["temperature=-40:60"]' in told


def test_every_option_is_in_the_file_and_is_taken_from_it(home, capsys):
    _, text, _ = call(capsys, "config", "data.csv")
    help_, _ = call(capsys, "recover", "--help")[1:]
    options = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", help_))
    known = {line.lstrip("# ").split(" = ")[0] for line in text.splitlines() if " = " in line}
    off = {"separate", "no-report", "no-holdout", "help", "config"}
    assert {o for o in options if o not in off} <= known | {"fieldmend"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('slott = "1h"', "no option 'slott'. Did you mean 'slot'?"),
        ('[reading]\nslto_value = "mean"', "Did you mean 'slot-value'?"),
        ('holdout = "no"', "holdout is true or false, not 'no'"),
        ("slot = [1]", "write a text or a number"),
        ("slot = ", "it is no TOML"),
        ('slot = "1h"\n[reading]\nslot = "2h"', "slot is there twice"),
        ('slot = "an hour"', "is no length of time"),
        ('replace = "everything"', "everything"),
        ('fail-on = "anything"', "anything"),
        ("level = 7", "level"),
    ],
)
def test_a_wrong_file_of_options_is_refused_by_name(home, capsys, text, said):
    Path("site.toml").write_text(f'files = ["data.csv"]\n{text}\n')
    code, out, err = call(capsys, "recover", "--config", "site.toml", *FAST)
    assert (code, out) == (2, "")
    assert said in err
    assert sorted(os.listdir()) == ["data.csv", "site.toml"]


def test_a_file_of_options_that_is_not_there(home, capsys):
    code, _, err = call(capsys, "recover", "--config", "sight.toml")
    assert code == 2
    assert "sight.toml: there is no such file" in err


def test_paths_are_from_where_the_file_lies_and_the_command_line_counts_first(home, capsys):
    Path("etc").mkdir()
    Path("etc/site.toml").write_text(
        'files = ["../data.csv"]\nout = ".."\nholdout = false\nreport = false\n'
        "[recovering]\nlimits = {temperature = [-40, 60]}\nseed = 3\n"
    )
    code, out, err = call(capsys, "recover", "--config", "etc/site.toml", "--seed", 5, "--json")
    assert code == 0, err
    assert Path("data.recovered.parquet").exists()
    params = get_command(app).commands["recover"].params
    found = load(Path("etc/site.toml"), params)
    assert found["files"] == ["etc/../data.csv"]
    assert found["limits"] == ["temperature=-40:60"]
    assert "--seed 5" in json.loads(out)["command"]


# New days


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_nights_add_up_to_the_whole(home, capsys, form):
    """After two more nights the table has every slot once, the old ones untouched."""
    job = ["recover", "data.csv", "--append", "--model", "site.npz", "--format", form, *FAST]
    table = f"data.recovered.{form}"
    assert call(capsys, *job)[0] == 0
    assert Path("site.npz").exists()
    first = rows(table)
    for days in (4, 5):
        Path("data.csv").write_text(readings(days))
        code, _, err = call(capsys, *job)
        assert code == 0, err
    last = rows(table)
    assert len(last) == len({row[:2] for row in last}) == DAY * 5 * 6
    cut = START + SLOT * (DAY * 3 - 1) - 86_400_000_000
    before = [row for row in first if row[1] < cut]
    assert before == [row for row in last if row[1] < cut]
    assert len(before) > 100
    observed = {row[:3] for row in last if row[2] is not None}
    code, _, _ = call(capsys, "recover", "data.csv", "--out", "whole", "--format", form, *FAST)
    whole = rows(f"whole/{table}")
    assert observed == {row[:3] for row in whole if row[2] is not None}
    assert code == 0


def test_since_gives_the_days_that_are_asked_for(home, capsys):
    code, out, _ = call(capsys, "recover", "data.csv", "--since", "2024-05-03", "--json", *FAST)
    assert code == 0
    assert json.loads(out)["grid"]["start"] == "2024-05-03T00:00:00Z"
    assert rows("data.recovered.parquet")[0][1] >= START + 2 * 86_400_000_000


def test_what_cannot_be_added_to_is_refused(home, capsys):
    code, _, err = call(capsys, "recover", "data.csv", "--append", "--dated", *FAST)
    assert (code, "choose" in err) == (2, True)
    code, _, err = call(capsys, "recover", "data.csv", "--append", "--format", "netcdf", *FAST)
    assert (code, "netCDF is not added to" in err) == (2, True)
    code, _, err = call(capsys, "recover", "data.csv", "--since", "yesterday", *FAST)
    assert (code, "--since" in err) == (2, True)
    Path("data.recovered.parquet").write_text("no table")
    code, _, err = call(capsys, "recover", "data.csv", "--append", *FAST)
    assert (code, "no table that can be added to" in err) == (2, True)
    assert Path("data.recovered.parquet").read_text() == "no table"


def test_a_new_condition_is_empty_in_the_old_rows(tmp_path):
    old, new, out = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c.parquet"
    when = "make_timestamptz(i * 3600000000)"
    duckdb.sql(f"COPY (SELECT 'a' AS node, {when} AS time, i AS t FROM range(4) r(i)) TO '{old}'")
    duckdb.sql(
        f"COPY (SELECT 'a' AS node, {when} AS time, i AS u FROM range(2, 6) r(i)) TO '{new}'"
    )
    assert last_slot(old) == 3 * SLOT
    joined(old, new, out, 2 * SLOT)
    found = duckdb.sql(f"SELECT t, u FROM '{out}'").fetchall()
    assert found == [(0, None), (1, None), (None, 2), (None, 3), (None, 4), (None, 5)]


def test_dated_files_carry_the_last_day(home, capsys):
    for days in (3, 4):
        Path("data.csv").write_text(readings(days))
        assert call(capsys, "recover", "data.csv", "--dated", *FAST)[0] == 0
    there = {path.name for path in home.glob("*.recovered.parquet")}
    assert there == {"data.2024-05-03.recovered.parquet", "data.2024-05-04.recovered.parquet"}


def test_the_end_of_a_result_keeps_its_episodes_and_states():
    net = fm.simulate.network(200, 5, field="temperature", anomaly_rate=0.0, noise=0.05, seed=2)
    X = net.readings.copy()
    X[120:, 3] = 60.0
    X[:150, 4] = np.nan
    rec = fm.recover(fm.Grid.of(X, condition="t"), holdout=False)
    end = cropped(rec, int(rec.grid.times[140]))
    assert type(end) is type(rec)
    assert end.grid.shape == (60, 5)
    np.testing.assert_array_equal(end["t"].filled, rec["t"].filled[140:])
    np.testing.assert_array_equal(end["t"].state, rec["t"].state[140:])
    assert {(e.node, e.kind) for e in end["t"].episodes} == {
        (e.node, e.kind) for e in rec["t"].episodes if e.stop > 140
    }
    assert all(0 <= e.start < e.stop <= 60 for e in end["t"].episodes)
    assert cropped(rec, 0) is rec


# Silence, exit codes, the lock


def test_a_quiet_night_says_nothing_and_a_stuck_node_is_told(home, capsys):
    job = ["recover", "data.csv", "--brief", "--force", "--fail-on", "attention", *FAST]
    assert call(capsys, *job) == (0, "", "")
    Path("data.csv").write_text(readings(6, stuck=True))
    code, out, _ = call(capsys, *job)
    assert code == 1
    assert "n1" in out
    assert "stuck" in out
    assert "How far off" not in out


def test_single_false_readings_need_nobody():
    night = {"warnings": [], "suspects": [], "conditions": {}, "look_first": [
        {"kind": "spike", "nodes": ["a"], "node": "a", "condition": "t", "explanation": "x",
         "start": "2024-05-01T00:00:00Z", "end": "2024-05-01T01:00:00Z"}]}  # fmt: skip
    assert needs_a_person(night) == []
    night["look_first"][0]["kind"] = "stuck"
    assert len(needs_a_person(night)) == 1
    night |= {"look_first": [], "warnings": ["the model fits no more"]}
    assert needs_a_person(night) == ["the model fits no more"]


def test_a_second_run_of_the_same_job_waits_for_another_time(home, capsys):
    Path("site.toml").write_text('files = ["data.csv"]\nholdout = false\nreport = false\n')
    with open("site.toml") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, _, err = call(capsys, "recover", "--config", "site.toml")
        assert code == 75
        assert "another run of this job is at work" in err
        assert sorted(os.listdir()) == ["data.csv", "site.toml"]
    assert call(capsys, "recover", "--config", "site.toml", "-q")[0] == 0


# All files of a run, or none


def test_files_of_a_run_appear_together(tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old")

    def fails(part):
        raise OSError(28, "No space left on device")

    def a_run():
        with staged({"one": one, "two": two}, force=True) as staging:
            staging.put(one, lambda part: part.write_text("new"))
            assert one.read_text() == "old"
            staging.put(two, fails)

    with pytest.raises(OSError, match="no space left"):
        a_run()
    assert one.read_text() == "old"
    assert os.listdir(tmp_path) == ["one.txt"]


# Databases


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        yield address


def episodes(address, table):
    if address.startswith("sqlite"):
        con = sqlite3.connect(address.removeprefix("sqlite:///"))
        found = con.execute(f"SELECT node, time, until FROM {table} ORDER BY 1, 2").fetchall()
        con.close()
        return found
    import psycopg

    with psycopg.connect(address) as con:
        text = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
        return con.execute(
            f"SELECT node, {text.format('time')}, {text.format('until')} FROM {table} ORDER BY 1, 2"
        ).fetchall()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_has_each_node_time_and_condition_once(kind, home, request):
    address = f"sqlite:///{home}/x.db" if kind == "sqlite" else request.getfixturevalue("postgres")
    Path("data.csv").write_text(readings(6, stuck=True))
    rec = fm.recover("data.csv", holdout=False)
    early = cropped(rec, 0)
    write_database(early, rec.summary(), address, "site")
    last = int(rec.grid.times[-1])
    assert newest(address, "site") == last
    before = episodes(address, "site_episodes")
    assert before
    # The last two days once more: replaced, not doubled, and the stuck node's episode is one.
    end = cropped(rec, last - 2 * 86_400_000_000)
    write_database(end, end.summary(), address, "site")
    assert episodes(address, "site_episodes") == before
    back = fm.read(f"{home}/x.db" if kind == "sqlite" else address, value="reading",
                   variable="condition",
                   query="SELECT node, time, condition, reading FROM site")  # fmt: skip
    np.testing.assert_array_equal(
        back.grid("1h").values["temperature"], rec["temperature"].observed
    )
    assert newest(address, "nothing") is None
    with pytest.raises(OSError, match="not one of ours"):
        write_database(end, end.summary(), address, "site_runs")


def test_a_database_that_refuses_keeps_what_it_had(home, monkeypatch):
    rec = fm.recover("data.csv", holdout=False)
    address = f"sqlite:///{home}/x.db"
    write_database(rec, rec.summary(), address)
    monkeypatch.setattr("fieldmend.export.database._run", lambda *_: (None,) * 8)  # NOT NULL
    with pytest.raises(OSError, match="the database says"):
        write_database(cropped(rec, START + SLOT * 60), rec.summary(), address)
    con = sqlite3.connect("x.db")
    assert con.execute("SELECT count(*) FROM recovered_runs").fetchone() == (1,)
    con.close()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--to", "mysql://x/y"], 2, "no database that is known"),
        (["--to", "sqlite:///x.db", "--to-table", "a; DROP TABLE b"], 2, "no name of a table"),
        (["--to", "sqlite:///nowhere/x.db"], 2, "there is no such folder"),
        (["--to", "postgresql://me:geheim@localhost:1/db"], 4, "the database says"),
    ],
)
def test_a_wrong_address_is_refused_without_its_password(home, capsys, arguments, code, said):
    if "postgresql" in arguments[1]:
        pytest.importorskip("psycopg")
    found, _, err = call(capsys, "recover", "data.csv", *arguments, *FAST)
    assert found == code
    assert said in err
    assert "geheim" not in err


def test_the_command_adds_new_days_to_a_database(home, capsys):
    job = ["recover", "data.csv", "--append", "--to", "sqlite:///x.db", "--model", "m.npz", *FAST]
    for days in (3, 4):
        Path("data.csv").write_text(readings(days))
        code, _, err = call(capsys, *job)
        assert code == 0, err
    con = sqlite3.connect("x.db")
    total = con.execute("SELECT count(*), count(DISTINCT time) FROM recovered").fetchone()
    con.close()
    assert total[1] == DAY * 4
    assert total[0] <= DAY * 4 * 6
