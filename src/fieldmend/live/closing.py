"""What a closing says, into the journal and out of it again: rows of `slots` and `clean`."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldmend.flags import Flag
from fieldmend.grid import Array, stamp
from fieldmend.live.following import Said

DIGITS = 6  # decimals of an estimate in a message; readings go out as they came


@dataclass(frozen=True)
class Closing:
    """One closing of a slot: its left edge, revision, and by which model, in how many seconds."""

    slot: int
    rev: int
    closed: int
    model: str
    seconds: float
    window: tuple[int, int] | None = None


def write(
    connection: sqlite3.Connection,
    closing: Closing,
    said: Mapping[str, Said],
    conditions: Mapping[str, int],
) -> int:
    """Store a closing, within a transaction; its id comes back."""
    window = closing.window or (None, None)
    row = connection.execute(
        "INSERT INTO slots (slot, rev, closed, model, seconds, window_first, window_stop) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (closing.slot, closing.rev, closing.closed, closing.model, closing.seconds, *window),
    )
    made = int(row.lastrowid or 0)
    connection.executemany(
        "INSERT INTO clean VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                made,
                conditions[name],
                *(_packed(part) for part in (one.observed, one.estimate, one.lower, one.upper)),
                np.ascontiguousarray(one.flag, np.uint8),
            )
            for name, one in said.items()
            if name in conditions
        ],
    )
    return made


def _packed(values: Array) -> Array:
    """As SQLite takes it, by the buffer protocol."""
    return np.ascontiguousarray(values, "<f8")


def messages(
    connection: sqlite3.Connection, closing: int, network: str, nodes: list[str]
) -> Iterator[dict[str, Any]]:
    """The clean rows of a closing, one message a node and condition: always the same ones."""
    slot, rev, model = connection.execute(
        "SELECT slot, rev, model FROM slots WHERE id = ?", (closing,)
    ).fetchone()
    rows = connection.execute(
        "SELECT c.name, k.observed, k.estimate, k.lower, k.upper, k.flag FROM clean k "
        "JOIN conditions c ON c.id = k.condition WHERE k.closing = ? ORDER BY c.id",
        (closing,),
    )
    for condition, *blobs, flag in rows.fetchall():
        columns = [np.frombuffer(blob, "<f8").tolist() for blob in blobs]
        for k, one in enumerate(flag):
            if not one:
                continue
            observed, *made = (column[k] for column in columns)
            yield {
                "network": network,
                "node": nodes[k],
                "condition": condition,
                "slot": stamp(slot),
                "rev": rev,
                "observed": None if one == Flag.MISSING or math.isnan(observed) else observed,
                **{
                    name: round(value, DIGITS) if math.isfinite(value) else None
                    for name, value in zip(("estimate", "lower", "upper"), made, strict=True)
                },
                "flag": one,
                "model": model or None,
            }
