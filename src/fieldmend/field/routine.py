"""The usual course of the day where the whole network is silent.

While others are heard they say how a node goes on. In an outage of the whole network they are as
silent as the node, and nothing is left but how things usually go on: towards the level, and along
the usual course of the day. So the model is fitted a second time, to what that course leaves; how
much of it counts in such slots, readings hidden in such slots decide (`honest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.field.cycles import Course, layered_course, without
from fieldmend.field.model import Data, Field, estimate, follow, improve, update_factors
from fieldmend.field.outages import lasting_silence, silent_slots, usual_company
from fieldmend.field.trials import bridged, refitted

_TOL, _MOST = 1e-3, 40  # of conjugate gradients
_WORTH = 20  # lost entries in silences that last that make the usual course worth its time


@dataclass(frozen=True)
class Routine:
    """The same model fitted to what the usual course leaves: for slots without company."""

    course: Course
    field: Field  # with the factors of the slots that it was fitted to
    lengths: tuple[int, ...]
    believed: float  # share of the course's spread that is no chance

    @classmethod
    def learnt(
        cls, field: Field, clean: Data, lengths: Sequence[int], rng: np.random.Generator
    ) -> Routine | None:
        """From a fitted field; None where no outage, or no period, makes it worth while."""
        enough = tuple(lengths)
        silent = silent_slots(clean.used, usual_company(clean.used))
        if not enough:
            return None
        lasting = lasting_silence(silent, clean.slots, min(enough))
        if int(clean.lost[:, lasting].sum()) < _WORTH:
            return None
        course, believed = layered_course(clean, enough)
        rest = without(clean, course)
        field = bridged(improve(field, rest, rng, rounds=2), ~silent, rest.slots)
        field = update_factors(field, rest, rng, tol=_TOL, most=_MOST)
        return cls(course, field, enough, believed)

    def estimate(self, data: Data, factors: Array | None = None) -> Array:
        """The field at every entry, nodes × slots; `factors` if they are known already.

        Conjugate gradients from nothing go wrong where most is silent: they start from what the
        heard slots say, interpolated.
        """
        rest = without(data, self.course)
        field = replace(self.field, factors=np.zeros((self.field.rank, 0)))
        if factors is not None:
            field = replace(field, factors=factors)
        else:
            heard = rest.used.sum(axis=0)
            field = follow(field, rest, tol=_TOL, most=_MOST)
            field = bridged(field, heard >= np.median(heard) / 2, rest.slots)
        field = follow(field, rest, tol=_TOL, most=_MOST)
        return estimate(field, rest)[0] + self.course.at(data)

    @property
    def usual(self) -> float:
        """Its weight as long as no outage says anything of it: half and half, as far as it is."""
        return self.believed / 2

    def kept(self) -> Routine:
        """Without the factors of the slots that it was fitted to."""
        nothing = np.zeros((self.field.rank, 0))
        return replace(self, field=replace(self.field, factors=nothing, deviation=nothing))

    def again(self, every: Data, rest: Data) -> Array:
        """What it says if some readings are hidden, from itself and from the course."""
        course, _ = layered_course(rest, self.lengths)
        left = without(rest, course)
        rng = np.random.default_rng(len(rest.slots))
        field = refitted(self.field, without(every, course), left, rng)
        return estimate(field, left)[0] + course.at(rest)
