"""From records to the grid: the slot length, and one value per node and slot.

Slots are anchored to 1970 UTC, closed on the left, labelled by their left edge. DuckDB groups the
rows, a stretch of time after the other, so that memory holds one stretch and the grid.
"""

import math
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.grid import Grid
from fieldmend.records.clock import stamped
from fieldmend.records.errors import InputError, shown
from fieldmend.records.settling import parts
from fieldmend.records.sources import one

if TYPE_CHECKING:
    import duckdb

    from fieldmend.records.reading import Records

SECOND = 1_000_000
UNITS = {
    "us": 1, "µs": 1, "ms": 1000, "s": SECOND, "sec": SECOND, "second": SECOND, "seconds": SECOND,
    "m": 60 * SECOND, "min": 60 * SECOND, "minute": 60 * SECOND, "minutes": 60 * SECOND,
    "h": 3600 * SECOND, "hour": 3600 * SECOND, "hours": 3600 * SECOND,
    "d": 86400 * SECOND, "day": 86400 * SECOND, "days": 86400 * SECOND,
}  # fmt: skip
# Lengths that people set: a step within a tenth of one of them is meant to be it.
ROUND = sorted(
    [m * 1000 * 10**k for k in range(3) for m in (1, 2, 5)]
    + [m * SECOND for m in (1, 2, 5, 10, 15, 20, 30)]
    + [m * 60 * SECOND for m in (1, 2, 3, 5, 10, 15, 20, 30)]
    + [m * 3600 * SECOND for m in (1, 2, 3, 4, 6, 8, 12, 24)]
)
SLACK = 0.1
MAX_STRETCH = 50
MAX_CELLS = 1_500_000_000
SPARSE = 0.2
STEPS_FROM = 3_000_000  # rows that the slot length is found from
VALUES = {
    "mean": "avg({v})",
    "median": "median({v})",
    "first": "arg_min({v}, t) FILTER (WHERE {v} IS NOT NULL)",
    "last": "arg_max({v}, t) FILTER (WHERE {v} IS NOT NULL)",
    "random": "arg_min({v}, hash(t, id, kind, $seed)) FILTER (WHERE {v} IS NOT NULL)",
}


