"""Figures as JSON that is safe inside a page, arrays packed; or with plain colours for Plotly.

An array becomes ``{"d": type, "b": base64}``; whole numbers and times as unsigned codes with
``"a"`` (the lowest) and ``"k"`` (the step): value = a + k·code; a field of values as 16-bit codes,
65535 for none; ``"n"`` is the length of a row. `report.js` unpacks them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.grid import Array

NONE = 65535
TOKEN = re.compile(r"var\(--([a-z0-9-]+)\)")
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@dataclass(frozen=True)
class Words:
    """Text of a heat map's cells: one word for each code in its z."""

    words: tuple[str, ...]


def to_json(value: Any) -> str:
    r"""JSON in ASCII without <, > and &: it cannot leave the script element it stands in.

    Examples
    --------
    >>> to_json({"node": "</script>"})
    '{"node":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, default=_packed, separators=(",", ":"), allow_nan=False)
    for character, code in UNSAFE.items():
        text = text.replace(character, code)
    return text


def _packed(value: Any) -> dict[str, Any]:
    if isinstance(value, Words):
        return {"w": list(value.words)}
    if not isinstance(value, np.ndarray):
        msg = f"no JSON for {type(value).__name__}"
        raise TypeError(msg)
    packed = _array(value)
    if value.ndim == 2:
        packed["n"] = value.shape[1]
    return packed


def _array(value: Array) -> dict[str, Any]:
    if value.dtype.kind == "M":
        return _codes(value.astype("datetime64[ms]").astype(np.int64))
    if value.dtype.kind in "iu":
        return _codes(value.astype(np.int64))
    if value.ndim == 2:
        return _levels(value)
    large = np.abs(value[np.isfinite(value)]).max(initial=0) > 1e37
    kind = "f8" if large else "f4"
    return {"d": kind, "b": _base64(value.astype(f"<{kind}"))}


def _codes(value: Array) -> dict[str, Any]:
    low = int(value.min(initial=np.iinfo(np.int64).max)) if value.size else 0
    offset = value - low
    step = int(np.gcd.reduce(offset, axis=None)) or 1 if value.size else 1
    codes = offset // step
    kind = next(k for k in ("u1", "u2", "u4") if codes.max(initial=0) <= np.iinfo(k).max)
    return {"d": kind, "b": _base64(codes.astype(f"<{kind}")), "a": low, "k": step}


def _levels(value: Array) -> dict[str, Any]:
    known = np.isfinite(value)
    low = float(value[known].min()) if known.any() else 0.0
    high = float(value[known].max()) if known.any() else 0.0
    step = (high / 2 - low / 2) / (NONE - 1) * 2 or 1.0  # halves: the span may not fit a float
    codes = np.full(value.shape, NONE, dtype="<u2")
    codes[known] = np.rint(value[known] / step - low / step)
    return {"d": "u2", "b": _base64(codes), "a": low, "k": step, "none": NONE}


def _base64(value: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")


def coloured(value: Any, colours: Mapping[str, str], *, colour: bool = False) -> Any:
    """The same figure with the colours of a theme for their names.

    Only what stands where a colour belongs is looked at: a node may be called ``var(--text)``.
    """
    if isinstance(value, str):
        return TOKEN.sub(lambda match: colours[match[1]], value) if colour else value
    if isinstance(value, dict):
        out = {
            key: coloured(item, colours, colour=key.endswith(("color", "colorscale")))
            for key, item in value.items()
        }
        if isinstance(out.get("text"), Words):
            out["text"] = np.array(out["text"].words, dtype=object)[out["z"]]
        return out
    if isinstance(value, list):
        return [coloured(item, colours, colour=colour) for item in value]
    return value
