"""Levels first, as one more member: what it would be worth where nodes are offline for a day.

``python benchmarks/levels.py`` (or ``make bench BENCH=levels``). The model chooses how long each
node's own wandering lasts by single steps, and loadings then fit increments; over a day what counts
is how levels relate. So other factors are fitted first, with wandering that is forgotten within
slots (φ at most .8), today's model to what they leave, and both are solved together. Hidden
readings weigh this estimate against the model's before the second look is weighed, as `auto` weighs
its members. It is not part of `auto`: this table says why. ``with / without``: RMSE at lost
readings of the mixture over that of `auto`, mean of three draws, and each draw; ``alone``: without
any mixture, over the model's own; ``CPU``: of `auto` with it over without, every hold-out fitted
anew.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import fieldmend as fm
from accuracy_cells import Cell, plans
from fieldmend.core.prox import Array, Mask
from fieldmend.field import auto, fitting, model, nodes
from fieldmend.field.honest import Honest, Said
from fieldmend.field.lean import lean_to_second
from fieldmend.field.trials import Trial
from table import write

LOSS = "offline 24 h"
SOURCES = (
    "Redwood temperature", "Redwood humidity", "IntelLab temperature", "Molène temperature",
    "NDBC air", "NDBC pressure", "PM10", "faultbench light", "nine motes",
    "simulated temperature", "simulated low_rank",
)  # fmt: skip
SHORT = nodes.PHI[:3]  # wandering that is forgotten within slots


def levels_first(data: model.Data) -> Array:
    """The estimate at every entry, nodes × slots."""
    rng = np.random.default_rng(5)
    with patch.object(nodes, "PHI", SHORT):
        slow = _grown(data, (4, 12), rng)
    slow = model.update_factors(slow, data, rng, tol=1e-3, most=20)
    rest = replace(data, readings=(data.readings - slow.common()) * data.used)
    both = _together(slow, _grown(rest, (2, 6), rng))
    both = model.update_factors(both, data, rng, tol=1e-3, most=20)
    return model.estimate(model.update_nodes(both, data), data)[0]


def _grown(data: model.Data, ranks: tuple[int, ...], rng: np.random.Generator) -> model.Field:
    field = model.start_field(data)
    for rank in ranks:
        field = model.grow(field, data, fitting._allowed(rank, data))
        field = model.improve(field, data, rng, rounds=4 if rank == ranks[-1] else 2)
    return field


def _together(slow: model.Field, fast: model.Field) -> model.Field:
    r = slow.rank + fast.rank
    columns = {
        name: np.concatenate([getattr(slow, name), getattr(fast, name)])
        for name in ("mean_loading", "relevance", "phi", "factors", "deviation")
    }
    return replace(
        slow,
        **columns,
        level=slow.level + fast.level,
        loadings=np.hstack([slow.loadings, fast.loadings]),
        doubt=np.zeros((len(slow.level), r + 1, r + 1)),
        nodes=fast.nodes,
        blur=np.zeros((r, r)),
    )


@contextmanager
def _watched() -> Iterator[dict[str, Any]]:
    """What `auto` says of lost entries, what it learnt, and levels first at the hidden readings."""
    seen: dict[str, Any] = {"levels": [], "spent": 0.0}
    judge, mix, learn = fitting.judged, Honest.mix, auto.learn

    def judged(field: model.Field, rest: model.Data, every: Any, hidden: Mask, **k: Any) -> Trial:
        if k:  # the hold-outs of leans and intervals
            start = time.process_time()
            seen["levels"].append(levels_first(rest)[hidden])
            seen["spent"] += time.process_time() - start
        return judge(field, rest, every, hidden, **k)

    def mixed(self: Honest, said: Said) -> Array:
        if said.model.ndim == 2:
            seen.setdefault("said", said)
        return mix(self, said)

    def learnt(*a: Any, **k: Any) -> auto.Learnt:
        seen["learnt"] = learn(*a, **k)
        return seen["learnt"]

    with (
        patch.object(fitting, "judged", judged),
        patch.object(Honest, "mix", mixed),
        patch.object(auto, "learn", learnt),
    ):
        yield seen


def tried(cell: Cell) -> dict[str, float]:
    """RMSE with and without, and CPU seconds."""
    period = cell.slots_a_day, 7 * cell.slots_a_day
    start = time.process_time()
    with _watched() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = fm.decompose(cell.readings, method="auto", period=period)
    usual = time.process_time() - start - seen["spent"]
    start = time.process_time()
    fitted, view, said = seen["learnt"].fitted, seen["learnt"].model.view, seen["said"]
    here, trial = levels_first(fitted.clean), Trial.pooled(fitted.trials)
    there = np.concatenate(seen["levels"])
    lean = lean_to_second(trial.truth, trial.model, there, trial.remote)
    hidden = replace(trial, model=lean.mix(trial.model, there, trial.remote))
    honest = Honest.learnt(hidden, 0.9, routine=auto._usual(fitted))
    mean = honest.mix(replace(said, model=lean.mix(said.model, here, said.remote)))
    spent = seen["spent"] + time.process_time() - start
    lost = np.isnan(cell.readings) & np.isfinite(cell.truth)

    def rmse(scaled: Array) -> float:
        course = fitted.clean.usual
        back = view.units(scaled + course, cell.readings.dtype)[:, np.argsort(view.order)]
        return float(np.sqrt(((back - cell.truth)[lost] ** 2).mean()))

    return {
        "auto": float(np.sqrt(((out.estimate - cell.truth)[lost] ** 2).mean())),
        "with": rmse(mean),
        "model": rmse(said.model),
        "alone": rmse(here),
        "cpu": 1.0 + spent / usual,
    }


def main(sources: list[str]) -> int:
    rows = []
    for source in sources or SOURCES:
        chosen = [p for p in plans(quick=False) if p.name == f"{source}, {LOSS}, none"]
        found = [tried(plan.build(plan)) for plan in chosen]
        if not found:
            continue
        total = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        rows.append(
            {
                "cell": f"{source}, {LOSS}",
                "auto": f"{total['auto']:.4g}",
                "with / without": f"{total['with'] / total['auto']:.3f}",
                "draws": " ".join(f"{one['with'] / one['auto']:.3f}" for one in found),
                "alone": f"{total['alone'] / total['model']:.3f}",
                "CPU": f"{total['cpu']:.2f}",
            }
        )
        print("  ".join(rows[-1].values()), flush=True)
        write("levels", rows, __doc__ or "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
