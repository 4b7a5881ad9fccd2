"""What a node's own past says: values that stick, readings that turn noisy, jumps out and back.

Each test takes one node's readings in time order, lost slots left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults.stretches import MAD, Array, Mask, joined, middle, rare, rolling, stretches

# Fewer equal readings in a row are never called stuck.
SHORTEST_STUCK = 10
# Slots over which a jump is still a jump.
LONGEST_GAP = 3
# Noise is judged over this many readings ...
NOISY_WINDOW = 41
# ... of which this share must be this many times rougher than the node is.
NOISY_SHARE, NOISY_TIMES = 0.5, 3.0
# A step that is usual: as many of the node's steps are smaller; and one that is still no wonder.
USUAL_STEP, LARGE_STEP = 0.95, 0.99


@dataclass(frozen=True)
class Repeats:
    """Runs of equal readings of one node: places, lengths."""

    start: Array
    length: Array


def repeats(values: Array) -> Repeats:
    """Runs of equal readings, length 1 where nothing repeats; equal up to single precision."""
    if values.size == 0:
        return Repeats(np.zeros(0, int), np.zeros(0, int))
    change = np.abs(np.diff(values)) > 2e-7 * np.abs(values[1:])
    start = np.flatnonzero(np.concatenate([[True], change]))
    return Repeats(start, np.diff(start, append=values.size))


def usual_repeats(lengths: Array) -> tuple[float, float]:
    """How long a run may be: longer than usual, and longer than any would be.

    The second is the power-law extrapolation of `rare`, so that signals which rest often (light at
    night, rain, a slow quantised temperature) get a long limit and continuous ones a short one.
    """
    if lengths.size == 0:
        return SHORTEST_STUCK, SHORTEST_STUCK
    q90, q99 = quantiles(lengths, 0.9, 0.99)
    longest = q99 * (q99 / q90) ** 4
    return max(2 * q99, SHORTEST_STUCK), max(longest, 2 * q99, SHORTEST_STUCK)


def usual_step(values: Array, share: float = USUAL_STEP) -> float:
    """The largest step that is no jump; 0 where a node steps through half of its readings at once.

    Of such steps nothing can be told.
    """
    steps = np.abs(np.diff(values))
    steps = steps[steps > 0]
    if not steps.size:
        return 0.0
    usual = float(np.quantile(steps, share))
    low, high = quantiles(values, 0.25, 0.75)
    return usual if usual <= high - low else 0.0


def roughness(values: Array) -> Array:
    """Distance of each reading from the nearer of its two neighbours in time.

    One false reading is rough, the good ones beside it are not.
    """
    if values.size < 2:
        return np.zeros(values.size)
    step = np.abs(np.diff(values))
    out = np.empty(values.size)
    out[0], out[-1] = step[0], step[-1]
    np.minimum(step[:-1], step[1:], out=out[1:-1])
    return out


def usual_roughness(rough: Array) -> float:
    """How rough a node is in its rougher times, in standard deviations of a step.

    Upper quartile of the readings and of their means over windows: the second counts where
    the node rests half the day (light). Up to a quarter of the readings may be false.
    """
    if rough.size == 0:
        return 0.0
    middle, upper = quantiles(rough, 0.5, 0.75)
    (windows,) = quantiles(rolling(rough, NOISY_WINDOW), 0.75)
    return float(max(MAD * middle, upper / 1.15, windows / 0.8))


def noisy(values: Array, usual: float) -> Mask:
    """Stretches in which most readings jump, back and forth, far more than the node does."""
    if usual <= 0 or values.size < NOISY_WINDOW:
        return np.zeros(values.size, dtype=np.bool_)
    wild = roughness(values) > NOISY_TIMES * usual
    if np.count_nonzero(wild) < NOISY_WINDOW // 2:  # too few for any stretch
        return np.zeros(values.size, dtype=np.bool_)
    step = np.sign(np.diff(values, prepend=values[:1]))
    # White noise turns at two readings of three; a ramp or a plateau does not.
    turns = np.zeros(values.size)
    turns[1:-1] = step[1:-1] * step[2:] < 0
    core = (rolling(wild.astype(float), NOISY_WINDOW) >= NOISY_SHARE) & (
        rolling(turns, NOISY_WINDOW) >= 0.55
    )
    return _trimmed(core, wild)


def _trimmed(core: Mask, wild: Mask) -> Mask:
    """Stretches of windows, from the first wild reading of each to the last."""
    out = np.zeros_like(core)
    half = NOISY_WINDOW // 2
    for a, b in zip(*stretches(joined(core, NOISY_WINDOW)), strict=True):
        low, high = max(a - half, 0), min(b + half, core.size)
        inside = low + np.flatnonzero(wild[low:high])
        if inside.size >= NOISY_WINDOW // 2:
            out[inside[0] : inside[-1] + 1] = True
    return out


def novel(values: Array, start: int, stop: int) -> bool:
    """Whether a node jumps to a run's level and away from it, and is there at no other time.

    A sensor that comes to rest by and by (dusk), or again and again at one level, is well.
    """
    if start == 0 or stop == values.size:
        return False
    steps = np.abs(np.diff(values))
    usual = 3 * float(np.median(steps[steps > 0]))
    if min(steps[start - 1], steps[stop - 1]) < usual:
        return False
    rest = np.concatenate([values[:start], values[stop:]])
    return not bool((np.abs(rest - values[start]) <= 1e-3 * abs(values[start])).any())


def displaced(values: Array, relative: Array, slots: Array) -> Mask:
    """Stretches that begin with a rare jump and end with one back to where they came from.

    Where that is, may be said by the readings or by `relative`, the readings minus what all nodes
    do: over hours the field itself moves. `slots` places the readings in time: over a gap a node
    may go anywhere, so that is no jump.
    """
    out = np.zeros(values.size, dtype=np.bool_)
    jumps = np.diff(values)
    jumps[np.diff(slots) > LONGEST_GAP] = 0.0
    # A jump that is not in `relative` is everybody's.
    own = np.abs(np.diff(relative)) > 0.5 * np.abs(jumps)
    cuts = np.flatnonzero((np.abs(jumps) > rare(jumps)) & own)
    if not cuts.size:
        return out
    ways = [_Ways(series, cuts) for series in (values, relative)]
    usual = middle(relative)
    at = 0
    while at < cuts.size:
        back = min(way.back(at) for way in ways)
        if back == cuts.size or not _farther(relative, cuts[at] + 1, cuts[back] + 1, usual):
            at += 1
            continue
        out[cuts[at] + 1 : cuts[back] + 1] = True
        at = back + 1
    return out


class _Ways:
    """A node's ways out and back: its cuts, and the medians of five readings before and after."""

    def __init__(self, values: Array, cuts: Array) -> None:
        self.values, self.cuts = values, cuts
        self.before = [middle(values[max(cut - 4, 0) : cut + 1]) for cut in cuts.tolist()]
        self.after = [middle(values[cut + 1 : cut + 6]) for cut in cuts.tolist()]

    def back(self, at: int) -> int:
        """The next cut after which the node is where it was before cut `at`, within half the jump.

        As many as there are cuts, if there is none.
        """
        values, cuts, before = self.values, self.cuts, self.before[at]
        out = values[cuts[at] + 1] - before
        for back in range(at + 1, min(at + 20, cuts.size)):
            after = self.after[back]
            inner = values[cuts[back]] - after
            if abs(after - before) < 0.5 * min(abs(out), abs(inner)) and out * inner > 0:
                inside = middle(values[cuts[at] + 1 : cuts[back] + 1])
                stayed = (inside - before) * np.sign(out) > 0.3 * abs(out)
                return back if stayed else int(cuts.size)
        return int(cuts.size)


def _farther(relative: Array, start: int, stop: int, usual: float) -> bool:
    """Whether a stretch is farther off than what is around it: else that is what is false."""
    around = np.concatenate([relative[max(start - 5, 0) : start], relative[stop : stop + 5]])
    return abs(middle(relative[start:stop]) - usual) > abs(middle(around) - usual)
