"""What was played, held against what is asked, and in messages a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldmend.planning.replay import Played

if TYPE_CHECKING:
    from fieldmend.planning.result import Plan

DAY = 86_400_000_000  # µs


def best(plan: Plan, design: str) -> Played | None:
    """Of a design the fewest messages within the error; if none is, what comes nearest."""
    tried = plan.tried.get(design, [])
    within = [one for one in tried if all(asked.meets(one) for asked in plan.asked)]
    if within:
        return min(within, key=lambda one: one.share)
    return min(tried, key=lambda one: excess(plan, one), default=None)


def excess(plan: Plan, played: Played) -> float:
    """The largest of the errors, doubt included, over what is asked."""
    return max(played.scores[one.condition].high / one.error for one in plan.asked)


def a_day(plan: Plan, share: float, every: int = 1) -> tuple[float, float]:
    """Messages and measurements of a node a day."""
    slots = DAY / plan.record.slot
    return share * slots, slots / every
