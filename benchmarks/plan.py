"""Plans made from the first part of a record, verified on the rest: is what they say true?

Each network is cut in two; `fm.plan` sees the first part, for four errors each. ``said`` is its
error and, after "to", the upper end of its interval (1.9 standard errors from eight blocks);
``found`` is the error on the rest, thinned by the schedule and recovered by the plan's model.
``kept``: found is within what was asked. ``counted``: the same error with the readings that are
held to be false scored as if they were true. ``best``: the smallest share that the same rule allows
of any design, tried step by step down to three quarters of the plan's (every interval; changes in
steps of 8 %) as far as a record of its length can judge (nodes heard once in each of eight blocks,
on average where they send on change); ``/ best`` is the plan's share over it, ``end`` beside it
where the plan is at that end.
``nodes off``: the error if the same share of the messages came from some of the nodes only, which
send everything, over the plan's error on the replay; a plan never advises that. ``replayed``: the
share that schedule.csv sends when every line of it is obeyed by itself.

Readings that a recovery of everything flags are not scored. Real files: ../shared/data, or
FIELDMEND_DATA. Rules of scoring and of ties were settled with IntelLab's later days and the
simulated temperature in view. ``CPU``:
seconds of the plan; where one follows another of its network, of what it had to play on top of it.
Rows are stored as they are measured: what is missing has not been run.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import fieldmend as fm
from fieldmend.grid import Grid
from fieldmend.planning.replay import Replay, cut
from fieldmend.planning.schedule import Schedule
from fieldmend.planning.search import Asked, longest_interval, maker
from table import RESULTS, write

ROOT = Path(__file__).parents[1]
LEAST = 0.75  # of a plan's share: so far another one is looked for
DATA = Path(os.environ.get("FIELDMEND_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Network:
    """A record, where its later part begins, and the errors that are asked for."""

    name: str
    grid: Grid
    middle: int
    errors: tuple[float, ...]

    @property
    def parts(self) -> tuple[Grid, Grid]:
        return cut(self.grid, slice(0, self.middle)), cut(self.grid, slice(self.middle, None))


def real(file: str, condition: str, slot: str, **reading: object) -> Grid | None:
    if not (DATA / file).exists():
        return None
    records = fm.read(DATA / file, conditions=[condition], **reading)
    try:
        return records.grid(slot)
    finally:
        records.close()


def some_nodes(grid: Grid, most: int) -> Grid:
    """The nodes that were heard most."""
    heard = np.isfinite(next(iter(grid.values.values()))).sum(axis=0)
    return cut(grid, slice(None), np.sort(np.argsort(-heard, kind="stable")[:most]))


def intellab() -> Network | None:
    found = real("intellab_mar04_08.parquet", "temperature", "5min")
    return found and Network("IntelLab temperature", found, 576, (0.05, 0.1, 0.2, 0.4))


def molene() -> Network | None:
    found = real("molene_radome.parquet", "t", "1h")
    return found and Network("Molène temperature", found, 372, (0.2, 0.3, 0.5, 0.8))


def redwood() -> Network | None:
    """The eight days and forty motes with the most readings: they came and went."""
    found = real("redwood_sonoma.parquet", "temperature", "5min", where="source = 'log'")
    if found is None:
        return None
    busy = some_nodes(busiest(found, 8 * 288), 40)
    return Network("Redwood temperature", busy, 4 * 288, (0.1, 0.2, 0.4, 0.8))


def ndbc() -> Network | None:
    """The sixty stations with the most readings."""
    found = real("ndbc_may2013.parquet", "air_temp_c", "1h")
    return found and Network(
        "NDBC air temperature", some_nodes(found, 60), 372, (0.15, 0.3, 0.5, 0.8)
    )


def made_up(name: str, seed: int) -> Network:
    grid = simulated(name, seed)
    sd = float(np.nanstd(next(iter(grid.values.values()))))
    errors = tuple(float(f"{share * sd:.2g}") for share in (0.1, 0.15, 0.25, 0.4))
    return Network(f"simulated {name}", grid, 384, errors)


NETWORKS: tuple[Callable[[], Network | None], ...] = (
    intellab,
    molene,
    redwood,
    ndbc,
    partial(made_up, "temperature", 101),
    partial(made_up, "humidity", 102),
    partial(made_up, "pressure", 103),
)


def busiest(grid: Grid, slots: int) -> Grid:
    """The stretch of so many slots with the most readings: motes came and went."""
    X = next(iter(grid.values.values()))
    total = np.concatenate([[0], np.cumsum(np.isfinite(X).sum(axis=1))])
    first = int((total[slots:] - total[:-slots]).argmax())
    return cut(grid, slice(first, first + slots))


def simulated(name: str, seed: int) -> Grid:
    """Sixteen days of 24 nodes, every half hour: the first eight are planned on."""
    climate = fm.simulate.CLIMATES[name]
    field = fm.simulate.climate_field(768, 24, climate=climate, slots_per_day=48, seed=seed)
    noise = 0.03 * float(field.std())
    net = fm.simulate.network(
        field=field, noise=noise, sampling=0.9, loss="bursts", anomaly_rate=0.002, seed=seed
    )
    return fm.Grid.of(net.readings, condition="value", slot_seconds=1800)


def obeyed(plan: fm.Plan) -> float:
    """The share that schedule.csv sends, each line obeyed by itself."""
    lines = plan.schedule_csv().splitlines()[1:]
    times, sent = plan.record.times / 1e6, 0
    X = next(iter(plan.record.values.values()))
    for n, line in enumerate(lines):
        _, interval, phase, change = line.rsplit(",", 3)
        last = None
        for t in np.flatnonzero(np.isfinite(X[:, n])):
            if (times[t] - float(phase)) % float(interval) >= plan.record.slot / 1e6:
                continue
            if not change or last is None or abs(X[t, n] - last) > float(change):
                sent, last = sent + 1, X[t, n]
    return sent / int(np.isfinite(X).sum())


def exhaustive(plan: fm.Plan, replay: Replay, asked: Asked) -> float:
    """The smallest share within the error, of all designs tried step by step below the plan's."""
    assert plan.chosen is not None
    own, name = plan.chosen.schedule, asked.condition
    longest, share = longest_interval(replay.grid), plan.chosen.share
    first = int(1 / share) + 1
    most = min(int(first / LEAST) + 1, int(longest))
    made = [
        Schedule.of(design, replay.grid, every)
        for design in ("clock", "staggered")
        for every in range(first, most + 1)
    ]
    change = own.changes[name] if own.design == "change" else at_share(replay, name, share)
    while change:
        changed = Schedule.of("change", replay.grid, changes={name: change})
        if replay.share(changed) < max(LEAST * share, fewest(replay.grid)):
            break
        made.append(changed)
        change *= 1.08
    played = [plan.chosen, *(replay.play(one) for one in made)]
    return min(one.share for one in played if asked.meets(one))


