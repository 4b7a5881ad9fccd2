"""netCDF in CF's discrete sampling geometries (extra `netcdf`): stations × time, or ragged."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sources.databases import as_text
from fieldmend.records.sources.rehearsal import begin, survived
from fieldmend.records.sources.stage import SAMPLED, Stage
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

CLASSIC = b"CDF\x01", b"CDF\x02"
# What xarray, SciPy and the netCDF libraries raise on bytes that are not theirs.
FAILURES = (
    *(ValueError, OSError, LookupError, RuntimeError, TypeError, AttributeError),
    *(OverflowError, MemoryError, ZeroDivisionError, AssertionError),
)
PLACES = {"latitude": "lat", "longitude": "lon"}


def stage(path: Path, name: str) -> Stage:
    """The stations of a netCDF file as records: node, time, one column per condition.

    Classic files are read by SciPy, which is Python and survives them all; of the others another
    process is asked first whether one does.
    """
    with path.open("rb") as file:
        classic = file.read(4) in CLASSIC
    if not classic:
        begin()
    try:
        import xarray as xr
    except ImportError as error:
        raise InputError(
            "reading netCDF needs xarray", file=name, hint="pip install 'fieldmend[netcdf]'"
        ) from error
    if not classic and not survived(path):
        raise InputError(
            "the netCDF file is damaged: it ends the library that reads it, or never lets it end",
            file=name,
            hint="Fetch or write it again",
        )
    engine = "scipy" if classic else None
    frame = None if classic else _frame(path, name)
    if frame is not None:
        return frame
    try:
        # What cannot be used is refused below, in our own words.
        with (
            warnings.catch_warnings(action="ignore"),
            xr.open_dataset(path, engine=engine) as opened,
        ):
            data = opened.load()
    except FAILURES as error:
        said = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"the netCDF file cannot be read ({shown(said[0])})", file=name) from error
    try:
        return _records(data, name)
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"its stations cannot be read ({shown(error)})",
            file=name,
            hint="Stations × time, or ragged with a row size or index, are read",
        ) from error


def _frame(path: Path, name: str) -> Stage | None:
    """What pandas wrote: of netCDF it has the container alone."""
    from fieldmend.records.sources import hdf5_frames

    try:
        return hdf5_frames.stage(path, name)
    except InputError:
        raise
    except OSError:
        return None  # no HDF5 at all: the reader of netCDF says why
    except FAILURES as error:
        said = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"pandas' frame cannot be read ({shown(said[0])})", file=name) from error


def _records(data: Any, name: str) -> Stage:
    time = _coordinate(data, "time", lambda v: np.issubdtype(v.dtype, np.datetime64), name)
    station = _station(data, name)
    points = data[time].dims
    conditions = [
        v for v in data.data_vars
        if v not in (time, station) and set(data[v].dims) >= set(points)
        and np.issubdtype(data[v].dtype, np.number) and "flag_values" not in data[v].attrs
        and "sample_dimension" not in data[v].attrs and "instance_dimension" not in data[v].attrs
    ]  # fmt: skip
    plane = set(points) | set(data[station].dims)
    deep = [v for v in conditions if not set(data[v].dims) <= plane]
    conditions = [v for v in conditions if v not in deep]
    if not conditions:
        raise InputError(
            "no variable lies along its time and its stations alone"
            + (f"; passed over: {listing([str(v) for v in deep])}" if deep else ""),
            file=name,
            hint="Take one level of it first" if deep else "",
        )
    owner = _owner(data, points)
    if owner is not None:
        nodes, times = _owned(_ids(data, station), owner, len(data[time])), data[time].values
        columns = [data[v].values for v in conditions]
    else:
        nodes, times, columns = _rectangular(data, time, station, conditions)
    arrays = [as_text(nodes), times.astype("datetime64[us]")]
    arrays += [np.asarray(column, dtype=np.float64).ravel() for column in columns]
    out = Stage(name, ["node", "time", *map(str, conditions)], batches=iter([arrays]))
    out.kinds = ["text", "zoned", *["number"] * len(conditions)]
    out.sample = [[str(a[i]) for a in arrays] for i in range(min(SAMPLED, len(arrays[0])))]
    out.words = f"netCDF, {data.attrs.get('featureType', 'stations × time')}"
    out.units = {
        str(v): str(data[v].attrs["units"]) for v in conditions if "units" in data[v].attrs
    }
    out.places = _places(data, station)
    if deep:
        over = listing([str(v) for v in deep])
        out.notes.append(f"{shown(name)}: variables with more dimensions passed over: {over}")
    return out


def _owned(ids: Any, owner: Any, points: int) -> Any:
    """The station of each point; None where the index names none."""
    if len(owner) != points:
        msg = f"the row sizes sum to {len(owner)}, there are {points} readings"
        raise ValueError(msg)
    there = (owner >= 0) & (owner < len(ids))
    return np.where(there, ids[np.where(there, owner, 0)], None)


def _coordinate(data: Any, what: str, rule: Any, name: str) -> str:
    for variable in data.variables:
        if rule(data[variable]) and (
            str(data[variable].attrs.get("standard_name")) == what or str(variable) == what
        ):
            return str(variable)
    raise InputError(f"no {what} coordinate with CF units", file=name)


def _station(data: Any, name: str) -> str:
    for variable in data.variables:
        if str(data[variable].attrs.get("cf_role")) == "timeseries_id":
            return str(variable)
    for guess in ("station", "station_id", "node", "station_name"):
        if guess in data.variables:
            return guess
    raise InputError("no variable names the stations (cf_role = timeseries_id)", file=name)


def _ids(data: Any, station: str) -> Any:
    raw = np.atleast_1d(data[station].values)
    return np.array(
        [r.decode("utf-8", "replace") if isinstance(r, bytes) else str(r) for r in raw],
        dtype=object,
    )


def _owner(data: Any, points: tuple[str, ...]) -> Any:
    """Which station each point of a ragged array belongs to; None if the array is not ragged."""
    for variable in data.variables:
        attrs = data[variable].attrs
        if str(attrs.get("sample_dimension")) in points:
            counts = data[variable].values.astype(int)
            if (counts < 0).any() or counts.sum() > 2**31:
                msg = "row sizes that are none"
                raise ValueError(msg)
            return np.repeat(np.arange(len(counts)), counts)
        if "instance_dimension" in attrs and data[variable].dims == points:
            return data[variable].values.astype(int)
    return None


def _rectangular(data: Any, time: str, station: str, conditions: list[str]) -> tuple[Any, ...]:
    ids = _ids(data, station)
    where = data[station].dims[0] if data[station].dims else None
    along = [d for d in data[time].dims if d != where][-1:]
    shape = (len(ids), data.sizes[along[0]])
    order = (where, *along) if where else tuple(along)

    def flat(variable: str) -> Any:
        array = data[variable]
        missing = [d for d in order if d not in array.dims]
        values = array.transpose(*[d for d in order if d not in missing]).values
        return np.broadcast_to(values, shape).ravel()

    return np.repeat(ids, shape[1]), flat(time), [flat(v) for v in conditions]


def _places(data: Any, station: str) -> dict[str, dict[str, float]]:
    places: dict[str, dict[str, float]] = {str(node): {} for node in _ids(data, station)}
    for variable in data.variables:
        standard = str(data[variable].attrs.get("standard_name", variable))
        role = PLACES.get(standard) or (
            "elevation" if standard in ("altitude", "height", "surface_altitude") else None
        )
        values = np.atleast_1d(data[variable].values)
        if role and len(values) == len(places) and np.issubdtype(values.dtype, np.number):
            for node, value in zip(places, values, strict=True):
                if np.isfinite(value):
                    places[node][role] = float(value)
    return {node: place for node, place in places.items() if place}
