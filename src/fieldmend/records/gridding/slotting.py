"""From records to the grid: the slot length, and one value per node and slot.

Slots are anchored to 1970 UTC, closed on the left, labelled by their left edge; where stamps
scatter about such edges, each reading goes to the nearest.
"""

import math
import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.errors import InputError
from fieldmend.grid import Grid
from fieldmend.quantities import turn
from fieldmend.records.gridding import filling
from fieldmend.records.gridding.calendar import period
from fieldmend.records.gridding.filling import VALUES, Array, Frame
from fieldmend.records.gridding.ordering import median_step, occupied
from fieldmend.records.gridding.twins import twins
from fieldmend.records.sql import one
from fieldmend.records.table.clock import stamped
from fieldmend.records.watching import tell
from fieldmend.text import percent, shown, slot_length

if TYPE_CHECKING:
    from fieldmend.records.records import Records

SECOND = 1_000_000
UNITS = {
    "us": 1, "µs": 1, "ms": 1000, "s": SECOND, "sec": SECOND, "second": SECOND, "seconds": SECOND,
    "m": 60 * SECOND, "min": 60 * SECOND, "minute": 60 * SECOND, "minutes": 60 * SECOND,
    "h": 3600 * SECOND, "hour": 3600 * SECOND, "hours": 3600 * SECOND,
    "d": 86400 * SECOND, "day": 86400 * SECOND, "days": 86400 * SECOND,
}  # fmt: skip
# Lengths that people set: a step within a tenth of one of them is meant to be it.
ROUND: list[int] = sorted(
    [m * 1000 * 10**k for k in range(3) for m in (1, 2, 5)]
    + [m * SECOND for m in (1, 2, 5, 10, 15, 20, 30)]
    + [m * 60 * SECOND for m in (1, 2, 3, 5, 10, 15, 20, 30)]
    + [m * 3600 * SECOND for m in (1, 2, 3, 4, 6, 8, 12, 24)]
)
LONGEST = 10_000 * 365 * 86400 * SECOND
SLACK = 0.1
MAX_STRETCH = 50
SPARSE = 0.2
MANY_SLOTS = 100_000
EMPTY = 1000  # slots to a row that nobody meant, where slots are many
STEPS_FROM = 1_000_000  # rows that the slot length is found from
TURNED = 20_000  # readings that say how far round a direction goes
SCATTERED = 0.01  # of the places with a reading: so many more, and slots begin earlier
MOST_ASSUMED = 10_000  # slots, where the readings do not say how long one is


def build(records: "Records", slot: Any, slot_value: str, seed: int) -> Grid:
    """The grid of the records."""
    if slot_value not in VALUES:
        raise InputError(f"slot_value={shown(slot_value)!r}", hint="One of " + ", ".join(VALUES))
    row = one(records.con, "SELECT min(t), max(t), count(*) FROM used")
    low, high, rows = (int(cell) for cell in row)
    length, said = (
        (microseconds(slot), "given") if slot is not None else found(records, low, high, rows)
    )
    early = _early(records, length, low, high, rows)
    first, last = (low + early) // length, (high + early) // length
    slots = last - first + 1
    frame = Frame(first * length, length, slots, len(records.nodes), early)
    if frame.start < -(2**63) or frame.start + slots * length >= 2**63:
        raise InputError(
            f"the times go from {stamped(low)} to {stamped(high)}: no clock tells such years",
            file=records.origin.files[0].name,
            hint="Take out the rows that are far off",
        )
    _refuse_stretch(records, frame, low, high)
    if slot is None and slots > max(MANY_SLOTS, EMPTY * rows):
        raise InputError(
            f"{rows:,} rows from {stamped(low)} to {stamped(high)}, a node's readings every "
            f"{slot_length(length)}: {slots:,} slots, nearly all of them empty. A clock may be "
            "wrong, or parts of the record lie years apart",
            file=records.origin.files[0].name,
            hint="Choose a part with start= and end= (--start, --end), or a longer slot= (--slot)",
        )
    values, notes = filling.arrays(
        records.conditions, frame, rows * records.shape.per_row(frame.nodes)
    )
    counts = _fill(records, values, frame, slot_value, seed)
    origin = replace(
        records.origin,
        notes=(*records.origin.notes, f"slot {slot_length(length)}, {said}{_where(early)}", *notes),
        warnings=(
            *records.origin.warnings,
            *_sparse(max(counts.values()), frame),
            *twins(values, records.nodes),
        ),
    )
    return Grid(
        values=values,
        nodes=records.nodes,
        times=frame.start + length * np.arange(frame.slots, dtype=np.int64),
        slot=length,
        places=records.places,
        units=records.units,
        origin=origin,
    )


