"""Where messages come from: a file that grows, is turned over and cut; lines; a broker."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from fieldmend.errors import InputError
from fieldmend.live.clock import WallClock
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.sources.feed import Feed
from fieldmend.live.sources.file import GrowingFile
from fieldmend.live.sources.mqtt import Address, Broker
from fieldmend.live.view import View
from live_kills import MOSQUITTO, kills_by_post, kills_of_broker, kills_of_live, until
from live_site import NODES, model, record

broker = pytest.mark.skipif(
    not Path(MOSQUITTO).exists(), reason="no mosquitto: apt-get install mosquitto"
)
HEADER = "node,time,temperature\n"


@pytest.fixture
def feed(tmp_path):
    journal = Journal.open(tmp_path / "state", slot=300_000_000)
    yield Feed(Intake(journal, WallClock()))
    journal.close()


def stored(feed):
    return View(feed.intake.journal.folder).counts()["readings"]["stored"]


def lines(first, number):
    return "".join(f"m1,{1_790_000_000 - 1000 + first + k},{k}\n" for k in range(number))


def test_a_file_is_followed_across_rotation_truncation_and_a_restart(feed, tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmend.live.sources.file.PAUSE", 0.02)
    path = tmp_path / "logger.csv"
    source = GrowingFile(path)
    thread = threading.Thread(target=source.run, args=(feed,))
    thread.start()
    path.write_text(HEADER + lines(0, 3) + "m1,17900")  # a line that is not whole yet
    until(lambda: stored(feed) == 3)
    with path.open("a") as file:
        file.write("00000,7\n")
    until(lambda: stored(feed) == 4)
    path.rename(tmp_path / "logger.csv.1")
    with (tmp_path / "logger.csv.1").open("a") as file:
        file.write(lines(10, 2))  # the last lines of the old one
    path.write_text(HEADER + lines(20, 2))
    until(lambda: stored(feed) == 8)
    path.write_text(HEADER + lines(30, 1))  # cut, and begun again
    until(lambda: stored(feed) == 9)
    feed.ended.set()
    thread.join()
    with path.open("a") as file:
        file.write(lines(40, 2))
    again = Feed(feed.intake)
    resumed = GrowingFile(path)
    thread = threading.Thread(target=resumed.run, args=(again,))
    thread.start()
    until(lambda: stored(feed) == 11)
    again.ended.set()
    thread.join()
    found = View(feed.intake.journal.folder).counts()["readings"]
    assert found["duplicate"] == 0  # it went on where it was
    assert found["rejected"] == 0


def test_a_file_that_is_written_anew_and_longer_is_read_from_its_beginning(feed, tmp_path):
    """Cut and filled between two looks, or while nobody looked: its length does not tell."""
    path = tmp_path / "logger.csv"
    for first, number in ((0, 3), (10, 8), (30, 20)):
        path.write_text(HEADER + lines(first, number))  # the same file: it keeps its inode
        GrowingFile(path, follow=False).run(feed)
    assert stored(feed) == 31
    with path.open("a") as file:
        file.write(lines(60, 2))
    source = GrowingFile(path)
    source._resume(feed)
    while source._read(feed):
        pass
    path.write_text(HEADER + lines(100, 40))
    while source._read(feed):
        pass
    source.file.close()
    found = View(feed.intake.journal.folder).counts()["readings"]
    assert (found["stored"], found["duplicate"], found["rejected"]) == (73, 0, 0)


def test_a_file_turned_over_while_nobody_looked_is_read_to_its_end(feed, tmp_path):
    """Live was down when the logger began a new file: the old one's last lines are not lost."""
    path, old = tmp_path / "logger.csv", tmp_path / "logger.csv.1"
    path.write_text(HEADER + lines(0, 3))
    GrowingFile(path, follow=False).run(feed)
    with path.open("a") as file:
        file.write(lines(10, 2).rstrip())  # the last line has no end, and will never have one
    path.rename(old)
    path.write_text(HEADER + lines(20, 4))
    (tmp_path / "other.csv").write_text(HEADER + lines(50, 9))
    GrowingFile(path, follow=False).run(feed)
    found = View(feed.intake.journal.folder).counts()["readings"]
    assert (found["stored"], found["duplicate"], found["rejected"]) == (9, 0, 0)
    with path.open("a") as file:
        file.write(lines(30, 1))
    GrowingFile(path, follow=False).run(feed)  # and it goes on in the new one
    found = View(feed.intake.journal.folder).counts()["readings"]
    assert (found["stored"], found["duplicate"]) == (10, 0)


