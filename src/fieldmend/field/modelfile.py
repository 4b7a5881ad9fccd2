"""Model files: a JSON header and NumPy arrays in one zip, as NumPy's own .npz files are.

Never a pickle. The numbers of all arrays lie in two of them, those that need eight bytes and those
that need four, and the header says which is whose. Byte after byte: the first bytes of all numbers,
then the second, and so on; signs and exponents of neighbours are alike, and take little room that
way. ``numpy.load`` and ``unzip`` open it too. Files of format 1 have an entry for each array.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.errors import InputError

FORMAT = 3
KIND = "fieldmend field model"
_HEADER = "header.json"
_HEADER_MOST = 1 << 24  # bytes: the names of a hundred thousand nodes
_MANY = 10_000  # entries
_AT_MOST = 64, 1 << 24  # times as long as the file, or bytes: a small file asks for little memory
_PLANES = {4: "singles.npy", 8: "doubles.npy"}  # bytes of a number → entry
# Whatever zipfile, json and NumPy's reader of array headers raise on bytes that are not theirs.
_BROKEN = (
    *(ValueError, EOFError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
FIT_AGAIN = "Fit the model again, and save it"


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """One file; the same content gives the same bytes; what was there before is replaced whole."""
    short = {name: _shortest(array) for name, array in arrays.items()}
    said = [[name, array.itemsize, list(array.shape)] for name, array in short.items()]
    head = {"kind": KIND, "format": FORMAT} | header | {"arrays": said}
    text = json.dumps(head, ensure_ascii=False, allow_nan=False)
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w") as file:
            _put(file, _HEADER, text.encode())
            for size, entry in _PLANES.items():
                out = io.BytesIO()
                numbers = b"".join(a.tobytes() for a in short.values() if a.itemsize == size)
                planes = np.frombuffer(numbers, np.uint8).reshape(-1, size).T
                np.lib.format.write_array(out, np.ascontiguousarray(planes), allow_pickle=False)
                _put(file, entry, out.getvalue())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _put(file: zipfile.ZipFile, name: str, raw: bytes) -> None:
    file.writestr(zipfile.ZipInfo(name), raw, zipfile.ZIP_DEFLATED, compresslevel=9)


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
            if header["format"] > 1:
                return header, _split(header.pop("arrays", None), file, entries)
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
    """The entries by name; together they are not much longer than the file."""
    found = {entry.filename: entry for entry in file.infolist()}
    whole = sum(entry.file_size for entry in found.values())
    if len(found) != len(file.infolist()) or len(found) > _MANY:
        raise ValueError("entries twice, or too many of them")
    times, bytes_ = _AT_MOST
    if whole > max(times * size, bytes_):
        raise ValueError("its entries are far longer than the file, or overlap")
    if _HEADER not in found:
        raise ValueError("it has no header")
    return found


def _header(file: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    entry = entries.pop(_HEADER)
    if entry.file_size > _HEADER_MOST:
        raise ValueError("its header is too long")
    header = json.loads(_bytes(file, entry).decode(), parse_constant=_refuse_constant)
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise ValueError("its header is not that of a model")
    written = header.get("format")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise ValueError("its header has no format number")
    if written > FORMAT:
        by = str(header.get("version", "a later version"))[:20]
        raise Newer(f"a model of format {written}, by fieldmend {by}; this one reads {FORMAT}")
    return header


def _bytes(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """An entry, and no more of it than it says that it is: `read` alone would unpack it all."""
    with file.open(entry) as stream:
        return stream.read(entry.file_size + 1)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"its header holds {text}")


def _split(
    said: Any, file: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]
) -> dict[str, Array]:
    """The arrays that the header names, out of the numbers of all."""
    if not isinstance(said, list) or set(entries) != set(_PLANES.values()):
        raise ValueError("its header names no arrays, or its numbers are missing")
    numbers = {size: _numbers(file, entries[entry], size) for size, entry in _PLANES.items()}
    out: dict[str, Array] = {}
    used = dict.fromkeys(numbers, 0)
    for one in said:
        name, size, shape = _named(one)
        first, count = used[size], _count(shape)
        part = numbers[size][first : first + count]
        if name in out or len(part) != count:
            raise ValueError(f"{name[:40]} is there twice, or longer than its numbers")
        used[size] += count
        out[name] = part.reshape(shape).astype(np.float64)
    if any(used[size] != len(numbers[size]) for size in numbers):
        raise ValueError("it has numbers that belong to nothing")
    return out


def _named(one: Any) -> tuple[str, int, tuple[int, ...]]:
    """Name, bytes of a number and shape of an array, as the header says them."""
    if not isinstance(one, list) or len(one) != 3:
        raise ValueError("its header names an array without size or shape")
    name, size, shape = one
    sides = shape if isinstance(shape, list) else [None]
    if not isinstance(name, str) or type(size) is not int or size not in _PLANES:
        raise ValueError("its header names an array of no known kind")
    if len(sides) > 4 or not all(type(side) is int and 0 <= side < 2**40 for side in sides):
        raise ValueError(f"{name[:40]} has no shape")
    return name, size, tuple(sides)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


def _numbers(file: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> Array:
    planes = _raw(file, entry, (np.dtype(np.uint8),))
    if planes.ndim != 2 or len(planes) != size:
        raise ValueError(f"{entry.filename} holds no numbers of {size} bytes")
    return np.frombuffer(np.ascontiguousarray(planes.T).tobytes(), f"<f{size}")


def _array(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """An array of float64, of format 1."""
    return _raw(file, entry, (np.dtype("<f8"), np.dtype("<f4"))).astype(np.float64)


def _raw(file: zipfile.ZipFile, entry: zipfile.ZipInfo, kinds: tuple[np.dtype[Any], ...]) -> Array:
    """An array of some kind: the entry is in memory before a shape is believed."""
    raw = _bytes(file, entry)
    stream = io.BytesIO(raw)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{entry.filename} is of another kind of array file")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = len(raw) - stream.tell()
    whole = _count(shape) * dtype.itemsize == rest
    if dtype not in kinds or fortran or min(shape, default=0) < 0 or not whole:
        raise ValueError(f"{entry.filename} holds no array of numbers of its size")
    return np.frombuffer(raw, dtype, offset=stream.tell()).reshape(shape)
