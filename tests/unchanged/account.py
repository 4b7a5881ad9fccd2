"""Results as small JSON, and where two accounts differ.

An array becomes one number a column: the sum of its entries, each with a weight of its own, so that
none of them changes unseen. Numbers agree to a millionth of what they are sums of.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

CLOSE = 1e-6


def told(found: Any) -> Any:
    """Anything a function returns, as JSON can hold it."""
    if isinstance(found, np.ndarray):
        return _array(found)
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        fields = dataclasses.fields(found)
        return {field.name: told(getattr(found, field.name)) for field in fields}
    if isinstance(found, Mapping):
        return {str(key): told(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [told(one) for one in found]
    if isinstance(found, Enum):
        return str(found.value)
    if isinstance(found, np.generic):
        found = found.item()
    if isinstance(found, float):
        return float(f"{found:.9g}") if math.isfinite(found) else str(found)
    assert found is None or isinstance(found, bool | int | str), type(found)
    return found


def _array(values: np.ndarray) -> dict[str, Any]:
    shape = list(values.shape)
    flat = values.reshape(len(values), -1) if values.ndim else values.reshape(1, 1)
    if flat.dtype == bool:
        return {"shape": shape, "true": _runs(flat)}
    if not np.issubdtype(flat.dtype, np.number):
        return {"shape": shape, "values": [str(one) for one in flat.ravel()]}
    numbers = flat.astype(np.float64)
    weight = np.random.default_rng(len(flat)).uniform(0.5, 1.5, (len(flat), 1))
    finite = np.isfinite(numbers)
    sums = (np.where(finite, numbers, 0.0) * weight).sum(axis=0)
    sizes = (np.abs(np.where(finite, numbers, 0.0)) * weight).sum(axis=0)
    out = {"shape": shape, "sums": [[told(float(s)), told(float(z))] for s, z in zip(sums, sizes)]}  # noqa: B905
    return out if finite.all() else {**out, "not finite": _runs(~finite)}


def _runs(marks: np.ndarray) -> list[str]:
    """Column: first–one past the last, of every run of true entries."""
    out = []
    for column in range(marks.shape[1]):
        edges = np.flatnonzero(np.diff(np.r_[False, marks[:, column], False].astype(int)))
        runs = [f"{a}-{b}" for a, b in edges.reshape(-1, 2)]
        if runs:
            out.append(f"{column}: {' '.join(runs)}")
    return out


def differences(was: Any, now: Any, where: str = "") -> list[str]:
    """Where two accounts are not the same, in words."""
    if isinstance(was, dict) and isinstance(now, dict):
        lost = [
            f"{where}/{key}: {'gone' if key in was else 'new'}" for key in was.keys() ^ now.keys()
        ]
        return lost + [
            one
            for key in was
            if key in now
            for one in differences(was[key], now[key], f"{where}/{key}")
        ]
    if isinstance(was, list) and isinstance(now, list):
        if _sum(was) and _sum(now):
            near = all(abs(a - b) <= CLOSE * was[1] for a, b in zip(was, now, strict=True))
            return [] if near else [f"{where}: {was} is {now}"]
        if len(was) != len(now):
            return [f"{where}: {len(was)} of them, now {len(now)}"]
        pairs = enumerate(zip(was, now, strict=True))
        return [one for i, (a, b) in pairs for one in differences(a, b, f"{where}/{i}")]
    if isinstance(was, float) and isinstance(now, float | int):
        same = math.isclose(was, now, rel_tol=CLOSE, abs_tol=1e-12)
    else:
        same = was == now
    return [] if same else [f"{where}: {was!r} is {now!r}"]


def _sum(one: list[Any]) -> bool:
    return len(one) == 2 and all(isinstance(part, float) for part in one)