def build(records: "Records", slot: Any, slot_value: str, seed: int) -> Grid:
    """The grid of the records."""
    if slot_value not in VALUES:
        raise InputError(f"slot_value={shown(slot_value)!r}", hint="One of " + ", ".join(VALUES))
    con = records.con
    row = one(con, "SELECT min(t), max(t), count(*) FROM used")
    low, high, rows = (int(cell) for cell in row)
    length, said = (
        (microseconds(slot), "given") if slot is not None else found(records, low, high, rows)
    )
    frame = _Frame(low // length * length, length, high // length - low // length + 1)
    _refuse_stretch(records, frame, low, high)
    _refuse_size(records, frame)
    values = _filled(records, frame, rows, VALUES[slot_value], seed)
    warnings = _sparse(records, values, frame)
    origin = replace(
        records.origin,
        notes=(*records.origin.notes, f"slot {in_words(length)}, {said}"),
        warnings=(*records.origin.warnings, *warnings),
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


@dataclass(frozen=True)
class _Frame:
    start: int
    slot: int
    slots: int


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
        length = float(slot) * SECOND
    if not math.isfinite(length) or length < 1:
        raise InputError(f"slot {shown(slot)!r} is no length of time", hint="Write 30s, 5min or 1h")
    return round(length)


def in_words(length: int) -> str:
    """A length of time for people.

    Examples
    --------
    >>> in_words(300_000_000), in_words(31_000_000), in_words(1500)
    ('5 min', '31 s', '1.5 ms')
    """
    for unit in ("d", "h", "min", "s"):
        if length % UNITS[unit] == 0:
            return f"{length // UNITS[unit]} {unit}"
    return f"{length / SECOND:g} s" if length > SECOND else f"{length / 1000:g} ms"


def found(records: "Records", low: int, high: int, rows: int) -> tuple[int, str]:
    """The slot length: the median over nodes of the median step between a node's readings."""
    con = records.con
    step = None
    if rows > STEPS_FROM:  # a stretch of time that holds enough
        start = low + (high - low) * 2 // 5
        step = _median_step(con, start, start + (high - low) * STEPS_FROM // rows)
    if step is None:
        step = _median_step(con, low, high)
    if step is None:
        return 60 * SECOND, "taken for want of two readings of one node"
    near = min(ROUND, key=lambda length: abs(math.log(length / step)))
    length = near if abs(near / step - 1) <= SLACK else _three_digits(step)
    return length, f"found: a node's readings come every {in_words(_three_digits(step))} (median)"


def _median_step(con: "duckdb.DuckDBPyConnection", low: int, high: int) -> float | None:
    row = one(
        con,
        # The discrete median is a step that was seen, not the middle of two.
        "SELECT quantile_disc(step, 0.5) FROM (SELECT quantile_disc(step, 0.5) AS step FROM ("
        "SELECT node, kind, t - lag(t) OVER (PARTITION BY node, kind ORDER BY t) AS step FROM used "
        "WHERE t BETWEEN $low AND $high) WHERE step > 0 GROUP BY node, kind)",
        {"low": low, "high": high},
    )
    return None if row[0] is None else float(row[0])


def _three_digits(step: float) -> int:
    scale = 10 ** max(0, math.floor(math.log10(step)) - 2)
    return int(max(1, round(step / scale) * scale))


def _refuse_stretch(records: "Records", frame: _Frame, low: int, high: int) -> None:
    row = one(
        records.con,
        "SELECT median(span) FROM (SELECT max(t) - min(t) AS span FROM used GROUP BY node "
        "HAVING count(*) > 1)",
    )
    median = 0.0 if row[0] is None else float(row[0])
    if median and high - low > MAX_STRETCH * max(median, frame.slot):
        raise InputError(
            f"the times go from {stamped(low)} to {stamped(high)}, over {MAX_STRETCH} times what "
            f"half of the nodes span ({in_words(_three_digits(median))}): a clock may be wrong",
            file=records.origin.files[0].name,
            hint="Take out the rows that are far off, or hand the parts in one after the other",
        )


def _refuse_size(records: "Records", frame: _Frame) -> None:
    cells = frame.slots * len(records.nodes) * len(records.conditions)
    if cells > MAX_CELLS:
        raise InputError(
            f"slots of {in_words(frame.slot)} make {frame.slots:,} slots × {len(records.nodes):,} "
            f"nodes × {len(records.conditions)} conditions, {cells * 8 / 1e9:,.0f} GB",
            hint="Choose a longer slot (--slot), or fewer conditions",
        )


def _filled(
    records: "Records", frame: _Frame, rows: int, taken: str, seed: int
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    con = records.con
    shape = (frame.slots, len(records.nodes))
    values = {name: np.full(shape, np.nan) for name in records.conditions}
    _labels(con, records)
    width = len(records.nodes) if records.matrix else 1 if records.long else len(values)
    picked = ", ".join(f"{taken.format(v=f'v{i}')} AS v{i}" for i in range(width))
    sql = (
        f"SELECT id, kind_id, (t - $start) // $slot AS s, {picked} FROM used "
        "JOIN label USING (node) JOIN kind_label USING (kind) "
        "WHERE t >= $low AND t < $high GROUP BY id, kind, kind_id, s"
    )
    threads = one(con, "SELECT current_setting('threads')")
    # Threads add up in an order of their own, and a mean must not depend on it.
    con.execute("SET threads = 1")
    try:
        for low, high in parts(0, frame.slots - 1, rows):
            edges = {"low": frame.start + low * frame.slot, "high": frame.start + high * frame.slot}
            params: dict[str, Any] = {"start": frame.start, "slot": frame.slot, **edges}
            if "$seed" in sql:
                params["seed"] = seed
            _scatter(con.execute(sql, params).fetchnumpy(), values, records, width)
    finally:
        con.execute(f"SET threads = {threads[0]}")
    return values


def _labels(con: "duckdb.DuckDBPyConnection", records: "Records") -> None:
    nodes = records.nodes
    if records.matrix:
        nodes = tuple(row[0] for row in con.execute("SELECT DISTINCT node FROM used").fetchall())
    kinds = records.conditions if records.long else ("",)
    for table, column, labels in (("label", "node", nodes), ("kind_label", "kind", kinds)):
        ids = "id" if table == "label" else "kind_id"
        cells = np.empty(len(labels), dtype=object)
        cells[:] = labels
        con.register("given", {column: cells, ids: np.arange(len(labels), dtype=np.int32)})
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM given")
        con.unregister("given")


def _scatter(found: dict[str, Any], values: dict[str, Any], records: "Records", width: int) -> None:
    slots, ids, kinds = found["s"], found["id"], found["kind_id"]
    for i in range(width):
        column = np.ma.filled(found[f"v{i}"].astype(np.float64), np.nan)
        if records.matrix:
            seen = np.isfinite(column)  # several files: each names its own rows
            values[records.conditions[0]][slots[seen], i] = column[seen]
        elif records.long:
            for k, name in enumerate(records.conditions):
                mine = kinds == k
                values[name][slots[mine], ids[mine]] = column[mine]
        else:
            values[records.conditions[i]][slots, ids] = column


def _sparse(records: "Records", values: dict[str, Any], frame: _Frame) -> list[str]:
    cells = frame.slots * len(records.nodes)
    best = max(int(np.count_nonzero(~np.isnan(array))) for array in values.values()) / cells
    if best >= SPARSE or frame.slots < 2:
        return []
    longer = next((n for n in ROUND if n * best >= frame.slot), ROUND[-1])
    return [
        f"slots of {in_words(frame.slot)} hold a reading in {best:.1%} of cells, fewer than one in "
        f"5; try slot={in_words(longer).replace(' ', '')!r}"
    ]
