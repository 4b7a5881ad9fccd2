"""Bad input and bad usage, and what the command makes of it: exit code, one plain line, no files."""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fieldmend.cli import main

HEAD = "node,time,temperature\n"
GOOD = HEAD + "".join(
    f"n{n},2024-01-01 {t:02d}:00,{20 + n + t % 5}\n" for n in range(4) for t in range(12)
)


@dataclass(frozen=True)
class Case:
    name: str
    code: int
    says: str
    arguments: tuple[str, ...]
    files: dict[str, str | bytes] = field(default_factory=dict)


def case(name, code, says, *arguments, **files):
    return Case(name, code, says, arguments, {k.replace("_", "."): v for k, v in files.items()})


USAGE = [
    case("no file", 2, "FILE", "recover"),
    case("unknown command", 2, "No such command 'mend'", "mend"),
    case("unknown option", 2, "No such option: --solt", "recover", "x.csv", "--solt", "5min"),
    case("slot of nothing", 2, "is no length of time", "recover", "x.csv", "--slot", "soon"),
    case("slot of zero", 2, "is no length of time", "inspect", "x.csv", "--slot", "0"),
    case("unknown slot value", 2, "--slot-value", "recover", "x.csv", "--slot-value", "most"),
    case("unknown zone", 2, "there is no time zone 'Europe/Berln'; there is Europe/Berlin",
         "recover", "x.csv", "--tz", "Europe/Berln"),
    case("a zone that is a path", 2, "there is no time zone", "recover", "x.csv", "--tz", "../etc/passwd"),
    case("unknown method", 2, "method 'magic' cannot recover. Use ls", "recover", "x.csv", "--method", "magic"),
    case("a method that needs the truth", 2, "method 'oracle' cannot recover", "recover", "x.csv", "--method", "oracle"),
    case("limits without a name", 2, "NAME=LOW:HIGH", "recover", "x.csv", "--limits", "-40:60"),
    case("limits that are no numbers", 2, "NAME=LOW:HIGH", "recover", "x.csv", "--limits", "temperature=cold:warm"),
    case("limits the wrong way round", 2, "60 is above -40", "recover", "x.csv", "--limits", "temperature=60:-40"),
    case("limits that are NaN", 2, "are no numbers", "recover", "x.csv", "--limits", "temperature=nan:nan"),
    case("level over one", 2, "--level", "recover", "x.csv", "--level", "90"),
    case("unknown format", 2, "--format", "recover", "x.csv", "--format", "xlsx"),
    case("unknown ambiguity", 2, "--ambiguous", "recover", "x.csv", "--ambiguous", "maybe"),
    case("unknown duplicate rule", 2, "--on-duplicate", "recover", "x.csv", "--on-duplicate", "most"),
    case("fail on what", 2, "--fail-on", "recover", "x.csv", "--fail-on", "weather"),
    case("an origin without a unit", 2, "--origin needs --time-unit", "recover", "x.csv", "--origin", "2024-01-01"),
    case("a unit of time that is none", 2, "--time-unit", "recover", "x.csv", "--time-unit", "fortnight"),
    case("a start that is no moment", 2, "is no moment", "recover", "x.csv", "--start", "soon"),
    case("an offset that is none", 2, "no offset", "recover", "x.csv", "--tz", "BST=London"),
    case("negative seed", 2, "--seed", "recover", "x.csv", "--seed", "-1"),
    case("an output that is there", 2, "x.report.html: is there already",
         "recover", "x.csv", x_report_html="mine"),
    case("an output that is an input", 2, "x.rejects.csv: it is an input",
         "recover", "x.csv", "x.rejects.csv", "--force", x_rejects_csv=GOOD),
]  # fmt: skip