def _fill(
    records: "Records", values: dict[str, Array], frame: Frame, slot_value: str, seed: int
) -> dict[str, int]:
    """Fill the arrays; how many readings each condition has in the grid."""
    width = records.shape.width(frame.nodes, len(values))
    counts = dict.fromkeys(values, 0)
    pick: dict[str, filling.Pick] = {}
    for low, high in filling.stretches(records.con, "used", frame, -(-width // 4)):
        found = _rows(records, frame, low, high, width)
        t, node = found["t"], found["id"]
        key = filling.shuffled(t, node, seed) if slot_value == "random" else t
        base = ((t - frame.begin) // frame.slot - low) * frame.nodes
        cells = (high - low) * frame.nodes
        for name, seen, cell, v in records.shape.parts(
            found, base, records.conditions, records.kinds
        ):
            block = np.full(cells, np.nan)
            if len(v):
                if name not in pick:
                    pick[name] = _pick(slot_value, name, records.units.get(name, ""), v)
                block = pick[name](cell, v, key[seen], cells)
            counts[name] += int(np.count_nonzero(~np.isnan(block)))
            values[name][low:high] = block.reshape(-1, frame.nodes)
        tell("making slots", high, frame.slots)
    return counts


def _pick(slot_value: str, name: str, unit: str, readings: Array) -> filling.Pick:
    """What several readings in a slot become; directions lie on a circle."""
    period = turn(name, unit, readings[:TURNED]) if slot_value in ("mean", "median") else 0.0
    plain = VALUES[slot_value]
    return filling.on_the_circle(plain, period) if period else plain


def _rows(records: "Records", frame: Frame, low: int, high: int, width: int) -> dict[str, Array]:
    """The rows of a stretch of slots, nodes and kinds as numbers."""
    kind = "kind_id, " if records.kinds else ""
    picked = ", ".join(f"v{i}" for i in range(width))
    arrays = records.con.execute(
        f"SELECT id, {kind}t, {picked} FROM used JOIN label USING (node){records.shape.join} "
        "WHERE t >= $low AND t < $high",
        {"low": frame.begin + low * frame.slot, "high": frame.begin + high * frame.slot},
    ).fetchnumpy()
    return {
        name: np.ma.filled(array, np.nan) if name[0] == "v" else np.asarray(array)
        for name, array in arrays.items()
    }


def microseconds(slot: Any) -> int:
    """A slot length in microseconds.

    Examples
    --------
    >>> microseconds("5min"), microseconds(30), microseconds("1.5 h")
    (300000000, 30000000, 5400000000)
    """
    if isinstance(slot, timedelta):
        length = slot / timedelta(microseconds=1)
    elif isinstance(slot, np.timedelta64):
        length = float(slot / np.timedelta64(1, "us"))
    elif isinstance(slot, str):
        parsed = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)?\s*([a-zµ]*)\s*", slot.casefold())
        unit = UNITS.get(parsed[2] or "s") if parsed and (parsed[1] or parsed[2]) else None
        length = float(parsed[1] or 1) * unit if parsed and unit else math.nan
    else:
        try:
            length = float(slot) * SECOND
        except (TypeError, ValueError):
            length = math.nan
    if not 1 <= length <= LONGEST:
        raise InputError(f"slot {shown(slot)!r} is no length of time", hint="Write 30s, 5min or 1h")
    return round(length)


def found(records: "Records", low: int, high: int, rows: int) -> tuple[int, str]:
    """The slot length: the median over nodes of the median step between a node's readings."""
    step = None
    if rows > STEPS_FROM:
        step = _step(records, *_stretch(low, high, rows))
    if step is None:
        step = _step(records, low, high)
    if step is None:
        return _assumed(high - low), "taken for want of two readings of one node"
    months = period(_stamps(records, *_stretch(low, high, rows))[1], step)
    if months:
        return months[0], (
            f"found: a node's readings are of calendar {months[1]}; these differ in length, so "
            "slots have their mean, and times are the beginnings of slots, not the stamps"
        )
    near = min(ROUND, key=lambda length: abs(math.log(length / step)))
    length = near if abs(near / step - 1) <= SLACK else _three_digits(step)
    every = slot_length(_three_digits(step))
    return length, f"found: a node's readings come every {every} (median)"


def _assumed(span: int) -> int:
    """A minute, or longer where the few readings are years apart: no grid of nothing but gaps."""
    longer = (length for length in ROUND if length >= 60 * SECOND and length * MOST_ASSUMED >= span)
    return next(longer, ROUND[-1])


def _stretch(low: int, high: int, rows: int) -> tuple[int, int]:
    """A stretch of time that holds enough rows, from within the record."""
    if rows <= STEPS_FROM:
        return low, high
    start = low + (high - low) * 2 // 5
    return start, start + (high - low) * STEPS_FROM // rows


def _step(records: "Records", low: int, high: int) -> int | None:
    return median_step(*_stamps(records, low, high))


def _stamps(records: "Records", low: int, high: int) -> tuple[Array, Array]:
    """Series (node and kind) and time of the rows of a stretch."""
    series = records.shape.series(len(records.kinds))
    rows = records.con.execute(
        f"SELECT {series} AS series, t FROM used JOIN label USING (node){records.shape.join} "
        f"WHERE t BETWEEN $low AND $high LIMIT {2 * STEPS_FROM}",
        {"low": low, "high": high},
    ).fetchnumpy()
    return np.asarray(rows["series"]), np.asarray(rows["t"])


def _early(records: "Records", length: int, low: int, high: int, rows: int) -> int:
    """By how much slots begin before their label: half of one, or not at all.

    A node that sends every half hour, a few minutes before or after it, has two readings in one
    slot and none in the next, and what was sent looks lost. Of a series cut differently, one slot
    more is chance; where slots hold several readings on purpose, so is the rest.
    """
    series, t = _stamps(records, *_stretch(low, high, rows))
    step = median_step(series, t) if (t % length).any() else None
    if step is None or 2 * step <= length:
        return 0
    half, as_they_are = length // 2, occupied(series, t, length)
    gained = occupied(series, t + half, length) - as_they_are - len(np.unique(series))
    return half if gained >= SCATTERED * as_they_are else 0


def _where(early: int) -> str:
    return "; each reading is in the slot whose beginning is nearest to it" if early else ""


def _three_digits(step: float) -> int:
    if step >= 86400 * SECOND and step % (3600 * SECOND) == 0:
        return int(step)  # a week is one: 7.002 days would run away from it
    scale = 10 ** max(0, math.floor(math.log10(step)) - 2)
    return int(max(1, round(step / scale) * scale))


def _refuse_stretch(records: "Records", frame: Frame, low: int, high: int) -> None:
    row = one(
        records.con,
        "SELECT median(span) FROM (SELECT max(t)::DOUBLE - min(t)::DOUBLE AS span FROM used "
        "GROUP BY node HAVING count(*) > 1)",
    )
    median = 0.0 if row[0] is None else float(row[0])
    if median and high - low > MAX_STRETCH * max(median, frame.slot):
        raise InputError(
            f"the times go from {stamped(low)} to {stamped(high)}, over {MAX_STRETCH} times what "
            f"half of the nodes span ({slot_length(_three_digits(median))}): a clock may be wrong",
            file=records.origin.files[0].name,
            hint="Take out the rows that are far off, or hand the parts in one after the other",
        )


def _sparse(most: int, frame: Frame) -> list[str]:
    best = most / (frame.slots * frame.nodes)
    if best >= SPARSE or frame.slots < 2:
        return []
    longer = next((n for n in ROUND if n * best >= frame.slot), ROUND[-1])
    length = slot_length(longer).replace(" ", "")
    return [
        f"slots of {slot_length(frame.slot)} hold a reading in {percent(best)} of cells, "
        f"fewer than one in 5; try slot={length!r} (--slot {length})"
    ]
