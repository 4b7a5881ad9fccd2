"""The public names: all there, none paid for before it is used."""

import subprocess
import sys

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
