"""The field model from factors and flags found slot by slot, if hidden readings come out better.

Flags by distance know one limit a node. Where noise grows with the level (counts, traffic), that
limit cuts peaks off, which come back every morning and are what a lost morning was. So these flags
have to pay, too: if hidden readings come out no worse without any, nothing is flagged. (Wider
limits instead let small faults in: hidden readings do not see what those do to the rest.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.core.prox import Mask
from fieldmend.field.joined import joined
from fieldmend.field.mixture import mixture_start
from fieldmend.field.model import Data, Field, improve, update_factors
from fieldmend.field.screens import DistanceScreen
from fieldmend.field.trials import Trial, judged

_BETTER = 0.97  # it has to lower the error on hidden readings by this factor
_TELLING = 30  # readings hidden in company, to tell which start is better
_ALL = 1e9  # times the limit of the flags: nothing is as far off
_FAR = 4.0  # times the nineteenth twentieth: an error beyond counts as this large


@dataclass(frozen=True)
class Start:
    """Flags of all readings, the field fitted without them and the hidden ones; what came of it."""

    false: Mask
    field: Field
    screen: DistanceScreen
    trial: Trial


def slotwise(
    data: Data, hidden: Mask, known: Trial, rng: np.random.Generator, seed: int
) -> Start | None:
    """The start from slots, fitted without the hidden readings.

    None unless these come out clearly better than they did (`known`).
    """
    shown = data.using(data.used & ~hidden)
    false, first, threshold = mixture_start(shown, data, seed=seed)

    def tried(false: Mask, slack: float) -> Start:
        rest = shown.using(shown.used & ~false)
        field = improve(first, rest, rng, rounds=3)
        field = update_factors(field, rest, rng, tol=1e-3, most=20)
        screen = DistanceScreen(threshold, slack, events)
        return Start(false, field, screen, judged(field, rest, data, hidden))

    spared, events = joined(false, data.readings - first.common(), data.used, data.readings)
    if events:
        false &= ~spared
    flagged = tried(false, 1.0)
    if not _better(flagged.trial, known):
        return None
    bare = tried(np.zeros_like(false), _ALL) if false.any() else flagged
    chosen = flagged if _pays(flagged.trial, bare.trial) else bare
    return chosen if _better(chosen.trial, known) else None


def _pays(flagged: Trial, bare: Trial) -> bool:
    """True if hidden readings come out better with the flags than without any."""
    errors = [np.abs(one.truth - one.model) for one in (flagged, bare)]
    far = _FAR * float(np.quantile(errors[0], 0.95))
    with_them, without = (float((np.minimum(own, far) ** 2).mean()) for own in errors)
    return with_them < without


def _better(other: Trial, first: Trial) -> bool:
    """True if hidden readings come out clearly better: all of them, and those in company.

    Most of what is hidden in a silence of the network is one witness, right or wrong.
    """
    company = first.outage < 0
    every = np.ones_like(company)
    views = (every, company) if company.sum() >= _TELLING else (every,)
    return all(_error(other, view) < _BETTER * _error(first, view) for view in views)


def _error(trial: Trial, of: Mask) -> float:
    """Mean square error on hidden readings, the worst twentieth left out: some are anomalies."""
    square = np.sort((trial.truth - trial.model)[of] ** 2)
    return float(np.sqrt(square[: max(1, int(0.95 * square.size))].mean())) if square.size else 0.0
