"""Many numbers in few bytes: whole steps, differences, planes of bytes, gzip, base64.

A series of numbers becomes whole multiples of a step; each array is held against another one that
is close to it, and that against its own past: small numbers, most of whose bytes are zero.
`unpack.js` is the other side.
"""

from __future__ import annotations

import base64
import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fieldmend.grid import Array

LARGEST = 2**31 - 2
BESIDE = 1000  # numbers too large for a code that are kept beside them
LEVEL = 6  # of gzip: a third smaller than the lowest, in a tenth of a second per megabyte

# Array → the one that it is held against.
AGAINST = {
    "estimate": "", "observed": "estimate", "lower": "estimate", "upper": "estimate",
    "high": "estimate", "least": "estimate", "most": "estimate", "filled": "estimate",
}  # fmt: skip


@dataclass(frozen=True)
class Packed:
    """Arrays of one length as text, and what is needed to read them.

    Attributes
    ----------
    names
        Of the arrays of numbers, in their order.
    masks
        Of the arrays of bytes, which follow.
    length
        Of each.
    step
        Numbers are whole multiples of it.
    beside
        Numbers that have no code: array, index, value.
    text
        The bytes, base64.
    """

    names: tuple[str, ...]
    masks: tuple[str, ...]
    length: int
    step: float
    text: str = field(repr=False)
    beside: tuple[tuple[str, int, float], ...] = ()


def step_of(values: Array, noise: float) -> float:
    """A power of ten that is fine enough: a twentieth of the noise, or of what there is.

    Examples
    --------
    >>> step_of(np.array([20.0, 21.5]), 0.3), step_of(np.array([0.0, 40.0]), 0.0)
    (0.01, 0.001)
    """
    known = values[np.isfinite(values)]
    if known.size == 0:
        return 1.0
    low, high = (float(v) for v in np.quantile(known, [0.001, 0.999]))
    span = high / 2 - low / 2 or max(abs(high), 1.0)  # halves: the span may not fit a float
    fine = noise / 20 if noise > 0 and math.isfinite(noise) else span / 5000
    largest = max(abs(low), abs(high))
    power = math.floor(math.log10(max(fine, span * 1e-7, largest * 1e-8, 1e-300)))
    return float(f"1e{power}")


def pack(numbers: Mapping[str, Array], masks: Mapping[str, Array], step: float) -> Packed:
    """Arrays of one length; NaN counts as the number before it, what it means the masks say."""
    codes: dict[str, Array] = {}
    beside: list[tuple[str, int, float]] = []
    planes: list[bytes] = []
    for name, values in numbers.items():
        with np.errstate(over="ignore", invalid="ignore"):
            code = np.rint(values / step)
        far = np.isfinite(values) & ~(np.abs(code) <= LARGEST)
        for i in np.flatnonzero(far)[: max(0, BESIDE - len(beside))]:
            beside.append((name, int(i), float(values[i])))
        code = np.clip(code, -LARGEST, LARGEST)
        against = codes.get(AGAINST[name])
        known = np.isfinite(code)
        if against is not None:
            code = np.where(known, code, against)
            codes[name] = code.astype(np.int64)
            small = codes[name] - against
        else:
            codes[name] = _carried(code, known).astype(np.int64)
            small = codes[name]
        planes.append(_planes(small))
    raw = b"".join([*planes, *(mask.astype(np.uint8).tobytes() for mask in masks.values())])
    text = base64.b64encode(gzip.compress(raw, LEVEL, mtime=0)).decode("ascii")
    length = len(next(iter(masks.values())))
    return Packed(tuple(numbers), tuple(masks), length, step, text, tuple(beside))


def _carried(code: Array, known: Array) -> Array:
    """The last number where there is none; the first one before it."""
    if not known.any():
        return np.zeros(len(code))
    at = np.maximum.accumulate(np.where(known, np.arange(len(code)), -1))
    at[at < 0] = int(np.argmax(known))
    return code[at]


def _planes(values: Array) -> bytes:
    """Differences, folded so that small ones of either sign are small, byte by byte."""
    step = np.diff(values, prepend=np.int64(0)).astype(np.uint64).astype(np.uint32).view(np.int32)
    folded = ((step << 1) ^ (step >> 31)).view(np.uint32)
    return folded.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
