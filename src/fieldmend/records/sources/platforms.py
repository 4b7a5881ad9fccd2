"""JSON of platforms: nested messages flattened to one object per line. A table, one row each.

A file is one document (an object or an array) or one message per line. A line gives one line, so
that line numbers stay; of a document they are the records' numbers.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldmend.errors import InputError
from fieldmend.records.sources import frames_in_json, monitoring, senml
from fieldmend.records.sources.cutting import STAMP
from fieldmend.records.sources.nested import (
    DEEP,
    Row,
    at,
    holds_numbers,
    is_nested,
    listed,
    nested,
    numbers,
    object_at,
)
from fieldmend.records.sources.text import Text
from fieldmend.records.vocabulary import TIME, bare
from fieldmend.text import shown

TIMES = frozenset(bare(name) for name in TIME)
ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a document in disguise raises: an object where a list should be, a word for a number."""
LARGEST = 1 << 28  # bytes of one document; more is handed in line by line


@dataclass(frozen=True)
class Platform:
    """A kind of message or document."""

    name: str
    fits: Callable[[Any], bool]
    rows: Callable[[Any], Iterator[Row]]
    """Of a message: one row, empty if it carries no reading."""
    many: bool = False
    """A message has several rows: rows are numbered then, not lines."""


def flattened(text: Text, work: Path) -> str:
    """Rewrite a file of a known platform as plain NDJSON; the platform's name, or an empty one."""
    first = _parsed(next((line for line in text.head if line.strip("\ufeff \t")), ""))
    if isinstance(first, Mapping) and len([line for line in text.head if line.strip()]) > 1:
        return _lines(text, first, work)
    opening = "".join(text.head[:3]).lstrip("\ufeff \t")[:1]
    if opening not in ("{", "["):
        return ""
    return _document(text, work)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _lines(text: Text, first: Any, work: Path) -> str:
    platform = next((one for one in PLATFORMS if one.fits(first)), None)
    if platform is None:
        platform = next((one for one in (MIXED,) if one.fits(first)), None)
    if platform is None:
        return ""
    with _source(text) as file:
        _write(text, work, (row for line in file for row in _rows(platform, line)))
    return platform.name


def _rows(platform: Platform, line: str) -> Iterator[str]:
    message = _parsed(line)
    if not isinstance(message, Mapping):
        yield line.rstrip("\r\n")
    elif not platform.fits(message) and platform is not MIXED:
        yield "{}"
    elif platform.many:
        yield from map(json.dumps, platform.rows(message))
    else:
        try:
            yield json.dumps(next(platform.rows(message), {}))
        except ODD:  # one message of another kind is set aside, the others are read
            yield "{}"


def _document(text: Text, work: Path) -> str:
    if text.path.stat().st_size > LARGEST:
        raise InputError(
            f"one JSON document of over {LARGEST >> 20} MB", file=text.name,
            hint="Write one object per line",
        )  # fmt: skip
    with _source(text) as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError):
            return ""
    platform = next((one for one in PLATFORMS if one.fits(found)), None)
    if platform is not None:
        name = platform.name
        try:
            rows = list(platform.rows(found))
        except ODD as error:
            raise InputError(
                f"it looks like {name}, and is not written as that is ({shown(error)})",
                file=text.name,
                hint="Write one object per line, with a node, a time and numbers",
            ) from error
    else:
        rows, name = _plain(found), "JSON"
    if not rows:
        return ""
    _write(text, work, (json.dumps(row) for row in rows))
    return name


def _source(text: Text) -> Any:
    return text.path.open("r", encoding=text.encoding, errors="replace")


def _write(text: Text, work: Path, lines: Iterator[str]) -> None:
    out = work / f"json-{len(list(work.iterdir()))}"
    with out.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as target:
        target.writelines(line + "\n" for line in lines)
    text.path, text.encoding, text.rewrite = out, "utf-8", False
    with out.open("r", encoding="utf-8", errors="replace") as file:
        text.head = [line.rstrip("\n") for _, line in zip(range(1000), file, strict=False)]


def _plain(found: Any) -> list[Row]:
    """An array of objects, or the one such array of an object; of several the one with times."""
    if isinstance(found, Mapping):
        arrays = list(_arrays(found, 0))
        timed = [one for one in arrays if _has_time(one[0])]
        found = next((one for one in (arrays, timed) if len(one) == 1), [[]])[0]
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
    # An object in its place keeps the numbers of the others.
    return [next(nested(row)) if isinstance(row, Mapping) else {} for row in found] if rows else []


