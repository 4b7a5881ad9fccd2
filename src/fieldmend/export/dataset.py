"""The result as an `xarray.Dataset`, time × node (extra ``netcdf``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.export import cf
from fieldmend.export.table import MADE, PLACES, place_keys, place_values, unused

if TYPE_CHECKING:
    from fieldmend.result.result import Result

DIMENSIONS = ("time", "node")


def dataset(recovery: Result) -> Any:
    """One variable per condition, and beside it those that were made: ``v_estimate`` and so on."""
    try:
        import xarray as xr
    except ImportError as error:
        msg = "to_xarray needs xarray: pip install 'fieldmend[netcdf]'"
        raise ImportError(msg) from error
    taken = {name for name in (*DIMENSIONS, *PLACES.values())}
    variables: dict[str, Any] = {}
    for name, one in recovery.conditions.items():
        base = unused(name, taken)
        unit = {"units": one.unit} if one.unit else {}
        variables[base] = (DIMENSIONS, one.observed, {"long_name": name, **unit})
        for made in MADE:
            array = getattr(one, made)
            if array is not None:
                attributes = _flags() if made == "flag" else unit
                label = unused(f"{base}_{made}", taken)
                variables[label] = (
                    DIMENSIONS,
                    array,
                    {"long_name": f"{name}, {made}", **attributes},
                )
    grid = recovery.grid
    coordinates: dict[str, Any] = {
        "time": grid.times.astype("datetime64[us]").astype("datetime64[ns]"),
        "node": np.array(grid.nodes, dtype=object),
    }
    for key in place_keys(recovery):
        values = np.array(place_values(recovery, key), dtype=np.float64)
        coordinates[PLACES[key]] = ("node", values)
    return xr.Dataset(variables, coordinates, {"history": recovery.made_by})


def _flags() -> dict[str, Any]:
    return {
        "flag_values": np.array(cf.FLAG_VALUES, dtype=np.int8),
        "flag_meanings": cf.FLAG_MEANINGS,
    }
