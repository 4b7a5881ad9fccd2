"""Formats of messages: a table, one row each. To add one is to add a row.

A row says which messages fit and what readings are in them. Files know most of these platforms
already (`records.sources.platforms`); what is read there is read here by the same functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fieldmend.errors import InputError
from fieldmend.live.messages import NODE, Read, Reading, Refused, from_json, moment, named, numeric
from fieldmend.records.sources import senml
from fieldmend.records.sources.influx import one_line
from fieldmend.records.sources.nested import at, numbers
from fieldmend.records.sources.platforms import PLATFORMS
from fieldmend.text import shown

STATES = "linkquality", "update_available", "last_seen", "update."  # of Zigbee2MQTT's own
BRIDGE = re.compile(r"zigbee2mqtt/bridge(/|$)")  # what it says of itself
VERSION = re.compile(r"v\d+(\.\d+)?")  # of a service, at a topic's begin: no node


@dataclass(frozen=True)
class Message:
    """One message as it came. `names` is what the topic says: node, condition, others."""

    payload: bytes
    arrived: int
    topic: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    retained: bool = False

    @property
    def json(self) -> Any:
        """Decoded; None if it is no JSON."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Format:
    """A kind of message."""

    name: str
    fits: Callable[[Message, Any], bool]
    read: Callable[[Message, Any], Iterator[Read]]


def names_in(topic: str, pattern: str | None) -> dict[str, str]:
    """What a topic says, by a pattern such as ``site/{node}/{condition}``.

    Without a pattern: the last part is the condition, the one before it the node.

    Examples
    --------
    >>> names_in("site/m7/temperature", None)
    {'node': 'm7', 'condition': 'temperature'}
    >>> names_in("a/b/c", "{node}/b/{condition}"), names_in("a/x/c", "{node}/b/{condition}")
    ({'node': 'a', 'condition': 'c'}, {})
    """
    parts = topic.split("/")
    if pattern is None:
        last = {"condition": parts[-1]} if len(parts) > 1 else {}
        return {"node": parts[-2] if len(parts) > 1 else parts[0], **last}
    out, wanted = {}, pattern.split("/")
    if len(wanted) > len(parts) or (len(wanted) < len(parts) and wanted[-1] != "#"):
        return {}
    for want, part in zip(wanted, parts, strict=False):
        if want.startswith("{") and want.endswith("}"):
            out[want[1:-1]] = part
        elif want not in ("+", "#", part):
            return {}
    return out


def read(message: Message, format: str = "auto") -> list[Read]:
    """The readings of a message, or why there are none.

    Parameters
    ----------
    message
        As it came.
    format
        A name of the table, or ``auto``: the first that fits.

    Returns
    -------
    list of Reading and Refused
    """
    found = message.json
    for one in FORMATS:
        if one.name == format or (format == "auto" and one.fits(message, found)):
            try:
                out = list(one.read(message, found))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
                out = [Refused("unreadable", _text(message))]
            return _without_old(message, out)
    return [Refused("unreadable", _text(message))]


def check_format(name: str) -> None:
    """Refuse a format that there is not.

    Raises
    ------
    InputError
        With the names that there are.
    """
    known = ["auto", *(one.name for one in FORMATS)]
    if name not in known:
        raise InputError(f"--format {shown(name)!r}", hint=f"One of {', '.join(known)}")


def _text(message: Message) -> str:
    return message.payload[:200].decode("utf-8", "replace")


def _without_old(message: Message, out: list[Read]) -> list[Read]:
    """A retained message is an old one: a reading in it without a stamp is no news."""
    if not message.retained:
        return out
    old = [isinstance(one, Reading) and one.time == message.arrived for one in out]
    return [
        Refused("retained", f"{message.topic} {_text(message)}") if is_old else one
        for one, is_old in zip(out, old, strict=True)
    ]


def _rows(rows: Iterator[Mapping[str, Any]], message: Message) -> Iterator[Read]:
    """Flat rows as `records` has them: one reading a row (variable, value), or one a column."""
    for row in rows:
        left = dict(row)
        node, stamp = left.pop("node", None), left.pop("time", None)
        time = moment(stamp) if stamp else message.arrived
        if "variable" in left:
            left = {str(left["variable"]): left.get("value")}
        values = {k: v for k, v in left.items() if k not in ("lat", "lon", "unit")}
        yield from named(str(node or message.names.get("node", "")), time, values)


def _platform(name: str) -> Format:
    row = next(one for one in PLATFORMS if one.name == name)
    return Format(
        PLATFORM_NAMES[name],
        lambda _, found: row.fits(found),
        lambda message, found: _rows(row.rows(found), message),
    )


PLATFORM_NAMES = {"The Things Stack": "ttn", "ChirpStack": "chirpstack"}


def _is_senml(_: Message, found: Any) -> bool:
    first = at(found, 0)
    return isinstance(first, Mapping) and bool({"bn", "n"} & first.keys()) and "node" not in first


def _senml(message: Message, found: Any) -> Iterator[Read]:
    """RFC 8428: base name, time, value and unit hold until they are said again."""
    base: dict[str, Any] = {"bn": "", "bt": 0.0, "bv": 0.0, "bu": ""}
    for record in found:
        base |= {key: record[key] for key in base if key in record}
        if "v" not in record:
            if {"vs", "vb", "vd", "s"} & record.keys():
                yield Refused("no number", str(record)[:200])
            continue
        unit = str(record.get("u") or base["bu"])
        node, condition = senml.parted(f"{base['bn']}{record.get('n', '')}", unit)
        node = node or message.names.get("node", "")
        stamp = base["bt"] + record.get("t", 0)
        # Below 2²⁸ a time is relative to now (RFC 8428, 4.5.3).
        time = message.arrived + round(stamp * 1e6) if stamp < 2**28 else moment(stamp)
        value = numeric(record["v"])
        if value is None:
            yield Refused("no number", str(record)[:200])
        else:
            yield from named(node, time, {condition: value + base["bv"]})


