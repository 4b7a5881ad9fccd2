"""A broker's topics: clean/<node>, alert/<node>, status (retained, with a last will)."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from fieldmend.live.sources.mqtt import KEEPALIVE, Address
from fieldmend.live.targets.target import Json, Unsent

IN_FLIGHT = 1000
PATIENCE = 30.0  # seconds that a broker has to acknowledge
ENTIRE = "network"  # where an episode of no single node goes


class Topics:
    """Messages under a base topic, each acknowledged by the broker.

    Parameters
    ----------
    address
        Broker and base topic.
    session
        Name of the session.
    """

    rows = True

    def __init__(self, address: Address, session: str) -> None:
        self.address, self.base = address, address.topic.strip("/")
        self.name = f"mqtt://{address.host}:{address.port}/{self.base}"
        self._session = session
        self._client: Any = None
        self._said = ""

    def send(self, rows: Sequence[Json], alerts: Sequence[Json]) -> None:
        """Publish, and wait for the acknowledgements."""
        client = self._connected()
        waiting = [
            client.publish(f"{self.base}/clean/{_level(row['node'])}", json.dumps(row), qos=1)
            for row in rows
        ]
        waiting += [
            client.publish(f"{self.base}/alert/{_level(one['node'])}", json.dumps(one), qos=1)
            for one in alerts
        ]
        end = time.monotonic() + PATIENCE
        for info in waiting:
            try:
                info.wait_for_publish(max(0.0, end - time.monotonic()))
            except (ValueError, RuntimeError) as error:
                raise Unsent(str(error)) from error
            if not info.is_published():
                self.close()  # a new connection: what hangs is sent again
                raise Unsent("the broker does not acknowledge")

    def status(self, said: Json) -> None:
        """Retained: who comes later knows."""
        text = json.dumps(said)
        if text != self._said:
            self._connected().publish(f"{self.base}/status", text, qos=1, retain=True)
            self._said = text

    def close(self) -> None:
        """Say goodbye."""
        client, self._client, self._said = self._client, None, ""
        if client is not None:
            client.publish(f"{self.base}/status", "offline", qos=1, retain=True)
            client.disconnect()
            client.loop_stop()

    def _connected(self) -> Any:
        if self._client is None:
            client = self.address.client(self._session)
            client.max_inflight_messages_set(IN_FLIGHT)
            client.max_queued_messages_set(0)
            client.will_set(f"{self.base}/status", "offline", qos=1, retain=True)
            try:
                client.connect(self.address.host, self.address.port, KEEPALIVE)
            except OSError as error:
                raise Unsent(str(error)) from error
            client.loop_start()
            self._client = client
        if not self._client.is_connected():
            end = time.monotonic() + 5.0
            while not self._client.is_connected():
                if time.monotonic() > end:
                    raise Unsent("no connection to the broker")
                time.sleep(0.02)
        return self._client


def _level(node: str) -> str:
    """A node's name as one level of a topic: what means something there is replaced."""
    if not node:
        return ENTIRE
    return node.translate({ord(c): "_" for c in "/+#\0"})
