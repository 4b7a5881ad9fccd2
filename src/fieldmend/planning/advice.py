"""A plan in words: what to do, what is no longer seen, what it saves, and what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldmend.planning.comparing import a_day, best, excess
from fieldmend.planning.energy import RADIO_MATTERS
from fieldmend.planning.search import longest_interval
from fieldmend.text import duration, figure, listed, measure, percent, shown, slot_length

if TYPE_CHECKING:
    from fieldmend.planning.replay import Played
    from fieldmend.planning.result import Plan
    from fieldmend.planning.schedule import Schedule


def sentence(plan: Plan) -> str:
    """What to do."""
    if plan.chosen is None:
        return _nothing(plan)
    played = plan.chosen
    return (
        f"Send {_how(played.schedule, plan)}: {percent(played.share)} of the readings. "
        f"The rest is recovered with {_errors(played, plan)}."
    )


def _nothing(plan: Plan) -> str:
    every = [one for tried in plan.tried.values() for one in tried]
    asked = listed([f"{measure(a.error, _unit(plan, a.condition))}" for a in plan.asked])
    said = f"Send everything: nothing that was tried keeps {asked}"
    if not every:
        return f"{said}; nothing thinner could be tried on so short a record."
    nearest = min(every, key=lambda one: excess(plan, one))
    return (
        f"{said}. The nearest, {_how(nearest.schedule, plan)} ({percent(nearest.share)} of the "
        f"readings), has {_errors(nearest, plan)}."
    )


def _how(schedule: Schedule, plan: Plan) -> str:
    if schedule.design == "change":
        moves = [
            f"{shown(name)} has moved by more than {measure(change, _unit(plan, name))}"
            for name, change in schedule.changes.items()
        ]
        return f"when {' or '.join(moves)} since the last message"
    how = "all nodes together" if schedule.design == "clock" else "each node at its own phase"
    return f"every {slot_length(schedule.every * schedule.slot)}, {how}"


def _errors(played: Played, plan: Plan) -> str:
    what = "a mean error of" if plan.quantile is None else f"{plan.quantile:g} of all errors up to"
    parts = []
    for asked in plan.asked:
        score, unit = played.scores[asked.condition], _unit(plan, asked.condition)
        doubt = f", at most {measure(score.high, unit)}" if plan.has_interval else ""
        name = f" for {shown(asked.condition)}" if len(plan.asked) > 1 else ""
        parts.append(f"{measure(score.error, unit)}{doubt}{name}")
    return f"{what} {listed(parts)} (asked: {_asked(plan)})"


def _asked(plan: Plan) -> str:
    return listed([measure(a.error, _unit(plan, a.condition)) for a in plan.asked])


def _unit(plan: Plan, name: str) -> str:
    return plan.record.units.get(name, "")


def unseen(plan: Plan) -> str:
    """What will no longer be seen; empty if nothing was chosen."""
    if plan.schedule is None:
        return ""
    one = plan.schedule
    if one.design == "change":
        small = listed(
            [
                f"changes of {shown(name)} up to {measure(change, _unit(plan, name))}"
                for name, change in one.changes.items()
            ]
        )
        return (
            f"No longer seen: {small}, however long they last. Larger ones are seen at once. A "
            "node that says nothing rests or is dead: let each send once a day in any case, and "
            "number the messages, so that a lost one shows."
        )
    interval = duration(one.every * one.slot)
    later = duration((one.every - 1) * one.slot)
    return (
        f"No longer seen: what happens at one node alone and is over in less than {interval}. What "
        f"lasts longer is seen up to {later} later."
    )


def about_energy(plan: Plan) -> str:
    """What a node takes a day, now and by the plan, and whether it is still the radio."""
    everything = plan.energy.a_day(*a_day(plan, 1.0))
    now = f"A node takes {everything:.3g} J a day if it sends everything"
    how = f"({plan.energy.source}; {plan.energy.mj_per_message:g} mJ a message"
    how += f", asleep {plan.energy.sleep_ua:g} µA at {plan.energy.volts:g} V)"
    before = plan.energy.radio_share(*a_day(plan, 1.0))
    if before < RADIO_MATTERS:
        now += f" (the radio takes {percent(before)} of that: sending less saves little)"
    if plan.chosen is None or plan.schedule is None:
        return f"{now} {how}."
    day = a_day(plan, plan.chosen.share, plan.schedule.every)
    after, share = plan.energy.a_day(*day), plan.energy.radio_share(*day)
    longer = f"{everything / after:.3g} times as long" if after else "for ever"
    said = f"{now}, {after:.3g} J by the plan: batteries last {longer}"
    if share < RADIO_MATTERS <= before:
        said += (
            f". The radio takes {percent(share)} of that: it is no longer what drains the battery, "
            "and sending still less would save little"
        )
    if plan.schedule.design == "change":
        said += ". The node still measures in every slot"
    return f"{said} {how}."


def about_interval(plan: Plan) -> list[str]:
    """How far the errors can be trusted."""
    half = duration(len(plan.record.times) // 2 * plan.record.slot)
    said = [
        f"played on both halves of the record ({half} each), each recovered by a model of the "
        "other; what the network sends by the plan is recovered by model.npz, fitted on all of it"
    ]
    if not plan.has_interval:
        said.append(
            f"no interval: from {plan.days:.3g} days nobody can tell how much days differ. The "
            "choice leaves a margin, of how much the hours differed; give three days or more"
        )
    longest = longest_interval(plan.record)
    if plan.schedule is not None and plan.schedule.every > 0.85 * longest:
        most = duration(int(longest) * plan.record.slot)
        said.append(f"nothing above {most} was tried: the record cannot tell of more")
    if plan.days < 8:
        said.append("no week was seen: a weekend, or another season, may be different")
    return said


def table(plan: Plan) -> list[list[str]]:
    """One row for each design, what it does best: the cells as text, for page and screen."""
    slots_a_day = a_day(plan, 1.0)
    rows = [["everything", "100 %", slot_length(plan.record.slot), "-", "-"]]
    rows[0].append(f"{plan.energy.a_day(*slots_a_day):.3g}")
    for design in plan.tried:
        played = best(plan, design)
        if played is not None:
            rows.append(_row(plan, played))
    return rows


def _row(plan: Plan, played: Played) -> list[str]:
    one = played.schedule
    how = slot_length(one.every * one.slot)
    if one.changes:
        how = " or ".join(measure(c, _unit(plan, name)) for name, c in one.changes.items())
    errors, nodes = [], []
    for asked in plan.asked:
        score = played.scores[asked.condition]
        mark = "" if asked.meets(played) else " !"
        sides = f" ({figure(score.low)} to {figure(score.high)})" if plan.has_interval else ""
        errors.append(f"{figure(score.error)}{sides}{mark}")
        worst, error = score.worst
        nodes.append(f"{shown(plan.scored[worst])}: {figure(error)}" if worst >= 0 else "-")
    energy = plan.energy.a_day(*a_day(plan, played.share, one.every))
    return [
        one.design + (" *" if played is plan.chosen else ""),
        percent(played.share),
        how,
        "; ".join(errors),
        "; ".join(nodes),
        f"{energy:.3g}",
    ]
