"""The live server: what it answers, what it takes, and the stream of events."""

import contextlib
import gzip
import http.client
import json
import random
import re
import socket
import time
from collections import Counter

import pytest

from fieldmend.live.intake import Busy
from fieldmend.live.server import readings
from livejournal import NOON, SECOND, Filled
from liveserver import READING, served, served_anew, stored


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with served_anew(tmp_path_factory.mktemp("site"), 12, slots=40) as client:
        yield client


@pytest.fixture
def fresh(tmp_path):
    with served_anew(tmp_path) as client:
        yield client


# What it answers ----------------------------------------------------------------------------------


def test_now_says_what_the_journal_says(site):
    now = site.json("/v1/now")
    assert now["network"] == "greenhouse"
    assert [node["node"] for node in now["nodes"]] == site.filled.nodes
    assert {one["kind"] for one in now["episodes"]} == {"stuck", "silent", "drift"}
    assert now["counts"]["readings"]["duplicate"] == 21
    assert now["takes"] == {"post": True, "token": False, "source": "", "check": ""}


def test_a_node_over_its_last_day_and_over_any_time(site):
    day = site.json("/v1/nodes/m2")
    assert len(day["conditions"]["temperature"]["slot"]) == 40
    assert 3 in day["conditions"]["temperature"]["flag"]
    assert day["neighbours"] == ["m3", "m4", "m1"]
    hour = site.json("/v1/nodes/m2?from=2026-11-16T11:00:00Z&to=2026-11-16T12:00:00Z")
    assert len(hour["conditions"]["temperature"]["slot"]) == 12
    assert site.json(f"/v1/nodes/m2?from={NOON // SECOND - 3600}&to={NOON // SECOND}") == hour


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/nodes/nobody", 404),
        ("/v1/nodes/m2?from=yesterday", 422),
        ("/v1/nodes/m2?from=2026-11-16&to=2026-11-15", 422),
        ("/v1/nodes/m2?from=2020-01-01&to=2026-01-01", 422),
        ("/v1/nodes/m2?from=1e400", 422),
        ("/v1/episodes?state=odd", 422),
        ("/v1/episodes?limit=0", 422),
        ("/v1/episodes?limit=%C2%B2", 422),
        ("/v1/nothing", 404),
        ("/assets/../serving.py", 404),
        ("/assets/..%2fserving.py", 404),
        ("/assets/%2e%2e/serving.py", 404),
        ("//etc/passwd", 404),
    ],
)
def test_what_there_is_not_is_said(site, path, status):
    response = site.ask(path)
    assert response.status == status
    assert json.loads(response.text)["error"]


def test_names_that_no_address_can_hold(tmp_path):
    names = ["..", "a/b", "täglich 7", "<img src=x onerror=alert(1)>", "a?b#c", "%2e"]
    odd = Filled(tmp_path, names)
    odd.close(3)
    with served(odd) as client:
        from urllib.parse import quote

        for name in names[1:]:
            assert client.json(f"/v1/nodes/{quote(name, safe='')}")["node"] == name
        assert client.json("/v1/nodes?node=..")["node"] == ".."


def test_episodes_open_and_closed(site):
    assert len(site.json("/v1/episodes")["episodes"]) == 4
    assert {one["state"] for one in site.json("/v1/episodes?state=open")["episodes"]} == {"open"}
    assert len(site.json("/v1/episodes?state=close")["episodes"]) == 1
    assert len(site.json("/v1/episodes?limit=2")["episodes"]) == 2


def test_metrics_have_the_names_that_dashboards_know(site):
    text = site.ask("/metrics").text
    for name in (
        "readings_received_total", "readings_duplicate_total", "readings_late_total",
        "slots_closed_total", "slot_seconds", "lag_seconds", "outbox", "broker_dropped_total",
        "sequence_gaps_total", "model_age_seconds", "replay_error", "journal_bytes",
    ):  # fmt: skip
        assert re.search(rf"^fieldmend_{name} [\d.e+]+$", text, re.MULTILINE), name
    assert 'fieldmend_readings_rejected_total{why="clock ahead"} 7.0' in text
    assert 'fieldmend_episodes_open{kind="stuck"} 1.0' in text
    assert 'fieldmend_episodes_open{kind="event"} 0.0' in text


