"""Messages of all formats, one example each as its platform writes it; lines and topics."""

import json

import pytest

from fieldmend.errors import InputError
from fieldmend.live.formats import FORMATS, Message, check_format, names_in, read
from fieldmend.live.messages import Reading, Refused, moment
from fieldmend.live.sources.lines import Lines

NOW = 1_790_000_000_000_000
AT = moment("2026-11-16T08:15:00Z")
STAMP = AT // 1_000_000

EXAMPLES = {
    "ttn": (
        "v3/app/devices/m7/up",
        {
            "end_device_ids": {"device_id": "m7"},
            "received_at": "2026-11-16T08:15:00Z",
            "uplink_message": {"decoded_payload": {"temperature": 20.5}},
        },
    ),
    "chirpstack": (
        "application/1/device/ab/event/up",
        {
            "deviceInfo": {"deviceName": "m7", "devEui": "ab"},
            "time": "2026-11-16T08:15:00+00:00",
            "object": {"temperature": 20.5},
        },
    ),
    "senml": ("x", [{"bn": "m7:", "bt": STAMP, "n": "temperature", "u": "Cel", "v": 20.5}]),
    "sensorthings": (
        "v1.1/Datastreams(7)/Observations",
        {
            "phenomenonTime": "2026-11-16T08:15:00Z",
            "result": 20.5,
            "Datastream": {
                "Thing": {"name": "m7"},
                "ObservedProperty": {"name": "temperature"},
            },
        },
    ),
    "homeassistant": (
        "ha/x",
        {
            "entity_id": "m7",
            "state": "20.5",
            "last_updated": "2026-11-16T08:15:00Z",
            "attributes": {"device_class": "temperature"},
        },
    ),
    "thingsboard": (
        "v1/gateway/telemetry",
        {"m7": [{"ts": STAMP * 1000, "values": {"temperature": 20.5}}]},
    ),
    "zigbee2mqtt": (
        "zigbee2mqtt/m7",
        {"temperature": 20.5, "linkquality": 90, "last_seen": "2026-11-16T08:15:00Z"},
    ),
    "json": ("site/x", {"node": "m7", "time": "2026-11-16T08:15:00Z", "temperature": 20.5}),
    "influx": ("x", f"air,node=m7 temperature=20.5 {STAMP}000000000"),
    "bare": ("site/m7/temperature", "20.5"),
}


