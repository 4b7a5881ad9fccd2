"""A fitted field as plain numbers and arrays, and back, with nothing believed on the way back.

What a file says is checked against what the model needs: kinds, shapes, finite numbers, variances
above zero, shares between 0 and 1. Whoever can write a model file can make a model that is wrong,
but none that breaks the functions that apply it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array
from fieldmend.field.chains import NodeModel
from fieldmend.field.cycles import Course
from fieldmend.field.days import Ways
from fieldmend.field.fitted import FittedField, FittedOn, Live
from fieldmend.field.flags import Rule
from fieldmend.field.given import Given
from fieldmend.field.holdout import Calibration
from fieldmend.field.honest import Honest
from fieldmend.field.jumps import JumpLaw
from fieldmend.field.lean import CLASSES, Lean
from fieldmend.field.levels import Levels
from fieldmend.field.model import Field
from fieldmend.field.power import PLAIN, Power
from fieldmend.field.record import View
from fieldmend.field.routine import Routine
from fieldmend.field.screens import DistanceScreen, JumpScreen, Screen
from fieldmend.field.second import LAGS, LIKE, Second
from fieldmend.field.widening import Widening

_LAW = "scale", "rise", "centre", "spread"  # arrays of a JumpLaw
_STEADIEST = 0.99999  # no φ above this comes from a fit


def pack_parts(
    conditions: Mapping[str, FittedField],
) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """All conditions: their words, and their arrays with the condition's number in front."""
    every: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for k, (name, part) in enumerate(conditions.items()):
        words, own = pack(part)
        every.append({"name": name} | words)
        arrays |= {f"{k}_{key}": array for key, array in own.items()}
    return every, arrays


