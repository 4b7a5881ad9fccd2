"""The public names: all there, none paid for before it is used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import fieldmend as fm

HEAVY = ("numpy", "scipy", "duckdb", "narwhals", "sklearn", "plotly", "typer", "rich")


def in_a_fresh_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("name", fm.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert getattr(fm, name) is not None
    assert name in dir(fm)


def test_names_that_are_not_there_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'recovr'"):
        _ = fm.recovr


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, fieldmend; print([m for m in {HEAVY} if m in sys.modules])"
    assert in_a_fresh_python(code) == "[]"


def test_a_star_import_gives_the_public_names():
    pytest.importorskip("sklearn")
    code = "from fieldmend import *; print(decompose.__name__, simulate.__name__)"
    assert in_a_fresh_python(code) == "decompose fieldmend.simulate"


def test_a_release_says_the_same_version_everywhere():
    root = Path(__file__).parents[1]
    told = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## \[(\d.+)\] - \d{4}-\d\d-\d\d$",
        "docs/fieldmend.1": r'"fieldmend (\S+)"',
    }
    for file, pattern in told.items():
        found = re.search(pattern, (root / file).read_text("utf-8"), re.MULTILINE)
        assert found, file
        assert found[1] == fm.__version__, file


def test_what_calls_give_is_shown_in_a_line_however_large_it_is():
    net = fm.simulate.network(slots=60, nodes=8, seed=1)
    grid = fm.Grid.of(net.readings, condition="temperature")
    model = fm.FieldModel.fit(net.readings)
    said = [repr(x) for x in (net, grid, model, model.apply(net.readings), fm.recover(grid))]
    assert said[0] == "<Network: 60 slots × 8 nodes, 50 % observed, 10 of them false>"
    assert [text.split()[0][1:].rstrip(":") for text in said[1:]] == [
        "Grid", "FieldModel", "Applied", "Recovery",
    ]  # fmt: skip
    assert all(len(text) < 100 and "\n" not in text for text in said)


def test_a_score_is_shown_by_its_sentence():
    net = fm.simulate.network(slots=60, nodes=8, seed=1)
    score = fm.recover(fm.Grid.of(net.readings))["value"].holdout
    assert repr(score) == f"<Holdout: {score.method.count} readings hidden, {score.sentence()}>"
