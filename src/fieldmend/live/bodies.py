"""The body of a POST into readings: any of the formats, one document, or one a line."""

from __future__ import annotations

import json

from fieldmend.live.formats import Message, read
from fieldmend.live.messages import Read, Refused


def reads(body: bytes, arrived: int) -> list[Read]:
    r"""What a body holds, recognised as a broker's message would be.

    Parameters
    ----------
    body
        One JSON document of any format of `formats.py`, one a line, or InfluxDB's lines.
    arrived
        When, µs: the time of readings that have none of their own, one later in each line.

    Returns
    -------
    list of Reading and Refused

    Raises
    ------
    ValueError
        Where it is none of them: to send it again would not help.

    Examples
    --------
    >>> [one.value for one in reads(b'[{"node": "a", "t": 1}, {"node": "b", "t": 2}]', 0)]
    [1.0, 2.0]
    >>> [one.node for one in reads(b'{"node": "a", "t": 1}\n{"node": "b", "t": 2}', 0)]
    ['a', 'b']
    >>> reads(b"air,node=a t=20.5 1700000000000000000", 0)[0].condition
    't'
    """
    try:
        text = body.decode("utf-8")
        single = _is_json(text)
        documents = [body] if single else _lines(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    messages = [Message(document, arrived + k) for k, document in enumerate(documents)]
    out = [one for message in messages for one in read(message)]
    if not single and len(documents) == 1 and all(isinstance(one, Refused) for one in out):
        raise ValueError(_why_not(text))
    return out


def _lines(text: str) -> list[bytes]:
    """Each line where each is JSON; else all of them, as one message."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(map(_is_json, lines)):
        return [line.encode() for line in lines]
    if len(lines) > 1 and lines[0].lstrip()[:1] in ("{", "["):
        raise ValueError(_why_not(next(line for line in lines if not _is_json(line))))
    return [text.encode()]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _why_not(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return f"neither JSON ({error}) nor lines of InfluxDB"
    return "no readings"
