"""The field model: fitted, applied, stepped and asked, on small records of several kinds."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.field.auto import recover_field
from fieldmend.field.packing import pack_parts
from fieldmend.field.regions import coordinates, cut

HOUR = 3_600_000_000


def record(slots=160, nodes=7, *, seed, **more):
    """Readings of a temperature-like field, bursts of them lost, some false."""
    options = {"sampling": 0.8, "loss": "bursts", "anomaly_rate": 0.01, "noise": 0.1} | more
    return fm.simulate.network(slots, nodes, field="temperature", seed=seed, **options).readings


def recovered(X, **options):
    """What a record gives by itself, and the model that was learnt."""
    out, learnt = recover_field(X, ~np.isnan(X), **options)
    header, arrays = pack_parts({"value": learnt.model})
    return {
        "estimate": out.estimate, "lower": out.lower, "upper": out.upper,
        "sparse": out.sparse, "low_rank": out.low_rank,
        "model": header, "arrays": dict(arrays),
        "hidden": learnt.holdout.estimate,
    }  # fmt: skip


def stepped():
    """New slots by a model: as a batch, one by one, and whether it still fits."""
    X = record(240, 6, seed=2)
    model = fm.FieldModel.fit(X[:160])
    out = model.apply(X[160:])
    state, now = model.start(), []
    for readings in X[160:]:
        state, one = model.step(state, readings)
        now.append([one.estimate, one.lower, one.upper, one.score, one.believed])
    parts = [np.array(part) for part in zip(*now, strict=True)]
    fit = model.still_fits(X[160:])
    return {"estimate": out.estimate, "upper": out.upper, "live": parts, "fits": str(fit)}


def days():
    """A course of the day that is strong, hours of silence of all, a gateway that failed."""
    rng = np.random.default_rng(3)
    hour = np.arange(240)[:, None] % 24
    X = 10 + 6 * np.sin(hour / 24 * 2 * np.pi) + rng.normal(0, 1, 6) + rng.normal(0, 0.3, (240, 6))
    X += np.cumsum(rng.normal(0, 0.1, (240, 1)), axis=0)
    X[100:109] = np.nan
    X[rng.random(X.shape) < 0.2] = np.nan
    return recovered(X, period=(24,))


def company():
    """Another condition, heard where this one was not."""
    X, other = record(200, 5, seed=4, noise=0.02), record(200, 5, seed=4, noise=0.02)
    other = -3 * other + 7
    X[40:70, 1] = X[120:150, 3] = np.nan
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    return recovered(X, companions=[other], joint=True)


def kept():
    """A model through its file; nodes that are missing, and one that is new."""
    X, other = record(200, 5, seed=7), record(200, 5, seed=8)
    grid = two_conditions(X[:150], other[:150])
    model = fm.FieldModel.fit(grid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        model.save(path)
        model = fm.FieldModel.load(path)
    new = two_conditions(X[150:], other[150:], first=150)
    names = ("n0", "n1", "x", "n3", "n4")
    strange = replace(new, nodes=names)
    out = {"model": repr(model), "nodes": list(model.nodes)}
    for name, given in (("same", new), ("strange", strange)):
        found = model.apply(given, new_nodes="own")
        out[name] = {k: [v.estimate, v.lower, v.upper] for k, v in found.items()}
    again = model.replayed(new)
    state, now = again.start(), None
    for row in range(20):
        state, now = again.step(state, {"t": X[150 + row], "h": other[150 + row]})
    out["now"] = {k: [v.estimate, v.lower, v.upper, v.expected] for k, v in now.items()}
    return out


def two_conditions(X, other, first=0):
    """Both on one grid of hours."""
    names = tuple(f"n{k}" for k in range(X.shape[1]))
    times = 1_700_000_000_000_000 // HOUR * HOUR + HOUR * (first + np.arange(len(X)))
    return fm.Grid({"t": X, "h": other}, names, times, HOUR, None, {}, fm.Grid.of(X).origin)


def alike():
    """Nodes cut into regions by who is like whom, and by place."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(80, 3))[:, rng.integers(0, 3, 30)] + 0.3 * rng.normal(size=(80, 30))
    X[rng.random(X.shape) < 0.2] = np.nan
    at = rng.normal(size=(30, 2))
    at[4:7] = np.nan
    found = {}
    for name, places in (("like", None), ("placed", at)):
        where = coordinates(X, ~np.isnan(X), places)
        found[name] = [np.abs(where), [[one.nodes, one.core] for one in cut(where, 8, 4)]]
    return found


def odd():
    """Live readings that jump, stay away, come back, and a node that falls silent."""
    X = record(260, 6, seed=10, anomaly_rate=0.0)
    model = fm.FieldModel.fit(X[:160])
    new = X[160:].copy()
    new[20, 1] += 15.0
    new[30:60, 2] += 8.0
    new[50:, 3] = np.nan
    new[70:72] += 5.0
    state, now = model.start(), []
    for readings in new:
        state, one = model.step(state, readings)
        now.append([one.estimate, one.lower, one.upper, one.score, one.expected, one.believed])
    return [np.array(part) for part in zip(*now, strict=True)]


CASES = {
    "by itself": lambda: recovered(record(seed=1)),
    "few readings": lambda: recovered(record(120, 5, seed=5, sampling=0.3, loss="uniform")),
    "three nodes": lambda: recovered(record(150, 3, seed=6, anomaly_rate=0.05)),
    "new slots": stepped,
    "days": days,
    "company": company,
    "kept in a file": kept,
    "alike": alike,
    "odd readings": odd,
    "weeks": lambda: recovered(record(400, 4, seed=11, sampling=0.5), period=(24, 168)),
    "twelve nodes": lambda: recovered(record(120, 12, seed=12, noise=0.5)),
    "two nodes": lambda: recovered(record(100, 2, seed=13)),
    "many are false": lambda: recovered(record(150, 6, seed=14, anomaly_rate=0.08)),
    "stuck": lambda: recovered(record(150, 6, seed=15, anomaly="stuck", anomaly_rate=0.05)),
}
