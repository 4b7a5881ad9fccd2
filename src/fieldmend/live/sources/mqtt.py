"""A broker's messages: acknowledged when they are committed, not before.

The session is kept by the broker (clean session off, QoS 1): what comes while we are away waits
there. Not to acknowledge is the back-pressure: a broker sends so many ahead, and no more.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from fieldmend.errors import InputError
from fieldmend.live.formats import Message, names_in, read
from fieldmend.live.intake import LARGEST
from fieldmend.live.journal import add
from fieldmend.live.messages import Read, Refused
from fieldmend.live.sources.feed import Feed, Stopped

log = logging.getLogger(__name__)
DROPPED = "$SYS/broker/publish/messages/dropped"
AT_ONCE = 5000  # messages of one commit
WAIT = 0.02  # seconds that a commit waits for more messages
RETRY = (1.0, 30.0)  # seconds between attempts to connect: first, longest
KEEPALIVE = 30


@dataclass(frozen=True)
class Address:
    """Where a broker is: mqtt://host[:port]/topic, or mqtts:// with TLS."""

    host: str
    port: int
    topic: str
    tls: bool
    ca_file: Path | None = None
    user: str | None = None
    password: str | None = None

    @classmethod
    def of(cls, url: str, *, ca_file: Path | None = None) -> Address:
        """From an address; a password has no place in it.

        Raises
        ------
        InputError
            Where it is no address, or has credentials in it.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
            raise InputError(f"{url!r} is no address of a broker", hint="mqtt://host/topic/#")
        if parts.username or parts.password:
            raise InputError(
                "credentials in an address end in logs",
                hint="Set FIELDMEND_MQTT_USER and FIELDMEND_MQTT_PASSWORD",
            )
        topic = unquote(parts.path.lstrip("/")) + (f"#{parts.fragment}" if "#" in url else "")
        tls = parts.scheme == "mqtts"
        return cls(
            parts.hostname,
            parts.port or (8883 if tls else 1883),
            topic,
            tls,
            ca_file,
            os.environ.get("FIELDMEND_MQTT_USER"),
            os.environ.get("FIELDMEND_MQTT_PASSWORD"),
        )

    def client(self, name: str, **more: Any) -> Any:
        """A client that is not connected yet."""
        try:
            from paho.mqtt.client import Client, MQTTv311
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise InputError(
                "MQTT needs paho-mqtt", hint="pip install 'fieldmend[live]'"
            ) from error
        out = Client(
            CallbackAPIVersion.VERSION2,
            client_id=name,
            protocol=MQTTv311,
            clean_session=False,
            **more,
        )
        if self.user is not None:
            out.username_pw_set(self.user, self.password)
        if self.tls:
            out.tls_set(ca_certs=None if self.ca_file is None else str(self.ca_file))
        return out


def reads_of(message: Any, arrived: int, pattern: str | None, format: str) -> list[Read]:
    """What one message of a broker's says."""
    if len(message.payload) > LARGEST:
        return [Refused("too large", f"{message.topic} {len(message.payload)} bytes")]
    names = names_in(message.topic, pattern)
    one = Message(message.payload, arrived, message.topic, names, bool(message.retain))
    return read(one, format)


class Broker:
    """Messages of one subscription.

    Parameters
    ----------
    address
        Broker and topic filter.
    name
        Of the session: the same after a restart.
    format, pattern
        Of messages, and of topics.
    own
        Topics that begin so are our own output: never read.
    """

    def __init__(
        self,
        address: Address,
        name: str,
        *,
        format: str = "auto",
        pattern: str | None = None,
        own: str | None = None,
    ) -> None:
        self.address, self.name, self.format = address, name, format
        self.pattern, self.own = pattern, own
        self._held: list[tuple[Any, int]] = []  # messages, and when they arrived
        self._dropped: int | None = None
        self._news = {"broker_dropped": 0, "broker_sessions_lost": 0}
        self._sessions = 0
        self._refused = ""

    def run(self, feed: Feed) -> None:
        """Read until the feed has ended; connect again as often as need be."""
        client = self.address.client(self.name, manual_ack=True)
        client.on_connect = self._connected
        client.on_message = lambda _, __, message: self._came(client, message, feed)
        pause = RETRY[0]
        while not feed.ended.is_set():
            try:
                client.connect(self.address.host, self.address.port, KEEPALIVE)
            except OSError as error:
                log.warning("no broker at %s (%s)", self.address.host, error)
                feed.intake.health.source = f"no broker at {self.address.host}, nothing comes"
                feed.ended.wait(pause)
                pause = min(2 * pause, RETRY[1])
                continue
            pause = RETRY[0]
            feed.begun()
            try:
                self._listen(client, feed)
            except Stopped:
                break
            self._held = []  # not acknowledged: the broker sends them again
        client.disconnect()
        client.loop(0.1)

    def _listen(self, client: Any, feed: Feed) -> None:
        """Until the connection is gone."""
        since, known = 0.0, self._sessions
        while not feed.ended.is_set():
            before = len(self._held)
            code = client.loop(WAIT)
            if code != 0:
                log.warning("the broker is gone (%s)", code)
                feed.intake.health.source = "the broker is gone, nothing comes"
                return
            if self._sessions > known:
                known, feed.intake.health.source = self._sessions, ""
            if self._refused:
                log.warning("the broker refuses: %s", self._refused)
                feed.intake.health.source = f"the broker refuses: {self._refused}"
                self._refused = ""
                feed.ended.wait(RETRY[1])
                return
            if self._held and not before:
                since = time.monotonic()
            quiet = len(self._held) == before
            old = self._held and time.monotonic() - since > 10 * WAIT
            if self._held and (quiet or old or len(self._held) >= AT_ONCE):
                self._commit(client, feed)

    def _commit(self, client: Any, feed: Feed) -> None:
        reads = [
            one
            for message, arrived in self._held
            for one in reads_of(message, arrived, self.pattern, self.format)
        ]
        feed.take(reads, feed.clock.now())
        if any(self._news.values()):
            with feed.intake.journal.writing() as connection:
                add(connection, self._news)
            self._news = dict.fromkeys(self._news, 0)
        for message, _ in self._held:
            if message.qos:
                client.ack(message.mid, message.qos)
        self._held = []

    def _connected(self, client: Any, _: Any, flags: Any, reason: Any, __: Any) -> None:
        if reason.is_failure:
            self._refused = str(reason)
            return
        if self._sessions and not flags.session_present:
            self._news["broker_sessions_lost"] += 1
            log.warning("the broker has forgotten our session: what waited there is lost")
        self._sessions += 1
        client.subscribe([(self.address.topic, 1), (DROPPED, 0)])

    def _came(self, client: Any, message: Any, feed: Feed) -> None:
        if message.topic == DROPPED:
            self._count_dropped(message.payload)
        elif self.own is not None and message.topic.startswith(self.own):
            client.ack(message.mid, message.qos)
        else:
            self._held.append((message, feed.intake.arrival()))

    def _count_dropped(self, payload: bytes) -> None:
        """What the broker says that it has dropped, since we first heard."""
        try:
            total = int(payload)
        except ValueError:
            return
        before, self._dropped = self._dropped, total
        if before is not None:
            # A broker that was started again counts from 0.
            self._news["broker_dropped"] += total - before if total >= before else total
