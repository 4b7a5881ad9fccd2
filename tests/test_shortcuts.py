"""`df.fieldmend` is there without another import, and costs nobody a library."""

import subprocess
import sys

import pytest


def _said(text):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", text], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_what_was_imported_before_has_its_shortcut():
    assert _said("import pandas as pd; import fieldmend; print(pd.DataFrame().fieldmend)")


def test_what_was_imported_after_has_it_as_soon_as_fieldmend_is_used():
    code = "import fieldmend as fm, pandas as pd; fm.InputError; print(pd.DataFrame().fieldmend)"
    assert _said(code)


def test_arrays_of_xarray_too():
    pytest.importorskip("xarray")
    assert _said("import xarray as xr; import fieldmend; print(xr.DataArray([1.0]).fieldmend)")


def test_nothing_is_imported_for_it():
    code = """
import sys, fieldmend as fm
fm.InputError
unwanted = ("pandas", "xarray", "numpy", "fieldmend.shortcuts")
print([name for name in unwanted if name in sys.modules])
"""
    assert _said(code) == "[]"


def test_of_two_libraries_only_the_loaded_one_is_asked():
    code = "import sys, pandas, fieldmend; print('xarray' in sys.modules)"
    assert _said(code) == "False"


def test_asked_for_by_name_it_imports_what_is_installed_and_once():
    code = """
import pandas as pd, fieldmend as fm, fieldmend.accessors
import fieldmend.shortcuts
fieldmend.shortcuts.offer(["pandas"])
print(pd.DataFrame().fieldmend)
"""
    assert _said(code)
