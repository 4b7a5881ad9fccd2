"""Model files: a JSON header and NumPy arrays in one zip, as NumPy's own .npz files are.

Never a pickle, and nothing compressed: an array is as long as the file says, so a small file cannot
ask for much memory. ``numpy.load`` and ``unzip`` open it too.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tokenize
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.errors import InputError

FORMAT = 1
KIND = "fieldmend field model"
_HEADER = "header.json"
_HEADER_MOST = 1 << 24  # bytes: the names of a hundred thousand nodes
_MANY = 10_000  # entries
# Whatever zipfile, json and NumPy's reader of array headers raise on bytes that are not theirs.
_BROKEN = (
    *(ValueError, EOFError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, struct.error, tokenize.TokenError),
)
FIT_AGAIN = "Fit the model again, and save it"


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """One file; the same content gives the same bytes; what was there before is replaced whole."""
    head = {"kind": KIND, "format": FORMAT} | header
    text = json.dumps(head, ensure_ascii=False, allow_nan=False, indent=1)
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as file:
            file.writestr(zipfile.ZipInfo(_HEADER), text.encode())
            for name, array in arrays.items():
                out = io.BytesIO()
                np.lib.format.write_array(out, _shortest(array), allow_pickle=False)
                file.writestr(zipfile.ZipInfo(f"{name}.npy"), out.getvalue())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _shortest(array: Array) -> Array:
    """The same numbers in four bytes each if they fit, else in eight."""
    short = array.astype("<f4", order="C")
    return short if np.array_equal(short, array) else array.astype("<f8", order="C")


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays; what is no model file is refused in one line."""
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as file:
            entries = _entries(file, Path(path).stat().st_size)
            header = _header(file, entries)
            return header, {
                key.removesuffix(".npy"): _array(file, entry) for key, entry in entries.items()
            }
    except OSError as error:
        said = error.strerror or "it cannot be read"
        raise InputError(f"no model there: {said}", file=name) from None
    except Newer as error:
        raise InputError(str(error), file=name, hint="Update fieldmend, or fit again") from None
    except _BROKEN as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"no whole model file ({said})", file=name, hint=FIT_AGAIN) from None


class Newer(Exception):
    """The file was written by a later version."""


def _entries(file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The entries by name; together they cannot be longer than the file."""
    found = {entry.filename: entry for entry in file.infolist()}
    whole = sum(entry.file_size for entry in found.values())
    if len(found) != len(file.infolist()) or len(found) > _MANY:
        raise ValueError("entries twice, or too many of them")
    if whole > size or any(e.compress_type != zipfile.ZIP_STORED for e in found.values()):
        raise ValueError("its entries are compressed, or overlap")
    if _HEADER not in found:
        raise ValueError("it has no header")
    return found


def _header(file: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    entry = entries.pop(_HEADER)
    if entry.file_size > _HEADER_MOST:
        raise ValueError("its header is too long")
    header = json.loads(file.read(entry).decode(), parse_constant=_refuse_constant)
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise ValueError("its header is not that of a model")
    written = header.get("format")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise ValueError("its header has no format number")
    if written > FORMAT:
        by = str(header.get("version", "a later version"))[:20]
        raise Newer(f"a model of format {written}, by fieldmend {by}; this one reads {FORMAT}")
    return header


def _refuse_constant(text: str) -> float:
    raise ValueError(f"its header holds {text}")


def _array(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """An array of float64: the entry is in memory before a shape is believed."""
    raw = file.read(entry)
    stream = io.BytesIO(raw)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{entry.filename} is of another kind of array file")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = len(raw) - stream.tell()
    count = 1
    for side in shape:
        count *= side
    known = dtype in (np.dtype("<f8"), np.dtype("<f4"))
    if not known or fortran or min(shape, default=0) < 0 or count * dtype.itemsize != rest:
        raise ValueError(f"{entry.filename} holds no array of numbers of its size")
    out = np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape)
    return out.astype(np.float64)
