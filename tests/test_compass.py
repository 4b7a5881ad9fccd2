"""Directions in letters are read as degrees, where the name says direction and nowhere else."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.quantities import Kind, identify

ROWS = """station,time,wd,speed
a,2024-01-01 00:00,N,3.0
b,2024-01-01 00:00,nne,2.0
a,2024-01-01 01:00,NNW,3.5
b,2024-01-01 01:00,CALM,0.0
a,2024-01-01 02:00,East,2.5
b,2024-01-01 02:00,{odd},1.5
a,2024-01-01 03:00,SW,2.0
b,2024-01-01 03:00,,1.0
"""


def test_points_of_the_compass_are_degrees(tmp_path):
    path = tmp_path / "wind.csv"
    path.write_text(ROWS.format(odd="W"))
    grid = fm.read(path).grid()
    want = [[0.0, 22.5], [337.5, np.nan], [90.0, 270.0], [225.0, np.nan]]
    np.testing.assert_array_equal(grid.values["wd"], want)
    assert grid.units["wd"] == "°"
    assert identify("wd", "°", grid.values["wd"]).kind is Kind.CIRCULAR
    assert any("points of the compass" in note for note in grid.origin.notes)
    cells = grid.origin.cells["wd"]
    assert (cells.used, cells.missing, cells.set_aside) == (6, 2, 0)


def test_what_is_no_point_is_set_aside_and_named(tmp_path):
    path = tmp_path / "wind.csv"
    path.write_text(
        ROWS.format(odd="up") + "".join(f"a,2024-01-01 {h:02}:00,S,1.0\n" for h in range(4, 12))
    )
    origin = fm.read(path).grid().origin
    assert origin.cells["wd"].set_aside == 1
    assert [(one.line, one.text) for one in origin.rejects.listed] == [(7, "up")]


@pytest.mark.parametrize("name", ["plot", "side", "wd_quality"])
def test_letters_under_another_name_are_no_directions(tmp_path, name):
    path = tmp_path / "plots.csv"
    path.write_text(ROWS.format(odd="W").replace("wd", name))
    records = fm.read(path)
    assert name not in records.grid().values
    assert any(name in note and "passed over" in note for note in records.grid().origin.notes)
