"""Data frames of pandas, Polars and PyArrow, through narwhals."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sources.databases import as_text
from fieldmend.records.sources.layout import stem_of
from fieldmend.records.sources.stage import SAMPLED, Stage
from fieldmend.text import shown


def stage(frame: Any, name: str = "frame") -> Stage:
    """A frame as a stage, named for the file that it came from. It is read, never changed."""
    import narwhals as nw

    if type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "index"):
        frame = _with_index(frame)
    try:
        wrapped = nw.from_native(frame)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"two columns have one name ({shown(error)})", file=name,
            hint="Give each column a name of its own",
        ) from error  # fmt: skip
    except TypeError as error:
        raise InputError(
            f"cannot read records from a {type(frame).__name__}",
            hint="Hand in a path, or a frame of pandas, Polars or PyArrow",
        ) from error
    eager = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
    names = [str(name) for name in eager.columns]
    columns, kinds = [], []
    for series in eager.iter_columns():
        array, kind = _column(series, nw)
        columns.append(array)
        kinds.append(kind)
    out = Stage(name, names, batches=_once(columns), kinds=kinds)
    out.words = f"{type(frame).__module__.split('.')[0]} frame, {len(names)} columns"
    out.sample = [
        [_sampled(column[i]) for column in columns] for i in range(min(SAMPLED, len(eager)))
    ]
    out.stem = stem_of(name)
    return out


def _once(columns: list[Any]) -> Iterator[list[Any]]:
    if columns and len(columns[0]):
        yield columns


def _with_index(frame: Any) -> Any:
    """A pandas index that was set on purpose is a column; a plain range is not."""
    if type(frame.index).__name__ == "MultiIndex":
        return frame.reset_index()
    plain = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    if plain or not hasattr(frame, "columns"):
        return frame
    if type(frame.index).__name__ == "DatetimeIndex" and frame.index.name is None:
        return frame.rename_axis(index="time").reset_index()
    return frame if frame.index.name is None else frame.reset_index()


def _column(series: Any, nw: Any) -> tuple[Any, str]:
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime):
        zoned = dtype.time_zone is not None
        if zoned:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = series.dt.cast_time_unit("us") if hasattr(series.dt, "cast_time_unit") else series
        return values.to_numpy().astype("datetime64[us]"), "zoned" if zoned else "naive"
    if dtype == nw.Date:
        return series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]"), "naive"
    if dtype.is_integer() and series.null_count() == 0:
        return series.to_numpy(), "integer"
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64), "number"
    return as_text([None if _empty(cell) else cell for cell in series.to_list()]), "text"


def _sampled(cell: Any) -> str | None:
    return None if _empty(cell) else str(cell)


def _empty(cell: Any) -> bool:
    """None, NaN, NaT, NA."""
    return cell is None or str(cell) in ("nan", "NaT", "<NA>")