def unpack_model(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """What a model is made of; ValueError says what is wrong with it."""
    nodes, slot = header.get("nodes"), header.get("slot")
    version, parts = header.get("version"), header.get("conditions")
    if not isinstance(nodes, list) or not all(isinstance(n, str) for n in nodes):
        raise ValueError("nodes are not named")
    if not nodes or len(set(nodes)) != len(nodes):
        raise ValueError("nodes have no names, or one name twice")
    if slot is not None and (type(slot) is not int or not 0 < slot < 2**62):
        raise ValueError("slot is no length of time")
    if not isinstance(version, str) or not isinstance(parts, list) or not parts:
        raise ValueError("version or conditions are missing")
    conditions: dict[str, FittedField] = {}
    for k, words in enumerate(parts):
        name = words.get("name") if isinstance(words, dict) else None
        if not isinstance(name, str) or name in conditions:
            raise ValueError("a condition has no name of its own")
        front = f"{k}_"
        own = {key.removeprefix(front): a for key, a in arrays.items() if key.startswith(front)}
        conditions[name] = unpack(words, own, len(nodes))
    "".join([*nodes, *conditions, version]).encode()  # half a character is no name
    return {"conditions": conditions, "nodes": tuple(nodes), "slot": slot, "version": version}


def pack(part: FittedField) -> tuple[dict[str, Any], dict[str, Array]]:
    """The numbers and words of a fitted field, and its arrays, all float64."""
    view, field = part.view, part.field
    upper = np.triu_indices(field.rank + 1)
    arrays = {
        "order": view.order.astype(np.float64),
        "centre": view.scaling.center,
        "scale": view.scaling.scale,
        "level": field.level,
        "loadings": field.loadings,
        "mean_loading": field.mean_loading,
        "relevance": field.relevance,
        "doubt": field.doubt[:, upper[0], upper[1]],  # symmetric: half of it is enough
        "phi": field.phi,
        "blur": field.blur,
        "own_phi": field.nodes.phi,
        "own_innovation": field.nodes.innovation,
        "own_noise": field.nodes.noise,
    }
    for name, honest in ("here", part.honest), ("later", part.later):
        arrays |= _pack_honest(name, honest)
    words: dict[str, Any] = {
        "unit": part.unit,
        "quantity": part.quantity,
        "level": part.level,
        "choice": part.choice,
        "start": part.start,
        "sign": view.sign,
        "rank": field.rank,
        "company": part.company,
        "fitted_on": {f.name: getattr(part.fitted_on, f.name) for f in fields(FittedOn)},
        "screen": _pack_screen(part.screen, arrays),
    }
    if part.second is not None:
        arrays |= _pack_second(part.second)
        words["second_periods"] = list(part.second.periods)
    if part.routine is not None:
        arrays |= _pack_beside("routine", part.routine.field)
        arrays["routine_course"] = part.routine.course.values
        words["routine"] = list(part.routine.lengths)
        words["routine_believed"] = part.routine.believed
    if part.levels is not None:
        arrays |= _pack_beside("levels", part.levels.field)
        arrays["levels_lean"] = part.levels.lean.weight
    if part.unheard:
        words["unheard"] = list(part.unheard)
    if view.course is not None:
        arrays["course"], words["course"] = view.course.values, view.course.said
        if view.course.ways is not None:
            words["kinds"] = _pack_ways(view.course.ways, arrays)
    if view.power != PLAIN:
        words["power"] = [view.power.p, view.power.c]
    if part.live is not None:
        words["gate"] = part.live.gate
        arrays["live_centres"] = part.live.calibration.centres
        arrays["live_factor"] = part.live.calibration.factor
    return words, arrays


def _pack_ways(ways: Ways, arrays: dict[str, Array]) -> dict[str, float]:
    arrays["kinds_courses"], arrays["kinds_usual"] = ways.courses, ways.usual
    return {"border": ways.border, "doubt": ways.doubt, "far": ways.far}


def _pack_honest(name: str, honest: Honest) -> dict[str, Array]:
    arrays = {
        f"{name}_to_common": honest.to_common.weight,
        f"{name}_to_line": honest.to_line.weight,
        f"{name}_to_second": honest.to_second.weight,
        f"{name}_calibration_centres": honest.calibration.centres,
        f"{name}_calibration_factor": honest.calibration.factor,
        f"{name}_wider_levels": honest.calibration.wider.levels,
        f"{name}_wider_factor": honest.calibration.wider.factor,
    }
    if honest.to_routine is not None:
        arrays[f"{name}_to_routine"] = honest.to_routine.weight
    return arrays if honest.apart is None else arrays | _pack_honest(f"{name}_apart", honest.apart)


def _pack_beside(name: str, field: Field) -> dict[str, Array]:
    """A field beside the model's own: intervals are the latter's."""
    return {
        f"{name}_level": field.level,
        f"{name}_loadings": field.loadings,
        f"{name}_phi": field.phi,
        f"{name}_own_phi": field.nodes.phi,
        f"{name}_own_innovation": field.nodes.innovation,
        f"{name}_own_noise": field.nodes.noise,
    }


def _pack_second(second: Second) -> dict[str, Array]:
    own = second.nodes
    return {
        "second_like": second.like.astype(np.float64),
        "second_centre": second.centre,
        "second_size": second.size,
        "second_level": second.level,
        "second_penalty": second.penalty,
        "second_slope": second.slope,
        "second_able": second.able.astype(np.float64),
        "second_phi": own.phi,
        "second_innovation": own.innovation,
        "second_noise": own.noise,
    }


def _pack_screen(screen: Screen, arrays: dict[str, Array]) -> dict[str, Any]:
    if isinstance(screen, DistanceScreen):
        arrays["threshold"] = screen.threshold
        return {"kind": "distance", "slack": screen.slack, "events": screen.events}
    rules = []
    for i, rule in enumerate((screen.first, screen.second)):
        for j, law in enumerate(rule.laws):
            arrays |= {f"jumps_{i}_{j}_{name}": getattr(law, name) for name in _LAW}
        laws = [{"freedom": law.freedom, "width": law.width} for law in rule.laws]
        facts = {"rates": list(rule.rates), "more": list(rule.more), "events": rule.events}
        rules.append(facts | {"laws": laws})
    return {"kind": "jumps", "rules": rules}


def unpack(words: Any, arrays: dict[str, Array], nodes: int) -> FittedField:
    """A fitted field of so many nodes; ValueError says what is wrong with it."""
    got = Given(words, arrays, nodes)
    rank = got.count("rank", most=nodes)
    level = got.number("level", lambda x: 0 < x < 1)
    return FittedField(
        view=_view(got),
        field=_field(got, rank),
        screen=_screen(got),
        second=_second(got) if "second_like" in got.arrays else None,
        honest=_honest(got, "here"),
        later=_honest(got, "later"),
        level=level,
        choice=got.text("choice"),
        start=got.text("start"),
        fitted_on=_fitted_on(got.inner("fitted_on")),
        unit=got.text("unit"),
        quantity=got.word("quantity", (dict, type(None))),
        live=_live(got) if "gate" in got.words else None,
        unheard=_unheard(got),
        routine=_routine(got) if "routine" in got.words else None,
        levels=_levels(got) if "levels_lean" in got.arrays else None,
        company=got.number("company", lambda x: x >= 0) if "company" in got.words else 0.0,
    )


def _unheard(got: Given) -> tuple[int, ...]:
    columns = got.word("unheard", list) if "unheard" in got.words else []
    if not all(type(n) is int and 0 <= n < got.nodes for n in columns) or (
        len(set(columns)) != len(columns) or len(columns) == got.nodes
    ):
        raise ValueError("unheard are no nodes of the model")
    return tuple(columns)


def _live(got: Given) -> Live:
    return Live(_calibration(got, "live"), got.number("gate", lambda x: x > 0))


def _view(got: Given) -> View:
    order = got.array("order", (got.nodes,))
    if not np.array_equal(np.sort(order), np.arange(got.nodes)):
        raise ValueError("order is no order of the nodes")
    course = None
    if "course" in got.arrays:
        period = got.arrays["course"].shape[-1]
        values = got.array("course", (got.nodes, max(period, 1)))
        ways = _ways(got.inner("kinds"), period) if "kinds" in got.words else None
        course = Course(values, got.text("course"), ways)
    scaling = Scaling(got.array("centre", (got.nodes,)), got.positive("scale", (got.nodes,)))
    sign = got.number("sign", lambda x: x in (-1.0, 1.0))
    return View(order.astype(np.intp), sign, scaling, course, _power(got))


def _ways(got: Given, period: int) -> Ways:
    count, week = (*got.array("kinds_usual", None).shape, 0)[:2]
    if not count or not week:
        raise ValueError("kinds_usual are of the wrong shape")
    return Ways(
        got.array("kinds_courses", (count, got.nodes, period)),
        got.array("kinds_usual", (count, week)),
        got.count("border", period - 1),
        got.number("doubt", lambda x: x > 0),
        got.number("far", lambda x: x > 0),
    )


def _power(got: Given) -> Power:
    found = got.word("power", list) if "power" in got.words else [1.0, 0.0]
    if len(found) != 2:
        raise ValueError("power is no pair of numbers")
    p, c = found
    return Power(
        got.of({"p": p}).number("p", lambda x: 0.1 <= x <= 1),
        got.of({"c": c}).number("c", lambda x: x >= 0),
    )


def _field(got: Given, rank: int) -> Field:
    n, upper = got.nodes, np.triu_indices(rank + 1)
    doubt = np.zeros((n, rank + 1, rank + 1))
    packed = got.array("doubt", (n, len(upper[0])))
    doubt[:, upper[0], upper[1]] = doubt[:, upper[1], upper[0]] = packed
    nothing = np.zeros((rank, 0))
    return Field(
        level=got.array("level", (n,)),
        loadings=got.array("loadings", (n, rank)),
        mean_loading=got.array("mean_loading", (rank,)),
        relevance=got.positive("relevance", (rank,)),
        doubt=doubt,
        phi=got.within("phi", (rank,), _STEADIEST),
        nodes=NodeModel(
            got.within("own_phi", (n,), _STEADIEST),
            got.positive("own_innovation", (n,)),
            got.positive("own_noise", (n,)),
        ),
        factors=nothing,
        deviation=nothing,
        blur=got.array("blur", (rank, rank)),
    )


def _honest(got: Given, name: str) -> Honest:
    routine = f"{name}_to_routine"
    return Honest(
        Lean(got.within(f"{name}_to_common", (CLASSES,), 1.0)),
        Lean(got.within(f"{name}_to_line", (CLASSES,), 1.0)),
        Lean(got.within(f"{name}_to_second", (CLASSES,), 1.0)),
        replace(_calibration(got, f"{name}_calibration"), wider=_widening(got, f"{name}_wider")),
        Lean(got.within(routine, (CLASSES,), 1.0)) if routine in got.arrays else None,
        _honest(got, f"{name}_apart") if f"{name}_apart_to_line" in got.arrays else None,
    )


def _routine(got: Given) -> Routine:
    lengths = _periods(got, "routine")
    if not lengths:
        raise ValueError("routine has no periods")
    field = _beside(got, "routine")
    course = Course(got.array("routine_course", (got.nodes, max(lengths))), "")
    believed = got.number("routine_believed", lambda x: 0 <= x <= 1)
    return Routine(course, field, lengths, believed)


def _levels(got: Given) -> Levels:
    return Levels(_beside(got, "levels"), Lean(got.within("levels_lean", (CLASSES,), 1.0)))


def _beside(got: Given, name: str) -> Field:
    n, loadings = got.nodes, got.array(f"{name}_loadings", None)
    rank = loadings.shape[-1] if loadings.ndim == 2 else -1
    if loadings.shape != (n, rank):
        raise ValueError(f"{name}_loadings are of the wrong shape")
    factors, nothing = np.zeros((rank, 0)), np.zeros(rank)
    return Field(
        level=got.array(f"{name}_level", (n,)),
        loadings=loadings,
        mean_loading=nothing,
        relevance=nothing + 1.0,
        doubt=np.zeros((n, rank + 1, rank + 1)),  # intervals are the model's own
        phi=got.within(f"{name}_phi", (rank,), _STEADIEST),
        nodes=NodeModel(
            got.within(f"{name}_own_phi", (n,), _STEADIEST),
            got.positive(f"{name}_own_innovation", (n,)),
            got.positive(f"{name}_own_noise", (n,)),
        ),
        factors=factors,
        deviation=factors,
        blur=np.zeros((rank, rank)),
    )


def _second(got: Given) -> Second:
    n = got.nodes
    count = min(LIKE, n - len(_unheard(got)) - 1)
    periods = _periods(got, "second_periods") if "second_periods" in got.words else ()
    like = got.within("second_like", (n, count), n - 1)
    able = got.within("second_able", (n,), 1.0)
    if (like % 1 != 0).any() or (able % 1 != 0).any():
        raise ValueError("second_like and second_able must be whole numbers")
    return Second(
        like=like.astype(np.intp),
        centre=got.array("second_centre", (n,)),
        size=got.positive("second_size", (n,)),
        level=got.array("second_level", (n,)),
        penalty=got.within("second_penalty", (n,), np.inf),
        slope=got.array("second_slope", (n, count * len(LAGS) + 1 + len(periods))),
        able=able.astype(np.bool_),
        nodes=NodeModel(
            got.within("second_phi", (n,), _STEADIEST),
            got.positive("second_innovation", (n,)),
            got.positive("second_noise", (n,)),
        ),
        periods=periods,
    )


def _periods(got: Given, name: str) -> tuple[int, ...]:
    lengths = got.word(name, list)
    if not all(type(n) is int and 1 < n < 2**40 for n in lengths):
        raise ValueError(f"{name} are no numbers of slots")
    return tuple(lengths)


def _calibration(got: Given, name: str) -> Calibration:
    centres = _rising(got, f"{name}_centres")
    return Calibration(centres, got.within(f"{name}_factor", centres.shape, np.inf))


def _widening(got: Given, name: str) -> Widening:
    """Of files that earlier versions wrote: none."""
    if f"{name}_levels" not in got.arrays:
        return Widening()
    levels = _rising(got, f"{name}_levels")
    return Widening(levels, got.positive(f"{name}_factor", levels.shape))


def _rising(got: Given, name: str) -> Array:
    values = got.array(name, None)
    if values.ndim != 1 or not values.size or (np.diff(values) < 0).any():
        raise ValueError(f"{name} must rise")
    return values


def _screen(got: Given) -> Screen:
    words = got.inner("screen")
    kind = words.text("kind")
    if kind == "distance":
        slack = words.number("slack", lambda x: x >= 1) if "slack" in words.words else 1.0
        events = words.words.get("events") is True
        return DistanceScreen(got.positive("threshold", (got.nodes,)), slack, events)
    rules = words.word("rules", list)
    if kind != "jumps" or len(rules) != 2:
        raise ValueError("screen is of no known kind")
    return JumpScreen(*(_rule(words.of(rule), i) for i, rule in enumerate(rules)))


def _rule(words: Given, i: int) -> Rule:
    laws, rates = words.word("laws", list), words.word("rates", list)
    if len(laws) != 2 or len(rates) != 2:
        raise ValueError("a rule needs two laws and two rates")
    more = words.word("more", list) if "more" in words.words else [0.0, 0.0]
    if len(more) != 2:
        raise ValueError("a rule needs two kinds of evidence")
    single, longer = (words.of({"rate": r}).number("rate", lambda x: 0 < x < 1) for r in rates)
    needed = tuple(words.of({"more": m}).number("more", lambda x: x >= 0) for m in more)
    return Rule(
        tuple(_law(words.of(law), f"jumps_{i}_{j}") for j, law in enumerate(laws)),
        (single, longer),
        (needed[0], needed[1]),
        words.words.get("events") is True,
    )


def _law(words: Given, name: str) -> JumpLaw:
    n = words.nodes
    rise = words.positive(f"{name}_rise", None)
    if rise.ndim != 1 or not rise.size:
        raise ValueError(f"{name}_rise must be a row of numbers")
    return JumpLaw(
        scale=words.positive(f"{name}_scale", (n,)),
        rise=rise,
        freedom=words.number("freedom", lambda x: x > 0),
        width=words.number("width", lambda x: x > 0),
        centre=words.array(f"{name}_centre", (n,)),
        spread=words.positive(f"{name}_spread", (n,)),
    )


def _fitted_on(words: Given) -> FittedOn:
    first, last = (words.word(name, (int, type(None))) for name in ("first", "last"))
    return FittedOn(words.count("rows"), words.count("readings"), words.text("sha256"), first, last)