INPUT = [
    case("no such file", 3, "redings.csv: there is no such file. Look at its name; there is readings.csv",
         "recover", "redings.csv", readings_csv=GOOD),
    case("no such folder", 3, "Its folder is not there either", "recover", "there/x.csv"),
    case("no such file among several", 3, "y.csv: there is no such file", "recover", "x.csv", "y.csv"),
    case("no such locations", 3, "nodes.csv: there is no such file", "recover", "x.csv", "--locations", "nodes.csv"),
    case("a pattern of nothing", 3, "no*.csv: there is no such file", "recover", "no*.csv"),
    case("a query that is none", 3, "a query is one SELECT", "recover", "x.csv", "--query", "DROP TABLE input"),
    case("a condition of rows that is none", 3, "zzz", "inspect", "x.csv", "--where", "zzz > 1"),
    case("a zone of several meanings", 3, "BST means several zones", "inspect", "bst.csv",
         bst_csv=HEAD + "a,2024-07-01 12:00 BST,1\n"),
    case("twenty sensors in one", 3, "--on-duplicate mean", "recover", "s.csv",
         s_csv="time,temperature\n" + "".join(f"2024-01-01 0{t}:00,{n + t}\n" for t in range(9) for n in range(20))),
    case("a node to be asked for", 3, "--node k", "recover", "s.csv",
         s_csv="time,k,temperature\n" + "".join(f"2024-01-01 {t // 4:02d}:{t % 4}{t % 4}:00,{t % 4},{t % 4 * 9 + 0.5}\n" for t in range(60))),
    case("a device", 3, "it is a device", "inspect", "/dev/zero"),
    case("more columns than there are", 3, "columns= names 9", "inspect", "x.csv", "--columns", "a,b,c,d,e,f,g,h,i"),
    case("no row in a stretch of time", 3, "no row lies between start and end", "inspect", "x.csv", "--start", "2030-01-01"),
    case("nothing is fetched", 3, "http://localhost/x.csv: there is no such file", "recover", "http://localhost/x.csv"),
    case("a bucket is a name", 3, "s3://bucket/x.csv: there is no such file", "inspect", "s3://bucket/x.csv"),
    case("a name with a NUL", 3, r"x\x00.csv: there is no such file", "recover", "x\0.csv"),
    case("a name too long", 3, "there is no such file", "recover", "x" * 5000),
    case("a name with escapes", 3, r"\x1b[2J.csv: there is no such file", "recover", "\x1b[2J.csv"),
    case("an empty name", 3, "", "recover", ""),
    case("empty file", 3, "empty.csv: no records", "recover", "empty.csv", empty_csv=""),
    case("header only", 3, "no records", "inspect", "head.csv", head_csv=HEAD),
    case("all missing", 3, "all readings are missing", "recover", "x.csv", "--condition", "temperature",
         x_csv=HEAD + "a,2024-01-01,\n"),
    case("not text", 3, "not text", "recover", "b.csv", b_csv=bytes(range(256)) * 40 + b"\0" * 9000),
    case("a damaged archive", 3, "cut.csv.gz", "recover", "cut.csv.gz", cut_csv_gz=b"\x1f\x8b\x08\0\0\0\0\0\0\xff"),
    case("a column that is not there", 3, "sensor", "recover", "x.csv", "--node", "sensor"),
    case("a condition that is not there", 3, "humidity", "recover", "x.csv", "--condition", "humidity"),
    case("limits of what is not there", 3, "limits for 'humidity', which is not there. Conditions: temperature",
         "recover", "x.csv", "--limits", "humidity=0:100"),
    case("a local time that comes twice", 3, "--ambiguous", "recover", "dst.csv", "--tz", "Europe/Berlin",
         dst_csv=HEAD + "a,2024-10-27 02:30,20.5\nb,2024-10-27 04:30,20.5\n"),
    case("duplicates that differ, refused", 3, "dup.csv", "recover", "dup.csv", "--on-duplicate", "error",
         dup_csv=HEAD + "a,2024-01-01 00:00,1\na,2024-01-01 00:00,2\nb,2024-01-01 00:00,2\n"),
]  # fmt: skip

FOLDERS = [
    case("an output folder with no parent", 2, "--out there/results: there is no folder there", "recover", "x.csv", "--out", "there/results"),
    case("an output folder that is a file", 2, "--out x.csv: it is no folder", "recover", "x.csv", "--out", "x.csv"),
    case("an output folder in a file", 2, "--out x.csv/results: there is no folder x.csv", "recover", "x.csv", "--out", "x.csv/results"),
]  # fmt: skip


def assert_one_line(capsys, says):
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("fieldmend: ")
    assert said.err.count("\n") == 1
    assert says in said.err


