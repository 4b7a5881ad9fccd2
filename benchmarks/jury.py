"""Is `recover` to be trusted on networks that it was not built on?

Fourteen simulated kinds (`jury_networks`), three to sixty nodes, with real events at one node, at
some and at all of them; readings are lost one by one, in bursts, by nodes that are offline and in
outages of the whole network. Each network twice: sound, and with faults at up to a quarter of its
nodes, six at most (`jury_trouble`): spikes, stuck, offset by 3 to 10 of the node's standard
deviations for a tenth to half of the record, drift, noise, dead, gain, unit, clock late, swapped
with another. Three seeds each; those ``looked at`` were seen while tests for faults were mended,
``held back`` were not, though their kinds were (but 12 of hives, by which *who moved* was mended).

``flagged``, ``replaced``: percent of the true readings, ``of events``: of those in what really
happened; ``beside``: the same in networks with faults. ``found``: percent of the false readings
that are flagged, mean over faults without clocks and swaps, which have a column of their own: each
of such nodes reads what is true somewhere. ``real/printed``: mean absolute error at what was lost
over the printed one, geometric mean of sound networks, and ``line`` the same of the straight line,
which no recovery touches: where it is off too, what was lost was harder or easier than usual.
``held``: share of lost readings inside the 90 % interval, ``peaks`` where the estimate, and ``top``
where the reading is in its node's highest tenth. Who foresees perfectly what can be foreseen holds
.90 at ``peaks``, but less at ``top``: the highest readings are those that nobody expected.
``of line``: error over the straight line's.

``python benchmarks/jury.py wells,streets`` runs some kinds and stores nothing.
"""

from __future__ import annotations

import sys
import warnings
from multiprocessing import get_context
from typing import Any

import numpy as np

import fieldmend as fm
from fieldmend.holdout.scoring import Lost, Said, Witnesses, score
from fieldmend.result.recovered import Recovered
from jury_networks import NETWORKS, Array
from jury_trouble import HARD, break_some, chosen, lost
from table import write

Row = dict[str, Any]
SETS = {"looked at": (1, 2, 3), "held back": (11, 12, 13)}


def percent(part: Array, of: Array) -> float:
    """Of `of`, in `part`."""
    return 100 * float(part[of].mean()) if of.any() else np.nan


def judged(kind: str, seed: int, *, broken: bool) -> tuple[Row, dict[str, float]]:
    """What the whole recovery makes of one network."""
    rng = np.random.default_rng([seed, sum(map(ord, kind)), 4711])
    net = NETWORKS[kind](rng)
    gone = lost(rng, net)
    faulty = break_some(rng, net, chosen(rng, gone.shape[1]) if broken else ())
    Y = np.where(gone, np.nan, faulty.readings)
    grid = fm.Grid.of(Y, condition=net.column, slot_seconds=60.0 * net.minutes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = fm.recover(grid)[net.column]
    flagged = np.isin(np.asarray(out.flag), (3, 4))
    replaced = flagged & np.asarray(out.replaced if out.replaced is not None else False)
    sound = ~gone & ~faulty.false & ~faulty.doubtful
    row: Row = {"kind": kind, "seed": seed, "nodes": gone.shape[1], "broken": broken}
    for name, marks in (("flagged", flagged), ("replaced", replaced)):
        row[name] = percent(marks, sound)
        row[f"event {name}"] = percent(marks, sound & net.event)
    mine = {n: ~gone[:, n] & faulty.false[:, n] for n in faulty.kinds}
    found: dict[str, float] = {}
    for n, what in faulty.kinds.items():
        if mine[n].any():
            found[what] = percent(flagged[:, n], mine[n])
    return row | errors(net.readings, Y, out), found


def errors(truth: Array, Y: Array, out: Recovered) -> Row:
    """How far off what was lost is, really and as printed, and whether intervals hold it."""
    gone = np.isnan(Y)
    given = gone & np.isfinite(out.estimate)
    held = (out.lower <= truth) & (truth <= out.upper)
    row: Row = {"held": percent(held, given) / 100}
    for name, values in (("peaks", out.estimate), ("top", truth)):
        row[f"held, {name}"] = percent(held, given & highest(values)) / 100
    if out.holdout is None:
        return row
    said = Said(out.estimate, out.lower, out.upper)
    known = np.where(gone & ~given, np.nan, np.where(gone, truth, Y))
    real = score(Witnesses.of(known, given, gone & ~given, said), Lost.of(~gone, given))
    if real is None:
        return row
    return row | {
        "real/printed": real.method.mae / out.holdout.method.mae,
        "line": real.line.mae / out.holdout.line.mae,
        "of line": real.method.mae / real.line.mae,
    }


def highest(values: Array) -> Array:
    """In the node's highest tenth, and above what is usual: without rain there is no peak."""
    tenth, usual = np.nanquantile(values, 0.9, axis=0), np.nanmedian(values, axis=0)
    return (values >= tenth) & (values > usual)


def work(task: tuple[str, int, bool]) -> tuple[Row, dict[str, float]]:
    """One network, in a process of its own."""
    kind, seed, broken = task
    return judged(kind, seed, broken=broken)


def mean(rows: list[Row], name: str, *, ratio: bool = False) -> float:
    """Over networks; of ratios the geometric one."""
    values = np.array([row[name] for row in rows if np.isfinite(row.get(name, np.nan))])
    if not values.size:
        return np.nan
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-3)))) if ratio else values.mean())


