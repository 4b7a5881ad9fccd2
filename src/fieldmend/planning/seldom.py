"""Two rules for false readings where messages come seldom: a node's past objects, or does not.

Over the gaps of a schedule nodes wander far, and a node's own past says little of what is usual
there. Whether it may still object to calling a reading false depends on how many are: what was not
sent decides between the two rules, schedule by schedule.
"""

from __future__ import annotations

from dataclasses import replace

from fieldmend.field.fieldmodel import FieldModel
from fieldmend.field.fitted import FittedField
from fieldmend.field.jumps import JumpLaw
from fieldmend.field.screens import JumpScreen


def both_rules(model: FieldModel) -> tuple[FieldModel, ...]:
    """The model as it is, which heeds a node's past, and one that does not."""
    parts = {name: _unheeding(part) for name, part in model.conditions.items()}
    return model, replace(model, conditions=parts)


def _unheeding(part: FittedField) -> FittedField:
    """To the law of neighbouring readings every jump over a gap is odd: it objects to nothing."""
    screen = part.screen
    if not isinstance(screen, JumpScreen):
        return part
    departure, *past = screen.second.laws
    second = replace(screen.second, laws=(departure, *map(_of_neighbours, past)))
    return replace(part, screen=replace(screen, second=second))


def _of_neighbours(law: JumpLaw) -> JumpLaw:
    return replace(law, rise=law.rise[:1])