def _arrays(found: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
    """The arrays of objects in an object and in those within it."""
    for held in found.values():
        if isinstance(held, list) and held and isinstance(held[0], Mapping):
            yield held
        elif isinstance(held, Mapping) and depth < DEEP:
            yield from _arrays(held, depth + 1)


def _has_time(message: Mapping[str, Any]) -> bool:
    """Whether a time stands in it, by its name or by itself."""
    row = next(nested(message))
    return any(
        bare(name.casefold()) in TIMES or (isinstance(cell, str) and bool(STAMP.match(cell)))
        for name, cell in row.items()
    )


def _things_stack(message: Any) -> Iterator[Row]:
    if not isinstance(at(message, "end_device_ids"), Mapping):
        message = message["result"]
    uplink = message.get("uplink_message")
    row = numbers(at(uplink, "decoded_payload"))
    if row:
        place = at(uplink, "locations", "user") or {}
        ids = message["end_device_ids"]
        yield {
            "node": ids.get("device_id") or ids.get("dev_eui"),
            "time": at(uplink, "received_at") or message.get("received_at"),
            **({"lat": place["latitude"], "lon": place["longitude"]} if _is_place(place) else {}),
            **row,
        }


def _is_place(place: Any) -> bool:
    return isinstance(place, Mapping) and {"latitude", "longitude"} <= place.keys()


def _chirpstack(message: Any) -> Iterator[Row]:
    payload = message.get("object")
    if payload is None and isinstance(message.get("objectJSON"), str):
        payload = _parsed(message["objectJSON"])
    row = numbers(payload)
    if row:
        yield {
            "node": at(message, "deviceInfo", "deviceName") or message.get("deviceName")
            or at(message, "deviceInfo", "devEui") or message.get("devEUI"),
            "time": message.get("time") or at(message, "rxInfo", 0, "time")
            or message.get("publishedAt"),
            **row,
        }  # fmt: skip


def _thingspeak(found: Any) -> Iterator[Row]:
    channel = found["channel"]
    for feed in found["feeds"]:
        row: Row = {
            "node": channel.get("name") or str(channel.get("id")),
            "time": at(feed, "created_at"),
        }
        for i in range(1, 9):
            name = channel.get(f"field{i}")
            if name:
                row[str(name)] = at(feed, f"field{i}")
        yield row


def _sensor_things(found: Any) -> Iterator[Row]:
    for one in found["value"]:
        if "Observations" in object_at(one):  # datastreams with their observations
            for observation in listed(one, "Observations"):
                yield _observation(observation, one)
        else:
            yield _observation(one, object_at(one, "Datastream"))


def _observation(observation: Any, stream: Any) -> Row:
    time = str(at(observation, "phenomenonTime") or at(observation, "resultTime") or "")
    thing = at(stream, "Thing", "name") or at(stream, "name") or at(stream, "@iot.id")
    return {
        "node": str(thing or "thing"),
        "time": time.split("/")[0],
        "variable": at(stream, "ObservedProperty", "name") or "result",
        "value": at(observation, "result"),
        "unit": at(stream, "unitOfMeasurement", "symbol") or "",
    }


def _weatherlink(found: Any) -> Iterator[Row]:
    """Davis WeatherLink v2: a station's sensors, each with its records."""
    over = {"ts", "tz_offset", "arch_int", "rev_type", "wind_run"}
    for sensor in found["sensors"]:
        for record in listed(sensor, "data"):
            row = numbers(record)
            yield {
                "node": f"{found.get('station_id', 'station')}/{at(sensor, 'lsid')}",
                "time": row.get("ts"),
                **{name: value for name, value in row.items() if name not in over},
            }


def _openaq(found: Any) -> Iterator[Row]:
    """OpenAQ v3: measurements or hours of sensors; the time is where a period begins."""
    for one in found["results"]:
        period = at(one, "period") or {}
        place = at(one, "coordinates") or {}
        node = at(one, "sensorsId") or at(one, "sensorId") or at(one, "locationsId")
        yield {
            **({"node": str(node)} if node is not None else {}),
            "time": at(period, "datetimeFrom", "utc") or at(one, "datetime", "utc"),
            "variable": at(one, "parameter", "name") or "value",
            "value": at(one, "value"),
            "unit": at(one, "parameter", "units") or "",
            **({"lat": place["latitude"], "lon": place["longitude"]} if _is_place(place) else {}),
        }


def _frost(found: Any) -> Iterator[Row]:
    """MET Norway's Frost: a station's time with its observations."""
    for one in found["data"]:
        for seen in listed(one, "observations"):
            level = at(seen, "level", "value")
            name = str(at(seen, "elementId"))
            yield {
                "node": str(at(one, "sourceId") or "").removesuffix(":0"),
                "time": at(one, "referenceTime"),
                "variable": name if level in (None, 2) else f"{name} {level}",
                "value": at(seen, "value"),
                "unit": at(seen, "unit") or "",
            }


def _senml(found: Any) -> Iterator[Row]:
    """SenML (RFC 8428): base names and times hold until the next ones."""
    base: Row = {}
    for one in found:
        if not isinstance(one, Mapping):
            yield {}
            continue
        base |= {key: one[key] for key in ("bn", "bt", "bu", "bv") if key in one}
        if "n" not in one and "v" not in one:
            continue
        unit = str(one.get("u") or base.get("bu") or "")
        node, kind = senml.parted(str(base.get("bn", "")) + str(one.get("n", "")), unit)
        numeric = [x for x in (base.get("bt", 0), one.get("t", 0)) if isinstance(x, int | float)]
        value, ground = one.get("v"), base.get("bv", 0)
        both = isinstance(value, int | float) and isinstance(ground, int | float)
        yield {
            "node": node or "node",
            "time": sum(numeric),
            "variable": kind,
            "value": value + ground if both else value,
            "unit": unit,
        }


def _geojson(found: Any) -> Iterator[Row]:
    """Points with what was measured at them."""
    for one in found["features"]:
        place = at(one, "geometry", "coordinates")
        point = (
            isinstance(place, list) and len(place) > 1 and at(one, "geometry", "type") == "Point"
        )
        held = at(one, "properties")
        yield {
            **(next(nested(held)) if isinstance(held, Mapping) else {}),
            **({"lon": place[0], "lat": place[1]} if point else {}),
        }


def _columns(found: Any) -> Mapping[str, list[Any]]:
    """The one object of lists that are equally long, one of them the time; or an empty one."""
    there = [found, *found.values()] if isinstance(found, Mapping) else []
    for one in there:
        if not isinstance(one, Mapping) or len(one) < 2:
            continue
        lists = [v for v in one.values() if isinstance(v, list)]
        named = {str(key).casefold() for key in one} & {*TIME}
        if named and len(lists) == len(one) and len({len(v) for v in lists}) == 1:
            return one
    return {}


def _by_column(found: Any) -> Iterator[Row]:
    """Lists side by side, as Open-Meteo has them."""
    columns = _columns(found)
    place = [found.get(key) for key in ("latitude", "longitude")]
    known = all(isinstance(cell, int | float) for cell in place)
    about = {"node": f"{place[0]} {place[1]}", "lat": place[0], "lon": place[1]} if known else {}
    for cells in zip(*columns.values(), strict=True):
        yield {**dict(zip(map(str, columns), cells, strict=True)), **about}


def _is_by_key(found: Any) -> bool:
    """Whether each name has its list of stamps with values, and nothing else is there."""
    if not isinstance(found, Mapping) or not found:
        return False
    lists = [one for one in found.values() if isinstance(one, list)]
    pairs = [at(one, 0) for one in lists if one]
    return len(lists) == len(found) and bool(pairs) and all(
        isinstance(pair, Mapping) and pair.keys() == {"ts", "value"} for pair in pairs
    )  # fmt: skip


def _by_key(found: Any) -> Iterator[Row]:
    """ThingsBoard's telemetry of a device: what was sent at one time is one row."""
    rows: dict[tuple[str, int], Row] = {}
    for name, pairs in found.items():
        sent = Counter[str]()  # a value that was sent twice at one time is not lost
        for pair in pairs:
            time = at(pair, "ts")
            row = rows.setdefault((str(time), sent[str(time)]), {"ts": time})
            row[str(name)] = at(pair, "value")
            sent[str(time)] += 1
    yield from rows.values()


def _listed(found: Any) -> tuple[list[Any], str]:
    """Objects that each have one list of objects with a time, and what that is called."""
    if isinstance(found, Mapping):
        arrays = [one for one in found.values() if isinstance(one, list) and one]
        found = arrays[0] if len(arrays) == 1 else []
    first = at(found, 0) if isinstance(found, list) else None
    if not isinstance(first, Mapping):
        return [], ""
    lists = {
        str(key) for one in found if isinstance(one, Mapping) for key, held in one.items()
        if isinstance(at(held, 0), Mapping)
    }  # fmt: skip
    inside = [held for one in found if isinstance(one, Mapping) for key in lists
              for held in listed(one, key)]  # fmt: skip
    timed = [one for one in inside if isinstance(one, Mapping)
             and {str(key).casefold() for key in one} & {*TIME}]  # fmt: skip
    known = len(lists) == 1 and timed and len(timed) == len(inside)
    return (found, lists.pop()) if known else ([], "")


def _lists(found: Any) -> Iterator[Row]:
    """A station with the list of its observations: each is a row, and what the station is."""
    stations, name = _listed(found)
    for station in stations:
        if not isinstance(station, Mapping):
            yield {}
            continue
        about = next(nested({key: held for key, held in station.items() if key != name}))
        for one in listed(station, name):
            yield about | next(nested(one))


def _is_history(found: Any) -> bool:
    return isinstance(at(found, 0, 0), Mapping) and "state" in found[0][0]


def _home_assistant(found: Any) -> Iterator[Row]:
    for states in found:
        entity: Any = None
        attributes: Any = {}
        for state in states if isinstance(states, list) else ():
            entity = at(state, "entity_id") or entity  # a minimal response names it once
            attributes = at(state, "attributes") or attributes
            unit = at(attributes, "unit_of_measurement")
            if unit:
                yield {
                    "node": entity,
                    "time": at(state, "last_changed") or at(state, "last_updated"),
                    "variable": at(attributes, "device_class") or "state",
                    "value": at(state, "state"),
                    "unit": unit,
                }


def _is_sensor_things(found: Any) -> bool:
    first = at(found, "value", 0)
    return isinstance(first, Mapping) and bool({"phenomenonTime", "Observations"} & first.keys())


PLATFORMS = (
    Platform(
        "The Things Stack",
        lambda m: isinstance(at(m, "end_device_ids") or at(m, "result", "end_device_ids"), Mapping),
        _things_stack,
    ),
    Platform(
        "ChirpStack",
        lambda m: isinstance(at(m, "deviceInfo"), Mapping) or at(m, "devEUI") is not None,
        _chirpstack,
    ),
    Platform("ThingSpeak", lambda m: isinstance(at(m, "feeds"), list) and isinstance(
        at(m, "channel"), Mapping), _thingspeak),
    Platform("SensorThings", _is_sensor_things, _sensor_things),
    Platform("Home Assistant", _is_history, _home_assistant),
    Platform("Prometheus", lambda m: at(m, "data", "resultType") == "matrix" and isinstance(
        at(m, "data", "result"), list), monitoring.prometheus),
    Platform("VictoriaMetrics", monitoring.is_export, monitoring.export, many=True),
    Platform("InfluxDB 1", monitoring.is_influx, monitoring.influx),
    Platform("Graphite", monitoring.is_graphite, monitoring.graphite),
    Platform("OpenTSDB", monitoring.is_tsdb, monitoring.tsdb),
    Platform("WeatherLink v2", lambda m: isinstance(at(m, "sensors", 0, "data"), list),
             _weatherlink),
    Platform("OpenAQ v3", lambda m: isinstance(at(m, "results", 0, "parameter"), Mapping)
             and isinstance(at(m, "meta"), Mapping), _openaq),
    Platform("Frost", lambda m: isinstance(at(m, "data", 0, "observations"), list), _frost),
    Platform("SenML", lambda m: isinstance(at(m, 0), Mapping) and {"v", "n"} <= m[0].keys()
             and bool({"bn", "bt", "u", "t"} & m[0].keys()), _senml),
    Platform("GeoJSON", lambda m: at(m, "type") == "FeatureCollection" and isinstance(
        at(m, "features"), list), _geojson),
    Platform("ThingsBoard", _is_by_key, _by_key),
    Platform("JSON by column", lambda m: bool(_columns(m)), _by_column),
    Platform("JSON of a frame", frames_in_json.fits, frames_in_json.rows),
    Platform("lists in JSON", lambda m: bool(_listed(m)[1]), _lists),
    Platform("nested JSON", is_nested, nested),
    Platform("nested JSON", lambda m: isinstance(m, list) and is_nested(at(m, 0)),
             lambda m: (row for one in m for row in ([{}] if not isinstance(one, Mapping)
                                                     else nested(one)))),
)  # fmt: skip

MIXED = Platform("nested JSON", holds_numbers, nested)
"""Messages with numbers above and in objects within; each line of the file is taken so."""
