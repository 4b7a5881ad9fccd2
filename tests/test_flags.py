"""The search for segments that jump out and back: what is not looked at could not have passed."""

import numpy as np

from fieldmend.field import flags
from fieldmend.field.jumps import Readings, fit_jumps


def scorer(seed, nodes=4, slots=150):
    rng = np.random.default_rng(seed)
    values = rng.standard_t(2, size=(nodes, slots)).cumsum(axis=1)
    used = rng.random(values.shape) < 0.8
    values[rng.random(values.shape) < 0.03] += 40.0
    at = Readings.where(used, np.arange(slots))
    return flags._Scorer(values[used], at, fit_jumps(values[used], at, nodes))


def pairs(own):
    """All pairs of odd boundaries of one node that are near enough, written out."""
    place = np.flatnonzero(own.odd).tolist()
    for i in place:
        for j in place:
            ends = int(own.inner[i]) + int(own.inner[j])
            longest = (0, 30, 80)[ends]
            if 0 < j - i <= longest and own.at.node[i] == own.at.node[j - 1]:
                yield i, j


def test_pairs_that_are_left_out_could_not_pass_whatever_the_rates():
    for seed, slack in ((1, 0.0), (2, 6.0)):
        own = scorer(seed)
        every, kept = (
            set(pairs(own)),
            set(zip(*map(np.ndarray.tolist, own.pairs(slack)), strict=True)),
        )
        assert kept <= every
        assert 0 < len(kept) < len(every)
        start, end = np.array(sorted(every - kept)).T
        best = flags._prior(flags._HIGHEST)[end - start]
        assert (own.most(start, end) + slack + best <= 0).all()
