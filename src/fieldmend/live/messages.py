"""One message into readings: node, condition, time, value; and why not.

What every format ends in is :class:`Reading`; `refused` says in a word or two what a message lacks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fieldmend.text import shown

NODE = ("node", "node_id", "nodeid", "device", "deviceid", "device_id", "sensor", "mote", "id")
TIME = ("time", "timestamp", "ts", "datetime", "date")
SEQUENCE = ("seq", "sequence", "epoch", "fcnt")
LONGEST_NAME = 200  # characters of a node's or a condition's name
MOST_CONDITIONS = 64  # of one message


class Reading(NamedTuple):
    """One number that one node measured; `time` in µs, UTC."""

    node: str
    condition: str
    time: int
    value: float
    sequence: int | None = None


class Refused(NamedTuple):
    """What cannot be a reading: why, and what it was."""

    why: str
    text: str


Read = Reading | Refused


def from_json(message: Any, arrived: int) -> Iterator[Read]:
    """A decoded JSON message: one object or an array of them, values beside or in "values".

    Parameters
    ----------
    message
        What json.loads gave.
    arrived
        When, µs: the time of readings that have none of their own.

    Yields
    ------
    Reading or Refused
        One for each number, or for what was none.

    Examples
    --------
    >>> list(from_json({"node": 7, "time": 1700000000, "temperature": 20.5, "seq": 3}, 0))
    [Reading(node='7', condition='temperature', time=1700000000000000, value=20.5, sequence=3)]
    >>> list(from_json({"temperature": 20.5}, 0))
    [Refused(why='no node', text="{'temperature': 20.5}")]
    """
    if isinstance(message, list):
        for one in message:
            yield from from_json(one, arrived)
        return
    if not isinstance(message, Mapping):
        yield Refused("unreadable", str(message)[:200])
        return
    fields = {str(name).lower(): (name, value) for name, value in message.items()}
    node = next((fields.pop(name)[1] for name in NODE if name in fields), None)
    stamp = next((fields.pop(name)[1] for name in TIME if name in fields), None)
    sequence = next((fields.pop(name)[1] for name in SEQUENCE if name in fields), None)
    nested = fields.pop("values", (None, None))[1]
    values = nested if isinstance(nested, Mapping) else dict(fields.values())
    try:
        time = arrived if stamp is None else moment(stamp)
    except ValueError:
        yield Refused("no time", str(message)[:200])
        return
    if node is None or isinstance(node, Mapping | list) or not str(node).strip():
        yield Refused("no node", str(message)[:200])
        return
    yield from named(str(node).strip(), time, values, whole(sequence))


def named(
    node: str, time: int, values: Mapping[Any, Any], sequence: int | None = None
) -> Iterator[Read]:
    """The readings of one node at one time."""
    if len(node) > LONGEST_NAME or len(values) > MOST_CONDITIONS:
        yield Refused("too long", f"{node[:200]}, {len(values)} values")
        return
    if not _text(node):
        yield Refused("no node", shown(node))
        return
    if not values:
        yield Refused("no value", node)
    for name, value in values.items():
        if value is None:
            continue  # said to be missing: no reading
        number = numeric(value)
        if number is None or not _text(str(name)) or len(str(name)) > LONGEST_NAME:
            yield Refused("no number", f"{node} {shown(name)} {shown(value)}")
        else:
            yield Reading(node, str(name), time, number, sequence)


def _text(name: str) -> bool:
    """Whether a name can be written down everywhere.

    Half a surrogate pair, as JSON may hold it, can not; nor can a zero byte, in a table of
    PostgreSQL: one such name would hold up every row behind it.
    """
    try:
        return bool(name) and b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


def numeric(value: Any) -> float | None:
    """A finite number, also as text; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(value: Any) -> int | None:
    """A sequence number."""
    number = numeric(value)
    return int(number) if number is not None and number == int(number) and number >= 0 else None


def moment(stamp: Any) -> int:
    """µs of a stamp: ISO 8601 (UTC without a zone), or seconds, ms, µs or ns since 1970.

    Raises
    ------
    ValueError
        Where it is neither.

    Examples
    --------
    >>> moment("2026-11-16T08:15:00Z") == moment(1794816900) == moment(1794816900000)
    True
    """
    number = numeric(stamp)
    if number is not None and abs(number) < 1e20:
        exact = stamp if isinstance(stamp, int) else number
        # Seconds until the year 5138; beyond that the unit is finer by a thousand, and so on.
        for scale in (1_000_000, 1000, 1):
            if abs(number) < 1e11 * (1_000_000 // scale):
                return round(exact * scale)
        return round(exact / 1000)
    if number is not None or not isinstance(stamp, str):
        msg = f"no time: {stamp!r}"
        raise ValueError(msg)
    when = datetime.fromisoformat(stamp.strip())
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return round((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
