"""Options: what is wrong is refused by name, before anything is read, and by mypy."""

import inspect
import tomllib
from pathlib import Path

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.grid import Grid
from fieldmend.methods import METHODS
from fieldmend.recovery import solving
from fieldmend.recovery.options import More, Reading, Solving


@pytest.fixture(scope="module")
def grid():
    net = fm.simulate.network(slots=60, nodes=8, seed=1)
    return Grid.of(net.readings, condition="t")


def test_the_reader_s_options_are_those_of_read():
    named = [
        p.name for p in inspect.signature(fm.read).parameters.values() if p.kind == p.KEYWORD_ONLY
    ]
    assert list(Reading.__annotations__) == named


def test_the_methods_options_are_those_of_the_table():
    taken = {name for row in METHODS.values() for name in row.taken()}
    # `recover` looks for faults and powers itself, before any method is asked, says when nothing is
    # to be doubted any more, and has a client of its own.
    apart = {"callback", "seed", "level", "warm_start", "support", "space", "companions", "joint"}
    apart |= {"faults", "client", "places", "power", "doubting"}
    assert set(Solving.__annotations__) == taken - apart
    assert not set(Reading.__annotations__) & set(Solving.__annotations__)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"misssing": [-9999]},
            TypeError,
            "recover has no option 'misssing'. Did you mean 'missing'",
        ),
        ({"holdot": False}, TypeError, "no option 'holdot'. Did you mean 'holdout'"),
        ({"qqqq": 1}, TypeError, "recover has no option 'qqqq'$"),
        (
            {"debias": True},
            fm.InputError,
            r"method 'auto' has no option 'debias'; .*\(debias is for",
        ),
        ({"method": "ls", "rank": 3}, fm.InputError, "method 'ls' has no option 'rank'"),
    ],
)
def test_a_wrong_option_is_refused_by_name_before_anything_is_read(options, error, message):
    with pytest.raises(error, match=message):
        fm.recover("no such file.csv", **options)


def test_options_of_the_reader_are_not_for_a_grid(grid):
    with pytest.raises(fm.InputError, match="tz: not for Grid, which is read already"):
        fm.recover(grid, tz="UTC", method="ls", debias=True)


def test_options_of_the_method_reach_it(grid, monkeypatch):
    plain = fm.recover(grid, method="ls", holdout=False)["t"]
    seen = []
    decompose = solving.decompose
    monkeypatch.setattr(solving, "decompose", lambda X, **k: seen.append(k) or decompose(X, **k))
    rec = fm.recover(grid, method="ls", debias=True, tol=1e-5, holdout=False)
    assert seen[0]["debias"] is True
    assert seen[0]["tol"] == 1e-5
    assert np.nanmax(np.abs(rec["t"].estimate - plain.estimate)) > 0
    assert rec.options.solving == {"debias": True, "tol": 1e-5}
    fm.recover(grid, period=12, holdout=False)
    assert tuple(seen[1]["period"]) == (12,)


def test_units_can_be_said(grid):
    rec = fm.recover(grid, units={"t": "degC"}, method="ls", holdout=False)
    assert rec["t"].unit == rec.summary()["conditions"]["t"]["unit"] == "degC"
    with pytest.raises(fm.InputError, match=r"units for 'x', which is not there. Conditions: t"):
        fm.recover(grid, units={"x": "degC"})
    with pytest.raises(fm.InputError, match="unit of t: 3 is no text"):
        fm.recover(grid, units={"t": 3})


def test_a_wrong_option_fails_mypy():
    """`make lint` asks: an error that is told to be ignored there, and is none, is an error."""
    root = Path(__file__).parents[1]
    asked = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert "tests/typed" in asked["files"]
    assert asked["strict"], "which tells of what is ignored for nothing"
    assert "misssing=[-9999])  # type: ignore[call-arg]" in (
        root / "tests/typed/options.py"
    ).read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--option", "debias"], "--option 'debias' is not NAME=VALUE, such as debias=true"),
        (["--option", "debias=true"], "method 'auto' has no option 'debias'"),
        (["--option", "debia=true"], "Did you mean 'debias'?"),
        (["--units", "degC"], "--units 'degC' is not NAME=UNIT, such as t=degC"),
        (["--max-width", "wide"], "--max-width 'wide' is neither a number"),
    ],
)
def test_the_command_refuses_them_too(arguments, said, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("node,time,t\na,2024-01-01,1\n")
    assert main(["recover", str(tmp_path / "a.csv"), *arguments]) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.replace("│", " ").split())


def test_more_is_both():
    assert set(More.__annotations__) >= {*Reading.__annotations__, *Solving.__annotations__}
