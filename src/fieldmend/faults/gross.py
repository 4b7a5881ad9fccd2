"""Gross tests: what is false whatever others do.

No vote and no witness is asked: impossible values, one value for far too long, noise, levels that
nothing real reaches.
"""

from __future__ import annotations

import numpy as np

from fieldmend.core.ranks import quantiles
from fieldmend.faults import history, unrest
from fieldmend.faults.implied import implied
from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array, Mask, joined, per_node, resolution, stretches
from fieldmend.quantities import Quantity

# A node that repeats one value while what is implied moves by so many spreads, or is so far away.
MOVED, AWAY = 4.0, 3.0
# Of what others usually move: less is nothing. Others asked, and stretches that tell what is usual.
BECALMED, WITNESSES, STRETCHES = 0.05, 12, 50
# Share of a node's other readings next to the foot of its scale: of them is what is read at dusk.
DUSK = 0.1
# Of the range of the others: the foot of the scale is no further off.
NEXT = 0.5
# One value for good is beyond all others if it is so much of their range away from it; so few of
# them on either side are no part of that range.
RAIL, SELDOM = 0.1, 0.005
# Widths of the middle 60 % of all readings.
UNREAL = 10.0
# Part of the range within which a reading is at its bound.
NEAR = 0.01
# Steps by which a node moves at other times, for its stillness to be none of its own.
CALM = 10.0
# Readings between two far ones that do not part them.
JOINED = 15
# Share of what the other nodes tell that makes a value a usual one.
OFTEN = 0.05


def beyond(values: Array, possible: tuple[float, float]) -> Mask:
    """Readings that cannot be true, whatever happens."""
    low, high = possible
    return np.asarray((values < low) | (values > high), dtype=np.bool_)  # NaN compares False


def saturated(values: Array, quantity: Quantity) -> Mask:
    """Readings at a bound where a quarter of the slot's nodes are, two at least: fog."""
    out = np.zeros(values.shape, dtype=np.bool_)
    for bound in (quantity.low, quantity.high):
        if np.isfinite(bound) and np.isfinite(quantity.high - quantity.low):
            near = np.abs(values - bound) <= NEAR * (quantity.high - quantity.low)
            heard = np.maximum((~np.isnan(values)).sum(axis=1), 1)
            out |= near & (near.sum(axis=1) >= np.maximum(0.25 * heard, 2))[:, None]
    return out


def often_told(values: Array) -> Mask:
    """Readings of 0, and those that one in twenty of the other nodes' readings above it equals.

    A drop of 0.2 mm, a full hour of sun: what comes in such amounts stands at them for long.
    """
    told = values.astype(np.float32)  # equal up to single precision
    out = np.asarray(told == 0)
    heard = ~np.isnan(told) & ~out
    amounts, place = np.unique(told[heard], return_inverse=True)
    node = np.nonzero(heard)[1]
    all_of, total = np.bincount(place, minlength=amounts.size), place.size
    for n in np.flatnonzero(heard.any(axis=0)):
        own = place[node == n]
        others = all_of - np.bincount(own, minlength=amounts.size)
        out[heard[:, n], n] = (others > OFTEN * max(total - own.size, 1))[own]
    return out


def at_its_stops(values: Array) -> Mask:
    """Readings at the lowest and the highest that a node ever reads: a valve shut, a tank full."""
    told = values.astype(np.float32)
    low = np.fmin.reduce(told, axis=0, initial=np.inf)
    high = np.fmax.reduce(told, axis=0, initial=-np.inf)
    return np.asarray((told == low) | (told == high))


def stuck(values: Array, idle: Mask | None = None, *, foot: bool = False) -> Mask:
    """Values that repeat for longer than this node and its companions ever do.

    Runs at readings that are `idle` are neither counted nor found. `foot`: whether the scale has
    one on which a whole network may stand, as it does at night.
    """
    runs = []
    for n, column in enumerate(values.T):
        heard = ~np.isnan(column)
        own = history.repeats(column[heard])
        busy = slice(None) if idle is None else ~idle[heard, n][own.start]
        runs.append(history.Repeats(own.start[busy], own.length[busy]))
    pooled = history.usual_repeats(np.concatenate([r.length for r in runs]))

    def test(n: int, readings: Array, _at: Array) -> Mask:
        out = np.zeros(readings.size, dtype=np.bool_)
        if runs[n].length.max(initial=0) <= pooled[0]:
            return out
        # The longest run is the one in question; a node with few runs would vouch for it.
        own = history.usual_repeats(np.sort(runs[n].length)[:-1])
        longer, longest = max(own[0], pooled[0]), max(own[1], pooled[1])
        for i in np.flatnonzero(runs[n].length > longer):
            a, b = runs[n].start[i], runs[n].start[i] + runs[n].length[i]
            if b - a > longest or history.novel(readings, a, b):
                out[a:b] = True
        return out

    found = per_node(values, None, test)
    return found & ~_becalmed(values, found, foot=foot)


