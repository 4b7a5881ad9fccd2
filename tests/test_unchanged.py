"""Nothing changes unnoticed: what small networks give is what was written down.

After a change that is meant: `python tests/unchanged --write`, and look at what it prints. Left to
`make check-long`: what hangs by a hair (a choice between two factors, a flag at its threshold) may
fall the other way where another processor rounds otherwise.
"""

import numpy as np
import pytest

from unchanged import kept
from unchanged.account import told

EVERY = [(package, name) for package in kept.PACKAGES for name in kept.cases(package)]


@pytest.mark.long
@pytest.mark.unchanged
@pytest.mark.parametrize(("package", "name"), EVERY)
def test_small_networks_give_what_was_written_down(package, name):
    found = kept.differences(kept.stored(package)[name], kept.account(package, name))
    assert not found, "\n".join([*found[:20], "if it is meant: python tests/unchanged --write"])


def test_nothing_is_written_down_that_nobody_asks_for():
    for package in kept.PACKAGES:
        assert set(kept.stored(package)) == set(kept.cases(package))


@pytest.mark.parametrize("now", [np.array([[1.0, 2.0], [3.0, 4.001]]), np.array([[1.0], [3.0]]),
                                 np.array([[1.0, 2.0], [np.nan, 4.0]])])  # fmt: skip
def test_an_array_that_changed_is_seen(now):
    was = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert kept.differences(told(was), told(now))
    assert not kept.differences(told(was), told(was * (1 + 1e-9)))


def test_a_word_a_mark_and_a_field_that_changed_are_seen():
    was = {"said": "yes", "marks": np.array([True, False]), "size": 2.5}
    for now in ({"said": "no"}, {"marks": np.array([True, True])}, {"size": 2.6}, {"more": 1}):
        assert kept.differences(told(was), told(was | now))
