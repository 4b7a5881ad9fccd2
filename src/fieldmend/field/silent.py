"""Nodes that were silent when a model was fitted: a place for them, as for an average node.

A model has one row of parameters a node, for all conditions the same nodes. One that was never
heard gets the middle of the others' parameters and the spread of their levels: its own part may be
anything that a node of this network is, and follows its readings when there are some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from fieldmend.core.problem import Scaling
from fieldmend.core.prox import Array, Mask
from fieldmend.field.chains import NodeModel
from fieldmend.field.fitted import FittedField
from fieldmend.field.flags import Rule
from fieldmend.field.model import Field
from fieldmend.field.record import View
from fieldmend.field.screens import JumpScreen, Screen
from fieldmend.field.second import Second


def with_silent(part: FittedField, heard: Mask) -> FittedField:
    """The same for all nodes: `heard` is True for those that the part was fitted on, in order."""
    silent = np.flatnonzero(~heard)
    if not len(silent):
        return part
    longer = partial(_longer, more=len(silent))
    levels = part.levels
    return replace(
        part,
        view=_view(part.view, heard, longer(part.view.scaling.center)),
        field=_field(part.field, longer),
        screen=_screen(part.screen, len(silent)),
        second=None if part.second is None else _second(part.second, len(silent)),
        unheard=tuple(silent.tolist()),
        joint=None,  # for the fitted record only, which it has left
        together=None,
        routine=None,
        levels=levels and replace(levels, field=_field(levels.field, longer)),
    )


def _field(field: Field, longer: Callable[[Array], Array]) -> Field:
    own = field.nodes
    return replace(
        field,
        level=longer(field.level),
        loadings=longer(field.loadings),
        doubt=longer(field.doubt),
        nodes=NodeModel(longer(own.phi), longer(own.innovation), longer(own.noise)),
    )


def _longer(array: Array, more: int) -> Array:
    """With as many more rows, the middle of those that are there."""
    middle = np.median(array, axis=0, keepdims=True)
    return np.concatenate([array, np.repeat(middle, more, axis=0)])


def _view(view: View, heard: Mask, center: Array) -> View:
    """Levels differ from node to node: the scale of a silent one covers that."""
    silent = np.flatnonzero(~heard)
    known = view.scaling
    apart = np.median(np.abs(known.center - np.median(known.center))) * 1.4826
    scale = np.hypot(np.median(known.scale), apart)
    course = view.course
    if course is not None:
        course = replace(course, values=_longer(course.values, len(silent)))
    if course is not None and course.ways is not None:
        courses = np.stack([_longer(one, len(silent)) for one in course.ways.courses])
        course = replace(course, ways=replace(course.ways, courses=courses))
    return replace(
        view,
        order=np.concatenate([np.flatnonzero(heard)[view.order], silent]),
        scaling=Scaling(center, np.concatenate([known.scale, np.full(len(silent), scale)])),
        course=course,
    )


def _screen(screen: Screen, more: int) -> Screen:
    longer = partial(_longer, more=more)

    def rule(one: Rule) -> Rule:
        laws = tuple(
            replace(
                law, scale=longer(law.scale), centre=longer(law.centre), spread=longer(law.spread)
            )
            for law in one.laws
        )
        return replace(one, laws=laws)

    if isinstance(screen, JumpScreen):
        return replace(screen, first=rule(screen.first), second=rule(screen.second))
    return replace(screen, threshold=longer(screen.threshold))


def _second(second: Second, more: int) -> Second:
    """A silent node is not regressed on others: it is not able to."""
    longer, own = partial(_longer, more=more), second.nodes
    return replace(
        second,
        like=np.concatenate([second.like, np.repeat(second.like[:1], more, axis=0)]),
        centre=longer(second.centre),
        size=longer(second.size),
        level=longer(second.level),
        penalty=longer(second.penalty),
        slope=longer(second.slope),
        able=np.concatenate([second.able, np.zeros(more, dtype=np.bool_)]),
        nodes=NodeModel(longer(own.phi), longer(own.innovation), longer(own.noise)),
    )
