"""``fieldmend inspect``: what is there, before anything is recovered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.cli.progress import progress
from fieldmend.cli.recovering import command, read
from fieldmend.diagnostics import gap_lengths, loss_rates, singular_energy
from fieldmend.grid import Array, Grid
from fieldmend.metrics import interpolate
from fieldmend.quantities import Quantity, identify_all
from fieldmend.result.summary import about_grid, cells_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmend.cli.source import Source
    from fieldmend.cli.terminal import Voice

WORST = 5  # nodes named for their loss
SHARES = (0.9, 0.99, 0.999)  # of the energy
LARGEST = 4_000_000  # entries whose singular values are computed; more are thinned
REJECTS = 10


def run(source: Source, voice: Voice) -> None:
    """Read, measure, tell."""
    with progress(voice.bars) as bars:
        with closing(read(source, bars)) as records:
            grid = source.grid(records)
    voice.tell(overview(grid, source.kinds), partial(_story, source.arguments))


def overview(grid: Grid, kinds: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What is there as plain numbers and words; `kinds` are those the user named."""
    from fieldmend import __version__

    origin = grid.origin
    found = identify_all(grid.values, grid.units, kinds)
    return {
        "fieldmend": __version__,
        **about_grid(grid),
        "rejects": [
            {"file": r.file, "line": r.line, "reason": r.reason, "text": r.text}
            for r in origin.rejects.listed[:REJECTS]
        ],
        "conditions": {
            name: _condition(grid, name)
            | {"cells": cells_of(grid, name)}
            | {"quantity": _quantity(found[name])}
            for name in grid.values
        },
        "notes": list(origin.notes),
        "warnings": list(origin.warnings),
        "suspects": list(origin.suspects),
    }


def _condition(grid: Grid, name: str) -> dict[str, Any]:
    X = grid.values[name]
    observed = ~np.isnan(X)
    rates = loss_rates(observed)
    gaps = gap_lengths(observed)
    worst = sorted(range(len(rates)), key=lambda n: (-rates[n], n))[:WORST]
    return {
        "unit": grid.units.get(name, ""),
        "readings": int(np.count_nonzero(observed)),
        "missing_share": float(1 - observed.mean()),
        "range": [float(np.nanmin(X)), float(np.nanmax(X))] if observed.any() else None,
        "loss": {
            key: float(np.quantile(rates, q))
            for key, q in (("least", 0), ("median", 0.5), ("tenth_worst", 0.9), ("most", 1))
        },
        "worst_nodes": [
            {"node": grid.nodes[n], "loss": float(rates[n])} for n in worst if rates[n]
        ],
        "gaps": {
            "count": len(gaps),
            "median_slots": float(np.median(gaps)) if len(gaps) else None,
            "longest_slots": int(gaps.max()) if len(gaps) else None,
        },
        "singular_values": _energy(X),
    }


def _quantity(found: Quantity) -> dict[str, Any]:
    """What a condition is; bounds that do not exist are None."""

    def ends(low: float, high: float) -> list[float | None]:
        return [end if np.isfinite(end) else None for end in (low, high)]

    return {
        "kind": str(found.kind),
        "guessed": found.guessed,
        "what": found.what,
        "unit": found.unit,
        "unit_guessed": found.unit_guessed,
        "bounds": ends(found.low, found.high),
        "period": found.period or None,
        "possible": ends(*found.possible),
        "reason": found.reason,
    }


