"""xarray in, xarray out: a DataArray of time and station becomes a Dataset of the same labels.

One that Dask holds stays lazy: nothing is read before something of the result is asked for. Then
its chunks are read one after the other into a file without a name, and the record is recovered
window by window; chunks of the result are read from files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from itertools import pairwise, product
from typing import Any, ParamSpec, TypeVar

import numpy as np

from fieldmend import spill
from fieldmend.errors import InputError
from fieldmend.grid import Array, Grid
from fieldmend.recovery.recovery import Recovery
from fieldmend.result.options import BOUNDED
from fieldmend.text import shown

P = ParamSpec("P")
R = TypeVar("R")
PARTS = ("estimate", "lower", "upper", "flag", "filled")


def takes_xarray(recover: Callable[P, R]) -> Callable[P, R]:
    """`recover`, which gives a Dataset where it is handed a DataArray."""

    @wraps(recover)
    def either(*given: P.args, **options: P.kwargs) -> R:
        if not (given and is_labelled(given[0])):
            return recover(*given, **options)
        made: Any = dataset(given[0], recover, dict(options))
        return made  # type: ignore[no-any-return]  # a Dataset: xarray need not be installed

    either.__kwdefaults__ = recover.__kwdefaults__  # type: ignore[attr-defined]
    return either


def is_labelled(source: Any) -> bool:
    """Whether it is an `xarray.DataArray`."""
    kind = type(source)
    return kind.__name__ == "DataArray" and kind.__module__.partition(".")[0] == "xarray"


@dataclass(frozen=True)
class Labels:
    """What a DataArray says of its readings."""

    name: str
    unit: str
    nodes: tuple[str, ...]
    times: Array
    slot: int
    flipped: bool  # stations × times

    @classmethod
    def of(cls, array: Any) -> Labels:
        """Found from its dimensions; one of the two has to be of times."""
        if array.ndim != 2:
            raise _refused(array, f"{array.ndim} dimensions", "Select one of the others first")
        along = [d for d in array.dims if d in array.coords and array[d].dtype.kind == "M"]
        if len(along) != 1:
            raise _refused(array, "no dimension of times", "Give it a coordinate of datetime64")
        other = next(d for d in array.dims if d != along[0])
        times = array[along[0]].values.astype("datetime64[us]").astype(np.int64)
        steps = np.diff(times)
        if not len(steps) or steps.min() != steps.max() or steps[0] <= 0:
            raise _refused(
                array, "times that are not evenly spaced", "array.resample(time='10min').mean()"
            )
        named = array[other].values if other in array.coords else range(array.sizes[other])
        nodes = tuple(str(node) for node in named)
        name = str(array.name) if array.name is not None else "value"
        unit = str(array.attrs.get("units", ""))
        return cls(name, unit, nodes, times, int(steps[0]), array.dims[0] != along[0])

    def grid(self, values: Array) -> Grid:
        """The readings, slots × nodes, with these labels."""
        units = {self.name: self.unit} if self.unit else {}
        return Grid({self.name: values}, self.nodes, self.times, self.slot, units=units)

    def turned(self, values: Any) -> Any:
        """Slots × nodes as the DataArray has it, and back."""
        return values.T if self.flipped else values


def dataset(array: Any, recover: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The Dataset of a recovery of a DataArray."""
    import xarray as xr

    labels = Labels.of(array)
    parts = PARTS if options.get("method", "auto") in BOUNDED else ("estimate", "flag", "filled")
    if array.chunks is None:
        X = np.array(labels.turned(array.values), dtype=np.float64)
        made = recover(labels.grid(X), **options)
        values = {part: labels.turned(_part(made, labels.name, part)) for part in parts}
    else:
        values = _later(array, labels, parts, recover, options)
    variables = {
        part: (array.dims, one, {} if part == "flag" else dict(array.attrs))
        for part, one in values.items()
    }
    return xr.Dataset(variables, array.coords, {"source": labels.name})


def _part(made: Recovery, name: str, part: str) -> Array:
    found = getattr(made[name], part)
    return np.full(made.grid.shape, np.nan) if found is None else np.asarray(found)


class _Held:
    """A Dask array that is not to be computed as a whole: Dask looks into dataclasses."""

    def __init__(self, array: Any) -> None:
        self.array = array


def _later(
    array: Any,
    labels: Labels,
    parts: tuple[str, ...],
    recover: Callable[..., Any],
    options: dict[str, Any],
) -> dict[str, Any]:
    da, delayed = import_module("dask.array"), import_module("dask").delayed

    whole = delayed(_recovered, pure=False)(_Held(array.data), labels, recover, options)
    ends = [np.cumsum((0, *sizes)).tolist() for sizes in array.chunks]
    chunk = delayed(_chunk, pure=False)

    def lazy(part: str) -> Any:
        kind = np.int8 if part == "flag" else np.float64
        rows = []
        for a, b in pairwise(ends[0]):
            row = [
                da.from_delayed(
                    chunk(whole, labels, part, (slice(a, b), slice(c, d))), (b - a, d - c), kind
                )
                for c, d in pairwise(ends[1])
            ]
            rows.append(row)
        return da.block(rows)

    return {part: lazy(part) for part in parts}


def _recovered(held: _Held, labels: Labels, recover: Callable[..., Any], options: Any) -> Recovery:
    """All of it, the readings by way of a file."""
    X = spill.on_disk((len(labels.times), len(labels.nodes)))
    edges = [np.cumsum((0, *sizes)).tolist() for sizes in held.array.chunks]
    spans = [[slice(a, b) for a, b in pairwise(e)] for e in edges]
    for rows, columns in product(*spans):
        part = np.asarray(held.array[rows, columns].compute(scheduler="synchronous"))
        at = (columns, rows) if labels.flipped else (rows, columns)
        X[at] = labels.turned(part)
    made: Recovery = recover(labels.grid(X), **options)
    return made


def _chunk(made: Recovery, labels: Labels, part: str, at: tuple[slice, slice]) -> Array:
    rows, columns = at[::-1] if labels.flipped else at
    one = made[labels.name]
    if part == "filled":
        found = one.filled_rows(rows)[:, columns]
    elif getattr(one, part) is None:
        found = np.full((rows.stop - rows.start, columns.stop - columns.start), np.nan)
    else:
        found = np.array(getattr(one, part)[rows, columns])
    kind = np.int8 if part == "flag" else np.float64
    return np.asarray(labels.turned(found), dtype=kind)


def _refused(array: Any, what: str, hint: str) -> InputError:
    name = "the DataArray" if array.name is None else f"DataArray {shown(str(array.name))!r}"
    return InputError(f"{name} has {what}", hint=hint)
