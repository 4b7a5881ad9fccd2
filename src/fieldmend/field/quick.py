"""Hidden readings by quick fits: enough to compare scales, at a small part of a fit's cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fieldmend.core.prox import Array, Mask
from fieldmend.field.fitting import quick_field
from fieldmend.field.flags import first_channels, learn
from fieldmend.field.holdout import Holdout, calibrate, draw_hidden
from fieldmend.field.model import Data
from fieldmend.field.scaling import node_scaling, scaled
from fieldmend.field.trials import Trial, judged

_ROUNDS, _HIDDEN = 2, 0.2  # so often so many readings are hidden


def tried_quickly(X: Array, observed: Mask, *, level: float, seed: int) -> Holdout | None:
    """Readings that jump out left out, others hidden, the field fitted: what became of the hidden.

    The same readings of the same seed are hidden on every scale, but for those that jump out on one
    and not on another. Rows of a later round count on from those before. None if nothing can be
    hidden.
    """
    scaling = node_scaling(X, observed)
    used = np.ascontiguousarray(observed.T)
    data = Data(scaled(X, observed, scaling), used, np.arange(len(X), dtype=np.intp))
    rng = np.random.default_rng([seed, 17])
    drawn = [draw_hidden(used, ~used, _HIDDEN, rng) for _ in range(_ROUNDS)]
    false = learn(first_channels(data), used, data.slots)[0]
    clean = data.using(used & ~false)
    trials = []
    for k, hidden in enumerate(drawn):
        one = _tried(clean, hidden & clean.used, seed)
        if one is not None:
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
    return Holdout(found.slot, found.node, truth, mean, low, high, found.gap)


def _tried(clean: Data, hidden: Mask, seed: int) -> Trial | None:
    rest = clean.using(clean.used & ~hidden)
    if not hidden.any() or not rest.used.any():
        return None
    return judged(quick_field(rest, seed), rest, clean, hidden)
