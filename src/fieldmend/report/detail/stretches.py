"""A condition's arrays, slot by slot or stretch by stretch: what the page draws from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.flags import Flag
from fieldmend.grid import Array
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service, State

WORST = (Flag.MISSING, Flag.PASS, Flag.NOT_EVALUATED, Flag.SUSPECT, Flag.FAIL)
"""Codes 0 to 4 of a state: the worst flag in it."""
EMPTY, ABSENT, REPLACED = 8, 16, 32
"""Bits of a state: no estimate in it, no sensor in all of it, some reading replaced."""
TENTHS = 10


@dataclass(frozen=True)
class Part:
    """Some nodes of a condition over some slots, both as columns and rows of arrays.

    `numbers` and `masks` are stretches × nodes.
    """

    numbers: dict[str, Array]
    masks: dict[str, Array]


def slots(one: Recovered, rows: slice, nodes: Array) -> Part:
    """Slot by slot."""

    def part(array: Array) -> Array:
        return np.asarray(array[rows])[:, nodes]

    numbers = {"estimate": part(one.estimate), "observed": part(one.observed)}
    for name, array in (("lower", one.lower), ("upper", one.upper)):
        if array is not None:
            numbers[name] = part(array)
    assert one.replaced is not None
    worst = _worst(part(one.flag))
    read = ~np.isnan(numbers["observed"])
    # The gaps of what is passed through are no lost readings.
    passed = one.method == "passed"
    absent = ~read if passed else _service(one, nodes).states(read, rows.start) > State.LOST
    bits = np.isnan(numbers["estimate"]) * EMPTY + absent * ABSENT
    bits = bits + part(one.replaced) * REPLACED
    return Part(numbers, {"state": (worst + bits).astype(np.uint8)})


def _service(one: Recovered, nodes: Array) -> Service:
    """When these nodes were in service, by their place among them."""
    assert one.service is not None
    place = np.full(one.flag.shape[1], -1)
    place[nodes] = np.arange(len(nodes))
    all_ = one.service
    mine = place[all_.node] >= 0
    where = place[all_.node[mine]]
    return Service(where, all_.start[mine], all_.stop[mine], all_.never[nodes], all_.closed)


def stretches(one: Recovered, width: int, nodes: Array, within: slice | None = None) -> Part:
    """Stretches of `width` slots: lowest and highest, the widest interval, the worst state.

    Of the whole record, or `within` some of its slots.
    """
    rows = slice(0, len(one.flag)) if within is None else within
    parts = [
        _reduced(one, slice(start, min(start + step, rows.stop)), width, nodes)
        for start, step in _rows((rows.start, rows.stop, one.flag.shape[1]), width)
    ]
    return Part(
        {name: np.vstack([p.numbers[name] for p in parts]) for name in parts[0].numbers},
        {name: np.vstack([p.masks[name] for p in parts]) for name in parts[0].masks},
    )


def _rows(shape: tuple[int, int, int], width: int) -> list[tuple[int, int]]:
    """Where to cut slots from … to of so many nodes: whole stretches, bounded in memory."""
    first, last, nodes = shape
    usual = next(iter(blocks(last - first, nodes)))
    step = max(1, (usual.stop - usual.start) // width) * width
    return [(start, step) for start in range(first, last, step)]


def _reduced(one: Recovered, rows: slice, width: int, nodes: Array) -> Part:
    fine = slots(one, rows, nodes)
    first = np.arange(0, len(fine.masks["state"]), width)

    def by(pick: Callable[..., Array], array: Array) -> Array:
        found: Array = pick.reduceat(array, first, axis=0)  # type: ignore[attr-defined]
        return found

    given = fine.numbers
    numbers = {
        "estimate": by(np.fmin, given["estimate"]),
        "high": by(np.fmax, given["estimate"]),
        "least": by(np.fmin, given["observed"]),
        "most": by(np.fmax, given["observed"]),
        "filled": _mean(_filled(fine), by),
    }
    if "lower" in given:
        numbers |= {"lower": by(np.fmin, given["lower"]), "upper": by(np.fmax, given["upper"])}
    state = fine.masks["state"]
    absent = (state & ABSENT) > 0
    # A stretch is without an estimate, or a sensor, only where all of it is.
    bits = by(np.logical_and, (state & EMPTY) > 0) * EMPTY + by(np.logical_and, absent) * ABSENT
    bits = bits + by(np.logical_or, (state & REPLACED) > 0) * REPLACED
    worst = by(np.maximum, state & 7)
    served = by(np.add, (~absent).astype(np.int64))
    lost = by(np.add, ((state & 7 == 0) & ~absent).astype(np.int64))
    share = -(-lost * TENTHS // np.maximum(served, 1))
    return Part(numbers, {"state": (worst + bits).astype(np.uint8), "lost": share.astype(np.uint8)})


def _worst(flag: Array) -> Array:
    out = np.zeros(flag.shape, dtype=np.uint8)
    for code, meaning in enumerate(WORST):
        out[flag == meaning] = code
    return out


def _filled(part: Part) -> Array:
    """As `Recovered.filled`, of some nodes."""
    state, observed = part.masks["state"], part.numbers["observed"]
    keep = (state & 7 > 0) & (state & REPLACED == 0)
    return np.where(keep, observed, part.numbers["estimate"])


def _mean(values: Array, by: Callable[..., Array]) -> Array:
    known = np.isfinite(values)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = by(np.add, np.where(known, values, 0.0)) / by(np.add, known.astype(np.int64))
    return np.where(np.isfinite(mean), mean, np.nan)
