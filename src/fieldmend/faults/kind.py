"""The kinds of faults, in one place: a new one is a new line here, and a test that finds it."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What happened to a node; an episode's `kind` is one of these words.

    In the order in which somebody who looks after the nodes wants to read them.

    Attributes
    ----------
    words
        What it is, for people.
    visit
        What is to be done at the node; empty where nothing is.
    symbol
        Mark in the report's curves.
    lasts
        Whether it is a state of the node, rather than single false readings.

    Examples
    --------
    >>> Kind("stuck").visit
    'look at the sensor and its wiring'
    >>> Kind.DEAD.gravity > Kind.SPIKE.gravity
    True
    """

    words: str
    visit: str
    symbol: str
    lasts: bool

    DEAD = "dead", "off to its last reading", "replace the battery or the sensor", "circle", True
    STUCK = "stuck", "one value over and over", "look at the sensor and its wiring", "square", True
    DRIFT = "drift", "off by more and more", "recalibrate or clean the sensor", "triangle-up", True
    BIAS = "bias", "off by about the same", "recalibrate the sensor", "triangle-right", True
    SILENT = "silent", "no longer heard", "look at its power and radio", "line-ew", True
    NOISY = (
        "noisy",
        "jumps back and forth",
        "look at its wiring and shielding",
        "star-diamond",
        True,
    )
    BURST = "burst", "some false readings in a row", "", "diamond", False
    PACKET = "packet", "several conditions false at once", "", "cross", False
    SPIKE = "spike", "single false readings", "", "x", False
    EVENT = "event", "a real thing, no fault", "", "asterisk", False

    def __new__(cls, value: str, words: str, visit: str, symbol: str, lasts: bool) -> Kind:
        """A word with what belongs to it."""
        one = str.__new__(cls, value)
        one._value_ = value
        one.words, one.visit, one.symbol, one.lasts = words, visit, symbol, lasts
        return one

    @property
    def gravity(self) -> int:
        """How soon somebody should look: the larger, the sooner; 0 for an event."""
        return _GRAVITY[self]

    @classmethod
    def named(cls, word: str) -> Kind | None:
        """The kind of this name; None if somebody else made it."""
        if isinstance(word, Kind):
            return word
        return next((kind for kind in cls if kind == word), None)


_GRAVITY = {kind: len(Kind) - 1 - place for place, kind in enumerate(Kind)}
