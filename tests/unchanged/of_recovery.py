"""Whole recoveries of small records: the summary, every flag, every estimate, every word."""

from __future__ import annotations

import json
from unittest.mock import patch

import numpy as np

import fieldmend as fm
from fieldmend.recovery import wide, windows

PARTS = (
    "estimate",
    "lower",
    "upper",
    "flag",
    "replaced",
    "anomaly",
    "episodes",
    "notes",
    "warnings",
)


def said(rec):
    """All that a recovery tells, without what hangs on machine and version."""
    summary = json.loads(json.dumps(rec.summary(), default=str))
    for name in ("seconds", "fieldmend", "command", "timings", "peak"):
        summary.pop(name, None)
    return {"summary": summary} | {
        name: {part: getattr(one, part) for part in PARTS} for name, one in rec.conditions.items()
    }


def grid(values, condition="temperature", unit="°C", **more):
    """A record of one condition, an hour a slot."""
    return fm.Grid.of(values, condition=condition, unit=unit, slot_seconds=3600, **more)


def weather(slots=120, nodes=6, *, seed, **more):
    """Readings with losses and a few false ones."""
    options = {"sampling": 0.85, "loss": "bursts", "anomaly_rate": 0.01, "noise": 0.1} | more
    return fm.simulate.network(slots, nodes, field="temperature", seed=seed, **options).readings


def lossy(values, seed=0, share=0.2):
    """The same with readings lost, one at a time and in stretches, and a node that ended."""
    rng = np.random.default_rng(seed)
    out = values.copy()
    out[rng.random(out.shape) < share] = np.nan
    out[30:42, 1] = out[:20, 2] = out[100:, 3] = np.nan
    return out


def in_windows(**options):
    """A record too long to be solved at once."""
    with patch.object(windows, "WINDOW", 5 * 600):
        return said(fm.recover(grid(weather(1300, 5, seed=2)), holdout=False, **options))


def by_regions():
    """More nodes than are solved together."""
    with patch.multiple(wide, MANY=10, UNPLACED=10, CORE=8, HALO=3):
        return said(fm.recover(grid(weather(90, 16, seed=3)), holdout=False))


def by_model():
    """New days by a model of those before."""
    X = weather(220, 6, seed=4)
    before = fm.recover(grid(X[:140]), holdout=False)
    new = grid(X[140:], start=int(before.grid.times[-1] // 1_000_000 + 3600))
    return said(fm.recover(new, model=before.model, holdout=False))


def decided():
    """What a person said about episodes is obeyed."""
    X = weather(seed=5, anomaly_rate=0.0)
    X[40:60, 2] += 9.0
    X[80, 4] += 12.0
    first = fm.recover(grid(X), holdout=False)
    decisions = [
        {"node": rec.grid.nodes[e.node], "condition": "temperature", "decision": word,
         "start": str(np.datetime64(int(rec.grid.times[e.start]), "us")) + "Z",
         "end": str(np.datetime64(int(rec.grid.times[e.stop - 1] + rec.grid.slot), "us")) + "Z"}
        for rec in [first]
        for e, word in zip(first["temperature"].episodes, ("rejected", "accepted"), strict=False)
    ]  # fmt: skip
    return said(fm.recover(grid(X), holdout=False, decisions={"decisions": decisions}))


def several():
    """Three conditions of the same nodes, their batteries among them."""
    X = weather(seed=6)
    rng = np.random.default_rng(6)
    damp = np.clip(60 - 2 * (X - np.nanmean(X)) + rng.normal(0, 0.5, X.shape), 0, 100)
    volts = 2.8 - 0.001 * np.arange(120)[:, None] + rng.normal(0, 0.01, X.shape)
    X[50:70, 1] = np.nan
    values = {"temperature": X, "humidity": damp, "voltage": volts}
    units = {"temperature": "°C", "humidity": "%", "voltage": "V"}
    first = grid(X)
    both = fm.Grid(values, first.nodes, first.times, first.slot, None, units, first.origin)
    return said(fm.recover(both, holdout=False))


def sent_on_change():
    """Nodes that send when they moved by half a degree."""
    X = np.round(weather(seed=7, sampling=1.0, anomaly_rate=0.0), 2)
    sent = np.full(X.shape, np.nan)
    for n in range(X.shape[1]):
        last = np.inf
        for t in range(len(X)):
            if abs(X[t, n] - last) > 0.5:
                sent[t, n] = last = X[t, n]
    return said(fm.recover(grid(sent), on_change=0.5))


def kind(field, condition, unit, **options):
    """A quantity with rules of its own."""
    values = getattr(fm.simulate, field)(120, 6, seed=8)
    return said(fm.recover(grid(lossy(values), condition, unit), holdout=False, **options))


# What is written down is what comes out, right or not.
CASES = {
    "temperature": lambda: said(fm.recover(grid(weather(seed=1)))),
    "everywhere": lambda: said(
        fm.recover(grid(lossy(weather(seed=9))), holdout=False, extrapolate=True,
                   replace="suspects")
    ),
    "gaps too long": lambda: said(
        fm.recover(grid(lossy(weather(seed=9))), holdout=False, max_gap="5h", max_width=2.0,
                   limits={"temperature": (0.0, 25.0)}, replace="none")
    ),
    "windows": in_windows,
    "windows by ls": lambda: in_windows(method="ls"),
    "regions": by_regions,
    "a model": by_model,
    "decisions": decided,
    "several conditions": several,
    "on change": sent_on_change,
    "wind": lambda: kind("direction_field", "wind direction", "°"),
    "rain": lambda: kind("rain_field", "rain", "mm"),
    "meter": lambda: kind("meter_field", "rain total", "mm", kinds={"rain total": "accumulator"}),
    "dust": lambda: kind("skewed_field", "pm10", "µg/m³"),
    "dust, hidden": lambda: said(
        fm.recover(grid(lossy(fm.simulate.skewed_field(120, 5, seed=10)), "pm10", "µg/m³"))
    ),
    "humidity": lambda: kind("humidity_field", "humidity", "%"),
}  # fmt: skip
