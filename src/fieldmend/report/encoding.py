"""Plain data as JSON that is safe inside a page; or figures with plain colours for Plotly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    text = json.dumps(value, default=_listed, separators=(",", ":"), allow_nan=False)
    for character, code in UNSAFE.items():
        text = text.replace(character, code)
    return text


def _listed(value: Any) -> Any:
    """Arrays as lists of five digits, NaN as null."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biu":
            return value.tolist()
        return [float(f"{v:.5g}") if np.isfinite(v) else None for v in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    msg = f"no JSON for {type(value).__name__}"
    raise TypeError(msg)


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
