"""Frames that pandas wrote into HDF5: what they hold, and what is never opened."""

from __future__ import annotations

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.errors import InputError

h5py = pytest.importorskip("h5py")
SLOTS = 40
VALUES = np.random.default_rng(0).normal(60.0, 5.0, (SLOTS, 3))


def frame(file, key, *, names, kind="frame", index="datetime64", unit="ns"):
    """A frame as `DataFrame.to_hdf` lays it down: axes, and blocks of columns of one type."""
    group = file.create_group(key)
    group.attrs.update({"pandas_type": np.bytes_(kind), "encoding": np.bytes_("UTF-8")})
    group.attrs["nblocks"] = 1
    for axis in ("axis0", "block0_items"):
        group[axis] = names
    stamps = np.datetime64("2012-03-01") + 5 * np.arange(SLOTS) * np.timedelta64(1, "m")
    group["axis1"] = stamps.astype(f"M8[{unit}]").astype(np.int64)
    group["axis1"].attrs["kind"] = np.bytes_(index)
    group["block0_values"] = VALUES
    group["block0_values"].attrs["transposed"] = True
    return group


def written(path, *args, **more):
    with h5py.File(path, "w") as file:
        frame(file, *args, **more)
    return path


@pytest.mark.parametrize(
    ("names", "index", "unit"),
    [
        (np.array([b"773869", b"767541", b"717447"]), "datetime64", "ns"),
        (np.array([400001, 400017, 400030]), "datetime64[us]", "us"),
    ],
)
def test_a_column_is_a_node(tmp_path, names, index, unit):
    path = written(tmp_path / "speeds.h5", "df", names=names, index=index, unit=unit)
    grid = fm.read(path).grid()
    assert grid.slot == 300_000_000
    assert grid.times[0] == np.datetime64("2012-03-01", "us").astype(int)
    asked = [n.decode() if isinstance(n, bytes) else str(n) for n in names.tolist()]
    assert set(grid.nodes) == set(asked)
    order = [asked.index(node) for node in grid.nodes]
    np.testing.assert_array_equal(grid.values["value"], VALUES[:, order])


def test_blocks_of_other_types_are_passed_over_and_named(tmp_path):
    path = written(tmp_path / "speeds.h5", "df", names=np.array([b"a", b"b", b"c"]))
    with h5py.File(path, "a") as file:
        group = file["df"]
        group.attrs["nblocks"] = 2
        del group["axis0"]
        group["axis0"] = np.array([b"a", b"remark", b"b", b"c"])
        group["block1_items"] = np.array([b"remark"])
        group["block1_values"] = np.zeros((SLOTS, 1), "S4")
    grid = fm.read(path).grid()
    assert grid.nodes == ("a", "b", "c")
    assert any("remark" in note for note in grid.origin.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "frame_table"}, "never opened"),
        ({"index": "integer"}, "not of times"),
        ({"names": np.array([b"\x80\x04", b"x", b"y"], dtype="V2")}, "never opened"),
    ],
)
def test_pickles_and_other_indices_are_refused_with_the_way_out(tmp_path, change, said):
    path = written(tmp_path / "x.h5", "df", **{"names": np.array([b"a", b"b", b"c"]), **change})
    with pytest.raises(InputError, match=said) as raised:
        fm.read(path)
    assert "to_parquet" in str(raised.value.hint)


def test_two_frames_are_refused_by_name(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for key in ("speed", "flow"):
            frame(file, key, names=np.array([1, 2, 3]))
    with pytest.raises(InputError, match="flow"):
        fm.read(tmp_path / "x.h5")


def test_a_frame_without_its_parts_is_refused(tmp_path):
    path = written(tmp_path / "x.h5", "df", names=np.array([1, 2, 3]))
    with h5py.File(path, "a") as file:
        del file["df"]["axis1"]
    with pytest.raises(InputError, match="cannot be read"):
        fm.read(path)
