"""QARTOD's flags, the one place where their numbers stand."""

from enum import IntEnum


class Flag(IntEnum):
    """What is known of a reading."""

    PASS = 1
    NOT_EVALUATED = 2
    SUSPECT = 3
    FAIL = 4
    MISSING = 9


KEPT = (Flag.PASS, Flag.NOT_EVALUATED)
"""Readings that stand as they are."""

BAD = (Flag.SUSPECT, Flag.FAIL)
"""Readings that are held to be false."""
