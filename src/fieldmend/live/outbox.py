"""What the journal has said goes out: at least once, in order, always with the same content.

How far each target has come is a row of `sent`. What arrived is noted after it has; if the process
ends in between, it is sent again, and is the same.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from contextlib import closing
from typing import Any

from fieldmend.live.closing import messages
from fieldmend.live.counting import counts
from fieldmend.live.journal import Journal, read_only
from fieldmend.live.targets.target import Target, Unsent

log = logging.getLogger(__name__)
AT_ONCE = 20  # closings
RETRY = (1.0, 60.0)  # seconds after a failure: first, longest
STATUS = 30.0  # seconds


class Sender:
    """One target, in a thread of its own.

    Parameters
    ----------
    journal
        What is said stands there.
    target
        Where to.
    """

    def __init__(self, journal: Journal, target: Target) -> None:
        self.journal, self.target = journal, target
        self._more, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=target.name, daemon=True)

    def start(self) -> None:
        """Begin; a target that is new gets what is said from now on."""
        with self.journal.writing() as connection:
            newest = connection.execute(
                "SELECT (SELECT coalesce(max(id), 0) FROM slots), "
                "(SELECT coalesce(max(id), 0) FROM alerts)"
            ).fetchone()
            connection.execute(
                "INSERT OR IGNORE INTO sent VALUES (?, ?, ?)", (self.target.name, *newest)
            )
        self._thread.start()

    def wake(self) -> None:
        """There may be more."""
        self._more.set()

    def stop(self, patience: float = 10.0) -> None:
        """Send what there is, then end."""
        self._ended.set()
        self._more.set()
        self._thread.join(patience)

    def _run(self) -> None:
        pause = RETRY[0]
        with closing(read_only(self.journal.folder)) as connection:
            while True:
                try:
                    if self.flush(connection):
                        pause = RETRY[0]
                        continue
                    self.target.status(_status(connection, self.journal))
                    if self._ended.is_set():
                        break
                    self._more.wait(STATUS)
                    self._more.clear()
                except (Unsent, sqlite3.OperationalError) as error:
                    if self._ended.is_set():
                        break
                    log.warning("%s: %s; again in %g s", self.target.name, error, pause)
                    self._ended.wait(pause)
                    pause = min(2 * pause, RETRY[1])
        self.target.close()

    def flush(self, connection: sqlite3.Connection) -> bool:
        """Send what comes next; False if there is nothing.

        Raises
        ------
        Unsent
            It did not arrive.
        """
        slots, alerts = connection.execute(
            "SELECT closing, alert FROM sent WHERE target = ?", (self.target.name,)
        ).fetchone()
        ids = self._ids(connection, slots)
        said = connection.execute(
            "SELECT id, said FROM alerts WHERE id > ? ORDER BY id LIMIT ?", (alerts, AT_ONCE)
        ).fetchall()
        if not ids and not said:
            return False
        network = str(self.journal.get("network"))
        names = [row[0] for row in connection.execute("SELECT name FROM nodes ORDER BY id")]
        rows = [
            row
            for one in (ids if self.target.rows else [])
            for row in messages(connection, one, network, names)
        ]
        alerts_said = [{"network": network, **json.loads(row[1])} for row in said]
        self.target.send(rows, alerts_said)
        with self.journal.writing() as writing:
            writing.execute(
                "UPDATE sent SET closing = ?, alert = ? WHERE target = ?",
                (max([slots, *ids]), max([alerts, *(row[0] for row in said)]), self.target.name),
            )
        return True

    def _ids(self, connection: sqlite3.Connection, after: int) -> list[int]:
        found = connection.execute(
            "SELECT id FROM slots WHERE id > ? ORDER BY id LIMIT ?", (after, AT_ONCE)
        )
        return [row[0] for row in found]


def _status(connection: sqlite3.Connection, journal: Journal) -> dict[str, Any]:
    """What the status topic says: no times in it, so that it is said when something changes."""
    found = counts(connection, journal.folder)
    model = found["model"] or {}
    return {
        "network": found["network"],
        "status": found["status"],
        "why": found["why"],
        "nodes": found["nodes"],
        "episodes": found["episodes"],
        "model": model.get("name"),
    }
