"""Objects within objects: what lies at a path, and all that lies in one as a flat row."""

from collections.abc import Iterator, Mapping
from typing import Any

from fieldmend.records.vocabulary import BOOKKEEPING, NODE, PLACE, TIME

DEEP = 6  # levels that are flattened
# Objects that only wrap what they hold: body.temperature is temperature.
ENVELOPES = frozenset(
    "body payload data fields values value properties object measurements readings state reported "
    "decoded decoded_payload payload_fields message attributes telemetry _source".split()
)
SPHERE = frozenset(name for name, place in PLACE.items() if place in ("lat", "lon"))
RADIO = frozenset("port counter fport fcnt f_port f_cnt qos retain version ttl".split())
Row = dict[str, Any]


def at(message: Any, *path: str | int) -> Any:
    """What lies at a path; None if it ends before.

    Examples
    --------
    >>> at({"a": [{"b": 1}]}, "a", 0, "b"), at({"a": 1}, "a", "b")
    (1, None)
    """
    for key in path:
        if isinstance(message, Mapping) and isinstance(key, str):
            message = message.get(key)
        elif isinstance(message, list) and isinstance(key, int) and len(message) > key:
            message = message[key]
        else:
            return None
    return message


def listed(message: Any, *path: str | int) -> list[Any]:
    """The list at a path; an empty one if there is none."""
    found = at(message, *path)
    return found if isinstance(found, list) else []


def object_at(message: Any, *path: str | int) -> Row:
    """A copy of the object at a path; an empty one if there is none."""
    found = at(message, *path)
    return dict(found) if isinstance(found, Mapping) else {}


def numbers(payload: Any, name: str = "", depth: int = 0) -> Row:
    """The numbers of a payload, nested names joined by points.

    Examples
    --------
    >>> numbers({"t": 1.5, "soil": {"wet": 2}, "ok": True, "note": "x"})
    {'t': 1.5, 'soil.wet': 2}
    """
    if isinstance(payload, bool) or payload is None or depth > DEEP:
        return {}
    if isinstance(payload, int | float):
        return {name: payload}
    if isinstance(payload, Mapping):
        out: Row = {}
        for key, value in payload.items():
            out |= numbers(value, f"{name}.{key}" if name else str(key), depth + 1)
        return out
    return {}


def is_nested(message: Any) -> bool:
    """Whether all numbers but times and ids lie deeper."""
    if not isinstance(message, Mapping):
        return False
    over = {*TIME, *NODE, *PLACE, *BOOKKEEPING, *RADIO}
    above = [key for key, v in message.items()
             if isinstance(v, int | float) and not isinstance(v, bool)
             and str(key).casefold() not in over]  # fmt: skip
    deeper = [v for v in message.values() if isinstance(v, Mapping)]
    return not above and any(numbers(v) for v in deeper)


def holds_numbers(message: Any) -> bool:
    """Whether an object within it holds numbers."""
    return isinstance(message, Mapping) and any(
        numbers(v) for v in message.values() if isinstance(v, Mapping)
    )


def nested(message: Any) -> Iterator[Row]:
    """Any message whose readings lie in an object within: names joined by points.

    Examples
    --------
    >>> list(nested({"t": 1, "data": {"t": 2, "u": 3}, "place": {"lat": 48.5}}))
    [{'t': 1, 'data.t': 2, 'u': 3, 'lat': 48.5}]
    """
    row: Row = {}
    for path, value in leaves(message):
        row[short if (short := _short(path)) not in row else ".".join(path)] = value
    yield row


def leaves(
    message: Any, path: tuple[str, ...] = (), depth: int = 0
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What lies in a message and is no object and no list, with its path."""
    for key, value in message.items():
        if isinstance(value, Mapping):
            if depth < DEEP:
                yield from leaves(value, (*path, str(key)), depth + 1)
        elif not isinstance(value, list):
            yield (*path, str(key)), value


def _short(path: tuple[str, ...]) -> str:
    """A path without what only wraps; a latitude is one wherever it lies."""
    if path[-1].casefold() in SPHERE:
        return path[-1]
    return ".".join([*(part for part in path[:-1] if part.casefold() not in ENVELOPES), path[-1]])