def _is_influx(message: Message, found: Any) -> bool:
    line = message.payload[:500].split(b"\n")[0]
    return found is None and b"=" in line and b" " in line.strip()


def _influx(message: Message, _: Any) -> Iterator[Read]:
    """Tags name the node (the one called so, or all of them), fields are conditions."""
    for line in message.payload.decode("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        text = line if line.rsplit(" ", 1)[-1].lstrip("-").isdigit() else f"{line} 0"
        found = one_line(text)
        if found is None:
            yield Refused("unreadable", line[:200])
            continue
        tags, fields, stamp = found
        node = next((tags[k] for k in tags if k.lower() in NODE), None)
        node = node or ".".join(tags.values()) or message.names.get("node", "")
        time = moment(int(stamp)) if int(stamp) else message.arrived
        yield from named(node, time, fields)


def _is_thingsboard(_: Message, found: Any) -> bool:
    if not isinstance(found, Mapping) or not found:
        return False
    if {"ts", "values"} <= found.keys():
        return True
    first = next(iter(found.values()))
    return isinstance(first, list) and isinstance(at(first, 0), Mapping) and "ts" in first[0]


def _thingsboard(message: Message, found: Any) -> Iterator[Read]:
    """Of a device ({"ts", "values"}), or of a gateway ({device: [{"ts", "values"}, …]})."""
    if "values" in found:
        found = {found.get("node") or message.names.get("node", ""): [found]}
    for node, records in found.items():
        for record in records:
            stamp = record.get("ts")
            time = message.arrived if stamp is None else moment(stamp)
            yield from named(str(node), time, _measured(record.get("values", {})))


def _measured(values: Any) -> dict[str, Any]:
    """Numbers, also those written as text; words are states."""
    texts = {k: v for k, v in values.items() if isinstance(v, str) and numeric(v) is not None}
    return {**numbers(values), **texts}


def _state(found: Any) -> Any:
    """An entity's state: alone, or as an event stream tells that it changed."""
    new = at(found, "event_data", "new_state")
    return found if new is None else new


def _is_home_assistant(_: Message, found: Any) -> bool:
    state = _state(found)
    return isinstance(state, Mapping) and "state" in state and "entity_id" in state


def _home_assistant(message: Message, found: Any) -> Iterator[Read]:
    found = _state(found)
    attributes = found.get("attributes") or {}
    condition = attributes.get("device_class") or "state"
    stamp = found.get("last_updated") or found.get("last_changed")
    time = moment(stamp) if stamp else message.arrived
    yield from named(str(found["entity_id"]), time, {condition: found["state"]})


def _is_sensor_things(_: Message, found: Any) -> bool:
    return isinstance(found, Mapping) and "result" in found and "phenomenonTime" in found


def _sensor_things(message: Message, found: Any) -> Iterator[Read]:
    """An observation by MQTT: of the topic's datastream, if it does not say which."""
    stream = found.get("Datastream") or {}
    node = at(stream, "Thing", "name") or stream.get("name") or stream.get("@iot.id")
    if node is None:
        parts = [p for p in message.topic.split("/") if "Datastreams" in p]
        node = parts[0] if parts else VERSION.sub("", message.names.get("node", ""))
    condition = at(stream, "ObservedProperty", "name") or "result"
    time = moment(str(found["phenomenonTime"]).split("/")[0])
    yield from named(str(node), time, {condition: found["result"]})


def _is_zigbee(message: Message, found: Any) -> bool:
    device = isinstance(found, Mapping) and message.topic.startswith("zigbee2mqtt/")
    return device or bool(BRIDGE.match(message.topic))


def _zigbee(message: Message, found: Any) -> Iterator[Read]:
    """Node by the rest of the topic; time by last_seen, where it is switched on."""
    if BRIDGE.match(message.topic):
        return
    stamp = found.get("last_seen")
    values = {k: v for k, v in numbers(found).items() if not k.startswith(STATES)}
    time = message.arrived if stamp is None else moment(stamp)
    if values:
        yield from named(message.topic.split("/", 1)[1], time, values)


def _is_bare(message: Message, found: Any) -> bool:
    return "condition" in message.names and not isinstance(found, Mapping | list)


def _bare(message: Message, _: Any) -> Iterator[Read]:
    """A number alone; node and condition are the topic's."""
    value = message.payload.decode("utf-8").strip()
    node, condition = message.names.get("node", ""), message.names.get("condition", "value")
    yield from named(node, message.arrived, {condition: value})


def _is_json(_: Message, found: Any) -> bool:
    return isinstance(found, Mapping | list)


def _json(message: Message, found: Any) -> Iterator[Read]:
    """Our own; a message without a node is of the topic's."""
    node = message.names.get("node")
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, Mapping) and node and not {str(k).lower() for k in one} & set(NODE):
            one = {**one, "node": node}
        yield from from_json(one, message.arrived)


FORMATS = (
    _platform("The Things Stack"),
    _platform("ChirpStack"),
    Format("senml", _is_senml, _senml),
    Format("sensorthings", _is_sensor_things, _sensor_things),
    Format("homeassistant", _is_home_assistant, _home_assistant),
    Format("thingsboard", _is_thingsboard, _thingsboard),
    Format("zigbee2mqtt", _is_zigbee, _zigbee),
    Format("json", _is_json, _json),
    Format("influx", _is_influx, _influx),
    Format("bare", _is_bare, _bare),
)
"""In the order in which they are tried."""
