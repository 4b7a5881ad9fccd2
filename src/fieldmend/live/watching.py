"""What is the case in the newest slots: sightings, from the filter, the window and the clock."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from fieldmend.faults import Episode
from fieldmend.flags import BAD
from fieldmend.grid import Array
from fieldmend.live.episodes import KINDS, NETWORK, Sighting, some_names
from fieldmend.live.following import Follower, Said
from fieldmend.live.settling import Settled
from fieldmend.live.silences import Silences
from fieldmend.text import MONTHS, count, figure, moment, slot_length

EVENT = 3  # nodes that are unlike what is expected, in two slots in a row
CLOCK = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d\d:\d\d(?::\d\d)?")
PRESENT = 2  # readings at most since a lasting fault was last seen: it is still there
NOW = 5  # of a fault, the part of its readings that tell by how much it is off now: a fifth
BATTERY = re.compile(r", [^,]+ \d+\.\d\d$")  # at the end of an explanation


def silent(silences: Silences, slot: int, time: int) -> list[Sighting]:
    """Nodes that are silent, or the network."""
    if silences.network():
        usual = round(float(np.median(silences.recent)))
        begun = time - (silences.low - 1) * slot
        text = f"far fewer than the usual {usual} nodes are heard since {_said(begun)}"
        return [Sighting("silent", NETWORK, 0, "silent", begun, text, nodes=usual)]
    out = []
    for k in np.flatnonzero(silences.silent()).tolist():
        begun = time - (int(silences.gap[k]) - 1) * slot
        longest = int(silences.longest[k])
        habit = (
            f"its longest silence before was {slot_length(longest * slot)}"
            if longest
            else "it was never silent before"
        )
        out.append(
            Sighting(
                "silent", k + 1, 0, "silent", begun, f"not heard since {_said(begun)}; {habit}"
            )
        )
    return out


def _said(when: int) -> str:
    """A time in a sentence; sentences are read in any zone."""
    return zoned(moment(when, year=False))


def zoned(text: str) -> str:
    """A sentence whose times say that they are UTC: the page's own are of the reader's zone.

    Examples
    --------
    >>> zoned("stuck at 16.3 °C since 18 Nov 09:46:30")
    'stuck at 16.3 °C since 18 Nov 09:46:30 UTC'
    """
    return CLOCK.sub(r"\g<0> UTC", text)


def lasting(
    settled: Settled, conditions: dict[str, int], followed: tuple[str, ...] = ()
) -> list[Sighting]:
    """Lasting faults of the window that reach the present; `followed`: what a model follows."""
    out = []
    for name, episodes in settled.episodes.items():
        said = settled.said[name]
        seen = ~np.isnan(said["observed"])
        for one in episodes:
            if one.kind in KINDS and _reaches_the_present(one, seen[:, one.node]):
                sighting = _sighting(one, said, settled.grid.times, conditions[name])
                if name in followed:
                    text = _off_now(one, said, settled.grid.units.get(name, ""), sighting.since)
                    sighting = replace(sighting, text=text or sighting.text)
                out.append(sighting)
    return out


def _off_now(one: Episode, said: dict[str, Array], unit: str, since: int) -> str:
    """Its sentence, with how far off it is when it is found instead of how far off companions are.

    Companions speak by their own levels: where their days are not as large, what they imply in a
    window of one day is off by more than a drift. The model knows how the nodes go together.
    """
    rows = slice(one.start, one.stop)
    off = (said["observed"] - said["estimate"])[rows, one.node]
    off = off[np.isfinite(off)]
    if not off.size:
        return ""
    amount = float(np.median(off[-max(off.size // NOW, 1) :]))
    size = f"{figure(abs(amount))} {unit}".rstrip()
    where = f"{size} {'above' if amount > 0 else 'below'}"
    battery = BATTERY.search(one.explanation)
    return (
        f"{one.explanation.split(', ')[0]} since {_said(since)}, when found {where} what the other "
        f"nodes tell{battery[0] if battery else ''}"
    )


def _reaches_the_present(one: Episode, seen: Array) -> bool:
    return int(seen[one.stop :].sum()) <= PRESENT


def _sighting(one: Episode, said: dict[str, Array], times: Array, condition: int) -> Sighting:
    last = one.stop - 1
    value, expected = (float(said[p][last, one.node]) for p in ("observed", "estimate"))
    return Sighting(
        "lasting",
        one.node + 1,
        condition,
        KINDS[one.kind],  # type: ignore[index]
        int(times[one.start]),
        zoned(one.explanation),
        value=value if np.isfinite(value) else None,
        expected=expected if np.isfinite(expected) else None,
        score=float(one.severity) if np.isfinite(one.severity) else None,
    )


class Together:
    """Three nodes or more, unlike what is expected, in two slots in a row."""

    def __init__(self) -> None:
        self.before: dict[str, Array] = {}
        self.begun: dict[str, int] = {}

    def see(
        self,
        said: dict[str, Said],
        follower: Follower,
        time: int,
        ids: dict[str, int],
        aside: set[int],
    ) -> list[Sighting]:
        """Sightings of one slot. `aside`: ids of nodes whose own fault is known."""
        out = []
        for name, one in said.items():
            if name not in follower.told or name not in ids:
                continue
            off = np.isin(one.flag, BAD) | (follower.spread(follower.odd[name], len(one.flag)) > 0)
            off[[k - 1 for k in aside if k <= len(off)]] = False
            before = self.before.get(name, np.zeros(0, np.bool_))
            both = off.copy()
            both[: len(before)] &= before
            both[len(before) :] = False
            self.before[name] = off
            if both.sum() < EVENT:
                self.begun.pop(name, None)
                continue
            begun = self.begun.setdefault(name, time)
            score = follower.spread(follower.told[name].score, len(off))
            most = int(np.nanargmax(np.where(both, score, -1.0)))
            names = [follower.nodes[k] for k in np.flatnonzero(both)]
            text = f"{count(len(names))} nodes at once are not as expected: {some_names(names)}"
            expected = follower.spread(follower.told[name].expected, len(off))[most]
            out.append(
                Sighting(
                    "event", NETWORK, ids[name], "event", begun, text,
                    value=float(one.observed[most]), expected=float(expected),
                    score=float(score[most]), nodes=len(names),
                )
            )  # fmt: skip
        return out
