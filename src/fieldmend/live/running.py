"""All of it together: a source, the station, senders and the server, until somebody ends it."""

from __future__ import annotations

import logging
import math
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.live.clock import Clock, WallClock
from fieldmend.live.companions import Companions
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal, put
from fieldmend.live.keeping import Keeper
from fieldmend.live.lock import Lock
from fieldmend.live.modelling import Models
from fieldmend.live.outbox import Sender
from fieldmend.live.settings import Settings
from fieldmend.live.sources.feed import Feed, Source
from fieldmend.live.sources.file import GrowingFile
from fieldmend.live.sources.lines import StandardInput
from fieldmend.live.sources.mqtt import Address, Broker
from fieldmend.live.station import Station
from fieldmend.live.targets.mqtt import Topics
from fieldmend.live.targets.postgres import Tables
from fieldmend.live.targets.target import Target
from fieldmend.live.targets.webhook import Webhook
from fieldmend.live.view import View

log = logging.getLogger(__name__)
HTTP = "http"
PAUSE = 0.2  # seconds between two ticks without work
Places = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Order:
    """What the command line asks for.

    Attributes
    ----------
    source
        ``mqtt://…``, ``http``, a file, or ``-``.
    state
        Folder of the journal.
    settings
        How to run.
    format, topic
        Of messages, and of topics.
    follow
        Wait for more at a file's end.
    model, companions, places, units
        To begin with.
    outs
        Where clean rows and alerts go: ``mqtt://…`` and ``postgresql://…``.
    alert_url_file
        A file with the address that alerts are posted to.
    ca_file
        Certificates that a broker's is checked against.
    serving
        How the server listens; None for none.
    """

    source: str
    state: Path
    settings: Settings
    format: str = "auto"
    topic: str | None = None
    follow: bool = False
    model: FieldModel | None = None
    companions: Companions | None = None
    places: Places = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    outs: tuple[str, ...] = ()
    alert_url_file: Path | None = None
    ca_file: Path | None = None
    serving: Any = None

    def address(self) -> Address | None:
        """The broker that messages come from, if it is one."""
        if not self.source.startswith(("mqtt://", "mqtts://")):
            return None
        return Address.of(self.source, ca_file=self.ca_file)

    def check(self) -> str:
        """The command that shows how the first messages are read; none for what comes but once."""
        if self.source == "-":
            return ""
        words = ["fieldmend", "live", self.source, *(["--follow"] if self.follow else [])]
        words += [] if self.format == "auto" else ["--format", self.format]
        words += [] if self.topic is None else ["--topic", self.topic]
        words += [] if self.ca_file is None else ["--ca-file", str(self.ca_file)]
        return shlex.join([*words, "--check"])


def source_of(order: Order, session: str) -> Source | None:
    """Where messages come from; None for the server alone.

    Raises
    ------
    InputError
        For what is no source, or a topic that would read our own messages.
    """
    address = order.address()
    if address is not None:
        if not address.topic:
            raise InputError(f"{order.source}: no topic", hint="mqtt://host/site/#")
        own = _own_topic(order, address)
        return Broker(address, session, format=order.format, pattern=order.topic, own=own)
    if "://" in order.source:
        raise InputError(
            f"{order.source} is no source", hint="mqtt://host/topic/#, http, a file, -"
        )
    if order.source == HTTP:
        return None
    if order.source == "-":
        return StandardInput(order.format)
    if not order.follow and not Path(order.source).is_file():
        raise InputError("no such file", file=order.source, hint="--follow waits for it")
    return GrowingFile(order.source, order.format, follow=order.follow)


def _own_topic(order: Order, address: Address) -> str | None:
    """Under which topic our own messages come back from the same broker."""
    for out in order.outs:
        if out.startswith(("mqtt://", "mqtts://")):
            base = Address.of(out, ca_file=order.ca_file)
            if (base.host, base.port) == (address.host, address.port):
                return f"{base.topic.strip('/')}/"
    return None


def targets_of(order: Order, network: str, session: str) -> list[Target]:
    """Where clean rows and alerts go."""
    out: list[Target] = []
    for one in order.outs:
        if one.startswith(("mqtt://", "mqtts://")):
            out.append(Topics(Address.of(one, ca_file=order.ca_file), f"{session}-out"))
        elif one.startswith(("postgresql://", "postgres://")):
            out.append(Tables(one, network))
        else:
            raise InputError(
                f"--out {one!r}", hint="mqtt://host/base or postgresql://host/database"
            )
    if order.alert_url_file is not None:
        out.append(Webhook(order.alert_url_file))
    return out


