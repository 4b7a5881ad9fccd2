"""What a target does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Unsent(Exception):
    """It did not arrive, or nobody knows whether it did: it will be sent again."""


class Target(Protocol):
    """Where clean rows and alerts go.

    Attributes
    ----------
    name
        The same after a restart: how far it has come stands in the journal under it.
    rows
        Whether it takes clean rows; all take alerts.
    """

    name: str
    rows: bool

    def send(self, rows: Sequence[Json], alerts: Sequence[Json]) -> None:
        """Come back when all of it has arrived.

        Raises
        ------
        Unsent
            Where it has not.
        """

    def status(self, said: Json) -> None:
        """How it goes; a target that has no place for it does nothing."""

    def close(self) -> None:
        """No more."""
