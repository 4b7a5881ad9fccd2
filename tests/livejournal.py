"""A journal as `fieldmend live` leaves it, filled at once: for tests of the server and the page."""

import json
import math
import weakref

import numpy as np

from fieldmend.live.clock import SetClock
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal, add, put

SECOND = 1_000_000
SLOT = 300 * SECOND
NOON = 1_794_830_400 * SECOND  # 16 Nov 2026 12:00 UTC
UNITS = {"temperature": "°C", "humidity": "%", "light": "lx"}
TEXTS = {
    "stuck": "one value over and over for 3 h 20 min; look at the sensor and its wiring",
    "silent": "not heard for 2 h 5 min, usually every 5 min; look at its power and radio",
    "drift": "off by more and more, now by 1.9; recalibrate or clean the sensor",
    "dead": "off to its last reading; replace the battery or the sensor",
}


def names(number):
    return [f"m{k + 1}" for k in range(number)]


class Filled:
    """A journal with closed slots, and the ways to add to it."""

    def __init__(self, folder, nodes=(), conditions=("temperature",), *, end=NOON, places=True):
        self.folder, self.conditions, self.end = folder, conditions, end
        self.nodes = list(nodes)
        self.journal = Journal.open(folder, slot=SLOT, network="greenhouse")
        weakref.finalize(self.journal, self.journal.connection.close)
        self._rng = np.random.default_rng(0)
        with self.journal.writing() as connection:
            connection.executemany(
                "INSERT INTO conditions (id, name, unit) VALUES (?, ?, ?)",
                [(k, c, UNITS.get(c, "")) for k, c in enumerate(conditions, 1)],
            )
            wide = math.ceil(math.sqrt(1.6 * len(self.nodes)))
            for k, name in enumerate(self.nodes):
                jitter = self._rng.uniform(-0.3, 0.3, 2)
                x, y = (k % wide + jitter[0], k // wide + jitter[1]) if places else (None, None)
                connection.execute(
                    "INSERT INTO nodes (id, name, readings, latest, heard, cadence, x, y) "
                    "VALUES (?, ?, 288, ?, ?, ?, ?, ?)",
                    (k + 1, name, end - SLOT, end, SLOT, x, y),
                )
            put(connection, status="ok", neighbours=json.dumps(self._alike()))
        self.clock = SetClock(end)
        self.intake = Intake(self.journal, self.clock)  # knows the nodes that are there by now
        self.intake.health.set("ok")

    def _alike(self):
        n = len(self.nodes)
        return {
            name: [self.nodes[(k + d) % n] for d in (1, 2, n - 1)] if n > 3 else []
            for k, name in enumerate(self.nodes)
        }

    def model(self, name="2026-11-16T00:00Z"):
        with self.journal.writing() as connection:
            put(connection, model=name)
            connection.execute(
                "INSERT INTO models (name, made, taken, error, before, why) "
                "VALUES (?, ?, 1, 0.061, NULL, 'better')",
                (name, self.end),
            )

    def close(self, slots=288, *, flagged=(), silent=()):
        """Close the next slots; `flagged`: (node, slots from the end, flag)."""
        with self.journal.writing() as connection:
            for k in range(slots):
                self._slot(connection, slots - k, flagged, silent)
            add(connection, {"closed": slots, "settled": slots, "stored": slots * len(self.nodes),
                             "received": slots * len(self.nodes) + 40, "duplicate": 21, "late": 7,
                             "rejected": 19, "rejected no number": 12, "rejected clock ahead": 7,
                             })  # fmt: skip
            put(connection, closed=self.end)

    def _slot(self, connection, left, flagged, silent):
        n = len(self.nodes)
        time = self.end - left * SLOT
        made = connection.execute(
            "INSERT INTO slots (slot, rev, closed, model, seconds) VALUES (?, 0, ?, ?, 0.0004)",
            (time, time + SLOT, "2026-11-16T00:00Z"),
        ).lastrowid
        hour = time / SECOND / 3600
        for k in range(len(self.conditions)):
            wave = 4 * math.sin((hour - 9) / 24 * 2 * math.pi) * (-3 if k else 1)
            estimate = (20, 55, 300)[k] + wave + np.linspace(-1.5, 1.5, n) * (k + 1)
            estimate = estimate + self._rng.normal(0, 0.05, n)
            observed = estimate + self._rng.normal(0, 0.12, n)
            flag = np.ones(n, np.uint8)
            lost = self._rng.random(n) < 0.1
            for node, since in silent:
                lost[node] |= left <= since
            observed[lost], flag[lost] = np.nan, 9
            for node, at, mark in flagged:
                if at == left:
                    observed[node], flag[node] = estimate[node] + 3.5, mark
            half = np.where(lost, 0.5, 0.3) * (k + 1)
            connection.execute(
                "INSERT INTO clean VALUES (?, ?, ?, ?, ?, ?, ?)",
                (made, k + 1, *(a.astype("<f8").tobytes() for a in (
                    observed, estimate, estimate - half, estimate + half)), flag.tobytes()),
            )  # fmt: skip

    def episode(self, node, kind, *, hours=3.0, condition=1, until=None, text=None):
        since = self.end - int(hours * 3600) * SECOND
        with self.journal.writing() as connection:
            connection.execute(
                "INSERT INTO episodes (node, condition, kind, since, first_seen, until, value, "
                "expected, deviation, score, nodes, text) VALUES (?,?,?,?,?,?,?,?,?,?,1,?)",
                (node + 1, condition, kind, since, since + SLOT, until, 24.1, 21.3, 2.8, 7.2,
                 TEXTS.get(kind, kind) if text is None else text),
            )  # fmt: skip

    def next(self):
        """One slot more."""
        self.end += SLOT
        self.close(1)


def network(folder, number, *, slots=288, **options):
    """A network with a model, some losses, and what a technician would look at."""
    filled = Filled(folder, names(number), **options)
    filled.model()
    if number > 10:
        flagged = [(1, at, 3) for at in (1, 40, 41, 90)] + [(2, 30, 4)]
        filled.close(slots, flagged=flagged, silent=[(4, 25), (9, 25)])
        filled.episode(4, "silent", hours=2.1)
        filled.episode(7, "stuck", hours=3.3)
        filled.episode(11 % number, "drift", hours=6.2)
        filled.episode(9, "silent", hours=2.1, until=filled.end - 3600 * SECOND)
    else:
        filled.close(slots)
    return filled