def test_what_is_written_just_before_a_file_is_turned_over_is_read(feed, tmp_path):
    path = tmp_path / "logger.csv"
    path.write_text(HEADER + lines(0, 3))
    source = GrowingFile(path)
    source._resume(feed)
    while source._read(feed):
        pass
    with path.open("a") as file:
        file.write(lines(10, 2))  # after our look, before the next
    path.rename(tmp_path / "logger.csv.1")
    path.write_text(HEADER + lines(20, 1))
    assert source._moved(feed)
    while source._read(feed):
        pass
    source.file.close()
    assert stored(feed) == 6


def test_a_broker_that_is_not_there_is_said(feed):
    source = Broker(Address.of("mqtt://127.0.0.1:9/site/#"), "session")
    thread = threading.Thread(target=source.run, args=(feed,))
    thread.start()
    until(lambda: feed.intake.health.source == "no broker at 127.0.0.1, nothing comes")
    feed.ended.set()
    thread.join()


def test_credentials_in_an_address_are_refused_and_not_repeated():
    with pytest.raises(InputError, match="FIELDMEND_MQTT_PASSWORD") as failed:
        Address.of("mqtt://me:secret@host/x")
    assert "secret" not in str(failed.value)
    assert Address.of("mqtt://host/site/#").topic == "site/#"
    assert Address.of("mqtts://host:9/a/+/b") == Address("host", 9, "a/+/b", True)


def test_messages_without_a_time_are_all_kept_though_they_are_committed_together(feed):
    source, done = Broker(Address.of("mqtt://127.0.0.1:9/site/#"), "session"), []
    client = SimpleNamespace(ack=lambda number, _: done.append(number))
    for k in range(3):
        message = SimpleNamespace(topic="site/m1/t", payload=b"%d" % k, retain=0, qos=1, mid=k)
        source._came(client, message, feed)
    source._commit(client, feed)
    assert (stored(feed), done) == (3, [0, 1, 2])


def test_lines_without_a_time_are_all_kept_though_they_are_read_together(feed, tmp_path):
    (tmp_path / "log").write_text("".join(f'{{"node": "m1", "t": {k}}}\n' for k in range(3)))
    GrowingFile(tmp_path / "log", follow=False).run(feed)
    assert stored(feed) == 3


@broker
def test_killed_again_and_again_nothing_is_lost_and_no_copy_differs(tmp_path):
    """The short form of `make check-live`: a broker, live killed three times."""
    found = kills_of_live(tmp_path, record(), model(), slots=60, kills=3)
    assert found.sent == 60 * NODES
    assert found.lost == 0
    assert found.distinct == found.expected == NODES * (60 + 54)
    assert found.differing == 0
    assert found.gaps == 0
    # Its last will was read out for it; each time it came back it said so.
    assert found.statuses.count(b"offline") >= 3
    assert any(b'"status": "ok"' in one for one in found.statuses)


@broker
def test_what_a_broker_loses_when_it_is_killed_is_what_sequence_numbers_say(tmp_path):
    found = kills_of_broker(tmp_path, record(), model(), slots=60, kills=1)
    assert found.acknowledged == 60 * NODES
    assert found.lost == found.gaps


def test_posted_until_200_nothing_is_lost_and_nothing_is_double(tmp_path):
    found = kills_by_post(tmp_path, record(), model(), slots=40, kills=2)
    assert found.sent == found.stored == 40 * NODES
