"""``df.fieldmend``, ``da.fieldmend``: recover straight from a pandas frame, an xarray DataArray.

``import fieldmend`` offers them in libraries that were imported before it, and imports none itself;
``import fieldmend.accessors`` imports those that are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    from fieldmend.records import Records
    from fieldmend.recovery import Recovery
    from fieldmend.recovery.options import Reading, Recovering

NAME = "fieldmend"


class FrameAccessor:
    """What ``df.fieldmend`` is.

    Parameters
    ----------
    frame
        Records: one row per reading, or time × node.

    Examples
    --------
    >>> import pandas as pd
    >>> import fieldmend
    >>> times = pd.date_range("2024-01-01", periods=48, freq="h", name="time")
    >>> net = fieldmend.simulate.network(slots=48, nodes=4, seed=1)
    >>> frame = pd.DataFrame(net.readings, index=times, columns=list("abcd"))
    >>> rec = frame.fieldmend.recover(holdout=False)
    >>> rec.filled["value"].shape
    (48, 4)
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def recover(self, **options: Unpack[Recovering]) -> Recovery:
        """Recover the field: `fm.recover` of this frame.

        Parameters
        ----------
        **options
            Those of `fm.recover`.

        Returns
        -------
        Recovery

        Examples
        --------
        >>> import pandas as pd
        >>> import fieldmend
        >>> times = pd.date_range("2024-01-01", periods=48, freq="h", name="time")
        >>> net = fieldmend.simulate.network(slots=48, nodes=4, seed=1)
        >>> frame = pd.DataFrame(net.readings, index=times, columns=list("abcd"))
        >>> frame.fieldmend.recover(holdout=False)
        <Recovery: 48 slots × 4 nodes, value>
        """
        from fieldmend.recovery import recover

        return recover(self._frame, **options)

    def read(self, **options: Unpack[Reading]) -> Records:
        """Only read: `fm.read` of this frame, which says what became of every row.

        Parameters
        ----------
        **options
            Those of `fm.read`.

        Returns
        -------
        Records

        Examples
        --------
        >>> import pandas as pd
        >>> import fieldmend
        >>> times = pd.date_range("2024-01-01", periods=3, freq="h", name="time")
        >>> pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=times).fieldmend.read().origin.used
        3
        """
        from fieldmend.records import read

        return read(self._frame, **options)


class ArrayAccessor:
    """What ``da.fieldmend`` is.

    Parameters
    ----------
    array
        A DataArray of time and station, NaN where nothing was received.

    Examples
    --------
    >>> import pandas as pd, xarray as xr
    >>> import fieldmend
    >>> times = pd.date_range("2024-01-01", periods=48, freq="h")
    >>> net = fieldmend.simulate.network(slots=48, nodes=4, seed=1)
    >>> da = xr.DataArray(net.readings, {"time": times, "station": list("abcd")})
    >>> sorted(da.fieldmend.recover(holdout=False).data_vars)
    ['estimate', 'filled', 'flag', 'lower', 'upper']
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    def recover(self, **options: Unpack[Recovering]) -> Any:
        """Recover the field: `fm.recover` of this array.

        Parameters
        ----------
        **options
            Those of `fm.recover`.

        Returns
        -------
        xarray.Dataset
            estimate, lower, upper, flag and filled; lazy where Dask holds the array.

        Examples
        --------
        >>> import pandas as pd, xarray as xr
        >>> import fieldmend
        >>> times = pd.date_range("2024-01-01", periods=48, freq="h")
        >>> net = fieldmend.simulate.network(slots=48, nodes=4, seed=1)
        >>> da = xr.DataArray(net.readings, {"time": times, "station": list("abcd")})
        >>> da.fieldmend.recover(holdout=False).filled.shape
        (48, 4)
        """
        from fieldmend.recovery import recover

        return recover(self._array, **options)


def _xarray() -> Callable[[Any], Any]:
    return import_module("xarray").register_dataarray_accessor(NAME)  # type: ignore[no-any-return]


def _pandas() -> Callable[[Any], Any]:
    return import_module("pandas").api.extensions.register_dataframe_accessor(NAME)  # type: ignore[no-any-return]


ACCESSORS: dict[str, tuple[Callable[[], Callable[[Any], Any]], type]] = {
    "pandas": (_pandas, FrameAccessor),
    "xarray": (_xarray, ArrayAccessor),
}
"""Library → what registers an accessor there, and the accessor."""

_offered: set[str] = set()  # a second registration would warn


def offer(libraries: Iterable[str]) -> None:
    """Give these libraries, some of `ACCESSORS`, their accessor; each of them once."""
    for library in libraries:
        if library not in _offered:
            registrar, accessor = ACCESSORS[library]
            registrar()(accessor)
            _offered.add(library)
