"""One sentence for each episode, with numbers that its reader can check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fieldmend.faults.battery import Battery, battery
from fieldmend.faults.kind import Kind
from fieldmend.faults.labels import Context
from fieldmend.faults.neighbours import Panel
from fieldmend.faults.stretches import Array, middle
from fieldmend.quantities import Kind as QuantityKind
from fieldmend.text import figure, moment

# Readings of which it can be said that they go to and fro.
WIDE = 30
# Of the way that readings jump: as far they have to be from what companions imply to say so.
PART = 0.5

if TYPE_CHECKING:
    from fieldmend.faults.episodes import Stretch
    from fieldmend.faults.together import Local, Move


def explain(kind: Kind, stretch: Stretch, seen: Panel, context: Context, unit: float) -> str:
    """What the readings do, against whom, when, and how the battery was.

    `unit` is what the readings were divided by.
    """
    end = (
        slice(-max(stretch.at.size // 5, 1), None)
        if kind in (Kind.DRIFT, Kind.DEAD)
        else slice(None)
    )
    # Deviations of others around a low level go below zero; what they imply does not.
    low, high = context.quantity.low / unit, context.quantity.high / unit
    implied = np.clip(stretch.implied, low, high)
    gap = stretch.readings[end] - implied[end]
    early = ""
    if np.isnan(gap).all():  # nobody was left to compare with at the end
        gap, early = stretch.readings - implied, "earlier "
    turn = context.quantity.period / unit
    gap = _shorter(gap[~np.isnan(gap)], turn)
    # Who drifts back is off at first: how near it is in the end is no reason to go there.
    first = (stretch.readings - implied)[: max(stretch.at.size // 5, 1)]
    first = _shorter(first[~np.isnan(first)], turn)
    back = kind == Kind.DRIFT and gap.size and first.size
    back = bool(back and abs(middle(first)) > 2 * abs(middle(gap)))
    if back:
        gap, early = first, "at first "
    against, who = "with no companion to compare,", _who(seen, stretch, context)
    swinging = kind == Kind.NOISY and swings(stretch.deviation)
    if gap.size and (swinging or (both_ways(gap) and not kind.lasts)):
        # Their middle is where nothing was read.
        against = _against(float(np.abs(gap).max()) * unit, who, context, "off")
    elif gap.size and not turn and unshared(kind, stretch, middle(gap)):
        own = middle(stretch.readings) - stretch.beside
        against = _against(own * unit, "it reads before and after", context)
    elif gap.size:
        against = early + _against(middle(gap) * unit, who, context)
    opening = _opening(kind, stretch, context, unit)
    if back:
        opening = opening.replace("drifts to", "drifts back to", 1)
    text = " ".join([opening, against, _when(stretch, context)])
    volts = battery(context)
    return text if volts is None else text + _battery(volts, stretch)


def explain_event(move: Move, context: Context, unit: float) -> str:
    """How many nodes did what, when."""
    verb = "rise" if move.size > 0 else "fall"
    amount = f"{figure(abs(move.size) * unit)}{_unit(context)}"
    when = _time(move.start, context)
    who = f"{move.nodes} of {move.heard} nodes"
    return f"{who} {verb} by {amount} together at {when}: an event, not a fault"


def explain_local(event: Local, context: Context, unit: float) -> str:
    """What some nodes did that others saw too."""
    verb = "above" if event.size > 0 else "below"
    amount = f"{figure(abs(event.size) * unit)}{_unit(context)}"
    who = f"{event.nodes} nodes are" if event.nodes > 1 else "it is"
    first, last = _time(event.start, context), _time(event.stop - 1, context)
    when = f"at {first}" if event.stop - event.start == 1 else f"from {first} to {last}"
    return f"{who} up to {amount} {verb} the field {when} and others see it too: an event, no fault"


def unshared(kind: Kind, stretch: Stretch, gap: float) -> bool:
    """Whether single readings leave what the node itself reads around them, not its companions.

    Found because they jump out and back: that they are on the other side of what companions imply,
    or hardly off it, would be no reason to call them false.
    """
    if kind.lasts or stretch.since or np.isnan(stretch.beside):
        return False
    own, side = middle(stretch.readings) - stretch.beside, np.sign(middle(stretch.deviation))
    return bool(own * side > 0 and gap * side < PART * abs(own))


def both_ways(gap: Array) -> bool:
    """Whether some lie above and some below, each a good part of the farthest."""
    far = 0.3 * float(np.abs(gap).max())
    return bool((gap > far).any() and (gap < -far).any())


def swings(off: Array) -> bool:
    """Whether readings go far to one side, far to the other and back again: as by a wrong gain."""
    known = off[~np.isnan(off)]
    if known.size < WIDE:
        return False
    # Of one in ten, for single ones may be anything.
    far = 0.3 * float(np.quantile(np.abs(known), 0.9))
    sides = np.sign(known[np.abs(known) > far])
    each = np.array([(sides > 0).mean(), (sides < 0).mean()])
    return bool(each.min() > 0.1 and np.count_nonzero(np.diff(sides)) >= 2)


def _opening(kind: Kind, stretch: Stretch, context: Context, unit: float) -> str:
    level = f"{_value(middle(stretch.readings) * unit, context)}{_unit(context)}"
    swinging = kind == Kind.NOISY and swings(stretch.deviation)
    if swinging or (not kind.lasts and stretch.at.size > 1 and both_ways(stretch.deviation)):
        ends = (_value(float(f(stretch.readings)) * unit, context) for f in (np.min, np.max))
        level = f"{' to '.join(ends)}{_unit(context)}"
    last = stretch.readings[-max(stretch.at.size // 5, 1) :]
    end = f"{_value(middle(last) * unit, context)}{_unit(context)}"
    number = stretch.flagged
    sentences = {
        Kind.SPIKE: f"reads {level} once," if number == 1 else f"reads {level} {number} times,",
        Kind.PACKET: f"reads {level} with other conditions off in the same packet,",
        Kind.BURST: f"{number} readings in a burst around {level},",
        Kind.STUCK: f"stuck at {level},",
        Kind.DRIFT: f"drifts to {end},",
        Kind.NOISY: f"goes up and down, {level}," if swinging else f"jumps around {level},",
        Kind.DEAD: f"reads {end} and does not come back,",
    }
    return sentences.get(kind, f"reads {level},")


def _value(reading: float, context: Context) -> str:
    """A reading as the instrument gives it: directions are judged on the turn of the others."""
    turn, start = context.quantity.period, context.quantity.start
    return figure(start + (reading - start) % turn if turn else reading)


def _shorter(gap: Array, turn: float) -> Array:
    """Differences the shorter way round, where there is a way round."""
    return (gap + turn / 2) % turn - turn / 2 if turn else gap


def _who(seen: Panel, stretch: Stretch, context: Context) -> str:
    """Who says otherwise."""
    if context.quantity.kind is QuantityKind.MIXED:
        return "is estimated without it"
    if stretch.since:
        return "the model of earlier days expects"
    word = "nearest" if seen.in_space else "most similar"
    count = seen.companions(stretch.node).size
    return f"its {count} {word} companions imply" if count > 1 else f"its {word} companion implies"


def _against(gap: float, who: str, context: Context, side: str = "") -> str:
    side = side or ("above" if gap >= 0 else "below")
    if gap == 0:
        return f"just what {who}"
    upto = "up to " if side == "off" else ""
    return f"{upto}{figure(abs(gap))}{_unit(context)} {side} what {who}"


def _when(stretch: Stretch, context: Context) -> str:
    first = _time(int(stretch.at[0]), context)
    if stretch.at.size == 1:
        return f"at {first}"
    if stretch.to_end and stretch.lasting:
        return f"since {first}"
    return f"from {first} to {_time(int(stretch.at[-1]), context)}"


def _time(slot: int, context: Context) -> str:
    if slot >= len(context.times):
        return f"slot {slot}"
    return moment(context.times[slot], year=False)


def _battery(battery: Battery, stretch: Stretch) -> str:
    here = battery.volts[stretch.at, stretch.node]
    here = here[~np.isnan(here)]
    return f", {battery.name} {middle(here[-max(here.size // 5, 1) :]):.2f}" if here.size else ""


def _unit(context: Context) -> str:
    return f" {context.unit}" if context.unit else ""