class Live:
    """A network that runs.

    Parameters
    ----------
    order
        What is asked for.
    clock
        What time it is.
    say
        Called with what an operator should read, a line each.
    """

    def __init__(
        self, order: Order, clock: Clock | None = None, say: Callable[[str], None] = log.info
    ) -> None:
        self.order, self.clock, self.say = order, clock or WallClock(), say
        self.ended = threading.Event()
        self._server: Any = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Until `ended` is set, or a source that has an end has come to it."""
        source_of(self.order, "")  # what is refused leaves no folder behind
        targets_of(self.order, "", "")
        lock = Lock(self.order.state)
        try:
            journal = Journal.open(self.order.state, slot=self.order.settings.slot)
            try:
                self._run(journal)
            finally:
                journal.close()
        finally:
            lock.release()

    def _run(self, journal: Journal) -> None:
        order, settings = self.order, self.order.settings
        session = _session(journal)
        _name_units(journal, order.units)
        intake = Intake(journal, self.clock)
        models = Models(journal, settings, order.model, order.companions)
        station = Station(intake, settings, self.clock, models)
        source = source_of(order, session)
        targets = targets_of(order, str(journal.get("network")), session)
        station.start()
        _place(journal, order.places)
        senders = [Sender(journal, target) for target in targets]
        for sender in senders:
            sender.start()

        def wake() -> None:
            for sender in senders:
                sender.wake()

        station.on_closed = wake
        feed = Feed(intake, lambda: station.progress.begin(self.clock.now()))
        reader = None
        try:
            self._serve(intake)
            if source is not None:
                reader = threading.Thread(target=self._read, args=(source, feed), daemon=True)
                reader.start()
            self._loop(station, reader)
        finally:
            feed.ended.set()
            if reader is not None:
                reader.join(10.0)
            if self._server is not None:
                self._server.stop()
            models.stop()
            for sender in senders:
                sender.stop()
        if self._failure is not None:
            raise self._failure

    def _read(self, source: Source, feed: Feed) -> None:
        try:
            source.run(feed)
        except BaseException as error:
            self._failure = error
            self.ended.set()

    def _serve(self, intake: Intake) -> None:
        if self.order.serving is None:
            return
        from fieldmend.live.server import start

        serving = self.order.serving
        if self.order.source != HTTP:
            serving = replace(serving, source=self.order.source, check=self.order.check())
        self._server = start(View(self.order.state), intake, serving)
        self.say(f"the network's page: {self._server.url}")

    def _loop(self, station: Station, reader: threading.Thread | None) -> None:
        keeper = Keeper(station, self.order.settings.keep)
        try:
            while not self.ended.is_set():
                if station.tick():
                    continue
                keeper.look(self.clock.now())
                station.ending = reader is not None and not reader.is_alive()
                if station.ending and self._all_read(station):
                    keeper.look_again(self.clock.now())
                    return
                self.ended.wait(PAUSE)
        finally:
            keeper.end(whole=not self.ended.is_set())

    def _all_read(self, station: Station) -> bool:
        """A source that has an end has come to it, and all that is due has closed."""
        if station.progress.behind(self.clock.now()) or station.models.fitting:
            return False
        return not station.tick()


def _session(journal: Journal) -> str:
    """The name of our session at a broker: the same after a restart."""
    found = journal.get("session")
    if found is None:
        found = f"fieldmend-{secrets.token_hex(6)}"
        with journal.writing() as connection:
            put(connection, session=found, started=time.time())
    return found


def _name_units(journal: Journal, units: Mapping[str, str]) -> None:
    """What conditions are measured in, of those that the model knows."""
    if units:
        with journal.writing() as connection:
            connection.executemany(
                "INSERT INTO conditions (name, unit) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET unit = excluded.unit",
                units.items(),
            )


def _place(journal: Journal, places: Places) -> None:
    """Where nodes are: x and y, or degrees of latitude, as long in both directions."""
    latitudes = [place["lat"] for place in places.values() if "lat" in place]
    narrow = math.cos(math.radians(sum(latitudes) / len(latitudes))) if latitudes else 1.0
    rows = [
        (place["lon"] * narrow, place["lat"], name)
        if "lat" in place
        else (place.get("x"), place.get("y"), name)
        for name, place in places.items()
    ]
    if rows:
        with journal.writing() as connection:
            connection.executemany("UPDATE nodes SET x = ?, y = ? WHERE name = ?", rows)
