"""The engine: slots close, settle, open and close episodes; models come and go at slot borders.

`tick` does what is due and comes back; whoever runs it decides how often. Nothing of the filter is
saved: a start replays the newest slots of the journal.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Grid
from fieldmend.live import closing
from fieldmend.live.clock import Clock
from fieldmend.live.closing import Closing
from fieldmend.live.companions import Drifts
from fieldmend.live.episodes import Episodes, some_names
from fieldmend.live.following import Follower
from fieldmend.live.intake import Intake
from fieldmend.live.journal import add, put
from fieldmend.live.modelling import Models
from fieldmend.live.progress import Progress
from fieldmend.live.recent import Recent
from fieldmend.live.settings import DAY, HOUR, Settings
from fieldmend.live.settling import smooth
from fieldmend.live.silences import Silences
from fieldmend.live.watching import Together, lasting, silent

log = logging.getLogger(__name__)
AT_ONCE = 48  # slots closed in one tick while catching up
CADENCE, AGAIN = 24, 96  # slots that nodes' cadence is measured on, and after how many again
SHARE = 0.25  # of the time between settlings that they may take
ROOM = 1 << 20  # bytes that have to fit before a full disk is said to have room: a POST, twice


class Station:
    """One network.

    Parameters
    ----------
    intake
        Where readings come in; its journal is the station's.
    settings
        How to run.
    clock
        What time it is.
    models
        Where models come from.
    """

    def __init__(self, intake: Intake, settings: Settings, clock: Clock, models: Models) -> None:
        self.intake, self.journal = intake, intake.journal
        self.settings, self.clock, self.models = settings, clock, models
        self.slot = settings.slot
        self.progress = Progress(slot=self.slot, late=settings.late)
        self.recent = Recent(self.slot, settings.smoothed)
        self.follower = Follower(limits=settings.limits)
        self.silences = Silences(longest_learnt=DAY // self.slot)
        self.together = Together()
        self.drifts = Drifts(models.companions)
        away = {"silent": 0, "event": 6 * self.slot, "lasting": max(HOUR, 12 * self.slot)}
        self.episodes = Episodes(away)
        self.closed: int | None = None  # left edge of the slot that closes next
        self.settled = 0  # left edge of the slot that is settled next
        self.cadence_due = 0  # slot that nodes' cadence is measured after
        self.smoothing = 0.0  # seconds that the last settling took
        self.afresh: frozenset[str] = frozenset()  # conditions that are judged when settled only
        self._told_of: tuple[object, ...] = ()  # what the status hung on when it was last said
        self.ending = False  # no more readings will come
        self.on_closed: Callable[[], Any] = lambda: None

    def start(self) -> None:
        """Take up where the journal ends."""
        with self.journal.lock:
            found = self.journal.get("closed")
            self.settled = int(self.journal.get("settled") or 0)
            connection = self.journal.connection
            self.episodes.load(connection)
            model = self.models.start()
            self._take(model)
            if found is not None:
                self.closed = int(found)
                self.cadence_due = self.closed + CADENCE * self.slot
                self._reload(connection)
        self.progress.begin(self.clock.now())
        self._status()

    def _reload(self, connection: sqlite3.Connection) -> None:
        """The newest slots, who was silent in them, and the filter at their end."""
        assert self.closed is not None
        oldest = connection.execute("SELECT min(slot) FROM slots").fetchone()[0]
        rows = 0 if oldest is None else (self.closed - oldest) // self.slot
        self.recent.load(connection, self.closed, rows)
        grid = self.recent.grid()
        for row in range(self.recent.rows):
            heard = [~np.isnan(X[row]) for X in grid.values.values()]
            if heard:
                self.silences.hear(np.any(heard, axis=0))
        self._replay(grid)

    def _replay(self, grid: Grid) -> None:
        """The filter, and who is on the way to a drift, as after these slots."""
        ids, self.drifts = self.intake.writer.conditions, Drifts(self.models.companions)
        self.follower.replay(
            grid, lambda said, time: self.drifts.hear(said, grid.nodes, time, ids, self._faulty())
        )
        self.drifts.news()  # what drifted then was told then

    def _faulty(self) -> set[int]:
        """Ids of nodes whose own fault is known."""
        return {key[1] for key in self.episodes.open if key[0] == "lasting"}

    def _take(self, model: FieldModel | None) -> None:
        self.follower = Follower(
            model,
            self.settings.limits,
            name=self.models.name,
            witnesses=self.models.companions.witnesses,
            units=dict(self.journal.connection.execute("SELECT name, unit FROM conditions")),
            level=self.settings.level,
        )
        self.drifts = Drifts(self.models.companions)
        if model is not None:
            with self.journal.writing() as connection:
                self.intake.writer.introduce(connection, model)

    def tick(self) -> bool:
        """Do what is due; True if a slot closed or settled."""
        now = self.clock.now()
        heard, late = self.intake.writer.news()
        self.progress.note(heard.items(), now)
        try:
            with self.journal.lock:
                if late:
                    self.recent.reread(self.journal.connection, sorted(late))
                done = self._close_due(now)
            done |= self._settle_due(now)
            self._model_due(now)
        except sqlite3.OperationalError as error:
            self._failed(error)
            return False
        if self.intake.health.status == "degraded":
            self._recovered()
        if done:
            self.on_closed()
        return done

    def _close_due(self, now: int) -> bool:
        until = self.progress.until(now)
        if self.closed is None and not self._begin(until):
            return False
        assert self.closed is not None
        if self.closed + self.slot > until:
            return False
        done = 0
        with self.journal.writing():  # many slots of a backlog are one commit
            while done < AT_ONCE and self.closed + self.slot <= until and self._there_is_more():
                if self.closed + self.slot > until:
                    break  # it went ahead over a gap
                self._close(now)
                done += 1
        return done > 0

    def _begin(self, until: int) -> bool:
        """The first slot: of the oldest reading that is not far older than the nodes' newest."""
        connection = self.journal.connection
        newest = [row[0] for row in connection.execute("SELECT latest FROM nodes WHERE latest > 0")]
        if not newest:
            return False
        first = connection.execute(
            "SELECT min(time) FROM readings WHERE time >= ?",
            (float(np.median(newest)) - self.settings.window,),
        ).fetchone()[0]
        if first is None or first + self.slot > until:
            return False
        self._jump(first // self.slot * self.slot)
        return True

    def _jump(self, slot: int) -> None:
        """Go on at another slot: the ones between have no readings, and are never made."""
        if self.closed is not None and self.recent.rows:
            self._settle(self.recent.rows, self.clock.now())
        self.closed = self.settled = slot
        self.cadence_due = slot + CADENCE * self.slot
        self.recent.load(self.journal.connection, slot, 0)

    def _there_is_more(self) -> bool:
        """Whether the next slot is worth closing.

        Without readings in it or after it, it is for a day after the last one: the network is
        silent. An older record, or a source that has ended, has no slots after its last reading.
        """
        assert self.closed is not None
        run = self.journal.connection.execute
        following = run("SELECT min(time) FROM readings WHERE time >= ?", (self.closed,)).fetchone()
        if following[0] is None:
            last = run("SELECT max(time) FROM readings").fetchone()[0]
            return bool(last is not None and not self.ending and last + DAY > self.clock.now())
        if following[0] >= self.closed + DAY:
            self._jump(following[0] // self.slot * self.slot)
        return True

    def _close(self, now: int) -> None:
        """Rev 0 of one slot, in one transaction."""
        assert self.closed is not None
        begun, slot = time.process_time(), self.closed
        self.recent.advance(self.journal.connection)
        readings, nodes = self.recent.latest(), self.recent.nodes
        said = self.follower.follow(readings, nodes, slot, self.slot)
        heard = [~np.isnan(y) for y in readings.values()]
        self.silences.hear(np.any(heard, axis=0) if heard else np.zeros(len(nodes), np.bool_))
        ids = self.intake.writer.conditions
        aside = self._faulty()
        self.drifts.hear(said, nodes, slot, ids, aside)
        sightings = silent(self.silences, self.slot, slot)
        sightings += self.together.see(said, self.follower, slot, ids, aside)
        with self.journal.writing() as connection:
            seconds = time.process_time() - begun
            one = Closing(slot, 0, now, self.follower.name, seconds)
            made = closing.write(connection, one, said, ids)
            self.episodes.see(connection, ("silent", "event"), sightings, slot, made)
            put(connection, closed=slot + self.slot)
            add(connection, {"closed": 1})
            if slot >= self.cadence_due:
                _note_cadence(connection, slot - CADENCE * self.slot)
                self.cadence_due = slot + AGAIN * self.slot
        self.closed = slot + self.slot

    def _settle_due(self, now: int) -> bool:
        if self.closed is None:
            return False
        due = (self.closed - self.settled) // self.slot - self.settings.settle_slots
        wait = max(1, int(self.smoothing / SHARE / (self.slot / 1e6)))
        if self.progress.behind(now):
            wait = max(wait, AT_ONCE // 2)  # a backlog is settled some slots at a time
        if due < min(wait, self.settings.smoothed // 3):
            return False
        return self._settle(due, now)

    def _settle(self, slots: int, now: int) -> bool:
        """Rev 1 of some slots: the window is computed unlocked, and said in one transaction."""
        begun = time.process_time()
        with self.journal.lock:
            grid = self.recent.grid()
            units = dict(self.journal.connection.execute("SELECT name, unit FROM conditions"))
        first = max(self.settled, int(grid.times[0]))
        stop = min(first + slots * self.slot, self.recent.stop)
        level = self.settings.level
        settled = smooth(self.follower.model, grid, self.settings.limits, level, units)
        self.smoothing = time.process_time() - begun
        self.afresh = frozenset(settled.episodes) - frozenset(self._followed())
        window = int(grid.times[0]), self.recent.stop
        newest = self.recent.stop - self.slot
        ids = self.intake.writer.conditions
        made = None
        with self.journal.writing() as connection:
            for slot in range(first, stop, self.slot):
                one = Closing(slot, 1, now, self.follower.name, self.smoothing, window)
                said = settled.row((slot - window[0]) // self.slot)
                made = closing.write(connection, one, said, ids)
            found = self.drifts.news()
            if 2 * self.recent.rows >= self.settings.smoothed:  # less tells no fault from a habit
                seen = lasting(settled, ids, self._followed())
                found += [one for one in seen if self.drifts.may_be(one)]
            self.episodes.see(connection, ("lasting",), found, newest, made)
            put(connection, settled=stop)
            add(connection, {"settled": max(0, (stop - first) // self.slot)})
        self.settled = stop
        return stop > first

    def _model_due(self, now: int) -> None:
        """A model that was fitted meanwhile is taken here, between two slots."""
        if self.closed is None:
            return
        model = self.models.poll(self.closed, now)
        if self._told_of != self._telling():
            self._status()
        if model is not None:
            self._take(model)
            with self.journal.lock:
                self._replay(self.recent.grid())
            self._status()

    def _followed(self) -> tuple[str, ...]:
        """Conditions that the model in use has a part for."""
        model = self.follower.model
        return () if model is None else tuple(model.conditions)

    def _telling(self) -> tuple[object, ...]:
        onward = frozenset(self.follower.onward)
        return len(self.intake.writer.conditions), self.models.refused, self.afresh, onward

    def _failed(self, error: Exception) -> None:
        """The disk is full, or gone: nothing is lost, everything waits."""
        if self.intake.health.status != "degraded":
            log.error("the journal cannot be written: %s", error)
        self.intake.health.set("degraded", f"the journal cannot be written: {error}")
        with self.journal.lock:
            if self.closed is not None:
                self.closed = int(self.journal.get("closed") or self.closed)
                self.settled = int(self.journal.get("settled") or self.settled)
                self.silences = Silences(longest_learnt=DAY // self.slot)
                self.episodes.load(self.journal.connection)
                self._reload(self.journal.connection)

    def _recovered(self) -> None:
        """Say so, once readings would fit again: a word like `ok` fits on a full disk too."""
        try:
            for trial in ("." * ROOM, ""):
                with self.journal.writing() as connection:
                    put(connection, room=trial)
            self._status()
        except sqlite3.OperationalError:
            return
        log.info("the journal can be written again")

    def _status(self) -> None:
        """Say in the journal that all is well."""
        why = ""
        judged = {*self._followed(), *self.follower.onward}
        without = [k for k in self.intake.writer.conditions if k not in judged]
        if self.follower.model is None:
            why = f"no model yet: it is fitted to the first {self.settings.learn} slots"
            if self.models.refused:
                why = f"no model, so readings are not judged: {self.models.refused}"
        elif unjudged := [k for k in without if k not in self.afresh]:
            why = f"stored and shown, not judged, for lack of a model: {some_names(unjudged)}"
        if later := [k for k in without if k in self.afresh]:
            said = f"judged when settled, not at once: {some_names(later)}"
            why = f"{why}; {said}" if why else said
        self._told_of = self._telling()
        with self.journal.writing() as connection:
            put(connection, status="ok", status_why=why)
        self.intake.health.set("ok", why)


def _note_cadence(connection: sqlite3.Connection, since: int) -> None:
    """The usual time between two stamps of a node."""
    found = connection.execute(
        "SELECT (max(time) - min(time)) / (count(DISTINCT time) - 1), node FROM readings "
        "WHERE time >= ? GROUP BY node HAVING count(DISTINCT time) > 2",
        (since,),
    ).fetchall()
    connection.executemany("UPDATE nodes SET cadence = ? WHERE id = ?", found)