def at_share(replay: Replay, name: str, share: float) -> float:
    """The change that sends about so many."""
    found = maker(replay, "change", name)(1 / share)
    return found.changes[name] if found else 0.0


def fewest(grid: Grid) -> float:
    """The smallest share that a record can tell of; a schedule hits it as nearly as messages do."""
    return 0.98 / longest_interval(grid)


def ended(plan: fm.Plan) -> str:
    """Whether the record can tell of nothing longer."""
    assert plan.chosen is not None
    longest = longest_interval(plan.record)
    if plan.chosen.schedule.design == "change":
        return " end" if plan.chosen.share < 1.04 * fewest(plan.record) else ""
    return " end" if plan.chosen.schedule.every + 1 > longest else ""


def nodes_off(plan: fm.Plan, replay: Replay, condition: str) -> float:
    """The error of the nodes that are switched off, the others sending everything."""
    assert plan.chosen is not None
    few = max(2, round(1 / plan.chosen.share))
    on = Schedule.of("clock", replay.grid, 1)
    some = replace(on, phases=np.where(np.arange(len(on.nodes)) % few == 0, 0, 1))
    played = replay.fresh(some)
    return played.scores[condition].error / plan.chosen.scores[condition].error


def rows_of(network: Network, errors: Sequence[float]) -> Iterator[dict[str, object]]:
    early, late = network.parts
    (condition,) = network.grid.values
    plan: fm.Plan | None = None
    for error in errors:
        start = time.process_time()
        plan = fm.plan(early, error=error) if plan is None else plan.again(error)
        spent = time.process_time() - start
        row: dict[str, object] = {"network": network.name, "asked": error}
        if plan.chosen is None or plan.schedule is None:
            yield {**row, **dict.fromkeys(COLUMNS, "-"), "design": "none", "CPU": f"{spent:.0f}"}
            continue
        kept = plan.verify(late).found
        assert kept is not None
        replay = plan.ground.replay
        score = plan.chosen.scores[condition]
        found = kept.errors[condition]
        best = exhaustive(plan, replay, Asked(condition, error))
        yield {
            **row,
            "design": plan.chosen.schedule.design,
            "share": f"{plan.chosen.share:.3f}",
            "replayed": f"{obeyed(plan):.3f}",
            "said": f"{score.error:.3g} to {score.high:.3g}",
            "found": f"{found:.3g}",
            "kept": "yes" if found <= error else "NO",
            "counted": f"{kept.counted[condition]:.3g}",
            "/ best": f"{plan.chosen.share / best:.2f}{ended(plan)}",
            "nodes off": f"{nodes_off(plan, replay, condition):.1f}",
            "CPU": f"{spent:.0f}",
        }


COLUMNS = (
    "design", "share", "replayed", "said", "found", "kept", "counted", "/ best", "nodes off", "CPU",
)  # fmt: skip


def main(wanted: list[str]) -> None:
    """All networks, or those whose names hold one of these words, at errors that are named.

    ``plan.py IntelLab 0.1``; the others keep their rows.
    """
    words = [word for word in wanted if not word[0].isdigit()]
    errors = [float(word) for word in wanted if word[0].isdigit()]
    stored = RESULTS / "plan.csv"
    rows: dict[tuple[str, str], dict[str, object]] = {}
    if stored.exists() and wanted:
        with stored.open(newline="") as file:
            rows = {(row["network"], row["asked"]): dict(row) for row in csv.DictReader(file)}
    networks = [network for network in (make() for make in NETWORKS) if network is not None]
    order = [(network.name, str(error)) for network in networks for error in network.errors]
    for network in networks:
        if words and not any(word in network.name for word in words):
            continue
        for row in rows_of(network, errors or network.errors):
            print("  ".join(str(value) for value in row.values()), flush=True)
            rows[network.name, str(row["asked"])] = row
            write("plan", [rows[key] for key in order if key in rows], __doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
