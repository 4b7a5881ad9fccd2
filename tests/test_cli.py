"""The command: what it prints, writes and returns."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import demo, main
from fieldmend.cli.help import spelt_out
from fieldmend.cli.source import Source

ANSI = re.compile(r"\x1b")
FILES = ["recovered.parquet", "anomalies.parquet", "rejects.csv", "report.html"]
# Child processes run in other folders: the package under test by its full path.
PACKAGE = str(Path(fm.__file__).parents[1])
CLEAN = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join([PACKAGE, os.environ.get("PYTHONPATH", "")]),
    "FIELDMEND_THREADS": "1",
}


def records(nodes=8, slots=80, spike=True, seed=0):
    """A small file of readings, one of them false, with a bad row and a duplicate."""
    net = fm.simulate.network(slots, nodes, rank=1, sampling=0.8, anomaly_rate=0.0, seed=seed)
    X = net.readings.copy()
    t = int(np.flatnonzero(net.observed[20:, 2])[0]) + 20
    if spike:
        X[t, 2] += 500
    lines = ["node,time,temperature"]
    for slot, node in zip(*np.nonzero(net.observed), strict=True):
        at = np.datetime64("2024-01-01T00:00") + np.timedelta64(int(slot) * 10, "m")
        lines.append(f"n{node},{at},{X[slot, node]:.3f}")
    lines += [lines[1], "n1,2024-01-01 00:00,warm"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def readings(tmp_path, monkeypatch):
    """readings.csv in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    Path("readings.csv").write_text(records())
    return Path("readings.csv")


