"""Each kind of quantity recovered as what it is, beside the same recovered as if it were linear.

``simulated``: 14 nodes × 480 hours of each kind (`fm.simulate.QUANTITIES`), free of noise, a fifth
of the readings lost in bursts of six hours, mean of three seeds. ``Molène``: the channels of the
weather stations that are not linear, 20 nodes heard most, a fifth of the readings hidden in bursts,
two seeds. ``PM10``: 20 rural stations, 1,000 days, two seeds. Real files: ../shared/data, or
FIELDMEND_DATA.

``MAE`` is at hidden readings, on the circle for directions; ``covered`` the share of them inside
their 90 % intervals, ``in the top tenth`` where the readings are largest (directions have no such
tenth); ``out of bounds`` the share of all estimates that the quantity cannot be (directions:
outside 0 to 360); ``flagged`` the share of readings flagged: in the simulated ones none is false,
in the real ones a few are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fieldmend as fm
from fieldmend.quantities import Kind, Quantity, circle, identify
from table import write

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("FIELDMEND_DATA", ROOT.parent / "shared" / "data"))
NAMES = {"positive": "pm10", "circular": "dd", "intermittent": "rr1", "accumulator": "rain_total",
         "bounded": "humidity"}  # fmt: skip
HOUR = 3600.0
Array = np.ndarray


def hidden(X: Array, seed: int) -> Array:
    lost = ~fm.simulate.observe(*X.shape, loss="bursts", rate=0.2, mean_length=6, seed=seed)
    return lost & np.isfinite(X)


def measured(
    name: str, X: Array, mask: Array, *, kind: str, quantity: Quantity, slot: float
) -> dict[str, float]:
    grid = fm.Grid.of(np.where(mask, np.nan, X), condition=name, slot_seconds=slot)
    one = fm.recover(grid, kinds={name: kind}, holdout=False)[name]
    at = mask & np.isfinite(one.estimate)
    low, high = one.lower, one.upper
    turn = quantity.period
    truth = circle.near(X, one.estimate, turn)
    inside = (low <= truth) & (truth <= high)
    floor, ceiling = (0.0, turn) if turn else (min(quantity.low, 0.0), quantity.high)
    if not np.isfinite(quantity.low) and not turn:
        floor = -np.inf
    estimate = one.estimate[np.isfinite(one.estimate)]
    top = at & (np.quantile(X[at], 0.9) <= X) & (X > np.median(X[at]))
    return {
        "MAE": float(np.abs(truth - one.estimate)[at].mean()),
        "covered": float(inside[at].mean()),
        "top": float(inside[top].mean()) if top.any() and not turn else np.nan,
        "out": float(((estimate < floor - 1e-9) | (estimate > ceiling + 1e-9)).mean()),
        "flagged": float(np.isin(one.flag, (3, 4)).sum() / np.isfinite(grid.values[name]).sum()),
    }


def row(data: str, kind: str, how: str, found: list[dict[str, float]]) -> dict[str, Any]:
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    top = "" if np.isnan(mean["top"]) else f"{mean['top']:.2f}"
    return {
        "data": data,
        "kind": kind,
        "recovered as": how,
        "MAE": f"{mean['MAE']:.4g}",
        "covered": f"{mean['covered']:.2f}",
        "in the top tenth": top,
        "out of bounds": f"{100 * mean['out']:.1f} %",
        "flagged": f"{100 * mean['flagged']:.2f} %",
    }


def compared(
    data: str, name: str, fields: list[Array], seeds: list[int], slot: float
) -> Iterator[dict[str, Any]]:
    quantity = identify(name, "", fields[0])
    for kind in (str(quantity.kind), "linear"):
        found = [
            measured(name, X, hidden(X, seed), kind=kind, quantity=quantity, slot=slot)
            for X, seed in zip(fields, seeds, strict=True)
        ]
        yield row(data, str(quantity.kind), kind, found)


def simulated() -> Iterator[dict[str, Any]]:
    for kind, name in NAMES.items():
        fields = [fm.simulate.QUANTITIES[kind](480, 14, seed=s) for s in (1, 2, 3)]
        yield from compared(f"simulated {name}", name, fields, [1, 2, 3], HOUR)


def heard_most(X: Array, nodes: int = 20) -> Array:
    count = np.isfinite(X).sum(axis=0)
    best = np.sort(np.argsort(-count, kind="stable")[:nodes])
    return X[:, best[count[best] > 0.5 * len(X)]]


def real() -> Iterator[dict[str, Any]]:
    grid = fm.read(DATA / "molene_radome.parquet").grid()
    for name, values in grid.values.items():
        X = heard_most(values)
        kind = identify(name, "", values).kind
        if X.shape[1] >= 5 and np.nanstd(X) > 0 and kind not in (Kind.LINEAR, Kind.PASSED):
            yield from compared(f"Molène {name}", name, [X, X], [1, 2], HOUR)
    pm10 = heard_most(fm.read(DATA / "pm10_germany_rural.parquet").grid().values["pm10"][2500:3500])
    yield from compared("PM10", "pm10", [pm10, pm10], [1, 2], 24 * HOUR)


def main() -> int:
    parts = [simulated()]
    if DATA.exists():
        parts.append(real())
    else:
        print(f"no real data at {DATA}: only simulated rows", file=sys.stderr)
    rows = []
    for part in parts:
        for line in part:
            rows.append(line)
            print("  ".join(str(v) for v in line.values() if v), flush=True)
    write("quantities", rows, __doc__ or "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