def message(name):
    topic, payload = EXAMPLES[name]
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return Message(text.encode(), NOW, topic, names_in(topic, None))


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_each_format_is_recognised_and_read(name):
    at = NOW if name == "bare" else AT
    assert read(message(name)) == [Reading("m7", "temperature", at, 20.5)]
    assert read(message(name), name) == read(message(name))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"\xff\xfe\x00garbage", "unreadable"),
        (b"", "unreadable"),
        (b"{", "unreadable"),
        (b"[" * 100_000, "unreadable"),
        (b'{"node": "m7", "t": NaN}', "no number"),
        (b'{"node": "m7", "t": 1e999}', "no number"),
        (b'{"node": "m7", "time": "never", "t": 1}', "no time"),
        (b'{"node": "m7", "time": 1e300, "t": 1}', "no time"),
        (b'{"end_device_ids": {"device_id": 5}, "uplink_message": 7}', ""),
        (b'[{"bn": "m7:", "n": "t", "v": "x"}]', "no number"),
        (b'{"node": "m\\u00007", "t": 1}', "no node"),
        (b'{"node": "m7", "t\\u0000": 1}', "no number"),
        (b'{"node": "m7", "": 1}', "no number"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason_and_breaks_nothing(payload, why):
    found = read(Message(payload, NOW, "a"))
    assert not any(isinstance(one, Reading) for one in found)
    assert [one.why for one in found if isinstance(one, Refused)] == ([why] if why else [])


def test_a_retained_message_without_a_time_of_its_own_is_no_news():
    old = Message(b"20.5", NOW, "site/m7/t", names_in("site/m7/t", None), retained=True)
    assert [one.why for one in read(old)] == ["retained"]
    topic, payload = EXAMPLES["json"]
    stamped = Message(json.dumps(payload).encode(), NOW, topic, retained=True)
    assert read(stamped)[0].time == AT


def test_values_may_be_nested_arrays_given_and_the_node_named_by_the_topic():
    nested = {"node": "m7", "time": STAMP, "values": {"t": 1, "h": 2}, "seq": 4}
    found = read(Message(json.dumps(nested).encode(), NOW))
    assert [(r.condition, r.value, r.sequence) for r in found] == [("t", 1.0, 4), ("h", 2.0, 4)]
    two = json.dumps([{"node": "a", "t": 1}, {"node": "b", "t": 2}]).encode()
    assert [one.node for one in read(Message(two, NOW))] == ["a", "b"]
    topic = names_in("site/m7/state", "site/{node}/state")
    assert read(Message(b'{"t": 1}', NOW, "site/m7/state", topic)) == [Reading("m7", "t", NOW, 1.0)]


PUBLISHED = {
    "a gateway's numbers as text": (
        "v1/devices/m7/telemetry",
        {"ts": STAMP * 1000, "values": {"temperature": "20.5", "mode": "auto", "wind": {"v": 3}}},
        [("m7", "wind.v", 3.0), ("m7", "temperature", 20.5)],
    ),
    "an array under a device's topic": (
        "v1/devices/m7/telemetry",
        [{"ts": STAMP, "values": {"t": 1}}, {"ts": STAMP + 60, "values": {"t": 2}}],
        [("m7", "t", 1.0), ("m7", "t", 2.0)],
    ),
    "a device beside its firmware": (
        "zigbee2mqtt/living room",
        {"temperature": 21.3, "update": {"installed_version": -1, "state": "idle"}},
        [("living room", "temperature", 21.3)],
    ),
    "what the bridge says of itself": (
        "zigbee2mqtt/bridge/info",
        {"network": {"channel": 11}, "version": "1.40"},
        [],
    ),
    "the bridge's devices": ("zigbee2mqtt/bridge/devices", [{"network_address": 0}], []),
    "an event stream": (
        "homeassistant",
        {
            "event_type": "state_changed",
            "event_data": {
                "entity_id": "sensor.cellar",
                "old_state": {"entity_id": "sensor.cellar", "state": "21.3"},
                "new_state": {
                    "entity_id": "sensor.cellar",
                    "state": "21.4",
                    "attributes": {"device_class": "temperature"},
                },
            },
        },
        [("sensor.cellar", "temperature", 21.4)],
    ),
    "observations of all datastreams": (
        "v1.1/Observations",
        {"phenomenonTime": "2026-11-16T08:15:00Z/2026-11-16T08:20:00Z", "result": 20.5},
        ["no node"],  # a service's version is none
    ),
    "a device of one sensor": (
        "x",
        [{"bn": "urn:dev:ow:10e2073a01080063", "bt": STAMP, "bu": "%RH", "v": 21.2}, {"v": 21.3}],
        [("urn:dev:ow:10e2073a01080063", "humidity", v) for v in (21.2, 21.3)],
    ),
}


@pytest.mark.parametrize("what", PUBLISHED)
def test_what_platforms_publish_beside_the_usual(what):
    topic, payload, wanted = PUBLISHED[what]
    found = read(Message(json.dumps(payload).encode(), NOW, topic, names_in(topic, None)))
    assert [
        (one.node, one.condition, one.value) if isinstance(one, Reading) else one.why
        for one in found
    ] == wanted


def test_a_format_that_there_is_not_is_refused_with_those_that_are():
    with pytest.raises(InputError, match=r"xml.*auto, ttn, chirpstack"):
        check_format("xml")


def test_a_table_is_read_by_its_header_and_one_without_is_refused():
    lines = Lines()
    text = "date;time;mote;seq;temperature;humidity\n2026-11-16;08:15:00;m7;3;20.5;\n"
    text += "2026-11-16;08:15:00;m7\nnever;x;m7;3;1;1\n"
    found = [one for line in text.splitlines() for one in lines.read(line, NOW)]
    assert found[0] == Reading("m7", "temperature", AT, 20.5, 3)
    assert [one.why for one in found[1:]] == ["unreadable", "no time"]
    long = Lines()
    list(long.read("node,timestamp,variable,value", NOW))
    assert list(long.read(f"m7,{STAMP},t,1.5", NOW)) == [Reading("m7", "t", AT, 1.5)]
    with pytest.raises(InputError, match="no header with a node and a time"):
        list(Lines().read("1,2,3", NOW))
