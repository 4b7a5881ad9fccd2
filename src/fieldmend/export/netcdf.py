"""netCDF, CF-1.11: time series of stations, with flags, intervals and places (extra ``netcdf``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.export import cf
from fieldmend.export.disk import Disk
from fieldmend.export.table import PLACES, place_keys, place_values, unused
from fieldmend.export.writing import PathLike, whole
from fieldmend.flags import Flag

if TYPE_CHECKING:
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

CHUNK = (64, 1024)  # stations × slots: a chunk is written once, a block of slots at a time
PLACE_ATTRIBUTES = {
    "lat": {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"},
    "lon": {"standard_name": "longitude", "units": "degrees_east", "axis": "X"},
    "elevation": {"standard_name": "altitude", "units": "m", "positive": "up", "axis": "Z"},
    "x": {"long_name": "place along x, in the unit of the source", "units": "1"},
    "y": {"long_name": "place along y, in the unit of the source", "units": "1"},
    "z": {"long_name": "place along z, in the unit of the source", "units": "1"},
}
WORDS = {
    "": "as observed",
    "estimate": "recovered field",
    "lower": "lower end of the interval of the recovered field",
    "upper": "upper end of the interval of the recovered field",
    "anomaly": "distance of a suspect or failed reading from the recovered field",
    "filled": "reading, or the recovered field where it is lost or certainly false",
}
FLAGS = {
    "flag": ("aggregate_quality_flag", "QARTOD flag: limits and comparison with the other nodes"),
    "neighbor_flag": ("neighbor_test_quality_flag", "QARTOD flag: comparison with the other nodes"),
}


def write_netcdf(recovery: Result, path: PathLike, *, force: bool = False) -> None:
    """Write a CF-1.11 file of station time series, dims station and time."""
    try:
        import h5netcdf
    except ImportError as error:
        msg = "writing netCDF needs h5netcdf and h5py: pip install 'fieldmend[netcdf]'"
        raise ImportError(msg) from error
    with (
        whole(path, force=force) as part,
        Disk(part) as disk,
        h5netcdf.File(disk, "w") as file,
    ):
        _Writer(recovery, file, disk).run()


def _without_nul(text: str) -> str:
    """HDF5 ends a text at a NUL: it is written as it is shown."""
    return text.replace("\0", "\\x00")


class _Writer:
    """One file as it is written."""

    def __init__(self, recovery: Result, file: Any, disk: Disk) -> None:
        self.recovery, self.file, self.disk = recovery, file, disk
        self.slots, self.nodes = recovery.grid.shape
        self.taken: set[str] = set()
        self.coordinates: list[str] = []

    def run(self) -> None:
        self.file.dimensions = {"station": self.nodes, "time": self.slots}
        self.file.attrs.update(self._attributes())
        self._time()
        self._stations()
        for name, one in self.recovery.conditions.items():
            if self.disk.error is None:
                self._condition(name, one)

    def _attributes(self) -> dict[str, str]:
        names = _without_nul(", ".join(self.recovery.conditions))
        # No clock in the history: the same input gives the same bytes.
        return {
            "Conventions": "CF-1.11",
            "featureType": "timeSeries",
            "title": f"Recovered readings of {self.nodes} stations: {names}",
            "institution": "not stated",
            "source": "sensor network readings, lost ones recovered and false ones flagged",
            "history": _without_nul(self.recovery.made_by),
            "references": "An LS-Decomposition Approach for Robust Data Recovery in Wireless "
            "Sensor Networks; QARTOD flags (IOOS)",
            "comment": "v is the reading as it arrived and is never changed; v_estimate, "
            "v_filled, v_flag stand beside it",
        }

    def _time(self) -> None:
        grid = self.recovery.grid
        self.taken.add("time")
        variable = self.file.create_variable("time", ("time",), np.float64)
        variable[...] = grid.times / 1e6
        variable.attrs.update(
            standard_name="time",
            long_name=f"left edge of slots of {grid.slot / 1e6:g} s",
            units="seconds since 1970-01-01 00:00:00 UTC",
            calendar="standard",
            units_metadata="leap_seconds: none",
            axis="T",
        )

    def _stations(self) -> None:
        import h5py

        self.taken.add("station")
        name = unused("station_name", self.taken)
        variable = self.file.create_variable(name, ("station",), h5py.string_dtype())
        variable[...] = np.array([_without_nul(n) for n in self.recovery.grid.nodes], dtype=object)
        variable.attrs.update(long_name="name of the station", cf_role="timeseries_id")
        self.coordinates.append(name)
        for key in place_keys(self.recovery):
            label = unused("altitude" if key == "elevation" else PLACES[key], self.taken)
            values = np.array(place_values(self.recovery, key), dtype=np.float64)
            place = self.file.create_variable(label, ("station",), np.float64, fillvalue=np.nan)
            place[...] = values
            place.attrs.update(PLACE_ATTRIBUTES[key])
            self.coordinates.append(label)

    def _condition(self, name: str, one: Recovered) -> None:
        base = unused(cf.variable_name(name), self.taken)
        made = {
            what: unused(f"{base}_{what}", self.taken)
            for what in (*WORDS, *FLAGS)
            if what and not (what in ("lower", "upper") and getattr(one, what) is None)
        }
        variables = {
            what: self._variable(label, np.int8 if what in FLAGS else np.float64)
            for what, label in {"": base, **made}.items()
        }
        said, unit = _without_nul(name), _without_nul(one.unit)
        for what, variable in variables.items():
            if what in FLAGS:
                variable.attrs.update(_flag_attributes(said, what))
            else:
                variable.attrs.update(_attributes(said, what, unit))
        variables[""].attrs["ancillary_variables"] = " ".join(made.values())
        for block in blocks(self.slots, 1, CHUNK[1]):
            for what, variable in variables.items():
                variable[:, block] = _rows(one, what, block).T

    def _variable(self, label: str, dtype: Any) -> Any:
        fill = {"fillvalue": np.nan} if dtype is np.float64 else {}
        variable = self.file.create_variable(
            label,
            ("station", "time"),
            dtype,
            chunks=(min(CHUNK[0], self.nodes), min(CHUNK[1], self.slots)),
            compression="gzip",
            compression_opts=2,
            shuffle=True,
            **fill,
        )
        variable.attrs["coordinates"] = " ".join(self.coordinates)
        return variable


def _rows(one: Recovered, what: str, block: slice) -> Any:
    """One variable in a block of slots."""
    flag = one.flag[block]
    if what == "flag":
        return flag
    if what == "neighbor_flag":  # what failed the limits was not compared
        return np.where(flag == Flag.FAIL, np.int8(Flag.NOT_EVALUATED), flag)
    if what == "filled":
        return one.filled_rows(block)
    return getattr(one, what or "observed")[block]


def _attributes(name: str, what: str, unit: str) -> dict[str, str]:
    known = cf.units(unit) if unit else None
    standard = cf.standard_name(name, known)
    out = {"long_name": f"{name}, {WORDS[what]}", "units": known or "1"}
    if known is None:
        out["comment"] = f"unit as given: {unit}" if unit else "unit not stated in the source"
    if known in cf.TEMPERATURES:
        kind = "difference" if what == "anomaly" else "on_scale"
        out["units_metadata"] = f"temperature: {kind}"
    if standard and what in ("", "estimate", "filled"):
        out["standard_name"] = standard
    return out


def _flag_attributes(name: str, what: str) -> dict[str, Any]:
    standard, words = FLAGS[what]
    return {
        "long_name": f"{name}, {words}",
        "standard_name": standard,
        "flag_values": np.array(cf.FLAG_VALUES, dtype=np.int8),
        "flag_meanings": cf.FLAG_MEANINGS,
    }