@pytest.fixture
def run(capsys):
    """A function: arguments → exit code, stdout, stderr."""

    def call(*arguments):
        code = main([str(one) for one in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def python(*words, env=None, **options):
    """A process of its own: exit code, stdout, stderr."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=CLEAN | (env or {}),
        **options,
    )


def process(*arguments, **options):
    """The command in a process of its own."""
    return python("-m", "fieldmend", *arguments, **options)


def test_recover_writes_its_files_and_tells(readings, run):
    code, out, err = run("recover", readings)
    assert (code, err) == (0, "")
    assert sorted(p.name for p in Path.cwd().iterdir()) == sorted(
        ["readings.csv", *(f"readings.{name}" for name in FILES)]
    )
    read, used, twice, aside = (
        int(n) for n in re.search(r"(\d+) read = (\d+) used \+ (\d+) dup.* (\d+) set", out).groups()
    )
    assert read == used + twice + aside
    assert (twice, aside) == (1, 1)
    for said in (
        "set aside  1 number", "comma-separated, 3 columns", "8 nodes x 80 slots of 10 min",
        "Look first at\n  node n2, temperature, 1 Jan 2024", "straight line",
        "slot 10 min, found", "see why rows were set aside in readings.rejects.csv",
    ):  # fmt: skip
        assert said in out


def test_the_summary_fits_80_columns_without_escapes(readings, run):
    for command in ("recover", "inspect"):
        _, out, _ = run(command, readings)
        assert max(map(len, out.splitlines())) <= 80
        assert not ANSI.search(out)
        assert out.isascii()
        assert not any(line.endswith(" ") for line in out.splitlines())


def test_json_is_one_object_and_nothing_else(readings, run):
    code, out, err = run("recover", readings, "--json")
    summary = json.loads(out)
    assert (code, err) == (0, "")
    rows = summary["rows"]
    assert set(rows) == {"read", "used", "duplicates", "set_aside"}
    assert rows["read"] == rows["used"] + rows["duplicates"] + rows["set_aside"]
    assert rows["read"] == len(readings.read_text().splitlines()) - 1
    assert set(summary["conditions"]) == {"temperature"}
    assert set(summary["files"]) == {"recovered", "anomalies", "rejects", "report"}
    for path in summary["files"].values():
        assert Path(path).stat().st_size > 0
    condition = summary["conditions"]["temperature"]
    assert condition["flags"]["suspect"] >= 1
    assert condition["holdout"]["hidden"] > 0
    assert summary["command"] == "fieldmend recover readings.csv --json"
    assert summary["look_first"][0]["node"] == "n2"


def test_json_on_stdout_equals_the_library(readings, run):
    _, out, _ = run("recover", readings, "--json", "--slot", "20min", "--seed", "3")
    ours = fm.recover(str(readings), slot="20min", seed=3).summary()
    theirs = json.loads(out)
    assert theirs["conditions"] == ours["conditions"]
    assert theirs["grid"] == ours["grid"]


def test_quiet_says_nothing(readings, run):
    assert run("recover", readings, "--quiet", "--no-holdout") == (0, "", "")
    assert run("inspect", readings, "-q") == (0, "", "")


def test_no_report_and_formats(readings, run):
    formats = ("--format", "csv", "--format", "parquet")
    code, out, _ = run("recover", readings, "--no-report", "--no-holdout", "--json", *formats)
    files = json.loads(out)["files"]
    assert code == 0
    assert files == {
        "recovered": "readings.recovered.csv",
        "recovered_parquet": "readings.recovered.parquet",
        "anomalies": "readings.anomalies.parquet",
        "rejects": "readings.rejects.csv",
    }
    assert all(Path(path).exists() for path in files.values())


def test_netcdf(readings, run):
    xarray = pytest.importorskip("xarray")
    code, out, _ = run(
        "recover", readings, "--format", "netcdf", "--no-report", "--no-holdout", "--json"
    )
    assert code == 0
    path = json.loads(out)["files"]["recovered"]
    assert path == "readings.recovered.nc"
    with xarray.open_dataset(path) as data:
        assert "temperature_flag" in data


def test_out_is_made_and_existing_files_are_kept_without_force(readings, run):
    forced = ("recover", readings, "--out", "results", "--force", "-q", "--no-holdout")
    assert run(*forced)[0] == 0
    before = {p: p.read_bytes() for p in Path("results").iterdir()}
    assert {p.name for p in before} == {f"readings.{name}" for name in FILES}
    code, out, err = run("recover", readings, "--out", "results")
    assert (code, out) == (2, "")
    assert "is there already" in err
    assert "--force" in err
    assert run(*forced)[0] == 0
    assert {p: p.read_bytes() for p in Path("results").iterdir()} == before


def test_fail_on_suspect(readings, run):
    assert run("recover", readings, "--fail-on", "suspect", "-q", "--no-holdout")[0] == 1
    assert Path("readings.report.html").exists()
    Path("quiet.csv").write_text(records(spike=False))
    limits = ("--limits", "temperature=-1000:1000", "--fail-on", "suspect")
    code, out, _ = run("recover", "quiet.csv", "--json", "--no-holdout", *limits)
    flags = json.loads(out)["conditions"]["temperature"]["flags"]
    assert code == (1 if flags["suspect"] else 0)


def test_limits_fail_what_lies_beyond(readings, run):
    code, out, _ = run(
        "recover", readings, "--json", "--no-holdout", "--limits", "temperature=:300"
    )
    assert json.loads(out)["conditions"]["temperature"]["flags"]["fail"] == 1
    assert code == 0


def test_no_holdout_and_method(readings, run):
    _, out, _ = run("recover", readings, "--json", "--no-holdout", "--method", "mc")
    condition = json.loads(out)["conditions"]["temperature"]
    assert (condition["holdout"], condition["method"]) == (None, "mc")


@pytest.mark.parametrize(
    "words",
    [
        ["--missing", "-9999", "85"],
        ["--missing=-9999", "--missing=85"],
        ["--missing=-9999", "--missing", "85"],
    ],
    ids=" ".join,
)
def test_missing_takes_several_values(tmp_path, run, words):
    file = tmp_path / "codes.csv"
    rows = [f"n{n},2024-01-01 0{t}:00,{20 + n + t}" for n in range(3) for t in range(9)]
    file.write_text("\n".join(["node,time,v", *rows, "n0,2024-01-01 09:00,-9999",
                               "n1,2024-01-01 09:00,85"]) + "\n")  # fmt: skip
    for order in ([*words, file], [file, *words]):
        code, out, err = run("inspect", *order, "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)["conditions"]["v"]
        assert found["readings"] == 27
        assert found["range"] == [20.0, 30.0]


def test_words_after_missing_are_files_unless_numbers():
    assert spelt_out(["--missing", "ERR", "-5", "1e3", "a.csv", "7"]) == [
        "--missing=ERR", "--missing=-5", "--missing=1e3", "a.csv", "7",
    ]  # fmt: skip
    assert spelt_out(["--missing"]) == ["--missing"]


def test_inspect_says_what_is_there(readings, run):
    before = sorted(Path.cwd().iterdir())
    code, out, err = run("inspect", readings)
    assert (code, err) == (0, "")
    assert sorted(Path.cwd().iterdir()) == before
    for said in (
        "8 nodes x 80 slots of 10 min", "time time; node node; readings temperature",
        "median gap", "worst nodes", "Singular values",
        "readings.csv, line", "is no number", "fieldmend recover readings.csv",
    ):  # fmt: skip
        assert said in out


def test_inspect_json_agrees_with_the_grid(readings, run):
    _, out, _ = run("inspect", readings, "--json")
    found = json.loads(out)
    X = fm.read(str(readings)).grid().values["temperature"]
    one = found["conditions"]["temperature"]
    lost = np.isnan(X).mean(axis=0)
    assert one["readings"] == np.count_nonzero(~np.isnan(X))
    assert one["loss"]["most"] == pytest.approx(lost.max())
    assert one["worst_nodes"][0]["loss"] == pytest.approx(lost.max())
    assert one["gaps"]["longest_slots"] == fm.diagnostics.gap_lengths(~np.isnan(X)).max()
    assert one["singular_values"]["of"] == 8


def test_demo(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    code, out, _ = run("demo")
    assert code == 0
    made = {p.name for p in Path("fieldmend-demo").iterdir()}
    assert made == {"demo.csv", *(f"demo.{name}" for name in FILES)}
    # What needs a visit comes first: the dead, the stuck and the drifting node of `cli.demo`.
    look = out.split("Look first at")[1]
    places = [look.index(f"node {node}, temperature") for node in ("n30", "n18", "n07")]
    assert places == sorted(places)
    assert look.count("node n", 0, places[-1]) == 2
    assert opened == []  # no terminal, no browser


def test_the_demo_again_is_the_same_and_takes_no_folder_that_is_not_its_own(
    tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "SLOTS", 200)
    assert run("demo")[0] == 0
    first = {p.name: p.read_bytes() for p in Path("fieldmend-demo").iterdir()}
    assert run("demo")[0] == 0
    assert {p.name: p.read_bytes() for p in Path("fieldmend-demo").iterdir()} == first
    Path("mine").mkdir()
    Path("mine/demo.csv").write_text("precious")
    assert run("demo", "--out", "mine")[0] == 2
    assert Path("mine/demo.csv").read_text() == "precious"


def test_standard_input(readings):
    done = process(
        "recover", "-", "--json", "--no-holdout", "--no-report", input=readings.read_text()
    )
    assert done.returncode == 0
    files = json.loads(done.stdout)["files"]
    assert files["recovered"] == "stdin.recovered.parquet"
    assert Path(files["recovered"]).exists()


@pytest.mark.long
def test_the_same_bytes_whatever_the_locale(readings):
    folders = {}
    for name, more in {
        "plain": {"LANG": "C.UTF-8"},
        "C": {"LC_ALL": "C"},
        "far": {"TZ": "Asia/Kathmandu", "LANG": "tr_TR.UTF-8"},
        "homeless": {"HOME": "/nonexistent", "PYTHONHASHSEED": "7"},
    }.items():
        Path(name).mkdir()
        (Path(name) / "readings.csv").write_bytes(readings.read_bytes())
        done = process("recover", "readings.csv", cwd=name, env=more)
        assert (done.returncode, done.stderr) == (0, "")
        folders[name] = (done.stdout, {p.name: p.read_bytes() for p in Path(name).iterdir()})
    assert all(found == folders["plain"] for found in folders.values())


def test_killed_while_it_writes_leaves_no_output(readings, run):
    code = (
        "import os, signal\n"
        "os.replace = os.rename = os.link = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from fieldmend.cli import main\n"
        "main(['recover', 'readings.csv', '--no-holdout', '--out', 'out'])\n"
    )
    done = python("-c", code)
    assert done.returncode == -signal.SIGKILL
    assert not [p for p in Path("out").iterdir() if p.name in {f"readings.{f}" for f in FILES}]
    for folder in ("out", "again"):
        assert run("recover", "readings.csv", "--no-holdout", "--out", folder)[0] == 0
    for name in FILES[:3]:
        first, second = (Path(f) / f"readings.{name}" for f in ("out", "again"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_by_a_signal(tmp_path, number, expected):
    tmp = tmp_path / "temporary"
    tmp.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "fieldmend", "recover", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        env=CLEAN | {"TMPDIR": str(tmp)},
    ) as running:  # fmt: skip
        for _ in range(600):  # until it waits for the readings
            if list(tmp.glob("*/*.tmp")):
                break
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait(timeout=30) == expected
        said = running.stderr.read().decode()
    assert "Traceback" not in said
    assert said.count("\n") <= 1
    assert list(tmp.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(readings):
    shell = f"{sys.executable} -m fieldmend inspect readings.csv | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, check=True, env=CLEAN
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "0"


def test_a_terminal_gets_colours_and_bars_unless_no_color(readings):
    import pty

    def on_a_terminal(**env):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "fieldmend", "recover", "readings.csv", "--force",
             "--no-holdout", "--no-report"],
            stdout=theirs, stderr=theirs, env=CLEAN | {"TERM": "xterm-256color", **env},
        ) as running:  # fmt: skip
            os.close(theirs)
            said = b""
            with suppress(OSError):  # how Linux says that the other end was closed
                while more := os.read(ours, 65536):
                    said += more
            os.close(ours)
            assert running.wait(timeout=60) == 0
        return said.decode()

    coloured = on_a_terminal()
    assert "rows/s" in coloured
    assert "readings/s" in coloured
    assert "\x1b[33m" in coloured  # yellow: a suspect
    plain = on_a_terminal(NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain)


def test_hostile_names_are_shown_escaped(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = "\x1b[31mred\x07"
    Path("evil.csv").write_text(records().replace("n2,", f"{evil},"))
    quick = ("--no-holdout", "--force")
    for command, options in (("recover", quick), ("inspect", ())):
        _, out, _ = run(command, "evil.csv", *options)
        assert not ANSI.search(out)
        assert "\x07" not in out
        assert r"\x1b[31mred\x07" in out
    _, out, _ = run("recover", "evil.csv", "--json", *quick)
    assert json.loads(out)["look_first"][0]["node"] == evil
    assert not ANSI.search(out)


@pytest.mark.parametrize(
    ("file", "name"),
    [("a/b/lab.txt.gz", "lab"), ("lab.v2.csv", "lab.v2"), ("-", "stdin"), ("../..", "fieldmend"),
     ("a\nb.csv", "a_b"), ("-rf", "rf"), (".csv", "fieldmend"), ("LAB.CSV", "LAB"),
     ("postgresql://u:p@h/d", "query")],
)  # fmt: skip
def test_outputs_are_named_after_the_first_file(file, name):
    assert Source([file, "other.csv"], None, "mean", {}).name == name


def test_version_and_help(run):
    assert run("--version") == (0, f"fieldmend {fm.__version__}\n", "")
    code, out, _ = run("--help")
    assert code == 0
    assert all(word in out for word in ("recover", "inspect", "demo", "Exit codes"))
    assert run()[0] == 2
    for command in ("recover", "inspect", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"fieldmend {command}" in out.split("Examples")[1]


def test_help_needs_no_numbers():
    code = (
        "import sys; from fieldmend.cli import main; main(['recover', '--help']); "
        "print([m for m in ('numpy', 'scipy', 'duckdb', 'plotly') if m in sys.modules])"
    )
    done = python("-c", code)
    assert done.stdout.endswith("[]\n")


def test_completion():
    env = {"_FIELDMEND_COMPLETE": "complete_bash", "COMP_WORDS": "fieldmend re",
           "COMP_CWORD": "1"}  # fmt: skip
    assert process(env=env).stdout.split() == ["recover"]
    env |= {"COMP_WORDS": "fieldmend recover --sl", "COMP_CWORD": "2"}
    assert process(env=env).stdout.split() == ["--slot", "--slot-value"]
    # The shell is named: a test may run where none is above it.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = process("--show-completion", "bash", env=named)
    assert "_FIELDMEND_COMPLETE=complete_bash" in shown.stdout


def test_the_real_thing(real, tmp_path, run):
    file = real("intellab_mar04_08.txt.gz")
    code, out, err = run(
        "recover", file, "--locations", real("intellab_mote_locs.txt"), "--slot", "30min",
        "--condition", "temperature", "--out", tmp_path, "--no-report", "--no-holdout", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["rows"]["read"] == 476_518
    assert summary["grid"]["nodes"] == 52
    assert summary["grid"]["places"] == 52
    assert summary["files"]["recovered"].endswith("intellab_mar04_08.recovered.parquet")


@pytest.mark.parametrize(
    "command", [["inspect"], ["evaluate", "--runs", "1", "--method", "mc", "--no-peers"]]
)
def test_units_are_said_to_every_command_that_reads(readings, run, command):
    code, out, _ = run(
        command[0], "readings.csv", "--units", "temperature=K", "--json", *command[1:]
    )
    assert code == 0
    found = json.loads(out)
    units = found.get("units") or {n: one["unit"] for n, one in found["conditions"].items()}
    assert units == {"temperature": "K"}
    code, _, err = run(command[0], "readings.csv", "--units", "heat=K", *command[1:])
    assert (code, "Conditions: temperature" in err) == (3, True)