def test_what_has_not_changed_is_not_sent_again(site):
    # The ages in "counts" pass; what a slot says does not.
    first = site.ask("/v1/nodes/m2")
    assert first.getheader("etag")
    again = site.ask("/v1/nodes/m2", if_none_match=first.getheader("etag"))
    assert (again.status, again.text) == (304, "")


def test_answers_are_packed_for_those_who_take_it(site):
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", "/v1/now", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        assert response.getheader("content-encoding") == "gzip"
        assert len(response.read()) < 5000


def test_a_new_slot_is_told_at_once(fresh):
    before = fresh.json("/v1/nodes/m1")
    fresh.filled.next()
    end = time.monotonic() + 10
    while fresh.json("/v1/nodes/m1") == before:
        assert time.monotonic() < end
    assert len(fresh.json("/v1/nodes/m1")["conditions"]["temperature"]["slot"]) == 31


# POST ---------------------------------------------------------------------------------------------


def test_200_means_committed_and_repeats_are_absorbed(fresh):
    readings_ = [READING, READING | {"node": "m2"}, READING | {"node": "m3", "temperature": "wet"}]
    response = fresh.post(readings_)
    assert response.status == 200
    assert json.loads(response.text) == {"stored": 2, "duplicate": 0, "rejected": 1}
    assert stored(fresh) == 2, "another connection sees it: it is on the disk"
    assert json.loads(fresh.post(readings_).text) == {"stored": 0, "duplicate": 2, "rejected": 1}


def test_lines_of_json_are_readings_too(fresh):
    lines = "\n".join(json.dumps(READING | {"node": f"m{k}"}) for k in (1, 2, 3)).encode()
    assert json.loads(fresh.post(lines).text)["stored"] == 3


TTN = {
    "end_device_ids": {"device_id": "soil-7"},
    "received_at": "2026-11-16T11:50:00Z",
    "uplink_message": {"decoded_payload": {"temperature": 20.5}, "f_cnt": 3},
}


@pytest.mark.parametrize(
    ("body", "node"),
    [
        (json.dumps(TTN).encode(), "soil-7"),
        (b'[{"bn": "urn:dev:m7/", "bt": 1794829800, "n": "temperature", "v": 20.5}]', "urn:dev:m7"),
        (b"air,node=m9 temperature=20.5 1794829800000000000\n", "m9"),
        (b"air,node=m9 temperature=20.5\nair,node=m9 humidity=41\n", "m9"),
    ],
    ids=["The Things Stack", "SenML", "line protocol", "lines"],
)
def test_platforms_post_what_they_have(fresh, body, node):
    response = fresh.post(body)
    assert response.status == 200, response.text
    assert json.loads(response.text)["stored"] >= 1
    assert node in [one["node"] for one in fresh.json("/v1/now")["nodes"]]


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00\xff\xfe garbage", b"{", b"[" * 100_000, b"[" * 900 + b"]" * 900 + b"x",
     b'{"node": NaN', b"1\n2\n{"],
    ids=["nothing", "garbage", "cut", "deep", "deep and wrong", "NaN", "a cut line"],
)  # fmt: skip
def test_what_is_no_json_is_refused_and_counted(fresh, body):
    response = fresh.post(body)
    assert response.status == 422
    assert "error" in json.loads(response.text)
    assert fresh.post(READING).status == 200, "and the next is taken"


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b"null", b'"a"', b"7", b"[[[[]]]]", b'{"node": "m1", "temperature": NaN}',
     b'{"node": "m1", "temperature": 1e999}', b'{"node": "m1", "time": 1e300, "temperature": 1}',
     b'{"node": "m1", "time": -1e300, "temperature": 1}', b'{"node": {"a": 1}, "temperature": 1}',
     b'{"node": "m1", "time": "2038-01-19T03:14:08Z", "temperature": 1}',
     b'{"node": "\\ud800", "temperature": 1}', b'{"node": "m1", "\\udfff": 1}',
     b'{"node": "\\u0000", "temperature": 1, "time": "0001-01-01T00:00:00+23:59"}'],
)  # fmt: skip
def test_what_is_json_and_no_reading_stores_nothing(fresh, body):
    response = fresh.post(body)
    assert response.status == 200, response.text
    assert json.loads(response.text)["stored"] == 0
    assert stored(fresh) == 0
    assert json.loads(fresh.post(READING).text)["stored"] == 1, "and the next is taken"