def _energy(X: Array) -> dict[str, Any] | None:
    """How many singular values hold 90, 99 and 99.9 % of the squared energy around the medians.

    Gaps are bridged by straight lines; None where nothing varies.
    """
    heard = ~np.isnan(X).all(axis=0)
    step = -(-int(heard.sum()) * len(X) // LARGEST) or 1
    some: Array = X[:, heard][::step]
    some = some[:, ~np.isnan(some).all(axis=0)]
    if not some.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        filled = interpolate(some)
        centred = filled - np.median(filled, axis=0)
    if not np.isfinite(centred).all() or not centred.any():
        return None
    energy = singular_energy(centred, squared=True)
    counts = {f"{share:.1%}": int(np.argmax(energy >= share - 1e-12)) + 1 for share in SHARES}
    return {"of": len(energy), "every_slot": step, "for_share": counts}


def _story(typed: Sequence[str], found: dict[str, Any]) -> list[RenderableType]:
    from fieldmend.cli import printed
    from fieldmend.text import shown

    taken = "; ".join(dict.fromkeys(one["columns"] for one in found["inputs"] if one["columns"]))
    lines = [*printed.opening(found, [("columns", taken)] if taken else []), "", _readings(found)]
    lines += printed.heading("What is measured", "set it with --kind NAME=KIND where it is wrong")
    lines.append(_kinds(found["conditions"]))
    lines += printed.heading("Loss per node", "share of slots without a reading")
    lines.append(_losses(found["conditions"]))
    lines += printed.heading("Singular values", "how many hold so much of the variance")
    lines.append(_spectra(found["conditions"]))
    if found["rejects"]:
        lines += printed.heading("Set aside", "the first rows")
        lines += printed.bullets(
            [f"{shown(r['file'])}, line {r['line']}: {r['reason']}" for r in found["rejects"]]
        )
    return [*lines, *printed.remarks(found), *_next(typed)]


def _readings(found: dict[str, Any]) -> RenderableType:
    from fieldmend.cli.printed import label, table
    from fieldmend.text import duration, figure, percent

    slot = found["grid"]["slot_seconds"] * 1e6
    rows = []
    for name, one in found["conditions"].items():
        low, high = one["range"] or (None, None)
        gaps = one["gaps"]["median_slots"], one["gaps"]["longest_slots"]
        rows.append(
            [label(name, one["unit"]), f"{one['readings']:,}", percent(one["missing_share"]),
             figure(low), figure(high),
             *("-" if n is None else duration(n * slot) for n in gaps)]
        )  # fmt: skip
    head = ("condition", "readings", "missing", "lowest", "highest", "median gap", "longest")
    return table(head, rows, left=(0,))


def _kinds(conditions: dict[str, Any]) -> RenderableType:
    from fieldmend.cli.printed import label, table

    rows = []
    for name, one in conditions.items():
        what = one["quantity"]
        unit = f"{what['unit']}, a guess" if what["unit_guessed"] else what["unit"]
        rows.append([label(name, ""), f"{what['kind']}{'?' * what['guessed']}", unit or "-",
                     what["reason"]])  # fmt: skip
    return table(("condition", "kind", "unit", "why"), rows, left=(0, 1, 2, 3))


def _losses(conditions: dict[str, Any]) -> RenderableType:
    from fieldmend.cli.printed import label, table
    from fieldmend.text import percent, shown

    rows = []
    for name, one in conditions.items():
        worst = ", ".join(f"{shown(w['node'])} {percent(w['loss'])}" for w in one["worst_nodes"])
        shares = [percent(share) for share in one["loss"].values()]
        rows.append([label(name, one["unit"]), *shares, worst or "-"])
    head = ("condition", "least", "median", "9 in 10", "most", "worst nodes")
    return table(head, rows, left=(0, 5))


def _spectra(conditions: dict[str, Any]) -> RenderableType:
    from fieldmend.cli.printed import label, table

    rows = []
    for name, one in conditions.items():
        found = one["singular_values"]
        counts = [*found["for_share"].values(), found["of"]] if found else ["-"] * 4
        rows.append([label(name, one["unit"]), *map(str, counts)])
    return table(("condition", "90 %", "99 %", "99.9 %", "of"), rows, left=(0,))


def _next(typed: Sequence[str]) -> list[RenderableType]:
    from fieldmend.cli import printed
    from fieldmend.text import escaped

    options = [one for one in typed if one != "inspect"]
    return [*printed.heading("Next"), f"  {escaped(command(['recover', *options]))}"]