def noisy(values: Array, context: Context) -> Mask:
    """Stretches far rougher than the node's rougher times."""
    usual = unrest.usual(values, context)
    return per_node(values, None, lambda n, v, _: history.noisy(v, usual[n]))


def flat(values: Array, left_out: Mask) -> Mask:
    """Values that repeat longer than this node ever does, while what the others imply moves on.

    Zero is a value too: an anemometer that reads 0.0 for a day in a gale. A run counts if it is
    twice as long as any other of the node, and if what is implied moves by four of the node's usual
    distances from it meanwhile, or stays three away, or if the node is never as calm (`_restless`).
    """
    runs = [history.repeats(column[~np.isnan(column)]) for column in values.T]
    out = np.zeros(values.shape, dtype=np.bool_)
    for n, run in enumerate(runs):
        if run.length.size < 2:
            continue
        longest = int(np.argmax(run.length))
        length = int(run.length[longest])
        if length < history.SHORTEST_STUCK:
            continue
        other = int(np.delete(run.length, longest).max())
        if length >= 2 * other:
            at = np.flatnonzero(~np.isnan(values[:, n]))
            out[at[run.start[longest] : run.start[longest] + length], n] = True
    out &= ~left_out & ~_at_rest(values, out)
    if not out.any():
        return out
    never = _restless(values, out)
    field = implied(values, ~np.isnan(values) & ~left_out & ~out)
    for n in map(int, np.flatnonzero(out.any(axis=0))):
        if never[n]:
            continue
        off = field.residual[out[:, n], n] / field.spread[n]
        off = off[~np.isnan(off)]
        if off.size < history.SHORTEST_STUCK:
            out[:, n] = False
            continue
        low, mid, high = np.quantile(off, (0.1, 0.5, 0.9))
        out[:, n] &= bool(high - low > MOVED or abs(mid) > AWAY)
    return out


