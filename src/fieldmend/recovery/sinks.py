"""Where the windows' results go: here into arrays, in memory or in files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Episode
from fieldmend.flags import BAD, Flag
from fieldmend.grid import Array
from fieldmend.quantities import circle
from fieldmend.recovery.filling import Given, emptied, replaced
from fieldmend.recovery.judging import medians
from fieldmend.recovery.onchange import narrow
from fieldmend.recovery.solving import Solved
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.window import Piece, Setting, WindowResult
from fieldmend.recovery.windows import Window
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service


@dataclass
class Arrays:
    """The results of one condition as they grow, window by window."""

    observed: Array
    setting: Setting
    storage: Storage
    solved: list[Solved] = field(default_factory=list)  # their small parts only
    spreads: list[Array] = field(default_factory=list)
    episodes: list[tuple[Window, Episode]] = field(default_factory=list)
    lower: Array | None = None
    upper: Array | None = None

    def __post_init__(self) -> None:
        self.estimate = self.storage.array(self.observed.shape)
        self.flag = self.storage.array(self.observed.shape, np.int8)

    def put(self, piece: Piece, found: WindowResult) -> None:
        """Keep what was decided inside a window."""
        window = piece.window
        self.flag[window.decided] = found.flag[window.inside]
        self._blend(window, found.solved)
        self.spreads.append(found.spread)
        self.episodes += [(window, episode) for episode in found.episodes]
        nothing = np.empty((0, 0))
        small = replace(
            found.solved, estimate=nothing, lower=None, upper=None, suspect=None, holdout=None
        )
        self.solved.append(small)

    @property
    def turn(self) -> float:
        """Length of the circle of an angle, else 0."""
        return self.setting.quantity.period

    def _blend(self, window: Window, solved: Solved) -> None:
        if self.turn and window.first > window.start:
            # Between 359 and 1 lies 0, not 180: both windows on the same turn where they meet.
            meet = slice(window.first - window.fade, window.first + window.fade)
            band = slice(meet.start - window.start, meet.stop - window.start)
            shift = np.zeros(solved.estimate.shape)
            there = solved.estimate[band]
            shift[band] = circle.near(there, self.estimate[meet], self.turn) - there
            self._blend_ends(window, _shifted(solved, shift))
            on_it = circle.first_turn(self.estimate[meet], self.turn, self.setting.quantity.start)
            back = on_it - self.estimate[meet]
            for end in (self.estimate, self.lower, self.upper):
                if end is not None:
                    end[meet] += back
        else:
            self._blend_ends(window, solved)

    def _blend_ends(self, window: Window, solved: Solved) -> None:
        window.blend(self.estimate, solved.estimate)
        if solved.lower is None or solved.upper is None:
            return
        if self.lower is None or self.upper is None:
            self.lower, self.upper = (self.storage.array(self.observed.shape) for _ in range(2))
            self.lower[:], self.upper[:] = np.nan, np.nan
        window.blend(self.lower, solved.lower)
        window.blend(self.upper, solved.upper)

    def result(
        self,
        service: Service,
        given: Given,
        *,
        notes: Iterable[str] = (),
    ) -> Recovered:
        """All windows as one, what is not to be given out taken out; more notes come along."""
        worst = next((s for s in self.solved if s.notes), self.solved[0])
        said = dict.fromkeys(note for s in self.solved for note in s.notes)
        episodes = joined(self.episodes, self.flag)
        anomaly = self._anomaly()
        taken = self.storage.array(self.observed.shape, np.bool_)
        replaced(taken, self.flag, episodes, given.replace)
        sides = (self.estimate, self.lower, self.upper)
        silence: tuple[str, ...] = ()
        if given.band is not None:
            silence = (narrow(sides, self.observed, taken, given.band, self.setting.unit),)
        emptied(sides, self.observed, taken, service, given)
        return Recovered(
            name=self.setting.name,
            unit=self.setting.unit,
            observed=self.observed,
            estimate=self.estimate,
            lower=self.lower,
            upper=self.upper,
            anomaly=anomaly,
            flag=self.flag,
            scale=medians(np.where(self.setting.known.heard, np.array(self.spreads), np.nan)),
            method=self.solved[0].method,
            rank=max(s.rank for s in self.solved),
            gap=worst_gap(s.gap for s in self.solved),
            status=worst.status,
            choice="; ".join(dict.fromkeys(filter(None, (s.choice for s in self.solved)))),
            holdout=None,
            episodes=episodes,
            notes=(*said, *silence, *notes),
            service=service,
            replaced=taken,
            fitted=next((s.fitted for s in self.solved if s.fitted is not None), None),
            quantity=self.setting.quantity,
        )

    def _anomaly(self) -> Array:
        """How far suspect and failed readings lie off the field that was finally found."""
        out = self.storage.array(self.observed.shape)
        largest = np.finfo(out.dtype).max
        for block in blocks(*self.observed.shape):
            off = np.isin(self.flag[block], BAD)
            with np.errstate(over="ignore", invalid="ignore"):  # 1e308 − (−1e308)
                beside = circle.near(self.observed[block], self.estimate[block], self.turn)
                distance = np.clip(beside - self.estimate[block], -largest, largest)
            out[block] = np.where(off, distance, 0.0)
        return out


def _shifted(solved: Solved, shift: Array) -> Solved:
    ends = (None if end is None else end + shift for end in (solved.lower, solved.upper))
    lower, upper = ends
    return replace(solved, estimate=solved.estimate + shift, lower=lower, upper=upper)


def worst_gap(gaps: Iterable[float]) -> float:
    """What is certified of all windows: the largest gap of any, NaN if one has no certificate.

    Examples
    --------
    >>> worst_gap([1e-5, 1e-3, 1e-4]), worst_gap([1e-5, float("nan")])
    (0.001, nan)
    """
    return float(np.max(list(gaps)))


def joined(found: list[tuple[Window, Episode]], flag: Array) -> tuple[Episode, ...]:
    """Episodes in slots of the record; what two windows saw of one becomes one.

    An episode belongs to the window it begins in; one that was already running when a window began
    lengthens what the window before saw of it.
    """
    out: list[Episode] = []
    latest: dict[int, int] = {}  # node → its last episode in `out`
    for window, episode in found:
        start, stop = episode.start + window.start, episode.stop + window.start
        i = latest.get(episode.node)
        if i is not None and start < out[i].stop and window.start > 0:
            stop = max(stop, out[i].stop)
            held = flag[out[i].start : stop, episode.node]
            out[i] = replace(
                out[i],
                stop=stop,
                readings=int(np.count_nonzero(held == Flag.SUSPECT)),
                severity=max(out[i].severity, episode.severity),
                certain=out[i].certain and episode.certain,
            )
        elif window.first <= start < window.last:
            latest[episode.node] = len(out)
            out.append(replace(episode, start=start, stop=stop))
    return tuple(out)
