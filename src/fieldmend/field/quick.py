"""Hidden readings by quick fits: enough to compare scales, at a small part of a fit's cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.fitting import quick_field
from fieldmend.field.flags import first_channels, learn
from fieldmend.field.holdout import Holdout, calibrate, draw_hidden
from fieldmend.field.model import Data
from fieldmend.field.scaling import node_scaling, scaled
from fieldmend.field.trials import Trial, judged

_ROUNDS, _HIDDEN = 2, 0.2  # so often so many readings are hidden


@dataclass(frozen=True)
class Tried:
    """Hidden readings and what became of them; which of them jump out, and may be false."""

    holdout: Holdout
    jumps: Mask


def tried_quickly(X: Array, observed: Mask, *, level: float, seed: int) -> Tried | None:
    """Readings are hidden, of the rest what jumps out is left out, and the field is fitted.

    The same readings of the same seed are hidden on every scale, those that jump out on it among
    them: a flood does so on one scale and not on another. Rows of a later round count on from those
    before. None if nothing can be hidden.
    """
    scaling = node_scaling(X, observed)
    used = np.ascontiguousarray(observed.T)
    data = Data(scaled(X, observed, scaling), used, np.arange(len(X), dtype=np.intp))
    rng = np.random.default_rng([seed, 17])
    drawn = [draw_hidden(used, ~used, _HIDDEN, rng) for _ in range(_ROUNDS)]
    false = learn(first_channels(data), used, data.slots)[0]
    clean = data.using(used & ~false)
    trials, jumps = [], []
    for k, hidden in enumerate(drawn):
        rest = clean.using(clean.used & ~hidden)
        if hidden.any() and rest.used.any():
            one = judged(quick_field(rest, seed), rest, data, hidden)
            jumps.append(false[one.node, one.slot])
            trials.append(replace(one, slot=one.slot + k * len(X)))
    if not trials:
        return None
    found = Trial.pooled(trials)
    z = np.abs(found.truth - found.model) / found.sd
    half = found.sd * calibrate(z, found.remote, found.run, level).at(found.remote)
    scale, centre = scaling.scale[found.node], scaling.center[found.node]
    truth, mean, low, high = (
        end * scale + centre
        for end in (found.truth, found.model, found.model - half, found.model + half)
    )
    holdout = Holdout(found.slot, found.node, truth, mean, low, high, found.gap)
    return Tried(holdout, np.concatenate(jumps))
