"""Nodes that send on change: what silence is worth, read as "still within δ of the last message".

From the first part of each network comes a model, as `fieldmend plan` makes it. The rest is thinned
by such a δ that nodes send about a half, a quarter, an eighth of it (and loses messages as its
record does, see docs/plan.md) and recovered. MAE at readings that were not sent: ``band``: silence
is a reading (`--on-change`); ``loss``: the same recovery if silence is taken for loss; ``hold``:
the last message, no recovery. ``outside``: estimates, and ends of their intervals, that lie beyond
the band (after a message that is held to be false there is none). ``held``: share of those readings
within the 90 % intervals. Readings that a recovery of everything flags are not scored. Real files:
../shared/data, or FIELDMEND_DATA.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np

import fieldmend as fm
from fieldmend.flags import BAD
from fieldmend.planning.replay import Replay, arriving, false_readings, share_sent, thinned
from fieldmend.planning.schedule import Schedule
from fieldmend.planning.search import maker
from fieldmend.planning.seldom import both_rules
from fieldmend.quantities import identify_all
from fieldmend.recovery.condition import Applying, recover_condition
from fieldmend.recovery.storage import Storage
from fieldmend.result.options import Options
from plan import NETWORKS, Network
from table import write

FEW = 2, 4, 8  # of so many readings one is sent
Array = np.ndarray


def last_heard(X: Array) -> Array:
    """At each slot the last reading that arrived, NaN before the first."""
    at = np.where(np.isnan(X), -1, np.arange(len(X))[:, None])
    at = np.maximum.accumulate(at, axis=0)
    return np.where(at < 0, np.nan, np.take_along_axis(X, np.maximum(at, 0), axis=0))


def rows_of(network: Network) -> Iterator[dict[str, object]]:
    early, late = network.parts
    (name,) = early.values
    own = identify_all(early.values, early.units, {})
    replay = Replay(early, own)
    whole = both_rules(fm.FieldModel.fit(early))
    false = false_readings(late, own, replay.options)[name]
    sending = SimpleNamespace(grid=late, share=partial(share_sent, late))
    for few in FEW:
        schedule = maker(sending, "change", name)(few)
        if schedule is not None:
            model = replay.model(schedule, whole)
            yield {"network": network.name, **measured(late, schedule, model, own[name], false)}


def measured(
    late: fm.Grid, schedule: Schedule, model: fm.FieldModel, quantity: object, false: Array
) -> dict[str, object]:
    ((name, delta),) = schedule.changes.items()
    sent = arriving(late, schedule)
    options = Options(holdout=False, everywhere=True).for_grid(late)
    part = model[name]
    applied = Applying(part, model.first_slot(part, late))
    truth, heard = late.values[name], last_heard(thinned(late, sent).values[name])

    def recovered(how: object) -> tuple[Array, ...]:
        found, _ = recover_condition(
            thinned(late, sent), name, quantity, how, Storage(), model=applied
        )
        return found.estimate, found.lower, found.upper, np.isin(found.flag, BAD)

    *band, denied = recovered(replace(options, on_change={name: delta}))
    loss = recovered(options)
    silent = ~sent & np.isfinite(truth) & np.isfinite(heard)
    scored = silent & ~false
    believed = silent & (last_heard(np.where(sent, denied, np.nan)) == 0)
    beyond = [np.abs(side - heard)[believed] > delta * (1 + 1e-6) for side in band]
    within = (band[1] <= truth) & (truth <= band[2])
    return {
        "δ": f"{delta:g}",
        "sent": f"{share_sent(late, schedule):.3f}",
        "band": f"{np.abs(band[0] - truth)[scored].mean():.3g}",
        "loss": f"{np.abs(loss[0] - truth)[scored].mean():.3g}",
        "hold": f"{np.abs(heard - truth)[scored].mean():.3g}",
        "outside": int(sum(one.sum() for one in beyond)),
        "held": f"{within[scored].mean():.2f}",
        "readings": int(scored.sum()),
    }


def main(wanted: list[str]) -> None:
    """All networks, or those whose names hold one of these words; those are not stored."""
    rows: list[dict[str, object]] = []
    for make in NETWORKS:
        network = make()
        if network is None or (wanted and not any(word in network.name for word in wanted)):
            continue
        for row in rows_of(network):
            print("  ".join(str(value) for value in row.values()), flush=True)
            rows.append(row)
    if not wanted:
        write("onchange", rows, __doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