def railed(values: Array) -> Mask:
    """The last readings of a node that are one value, beyond all that the network reads otherwise.

    A sensor that died, or lost its supply, sends the end of its scale from then on. Where light or
    rain rests for longer every night, how long it repeats says nothing; that it is there does. A
    node that reads nothing else has no other readings to be held against.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    last = np.full(values.shape[1], np.nan)
    for n, column in enumerate(values.T):
        at = np.flatnonzero(~np.isnan(column))
        run = history.repeats(column[at])
        if at.size and min(run.length[-1], run.start[-1]) >= history.SHORTEST_STUCK:
            out[at[run.start[-1] :], n] = True
            last[n] = column[at[-1]]
    rest = values[~out & ~np.isnan(values)]
    if not out.any() or not rest.size:
        return np.zeros_like(out)
    low, high = np.quantile(rest, (SELDOM, 1.0 - SELDOM))
    with np.errstate(invalid="ignore"):
        beyond = np.fmax(last - high, low - last) > RAIL * (high - low)
    # Many at one end of their scale are in the sun.
    together = [np.count_nonzero(last == level) > max(1, len(last) // 4) for level in last]
    return np.asarray(out & beyond & ~np.array(together), dtype=np.bool_)


def _restless(values: Array, runs: Mask) -> Mask:
    """Nodes that move by ten steps in any quarter of their run's length at other times.

    What comes to rest by and by (a dry stream, deep soil) is nearly at rest before and after, and
    a value that the node has at other times too (dark, calm, full) is where it rests.
    """
    out = np.zeros(values.shape[1], dtype=np.bool_)
    step = resolution(values)
    for n in map(int, np.flatnonzero(runs.any(axis=0))):
        run, series = runs[:, n], values[:, n]
        part = max(int(run.sum()) // 4, 2)
        level = float(series[run][0])
        pieces = [
            series[a:b][~np.isnan(series[a:b])] for a, b in zip(*stretches(~run), strict=True)
        ]
        ranges = [_ranges(piece, part) for piece in pieces if piece.size >= part]
        rest = np.concatenate(pieces) if pieces else np.zeros(0)
        if not ranges or step[n] <= 0 or (np.abs(rest - level) < 1e-9).mean() > OFTEN:
            continue
        out[n] = min(float(one.min()) for one in ranges) >= CALM * step[n]
    return out


def _ranges(series: Array, width: int) -> Array:
    """Highest minus lowest of so many readings in a row, wherever they begin."""
    high = low = series
    reach = 1
    while reach < width:  # of two that overlap, or touch
        step = min(reach, width - reach)
        high, low = np.maximum(high[:-step], high[step:]), np.minimum(low[:-step], low[step:])
        reach += step
    return np.asarray(high - low)


def _becalmed(values: Array, runs: Mask, *, foot: bool) -> Mask:
    """Runs during which the others hardly move either, by what they usually do: nothing happens.

    A plant at rest, a calm: who repeats its value then is not broken, or not so that it matters.
    Who jumps to that value, or back from it, does not rest; and what others repeat too long
    themselves tells nothing, unless it is the same value at the foot of their scale: night.
    """
    out, sound = np.zeros(runs.shape, dtype=np.bool_), np.where(runs, np.nan, values)
    for n in map(int, np.flatnonzero(runs.any(axis=0))):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        own = values[at, n]
        usual = history.usual_step(own)
        for i, j in zip(*stretches(runs[at, n]), strict=True):
            around = np.concatenate([own[max(i - 1, 0) : i], own[j : j + 1]])
            a, b = int(at[i]), int(at[j - 1]) + 1
            if foot and _next_to(own, own[i], around) and _shared(values, n, a, b):
                out[a:b, n] = True
                continue
            if (np.abs(around - own[i]) > usual).any():
                continue
            others = [m for m in range(values.shape[1]) if m != n]
            some = others[:: max(1, len(others) // WITNESSES)][:WITNESSES]
            shares = [_share_moved(sound[:, m], a, b) for m in some]
            told = [share for share in shares if share >= 0]
            out[a:b, n] = len(told) > 0 and bool(np.median(told) < BECALMED)
    return out & runs


def _next_to(own: Array, level: float, around: Array) -> bool:
    """Whether a level is the foot of a node's scale, and what it reads around is next to it.

    Told by ranks: on roots, dusk is as steep as a fault. At the top motes die together.
    """
    rest = own[np.abs(own - level) > 2e-7 * abs(level)]
    if not rest.size or not around.size:
        return False
    least, low, most = quantiles(rest, 0.0, DUSK, 1.0)
    return bool(0 < least - level <= NEXT * (most - least) and (around <= low).all())


def _shared(values: Array, n: int, a: int, b: int) -> bool:
    """Whether most of the others read the value of a run of node n, for most of its slots."""
    part = np.delete(values[a:b], n, axis=1)
    heard = np.count_nonzero(~np.isnan(part), axis=0)
    with np.errstate(invalid="ignore"):
        level = np.nanmax(values[a:b, n])
        same = np.count_nonzero(np.abs(part - level) <= 2e-7 * abs(level), axis=0)
    known = heard > 0
    return bool(2 * np.count_nonzero(2 * same[known] > heard[known]) > np.count_nonzero(known) > 0)


def _share_moved(series: Array, a: int, b: int) -> float:
    """How far a node moves from slot a to b, by what it moves in as many slots; or −1."""
    starts = np.linspace(0, len(series) - (b - a), STRETCHES).astype(int)
    parts = [series[k : k + b - a] for k in [a, *starts.tolist()]]
    parts = [part[~np.isnan(part)] for part in parts]
    here, *usual = (float(np.ptp(p)) if 2 * p.size > b - a else np.nan for p in parts)
    known = [one for one in usual if not np.isnan(one)]
    if np.isnan(here) or 2 * len(known) < STRETCHES or not np.median(known) > 0:
        return -1.0
    return here / float(np.median(known))


def _at_rest(values: Array, runs: Mask) -> Mask:
    """Runs during which another node has its own at the same value: nothing happens there."""
    out = np.zeros(runs.shape, dtype=np.bool_)
    for n in np.flatnonzero(runs.any(axis=0)):
        mine = runs[:, n]
        with np.errstate(invalid="ignore"):
            same = runs[mine] & (np.abs(values[mine] - values[mine, n][:, None]) < 1e-9)
        out[mine, n] = np.count_nonzero(same.mean(axis=0) > 0.25) > 1
    return out


def unreal(values: Array, left_out: Mask) -> Mask:
    """Levels that nothing real reaches, entered or left in one jump, whatever the others read.

    Ten times as far from the network's median as the middle 60 % of all readings are wide. Nodes
    that fail together are an event to each other; but air does not warm by 90 degrees and cool in
    a slot.
    """
    out = np.zeros(values.shape, dtype=np.bool_)
    pool = values[~np.isnan(values) & ~left_out]
    if pool.size == 0:
        return out
    low, middle, high = quantiles(pool, 0.2, 0.5, 0.8)
    size = np.abs(values - middle)
    if high <= low:
        return out
    far = size > UNREAL * (high - low)
    for n in np.flatnonzero(far.any(axis=0)):
        at = np.flatnonzero(~np.isnan(values[:, n]))
        series = size[at, n]
        for a, b in zip(*stretches(joined(far[at, n], JOINED)), strict=True):
            top = 0.5 * float(series[a:b].max())
            into = series[a] - series[a - 1] if a else 0.0
            back = series[b - 1] - series[b] if b < at.size else 0.0
            # Good readings between false ones stay.
            out[at[a:b], n] = far[at[a:b], n] & (max(into, back) > top)
    return out
