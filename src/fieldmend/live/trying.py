"""`--check`: the first messages of a source as they are read, or why not. Nothing is stored."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from fieldmend.errors import InputError
from fieldmend.grid import stamp
from fieldmend.live.clock import Clock
from fieldmend.live.messages import Read, Reading
from fieldmend.live.running import HTTP, Order
from fieldmend.live.sources.lines import Lines
from fieldmend.live.sources.mqtt import KEEPALIVE, reads_of
from fieldmend.live.writing import wrong_clock
from fieldmend.text import escaped, shown

MESSAGES = 10
PATIENCE = 30.0  # seconds
Seen = tuple[str, list[Read]]


def first_messages(order: Order, clock: Clock) -> Iterator[Seen]:
    """What came and what is read in it, ten at most.

    Raises
    ------
    InputError
        Where there is nobody to connect to.
    """
    if order.source == HTTP:
        raise InputError("http waits for others to send: there is nothing to try")
    if order.address() is not None:
        yield from islice(_from_broker(order, clock), MESSAGES)
    else:
        yield from islice(_from_lines(order, clock), MESSAGES)


def as_text(seen: Seen) -> Iterator[str]:
    """Lines for people."""
    said, reads = seen
    yield shown(said)
    for one in reads:
        if isinstance(one, Reading):
            what = (
                f"{shown(one.node)}  {shown(one.condition)} = {one.value:g}  at {stamp(one.time)}"
            )
            yield f"  {what}"
        else:
            yield f"  refused, {one.why}: {escaped(one.text, 100)}"
    if not reads:
        yield "  no reading in it"


def _timely(reads: Iterable[Read], arrived: int) -> list[Read]:
    """The same, without what would be refused for its clock."""
    return [
        (wrong_clock(one, arrived) or one) if isinstance(one, Reading) else one for one in reads
    ]


def _from_lines(order: Order, clock: Clock) -> Iterator[Seen]:
    lines = Lines(order.format, order.source)
    try:
        stream = sys.stdin.buffer if order.source == "-" else open(order.source, "rb")
    except OSError as error:
        raise InputError(str(error.strerror), file=order.source) from None
    with stream:
        for data in stream:
            line = data.decode("utf-8", "replace")  # as it is read when it runs
            header, arrived = lines.header is None, clock.now()
            reads = _timely(lines.read(line, arrived), arrived)
            if reads or not (header and lines.header is not None):
                yield line.strip(), reads


def _from_broker(order: Order, clock: Clock) -> Iterator[Seen]:
    """By a session of its own, which takes nothing away from the one that runs."""
    address = order.address()
    assert address is not None
    client = address.client(f"fieldmend-check-{secrets.token_hex(4)}", manual_ack=True)
    came: list[Any] = []
    failed: list[str] = []

    def connected(_: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        if reason.is_failure:
            failed.append(str(reason))
        else:
            client.subscribe(address.topic, 0)

    client.on_connect = connected
    client.on_message = lambda _, __, message: came.append(message)
    try:
        client.connect(address.host, address.port, KEEPALIVE)
    except OSError as error:
        raise InputError(
            f"no broker at {address.host}:{address.port} ({error})", hint="Is it running?"
        ) from None
    end = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < end and not failed:
            client.loop(0.1)
            while came:
                message = came.pop(0)
                arrived = clock.now()
                reads = reads_of(message, arrived, order.topic, order.format)
                text = message.payload[:100].decode("utf-8", "replace")
                yield f"{message.topic} {text}", _timely(reads, arrived)
    finally:
        client.disconnect()
        client.loop(0.1)
    if failed:
        raise InputError(f"the broker refuses: {failed[0]}")