@pytest.mark.parametrize("case", [*USAGE, *INPUT, *FOLDERS], ids=lambda case: case.name)
def test_refused_in_one_line_and_nothing_written(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(GOOD)
    for name, data in case.files.items():
        Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    code = main(list(case.arguments))
    assert code == case.code
    assert_one_line(capsys, case.says)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


GOES = [
    case("a file called like an option", 0, "", "recover", "--", "-rf.csv", **{"-rf_csv": GOOD}),
    case("a pattern", 0, "48 read = 48 used", "inspect", "*.csv", x_csv=GOOD),
    case("a query", 0, "24 read = 24 used", "inspect", "x.csv", "--query", "SELECT * FROM input WHERE node IN ('n0', 'n1')", x_csv=GOOD),
    case("a condition of rows", 0, "12 read = 12 used", "inspect", "x.csv", "--where", "node = 'n0'", x_csv=GOOD),
    case("no header", 0, "48 read = 48 used", "inspect", "y.txt", "--columns", "node,time,temperature", y_txt=GOOD[len(HEAD):]),
    case("time in parts", 0, "9 read = 9 used", "inspect", "p.txt", "--time", "a,b,c,d",
         p_txt="node,a,b,c,d,t\n" + "".join(f"n,2024,1,1,{h},{h}.5\n" for h in range(9))),
    case("hours since a day", 0, "1 Mar 2018", "inspect", "p.txt", "--time", "h", "--time-unit", "h", "--origin", "2018-03-01",
         p_txt="node,h,t\n" + "".join(f"n,{h},{h}.5\n" for h in range(9))),
    case("a file called like a pattern", 0, "", "recover", "[a]*?.csv", **{"[a]*?_csv": GOOD}),
    case("one node", 0, "nothing to compare with", "recover", "one.csv", one_csv=HEAD + "a,2024-01-01 00:00,1\na,2024-01-01 01:00,2\n"),
    case("one slot", 0, "nothing to compare with", "recover", "one.csv", one_csv=HEAD + "a,2024-01-01,1\nb,2024-01-01,2\n"),
    case("one reading", 0, "1 node x 1 slot", "inspect", "one.csv", one_csv=HEAD + "a,2024-01-01,1\n"),
    case("a constant", 0, "", "inspect", "c.csv", c_csv=HEAD + "".join(f"n{n},2024-01-01 0{t}:00,5\n" for n in range(4) for t in range(9))),
    case("a damaged archive, salvaged", 3, "", "recover", "cut.csv.gz", "--salvage",
         cut_csv_gz=b"\x1f\x8b\x08\0\0\0\0\0\0\xff"),
    case("one condition all missing", 0, "humidity has no reading at all", "recover", "half.csv",
         half_csv="node,time,temperature,humidity\n" + "".join(f"n{n},2024-01-01 0{t}:00,{n + t},\n" for n in range(4) for t in range(9))),
]  # fmt: skip


@pytest.mark.parametrize("case", GOES, ids=lambda case: case.name)
def test_odd_but_fine(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, data in case.files.items():
        Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    code = main(list(case.arguments))
    said = capsys.readouterr()
    assert code == case.code, said.err
    assert case.says in " ".join((said.out + said.err).split())


def raising(error):
    def instead(*_, **__):
        raise error

    return instead


@pytest.fixture
def x_csv(tmp_path, monkeypatch):
    """x.csv in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(GOOD)


@pytest.mark.usefixtures("x_csv")
@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MemoryError(), 4, "not enough memory. Try a longer --slot"),
        (OSError(errno.ENOSPC, "No space left on device", "/tmp/x"), 4, "/tmp/x: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "x"), 4, "x: Permission denied"),
        (ImportError("netCDF needs xarray"), 4, "netCDF needs xarray"),
        (KeyboardInterrupt(), 130, "stopped"),
        (RuntimeError("two\nlines"), 70, r"error inside fieldmend (RuntimeError: two\nlines). Please report"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_goes_wrong_on_the_way(error, code, says, monkeypatch, capsys):
    monkeypatch.delenv("FIELDMEND_DEBUG", raising=False)
    monkeypatch.setattr("fieldmend.recovery.recover", raising(error))
    assert main(["recover", "x.csv"]) == code
    assert_one_line(capsys, says)
    assert sorted(os.listdir()) == ["x.csv"]


@pytest.mark.usefixtures("x_csv")
def test_a_traceback_for_developers(monkeypatch):
    monkeypatch.setenv("FIELDMEND_DEBUG", "1")
    monkeypatch.setattr("fieldmend.recovery.recover", raising(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        main(["recover", "x.csv"])


@pytest.mark.usefixtures("x_csv")
def test_netcdf_without_its_packages(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["recover", "x.csv", "--format", "netcdf"]) == 4
    assert "pip install 'fieldmend[netcdf]'" in capsys.readouterr().err
    assert os.listdir() == ["x.csv"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.usefixtures("x_csv")
def test_a_folder_that_cannot_be_written_to(capsys):
    Path("shut").mkdir(mode=0o555)
    assert main(["recover", "x.csv", "--out", "shut"]) == 4
    assert "Choose a folder that you may write to" in capsys.readouterr().err


@pytest.mark.usefixtures("x_csv")
def test_a_link_in_the_place_of_an_output_is_not_followed(capsys):
    Path("precious").write_text("mine")
    Path("x.report.html").symlink_to("precious")
    Path("x.rejects.csv").symlink_to("nowhere")
    assert main(["recover", "x.csv"]) == 2
    assert "x.rejects.csv: is there already" in capsys.readouterr().err
    assert main(["recover", "x.csv", "--force", "-q"]) == 0
    assert Path("precious").read_text() == "mine"
    assert not Path("nowhere").exists()


def test_secrets_in_addresses_are_not_repeated(capsys):
    address = "postgresql://me:hunter2@127.0.0.1:1/none"
    assert main(["recover", address, "--table", "readings"]) in (3, 4)
    said = capsys.readouterr()
    assert "hunter2" not in said.err + said.out
