"""The live server: events, and that no client hurts another."""

import asyncio
import contextlib
import json
import re
import socket
import time
from pathlib import Path

import pytest

import livejournal
from fieldmend.live.server import connections, events
from fieldmend.live.server.answers import A_ROUND, Answers
from fieldmend.live.server.events import Hub
from livejournal import NOON, SECOND, Filled
from liveserver import READING, read_until, served, served_anew, stored


@pytest.fixture
def fresh(tmp_path):
    with served_anew(tmp_path) as client:
        yield client


# Events -------------------------------------------------------------------------------------------


def ids(text):
    return [int(number) for number in re.findall(r"^id: (\d+)$", text, re.MULTILINE)]


def test_events_begin_with_the_newest_and_go_on(fresh):
    with fresh.stream() as line:
        assert ids(read_until(line, "event: counts")) == [30]
        fresh.filled.next()
        text = read_until(line, "id: 31\n")
        text += read_until(line, "\n\n") if not text.endswith("\n\n") else ""
    data = json.loads(re.search(r"id: 31\ndata: (.*)\n", text)[1])
    assert data["conditions"]["temperature"]["nodes"] == ["m1", "m2", "m3", "m4"]


def test_events_resume_where_they_were_broken_off(fresh):
    with fresh.stream(last_event_id=3) as line:
        text = read_until(line, "id: 30\n")
    assert ids(text) == list(range(4, 31)), "from the journal, then from memory, each once"


def test_events_resume_after_the_server_was_restarted(fresh):
    with fresh.stream() as line:
        read_until(line, "id: 30\n")
    fresh.server.stop()
    fresh.filled.next()
    fresh.filled.next()
    with served(fresh.filled) as again, again.stream(last_event_id=30) as line:
        assert ids(read_until(line, "id: 32\n")) == [31, 32]


def test_in_brief_only_the_newest_is_told(fresh):
    with fresh.stream("/v1/events?brief=1", last_event_id=3) as line:
        text = read_until(line, "event: counts")
    assert ids(text) == [30]
    assert "observed" not in text


@pytest.mark.parametrize("given", ["x", "-1", "9" * 40, "1e5", "²"])
def test_an_id_that_is_none_begins_anew(fresh, given):
    with fresh.stream(last_event_id=given) as line:
        assert ids(read_until(line, "event: counts")) == [30]


def test_an_id_from_the_future_waits_for_the_next(fresh):
    with fresh.stream(last_event_id=99_999) as line:
        assert ids(read_until(line, "event: counts")) == []
        fresh.filled.next()
        assert ids(read_until(line, "id: 31\n")) == [31]


def test_an_empty_journal_has_no_events_and_hangs_nobody(tmp_path):
    with served(Filled(tmp_path)) as client, client.stream() as line:
        read_until(line, "event: counts")
        assert client.json("/v1/now")["nodes"] == []


def test_a_quiet_stream_says_that_it_is_there(fresh, monkeypatch):
    monkeypatch.setattr(events, "STILL_HERE", 0.2)
    with fresh.stream() as line:
        read_until(line, ": still here")


def test_too_many_readers_are_sent_away_and_the_others_stay(fresh, monkeypatch):
    monkeypatch.setitem(events.MOST, "full", 1)
    with fresh.stream() as first:
        read_until(first, "event: counts")
        refused = fresh.ask("/v1/events")
        assert (refused.status, refused.getheader("retry-after")) == (503, "30")
        fresh.filled.next()
        read_until(first, "id: 31\n")


def test_stopping_lets_readers_go_at_once(fresh):
    with fresh.stream() as line:
        read_until(line, "event: counts")
        began = time.monotonic()
        fresh.server.stop()
        assert time.monotonic() - began < 3
        while line.recv(65_536):
            pass


# No client hurts another --------------------------------------------------------------------------


def test_a_reader_that_takes_nothing_is_let_go_and_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "UNREAD", 1.0)
    large = Filled(tmp_path, livejournal.names(500))
    large.close(60)
    with served(large) as client, socket.socket() as slow:
        hub = client.server._site.hub
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", client.port))
        host = f"Host: 127.0.0.1:{client.port}"
        slow.sendall(f"GET /v1/events HTTP/1.1\r\n{host}\r\nLast-Event-ID: 0\r\n\r\n".encode())
        waits = []
        end = time.monotonic() + 20
        while hub.readers["full"] == 0 and time.monotonic() < end:
            time.sleep(0.01)
        while hub.readers["full"] and time.monotonic() < end:
            began = time.monotonic()
            assert client.post(READING | {"time": NOON // SECOND - len(waits)}).status == 200
            waits.append(time.monotonic() - began)
        assert hub.readers["full"] == 0
        assert sorted(waits)[len(waits) // 2] < 0.5


def test_a_connection_that_says_nothing_is_ended(fresh, monkeypatch):
    monkeypatch.setattr(connections, "FIRST_WORD", 0.3)
    for words in (b"", b"GET / HTTP/1.1\r\nHost: 127", b"\x16\x03\x01\x02\x00"):
        with socket.create_connection(("127.0.0.1", fresh.port), timeout=20) as line:
            line.sendall(words)
            with contextlib.suppress(ConnectionResetError):
                while line.recv(1000):
                    pass


def test_more_connections_than_there_is_room_for_are_ended(fresh, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 3)
    with contextlib.ExitStack() as open_:
        lines = [
            # Well before an idle one would be ended anyway.
            open_.enter_context(socket.create_connection(("127.0.0.1", fresh.port), timeout=4))
            for _ in range(6)
        ]
        for line in lines[3:]:
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(10) == b""


def test_a_thousand_readers_are_served_while_readings_come(fresh):
    number = 1000
    with contextlib.ExitStack() as open_:
        lines = [open_.enter_context(fresh.stream("/v1/events?brief=1")) for _ in range(number)]
        for line in lines:
            read_until(line, "id: 30\n")
        fresh.filled.next()
        waits = []
        for k in range(20):
            began = time.monotonic()
            assert fresh.post(READING | {"time": NOON // SECOND - k}).status == 200
            waits.append(time.monotonic() - began)
        for line in lines:
            read_until(line, "id: 31\n")
        assert fresh.server._site.hub.readers["brief"] == number
        assert sorted(waits)[10] < 0.5
    assert stored(fresh) == 20


def test_the_package_holds_the_page():
    folder = Path(events.__file__).parent / "assets"
    assert {path.suffix for path in folder.iterdir()} == {".html", ".css", ".js"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        assert "innerHTML" not in text
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), "no network at run time"
        assert len(text.splitlines()) < 300


def test_answers_that_are_ready_are_given_a_few_in_a_round():
    async def rounds():
        answers = Answers()
        await answers.get("x", lambda: [1], seconds=60)
        asked = asyncio.gather(*(answers.get("x", list, seconds=60) for _ in range(80)))
        number = 0
        while not asked.done():
            await asyncio.sleep(0)
            number += 1
        return number, await asked

    number, given = asyncio.run(rounds())
    assert {one.body for one in given} == {b"[1]"}
    assert number >= 80 // A_ROUND  # whoever posts gets as many turns


def test_a_reader_that_is_to_be_told_later_is_let_go_at_the_end():
    async def told():
        hub = Hub(None)
        hub.readers["brief"] = 1_000_000
        waiting = asyncio.create_task(hub._pause(3600.0))
        await asyncio.sleep(0)
        hub.end()
        await asyncio.wait_for(waiting, 10)

    asyncio.run(told())