def test_a_payload_too_large_is_refused_and_counted(fresh):
    largest = fresh.filled.intake.largest
    for size in (largest + 1, 1_000_000, 3_000_000):
        response = fresh.post(b" " * size)
        assert response.status == 413, size
    chunks = (b" " * 10_000 for _ in range(100))
    chunked = fresh.ask("/v1/readings", method="POST", body=chunks)
    assert chunked.status == 413
    assert fresh.json("/v1/now")["counts"]["rejected"]["too large"] == 4
    assert fresh.post(b" " * (largest - 200) + json.dumps(READING).encode()).status == 200


def test_a_payload_of_any_length_costs_no_more_memory_than_the_largest(fresh):
    line = fresh.stream()
    line.close()
    line = socket.create_connection(("127.0.0.1", fresh.port), timeout=20)
    head = f"POST /v1/readings HTTP/1.1\r\nHost: 127.0.0.1:{fresh.port}\r\n"
    with line:
        line.sendall(f"{head}Content-Length: 99999999999\r\n\r\n".encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 413")


def test_busy_says_when_to_come_again(fresh, monkeypatch):
    def full(_):
        raise Busy("the journal cannot be written: disk full", 7.2)

    monkeypatch.setattr(fresh.filled.intake, "post_bytes", full)
    response = fresh.post(READING)
    assert (response.status, response.getheader("retry-after")) == (503, "8")


def test_too_many_at_once_are_sent_away(fresh, monkeypatch):
    monkeypatch.setattr(readings, "AT_ONCE", 0)
    assert fresh.post(READING).status == 503
    monkeypatch.undo()
    assert fresh.post(READING).status == 200


def test_slow_senders_take_no_place_from_others(fresh):
    head = f"POST /v1/readings HTTP/1.1\r\nHost: 127.0.0.1:{fresh.port}\r\n"
    with contextlib.ExitStack() as open_:
        for _ in range(50):
            line = socket.create_connection(("127.0.0.1", fresh.port), timeout=20)
            open_.enter_context(line).sendall(f"{head}Content-Length: 100\r\n\r\n[".encode())
        time.sleep(0.2)
        assert fresh.post(READING).status == 200


def test_a_body_that_never_ends_is_not_waited_for(fresh, monkeypatch):
    monkeypatch.setattr(readings, "PATIENCE", 0.2)
    line = socket.create_connection(("127.0.0.1", fresh.port), timeout=20)
    head = f"POST /v1/readings HTTP/1.1\r\nHost: 127.0.0.1:{fresh.port}\r\n"
    with line:
        line.sendall(f"{head}Content-Length: 100\r\n\r\nhalf".encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 408")
    assert stored(fresh) == 0


def test_a_client_that_leaves_in_the_middle_stores_nothing(fresh):
    body = json.dumps(READING).encode()
    line = socket.create_connection(("127.0.0.1", fresh.port), timeout=20)
    head = f"POST /v1/readings HTTP/1.1\r\nHost: 127.0.0.1:{fresh.port}\r\n"
    line.sendall(f"{head}Content-Length: {len(body) + 10}\r\n\r\n".encode() + body)
    line.close()
    assert fresh.post(READING | {"node": "m2"}).status == 200
    assert stored(fresh) == 1


def test_ten_thousand_new_names_do_not_become_a_network(fresh):
    many = [READING | {"node": f"x{k}"} for k in range(3000)]
    for _ in range(2):
        assert fresh.post(many).status == 200
    now = fresh.json("/v1/now")
    assert len(now["nodes"]) <= 4 + 100
    assert now["counts"]["rejected"]["new node"] >= 2 * 2900


def test_health_says_degraded_while_nothing_can_be_stored(fresh):
    assert (fresh.ask("/healthz").status, fresh.ask("/healthz").text) == (200, "ok\n")
    fresh.filled.intake.health.set("degraded", "disk full")
    assert (fresh.ask("/healthz").status, fresh.ask("/healthz").text) == (503, "degraded\n")
    time.sleep(1.1)  # as long as an answer holds
    now = fresh.json("/v1/now")
    assert (now["status"], now["why"]) == ("degraded", "disk full")


def test_what_keeps_readings_from_coming_is_said(fresh):
    before = fresh.json("/v1/now")["why"]
    fresh.filled.intake.health.source = "the broker is gone"
    time.sleep(1.1)  # as long as an answer holds
    now = fresh.json("/v1/now")
    assert now["why"] == "; ".join(part for part in ("the broker is gone", before) if part)
    assert now["status"] == "ok"
    assert fresh.ask("/healthz").status == 200


def test_a_message_that_cannot_be_stored_takes_nobody_else_with_it(fresh, monkeypatch):
    import threading

    intake, said = fresh.filled.intake, {}
    store = intake.writer.store

    def poisoned(connection, reads, arrived):
        if any(getattr(read, "node", "") == "poison" for read in reads):
            raise ValueError("poison")
        return store(connection, reads, arrived)

    monkeypatch.setattr(intake.writer, "store", poisoned)

    def send(node):
        try:
            said[node] = intake.post([READING | {"node": node}])
        except ValueError as error:
            said[node] = str(error)

    with intake.journal.lock:  # all of them wait, and share a commit
        threads = [threading.Thread(target=send, args=(n,)) for n in ("m1", "poison", "m2")]
        for thread in threads:
            thread.start()
        while len(intake._pending) < 3:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert said["poison"] == "poison"
    assert said["m1"]["stored"] == said["m2"]["stored"] == 1
    assert stored(fresh) == 2


def test_any_bytes_are_answered_and_none_of_them_hurts(fresh):
    rng = random.Random(0)
    good = json.dumps([READING, READING | {"node": "m2", "values": {"light": 3}}]).encode()
    pieces = [b"{", b"}", b"[", b",", b'"', b"\\ud800", b"\x00", b"\xff", b"NaN", b"1e999", b"-"]
    statuses = Counter()
    for _ in range(300):
        body = bytearray(good)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(body))
            body[at : at + rng.randint(0, 4)] = rng.choice(pieces)
        statuses[fresh.post(bytes(body)).status] += 1
    assert set(statuses) == {200, 422}
    assert fresh.post(good).status == 200


@pytest.mark.parametrize(
    "head",
    [
        "POST /v1/readings HTTP/1.1\r\nHost: {h}\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/readings HTTP/1.1\r\nHost: {h}\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\n",
        "POST /v1/readings HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/1.1\r\nHost: {h}\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01 not http at all\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=["negative", "two lengths", "bad chunk", "two hosts", "no host", "TLS", "HTTP/2"],
)
def test_what_is_no_http_is_refused(fresh, head):
    with socket.create_connection(("127.0.0.1", fresh.port), timeout=20) as line:
        line.sendall(head.format(h=f"127.0.0.1:{fresh.port}").encode("latin-1"))
        first = line.recv(1000).decode("latin-1")
        assert re.match(r"HTTP/1\.1 4\d\d ", first), first
    assert stored(fresh) == 0
    assert fresh.post(READING).status == 200


def test_a_packed_body_is_refused_by_name(fresh):
    response = fresh.post(gzip.compress(b"{}"), Content_Encoding="gzip")
    assert response.status == 422
    assert "packed" in response.text


def test_a_head_without_end_is_not_collected(fresh):
    with socket.create_connection(("127.0.0.1", fresh.port), timeout=20) as line:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 50_000_000:
                sent += line.send(b"x" * 65_536)
        assert sent < 20_000_000, "what the system buffers at most"
    assert fresh.post(READING).status == 200
