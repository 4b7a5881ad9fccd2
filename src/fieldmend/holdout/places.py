"""Where a real gap can be laid over readings so that it is as long and as lonely as it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.grid import Array
from fieldmend.holdout.canvas import AT_MOST, Canvas
from fieldmend.holdout.strata import MOSTLY, Index, Mask

PROPOSALS = 24  # places looked at for each gap: the one that fits best is taken
POOR = np.log(2.0)  # a place where the gap would become twice as long, or half, does not fit
TOO_SILENT = 0.25  # of the nodes more silent here than there: not the same kind of gap
SILENCE = 3.0  # what a silence of all nodes more costs, in logarithms of length
HOUR = 4.0  # what another time of the day costs at the most, likewise
SHORT = 4  # slots: shorter gaps are many, at all times of the day


@dataclass(frozen=True)
class Places:
    """Gaps and where they are copied to: slots `start` to before `stop` of `node`.

    ``origin`` is the first slot of the real gap, ``whose`` its node, ``at`` the slot of a reading
    that takes the place of the lost entry, ``entries`` about how many readings the copy hides,
    ``lonely`` whether other nodes have to fall silent along.
    """

    node: Index
    start: Index
    stop: Index
    origin: Index
    whose: Index
    at: Index
    entries: Array
    lonely: Mask

    def kept(self, which: Mask | Index | slice) -> Places:
        """Some of them."""
        return Places(*(array[which] for array in vars(self).values()))

    def first(self, need: float) -> Places:
        """So many as hide `need` readings."""
        return self.kept(slice(int(np.searchsorted(np.cumsum(self.entries), need)) + 1))


def places(canvas: Canvas, cells: Index, rng: np.random.Generator) -> Places:
    """The best of some places for the gap of each lost entry; gaps that fit nowhere are dropped."""
    slot, whose = np.divmod(cells, canvas.nodes)
    origin = canvas.real_before[slot, whose].astype(np.intp) + 1
    length = canvas.length(cells)
    at_end = (origin == 0) | (origin + length == canvas.slots)
    node, here = _proposed(canvas, slot, whose, at_end, rng)
    start = here - (slot - origin)[:, None]
    stop = start + length[:, None]
    inside = (start >= 0) & (stop <= canvas.slots)
    start, stop = np.where(inside, start, 0), np.where(inside, stop, 1)
    left = np.where(start > 0, canvas.before[np.maximum(start, 1) - 1, node], -1)
    right = np.where(
        stop < canvas.slots,
        canvas.after[np.minimum(stop, canvas.slots - 1), node],
        canvas.slots,
    )
    stretched = np.abs(np.log((right - left - 1) / length[:, None]))
    then = _mean(canvas.real_silent, origin, origin + length)[:, None]
    now = _mean(canvas.silent, start, stop)
    fits = inside & (canvas.before[here, node] == here) & (stretched <= POOR)
    fits &= at_end[:, None] | ((left >= 0) & (right < canvas.slots))
    fits &= now - then <= TOO_SILENT * canvas.nodes
    # A gap in company is not copied to where most are silent, with this one: that is another kind.
    fits &= (then > MOSTLY * canvas.nodes) | (now + 1 <= MOSTLY * canvas.nodes)
    # Only more silent places cost: looking for equally silent ones would pile all copies up there.
    more = np.maximum(now - then, 0.0) / canvas.nodes
    # A node that keeps fewer readings than the one that had the gap is less well known.
    kept = np.maximum(canvas.left[node] - length[:, None], 1)
    poorer = np.maximum(np.log(canvas.readings[whose][:, None] / kept), 0.0)
    hour = HOUR * _other_time(canvas, start - origin[:, None], length[:, None])
    cost = np.where(fits, stretched + SILENCE * more + poorer + hour, np.inf)
    best = np.argmin(cost, axis=1)
    row = np.arange(len(best))
    found = np.isfinite(cost[row, best])
    row, best = row[found], best[found]
    node, start, stop, now = node[row, best], start[row, best], stop[row, best], now[row, best]
    missing = then[row, 0] - now - 1  # the node itself falls silent anyway
    # Silent together beyond what chance makes of nodes that fall silent one by one.
    lonely = missing >= np.maximum(1.0, np.sqrt(then[row, 0]))
    entries = (stop - start) * (1.0 + np.where(lonely, missing, 0.0))
    return Places(node, start, stop, origin[row], whose[row], here[row, best], entries, lonely)


def _proposed(
    canvas: Canvas, slot: Index, whose: Index, at_end: Mask, rng: np.random.Generator
) -> tuple[Index, Index]:
    """Readings, gaps × proposals, half of them of the gap's own node: its node and its slot.

    The reading takes the place of the lost entry. At an end of the record that is the same slot.
    """
    shape = (len(slot), PROPOSALS)
    node = rng.choice(canvas.able, shape)
    own = (rng.random(shape) < 0.5) & (canvas.spare[whose] > 0)[:, None] & ~at_end[:, None]
    node = np.where(own, whose[:, None], node)
    count = canvas.first[node + 1] - canvas.first[node]
    here = canvas.reading[canvas.first[node] + (rng.random(shape) * count).astype(np.intp)]
    return node, np.where(at_end[:, None], slot[:, None], here)


def _other_time(canvas: Canvas, moved: Index, length: Index) -> Array:
    """How far gaps that are moved come to another time of the day: 0 near their own, 1 opposite.

    An outage in the rush hour costs more than one at night. Of few days each offers little room at
    the same time, and copies that pile up are one witness: near is what two days in all amount to.
    """
    days = canvas.slots / canvas.day if canvas.day else 0.0
    if days <= 2:
        return np.zeros(moved.shape)
    off = np.abs((moved / canvas.day + 0.5) % 1.0 - 0.5)  # of a day
    apart = np.maximum(off - 1.0 / days, 0.0) / (0.5 - 1.0 / days)
    return np.where((length >= SHORT) & (length < canvas.day), apart, 0.0)


def _mean(total: Index, start: Index, stop: Index) -> Array:
    return np.asarray((total[stop] - total[start]) / (stop - start))


def alone(canvas: Canvas, found: Places) -> None:
    """Copy gaps of single nodes, so many as each node can spare."""
    size = found.stop - found.start
    order = np.argsort(found.node, kind="stable")
    total = np.cumsum(size[order])
    node = found.node[order]
    begin = np.append(True, node[1:] != node[:-1])[: len(node)]
    base = np.maximum.accumulate(np.where(begin, total - size[order], 0))
    found = found.kept(order[total - base <= canvas.room[node]])
    size = found.stop - found.start
    step = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    at = (np.repeat(found.start, size) + step) * canvas.nodes + np.repeat(found.node, size)
    source = (np.repeat(found.origin, size) + step) * canvas.nodes + np.repeat(found.whose, size)
    canvas.hide(at, source)


def together(canvas: Canvas, found: Places, i: int, rng: np.random.Generator) -> None:
    """Copy one gap with its company: of those silent then and heard now, as many as make it so."""
    start, origin, size = int(found.start[i]), int(found.origin[i]), int(found.stop[i])
    size -= start
    now, then = slice(start, start + size), slice(origin, origin + size)
    left = canvas.heard[now] & ~canvas.hidden[now]
    silent = canvas.expected[now] & ~left
    gone, node = canvas.lost[then], found.node[i]
    missing = gone.sum(axis=1) - silent.sum(axis=1) - left[:, node]
    able = gone & left
    able[:, node] = False
    # One draw a node: who falls silent stays silent as long as it did.
    chance = rng.random(canvas.nodes)
    falls = able & (chance * able.sum(axis=1, keepdims=True) < missing[:, None])
    falls[:, node] = left[:, node]
    falls &= np.count_nonzero(falls, axis=0) <= canvas.room
    if canvas.count + np.count_nonzero(falls) > AT_MOST * canvas.total:
        return
    row, column = np.nonzero(falls)
    whose = np.where(column == node, found.whose[i], column)
    canvas.hide((row + start) * canvas.nodes + column, (row + origin) * canvas.nodes + whose)
