"""The newest slots of the journal: going on slot by slot gives what reading them anew gives."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from fieldmend.live.clock import SetClock
from fieldmend.live.intake import Intake
from fieldmend.live.journal import Journal
from fieldmend.live.recent import Recent

SLOT = 60_000_000
START = 1_700_000_040_000_000


def test_slot_by_slot_it_is_as_if_it_were_read_anew(tmp_path):
    rng = np.random.default_rng(0)
    with closing(Journal.open(tmp_path, slot=SLOT)) as journal:
        clock = SetClock(START)
        intake = Intake(journal, clock)
        going_on = Recent(SLOT, 3)
        going_on.load(journal.connection, START, 0)
        for slot in range(11):
            at = START + slot * SLOT
            clock.time = at + SLOT
            heard = [f"m{k}" for k in range(2 + slot // 4) if rng.random() < 0.7]  # more come
            names = ("t", "h") if slot > 4 else ("t",)
            intake.post([
                {"node": node, "time": at // 1000, **{name: rng.normal() for name in names}}
                for node in heard
            ])  # fmt: skip
            going_on.advance(journal.connection)
            late = [{"node": "m0", "time": (at - SLOT) // 1000 + 1, "t": rng.normal()}]
            intake.post(late)
            going_on.reread(journal.connection, [at - SLOT])
            anew = Recent(SLOT, 3)
            anew.load(journal.connection, at + SLOT, slot + 1)
            found, asked = going_on.grid(), anew.grid()
            assert found.nodes == asked.nodes
            np.testing.assert_array_equal(found.times, asked.times)
            for name, values in asked.values.items():
                np.testing.assert_allclose(found.values[name], values)
                np.testing.assert_allclose(going_on.latest()[name], values[-1])
