"""Data frames that pandas wrote into HDF5, as arrays (`DataFrame.to_hdf`): speeds of roads lie so.

Names and columns that are Python objects are pickles there, which are never opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.records.sources.stage import SAMPLED, Stage
from fieldmend.records.vocabulary import listing
from fieldmend.text import shown

HINT = "df.to_parquet('data.parquet') writes one that is read"


def stage(path: Path, name: str) -> Stage | None:
    """The one frame of a file as a table, its index first; None if pandas did not write it.

    Whether the file ends who reads it has been tried before (`rehearsal`).
    """
    import h5py

    with h5py.File(path, "r") as file:
        found = {
            str(key): _word(group, "pandas_type")
            for key, group in file.items()
            if isinstance(group, h5py.Group) and "pandas_type" in group.attrs
        }
        if not found:
            return None
        if len(found) > 1:
            keys = listing([shown(key) for key in found])
            raise InputError(f"it holds {len(found)} frames ({keys})", file=name, hint=HINT)
        ((key, kind),) = found.items()
        if kind != "frame":
            what = (
                f"{shown(key)} is of pandas' kind {shown(kind)}, which describes itself by pickles"
            )
            raise InputError(f"{what}: these are never opened", file=name, hint=HINT)
        return _table(file[key], name)


def _table(frame: Any, name: str) -> Stage:
    encoding = _word(frame, "encoding") or "utf-8"
    columns: dict[str, Any] = {}
    over: list[str] = []
    for i in range(int(frame.attrs["nblocks"])):
        items, values = _labels(frame[f"block{i}_items"], encoding, name), frame[f"block{i}_values"]
        if values.ndim != 2 or values.dtype.kind not in "iuf" or "value_type" in values.attrs:
            over += items
            continue
        block = values[()]
        block = block if values.attrs.get("transposed") else block.T
        columns |= {item: block[:, k].astype(np.float64) for k, item in enumerate(items)}
    order = [item for item in _labels(frame["axis0"], encoding, name) if item in columns]
    names, arrays = ["time", *order], [_times(frame["axis1"], name)]
    arrays += [columns[item] for item in order]
    zoned = "tz" in frame["axis1"].attrs
    out = Stage(name, names, batches=iter([arrays] if len(arrays[0]) else []))
    out.kinds = ["zoned" if zoned else "naive", *["number"] * len(order)]
    out.sample = [[str(a[i]) for a in arrays] for i in range(min(SAMPLED, len(arrays[0])))]
    out.words = f"HDF5 of pandas, {len(names)} columns"
    if over:
        out.notes.append(f"{shown(name)}: columns that are no numbers passed over: {listing(over)}")
    return out


def _times(index: Any, name: str) -> Any:
    """The index, which has to be of times: whole numbers of a unit that it names, or of ns."""
    kind = _word(index, "kind")
    if not kind.startswith("datetime64"):
        what = f"its index is of {shown(kind) if kind else 'no kind'}, not of times"
        raise InputError(what, file=name, hint=HINT)
    unit = kind if "[" in kind else "datetime64[ns]"
    return index[()].view(unit).astype("datetime64[us]")


def _labels(labels: Any, encoding: str, name: str) -> list[str]:
    """Names of columns: text or whole numbers."""
    if labels.dtype.kind in "iu":
        return [str(one) for one in labels[()].tolist()]
    if labels.dtype.kind != "S":
        what = "its columns' names are pickles, which are never opened"
        raise InputError(what, file=name, hint=HINT)
    return [one.decode(encoding, "replace") for one in labels[()].tolist()]


def _word(of: Any, attribute: str) -> str:
    found = of.attrs.get(attribute, b"")
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
