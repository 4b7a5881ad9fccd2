"""There are enough bad inputs: counted, so that none is lost without a word."""

import pytest

FEWEST = 250


def test_there_are_at_least_250_bad_inputs(request):
    here = [item for item in request.session.items if "/bad/" in item.path.as_posix()]
    if len({item.path for item in here}) < 6:
        pytest.skip("only a part of tests/bad is run")
    assert len(here) > FEWEST