def row_of(kind: str, name: str, done: list[tuple[Row, dict[str, float]]]) -> Row:
    """One line of the table."""
    sound = [row for row, _ in done if not row["broken"]]
    beside = [row for row, _ in done if row["broken"]]
    faults = [(what, share) for _, found in done for what, share in found.items()]
    easy = [share for what, share in faults if what not in HARD]
    hard = [share for what, share in faults if what in HARD]
    return {
        "kind": kind,
        "seeds": name,
        "nodes": done[0][0]["nodes"] if kind != "all" else "",
        "flagged": f"{mean(sound, 'flagged'):.2f}",
        "of events": f"{mean(sound, 'event flagged'):.1f}",
        "replaced": f"{mean(sound, 'replaced'):.2f}",
        "events replaced": f"{mean(sound, 'event replaced'):.2f}",
        "flagged beside": f"{mean(beside, 'flagged'):.2f}",
        "replaced beside": f"{mean(beside, 'replaced'):.2f}",
        "found": f"{np.mean(easy):.0f}" if easy else "",
        "clocks, swaps": f"{np.mean(hard):.0f}" if hard else "",
        "real/printed": f"{mean(sound, 'real/printed', ratio=True):.2f}",
        "line": f"{mean(sound, 'line', ratio=True):.2f}",
        "held": f"{mean(sound, 'held'):.2f}",
        "peaks": f"{mean(sound, 'held, peaks'):.2f}",
        "top": f"{mean(sound, 'held, top'):.2f}",
        "of line": f"{mean(sound, 'of line', ratio=True):.2f}",
    }


def by_fault(done: list[tuple[Row, dict[str, float]]]) -> str:
    """Share found of each kind of fault, in words."""
    shares: dict[str, list[float]] = {}
    for _, found in done:
        for what, share in found.items():
            shares.setdefault(what, []).append(share)
    order = sorted(shares, key=lambda what: -np.mean(shares[what]))
    return ", ".join(
        f"{what} {np.mean(shares[what]):.0f} % of {len(shares[what])}" for what in order
    )


def main(words: list[str]) -> int:
    """All kinds, or those named; seeds of one's own as a second word."""
    kinds = [k for k in NETWORKS if not words or k in words[0].split(",") or words[0] == "all"]
    sets = {"own": tuple(map(int, words[1].split(",")))} if len(words) > 1 else SETS
    rows, texts = [], []
    with get_context("spawn").Pool(2) as pool:
        for name, seeds in sets.items():
            tasks = [(k, s, broken) for k in kinds for s in seeds for broken in (False, True)]
            done = []
            for row, found in pool.imap(work, tasks):
                done.append((row, found))
                if words:
                    text = [f"{k} {v:.2f}" if isinstance(v, float) else v for k, v in row.items()]
                    shown = {k: f"{v:.0f}%" for k, v in found.items()}
                    print(*text, shown, sep=" | ", flush=True)
            for kind in (*kinds, "all"):
                mine = [one for one in done if kind in (one[0]["kind"], "all")]
                rows.append(row_of(kind, name, mine))
                print(*rows[-1].values(), sep=" | ", flush=True)
            texts.append(f"Found, seeds {name}: {by_fault(done)}.")
            print(texts[-1], flush=True)
    if not words:
        write("jury", rows, "\n\n".join([__doc__ or "", *texts]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
