"""Names of SenML (RFC 8428): which part is the node, and which says what it measures."""

from __future__ import annotations

import re

# A device as RFC 9039 names it, with one of its components or none: all of it is the node.
DEVICE = re.compile(r"(urn:dev:\w+:[^:/_]+)(?:_(\w+))?")
UNITS = {"Cel": "temperature", "K": "temperature", "%RH": "humidity", "lx": "illuminance"}


def parted(name: str, unit: str) -> tuple[str, str]:
    """The node, and the condition: what follows it, or what the unit tells.

    Examples
    --------
    >>> parted("2001:db8::2/temperature", ""), parted("urn:dev:ow:10e2073a:voltage", "V")
    (('2001:db8::2', 'temperature'), ('urn:dev:ow:10e2073a', 'voltage'))
    >>> parted("urn:dev:ow:10e2073a", "Cel"), parted("urn:dev:ow:10e2073a_humidity", "%RH")
    (('urn:dev:ow:10e2073a', 'temperature'), ('urn:dev:ow:10e2073a', 'humidity'))
    """
    device = DEVICE.fullmatch(name)
    if device is not None:
        node, condition = device[1], device[2]
    else:
        node, _, condition = name.rpartition("/" if "/" in name else ":")
    return node, condition or UNITS.get(unit, unit) or "value"
