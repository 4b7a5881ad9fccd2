"""One sentence for each episode, with numbers that its reader can check."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.faults.labels import Context
from fieldmend.faults.stretches import Array
from fieldmend.faults.witnesses import Witnesses

if TYPE_CHECKING:
    from fieldmend.faults.episodes import Stretch


def explain(  # noqa: PLR0913  (everything a sentence can say)
    kind: str,
    stretch: Stretch,
    seen: Witnesses,
    voltage: tuple[str, Array] | None,
    context: Context,
    unit: float,
) -> str:
    """What the readings do, against whom, when, and how the battery was.

    `unit` is what the readings were divided by.
    """
    end = slice(-max(stretch.at.size // 5, 1), None) if kind in ("drift", "dead") else slice(None)
    gap = stretch.readings[end] - seen.implied[stretch.at[end]]
    gap = gap[~np.isnan(gap)]
    parts = [_opening(kind, stretch, context, unit)]
    if gap.size:
        parts.append(_against(float(np.median(gap)) * unit, seen, context))
    parts.append(_when(stretch, context))
    text = " ".join(part for part in parts if part)
    if voltage is not None:
        text += _battery(voltage, stretch)
    return text


def _opening(kind: str, stretch: Stretch, context: Context, unit: float) -> str:
    level = f"{_number(float(np.median(stretch.readings)) * unit)}{_unit(context)}"
    return {
        "spike": "one reading" if stretch.at.size == 1 else f"{stretch.at.size} readings",
        "packet": "several conditions off in one packet, a reading",
        "burst": f"a burst of {stretch.flagged} readings",
        "stuck": f"stuck at {level},",
        "drift": "drifts to",
        "bias": "reads",
        "dead": "reads, for good,",
    }[kind]


def _against(gap: float, seen: Witnesses, context: Context) -> str:
    side = "above" if gap >= 0 else "below"
    word = "nearest" if seen.nearest else "most similar"
    who = f"its {seen.count} {word} companions imply"
    if seen.count == 1:
        who = f"its {word} companion implies"
    return f"{_number(abs(gap))}{_unit(context)} {side} what {who}"


def _when(stretch: Stretch, context: Context) -> str:
    first, last = (_time(int(slot), context) for slot in stretch.at[[0, -1]])
    if stretch.at.size == 1:
        return f"at {first}"
    if stretch.to_end and stretch.lasting:
        return f"since {first}"
    return f"from {first} to {last}"


def _time(slot: int, context: Context) -> str:
    if slot >= len(context.times):
        return f"slot {slot}"
    moment = datetime.fromtimestamp(int(context.times[slot]) / 1e6, tz=UTC)
    return f"{moment.day} {moment:%b %H:%M}"


def _battery(voltage: tuple[str, Array], stretch: Stretch) -> str:
    name, values = voltage
    here = values[stretch.at, stretch.node]
    here = here[~np.isnan(here)]
    return f", {name} {np.median(here[-max(here.size // 5, 1) :]):.2f}" if here.size else ""


def _unit(context: Context) -> str:
    return f" {context.unit}" if context.unit else ""


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.4g}"
