"""A model fitted once, applied to days that it has not seen.

Parameters come from the first 70 % of each record. In the last 30 %, 25 % of the readings and one
silence of 24 slots per node are hidden, three times, and every method fills them:

``apply``      `FieldModel.fit` on the first part, `apply` on the new slots alone
``refit``      `decompose(method="auto")` on the whole record, without the hidden readings
``filter``     the same model slot by slot: the past alone (warmed up on 200 slots before)
``transform``  `FieldRecovery` of the first part; ``slots alone`` with `ordered=False`
``line``       a straight line between each node's own readings (of the whole record)
``KNN``, ``Iterative``  scikit-learn's imputers, fitted to the first part, defaults

``MAE`` and ``RMSE`` at the hidden readings, in the units of the readings (simulated: of a noisy
reading); ``/ line`` is the MAE over that of the line. Hidden readings that the field model, given
everything, calls false are not scored. ``CPU``: seconds a draw, without what was learnt from the
past; beside ``apply`` stands what fitting took. Goals: ``apply`` never worse than the line, and at
most a twentieth of fitting's CPU. ``held``: share within the 90 % intervals.

A second table, ``newdays_filter``, has the model slot by slot on IntelLab's last two days.

IntelLab without mote 18, which dies. Real files: ../shared/data, or FIELDMEND_DATA; without them
only the simulated rows.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

import fieldmend as fm
from fieldmend.metrics import interpolate
from table import write

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("FIELDMEND_DATA", ROOT.parent / "shared" / "data"))
SPLIT, RANDOM, SILENCE, WARM = 0.7, 0.25, 24, 200
DRAWS = 3  # of what is hidden: a silence per node is few witnesses
MOST = 1500, 60  # slots and nodes taken of a real set
Array = np.ndarray
# File, slot, condition; nodes left out; filter of rows by a column.
REAL = {
    "IntelLab temperature": ("intellab_mar04_08.parquet", "5min", "temperature"),
    "IntelLab humidity": ("intellab_mar04_08.parquet", "5min", "humidity"),
    "IntelLab light": ("intellab_mar04_08.parquet", "5min", "light"),
    "IntelLab nine motes": ("intellab_full_9nodes.parquet", "10min", "temperature"),
    "NDBC air temperature": ("ndbc_may2013.parquet", "1h", "air_temp_c"),
    "NDBC pressure": ("ndbc_may2013.parquet", "1h", "pressure_hpa"),
    "NDBC wind speed": ("ndbc_may2013.parquet", "1h", "wind_speed_kt"),
    "Redwood temperature": ("redwood_sonoma.parquet", "5min", "temperature"),
    "Redwood humidity": ("redwood_sonoma.parquet", "5min", "humidity"),
    "faultbench temperature": ("faultbench_intel.parquet", "5min", "temperature"),
    "faultbench light": ("faultbench_intel.parquet", "5min", "light"),
    "Molène temperature": ("molene_radome.parquet", "1h", "t"),
    "Molène humidity": ("molene_radome.parquet", "1h", "u"),
    "multihop temperature": ("suthaharan_multihop.parquet", "5s", "temperature"),
    "PM10": ("pm10_germany_rural.parquet", "1D", "pm10"),
}


def frame(name: str) -> Any:
    """A real set as a tidy table: node, timestamp, conditions."""
    import pandas as pd

    file, _, condition = REAL[name]
    table = pd.read_parquet(DATA / file)
    if "source" in table:
        table = table[table["source"] == "log"]
    if "fault_set" in table:  # the clean values of one of them
        table = table[(table["fault_set"] == "random") & (table["attribute"] == condition)]
        table = table.assign(**{condition: table["clean"]})
    if name.startswith("IntelLab") and "nine" not in name:
        table = table[table["node"].astype(str) != "18"]
    if name == "IntelLab nine motes":  # before their batteries die
        table = table[table["timestamp"] < pd.Timestamp("2004-03-12")]
    return table


def real(name: str) -> Array:
    """Slots × nodes: the nodes that were heard most, the first slots in which they were."""
    import pandas as pd

    _, slot, condition = REAL[name]
    table = frame(name)
    if "timestamp" in table:
        row = table["timestamp"].dt.floor(slot)
    else:
        row = table["reading"]
    grid = table.assign(row=row).pivot_table(
        index="row", columns="node", values=condition, aggfunc="median", observed=True
    )
    if "timestamp" in table:
        grid = grid.reindex(pd.date_range(grid.index.min(), grid.index.max(), freq=slot))
    X = grid.to_numpy(np.float64)
    if name == "PM10":  # stations open and close: the years in which most are open
        X = X[-MOST[0] :]
    X = X[: MOST[0]]
    heard = np.isfinite(X).mean(axis=0)
    kept = np.sort(np.argsort(-heard, kind="stable")[: MOST[1]])
    return X[:, kept[heard[kept] > 0.5]]


def simulated(field: str) -> Array:
    options = {"noise": 0.3, "anomaly_rate": 0.01, "sampling": 0.8, "seed": 31}
    return fm.simulate.network(1000, 40, field=field, rank=4, **options).readings


@dataclass(frozen=True)
class Draw:
    """A record, where its new days begin, and what is hidden and scored there."""

    X: Array
    start: int
    hidden: Array
    scored: Array

    @classmethod
    def of(cls, X: Array, true: Array, seed: int) -> Draw:
        start = int(SPLIT * len(X))
        rng = np.random.default_rng(seed)
        hidden = np.zeros(X.shape, bool)
        hidden[start:] = rng.random((len(X) - start, X.shape[1])) < RANDOM
        for n in range(X.shape[1]):
            first = rng.integers(start, len(X) - SILENCE + 1)
            hidden[first : first + SILENCE, n] = True
        hidden &= np.isfinite(X)
        return cls(X, start, hidden, (hidden & true)[start:])

    @property
    def shown(self) -> Array:
        return np.where(self.hidden, np.nan, self.X)

    @property
    def new(self) -> Array:
        return self.shown[self.start :]

    def errors(self, estimate: Array) -> Array:
        return np.abs(estimate - self.X[self.start :])[self.scored]

    def inside(self, lower: Array, upper: Array) -> Array:
        truth = self.X[self.start :]
        return ((lower <= truth) & (truth <= upper))[self.scored]


# The new slots, and their bounds where there are any.
Filled = tuple[Array, Array | None, Array | None]


def methods(past: Array) -> dict[str, Callable[[Draw], Filled]]:
    """How each fills the new slots; what can be learnt from the past is learnt here."""
    before = time.process_time()
    model = fm.FieldModel.fit(past)
    fitting = time.process_time() - before
    recovery = fm.FieldRecovery().fit(past)
    alone = fm.FieldRecovery(ordered=False).fit(past)
    knn = KNNImputer(keep_empty_features=True).fit(past)
    iterative = IterativeImputer(random_state=0, keep_empty_features=True).fit(past)

    def applied(draw: Draw) -> Filled:
        out = model.apply(draw.new, first=draw.start)
        return out.estimate, out.lower, out.upper

    def refitted(draw: Draw) -> Filled:
        out = fm.decompose(draw.shown, method="auto")
        return tuple(part[draw.start :] for part in (out.estimate, out.lower, out.upper))

    return {
        f"apply (fitting {fitting:.2f} s)": applied,
        "refit": refitted,
        "filter": lambda draw: filtered(model, draw),
        "transform": lambda draw: (recovery.transform(draw.new), None, None),
        "slots alone": lambda draw: (alone.transform(draw.new), None, None),
        "line": lambda draw: (interpolate(draw.shown)[draw.start :], None, None),
        "KNN": lambda draw: (knn.transform(draw.new), None, None),
        "Iterative": lambda draw: (iterative.transform(draw.new), None, None),
    }


def filtered(model: fm.FieldModel, draw: Draw) -> Filled:
    first = max(0, draw.start - WARM)
    state, rows = model.start(first), []
    for y in draw.shown[first:]:
        state, now = model.step(state, y)
        rows.append(now)
    rows = rows[draw.start - first :]
    names = "estimate", "lower", "upper"
    return tuple(np.array([getattr(row, name) for row in rows]) for name in names)


def measured(name: str, X: Array) -> Iterator[dict[str, Any]]:
    true = fm.decompose(X, method="auto").sparse == 0
    draws = [Draw.of(X, true, seed) for seed in range(DRAWS)]
    found = {}
    for method, fill in methods(X[: draws[0].start]).items():
        off, inside, before = [], [], time.process_time()
        for draw in draws:
            estimate, lower, upper = fill(draw)
            off.append(draw.errors(estimate))
            inside.append(np.zeros(0) if lower is None else draw.inside(lower, upper))
        seconds = (time.process_time() - before) / DRAWS
        found[method] = np.concatenate(off), np.concatenate(inside), seconds
    line = found["line"][0].mean()
    for method, (off, inside, seconds) in found.items():
        yield {
            "data": name,
            "slots × nodes": f"{X.shape[0]} × {X.shape[1]}",
            "method": method,
            "MAE": f"{off.mean():.4g}",
            "RMSE": f"{np.sqrt((off**2).mean()):.4g}",
            "/ line": f"{off.mean() / line:.2f}",
            "held": f"{inside.mean():.2f}" if inside.size else "",
            "CPU": f"{seconds:.3f}",
        }


FILTER = """The model slot by slot: from the past alone, and some slots later.

IntelLab temperature, 5 min: the model of its first three days, the last two with half or four
fifths of the readings lost. MAE at the lost ones. ``filter``: `FieldModel.step`, the past alone;
``last value``: what the node sent last; ``6 slots later``: `FieldModel.apply` on the 96 slots that
end six slots after; ``batch``: `apply` on all of them. Goals: the filter at most .5 of the last
value, six slots later at most 1.1 of the batch.
"""
FITTED, LAG, TRAILING = 864, 6, 96  # slots


def followed(loss: float, X: Array) -> dict[str, Any]:
    true = fm.decompose(X, method="auto").sparse == 0
    model = fm.FieldModel.fit(X[:FITTED])
    lost = np.random.default_rng(0).random(X.shape) < loss
    lost[: FITTED - WARM] = False
    draw = Draw(X, FITTED, lost, (lost & true & np.isfinite(X))[FITTED:])
    draw.scored[-LAG:] = False  # nothing is heard six slots after these
    Y, slots = draw.shown, range(FITTED, len(X) - LAG)
    at = np.maximum.accumulate(np.where(np.isnan(Y), 0, np.arange(len(Y))[:, None]), axis=0)
    later = np.full(draw.new.shape, np.nan)
    for t in slots:
        first = t + LAG + 1 - TRAILING
        window = model.apply(Y[first : t + LAG + 1], first=first)
        later[t - FITTED] = window.estimate[-1 - LAG]
    filled = {
        "filter": filtered(model, draw)[0],
        "last value": np.take_along_axis(Y, at, axis=0)[FITTED:],
        "6 slots later": later,
        "batch": model.apply(draw.new, first=FITTED).estimate,
    }
    mae = {name: float(np.nanmean(draw.errors(values))) for name, values in filled.items()}
    return {
        "lost": f"{100 * loss:.0f} %",
        "readings": int(draw.scored.sum()),
        **{name: f"{value:.4f}" for name, value in mae.items()},
        "filter / last value": f"{mae['filter'] / mae['last value']:.2f}",
        "6 slots later / batch": f"{mae['6 slots later'] / mae['batch']:.2f}",
    }


def slot_by_slot() -> None:
    X, rows = real("IntelLab temperature"), []
    for loss in (0.5, 0.8):
        rows.append(followed(loss, X))
        print("  ".join(map(str, rows[-1].values())), flush=True)
    write("newdays_filter", rows, FILTER)


def main(wanted: list[str]) -> int:
    sets = {f"simulated {f}": lambda f=f: simulated(f) for f in ("temperature", "low_rank")}
    if DATA.exists():
        sets |= {name: lambda name=name: real(name) for name in REAL}
    else:
        print(f"no real data at {DATA}: only simulated rows", file=sys.stderr)
    warnings.simplefilter("ignore", ConvergenceWarning)  # of IterativeImputer
    rows = []
    for name, load in sets.items():
        if wanted and not any(w.lower() in name.lower() for w in wanted):
            continue
        for row in measured(name, load()):
            rows.append(row)
            print("  ".join(map(str, row.values())), flush=True)
    if not wanted:
        write("newdays", rows, __doc__ or "")
    if DATA.exists() and (not wanted or wanted == ["filter"]):
        slot_by_slot()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
