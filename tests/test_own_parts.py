"""Rounds of a fit share the nodes' own parts: made once, and the same bits as made afresh."""

from __future__ import annotations

import numpy as np
import pytest

from fieldmend.field import model


def data() -> model.Data:
    rng = np.random.default_rng(3)
    readings = rng.normal(size=(8, 200)).cumsum(axis=1) / 10 + rng.normal(size=200)
    used = rng.random(readings.shape) < 0.8
    return model.Data(np.where(used, readings, 0.0), used, np.arange(200))


def test_rounds_share_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    given = data()
    start = model.grow(model.start_field(given), given, 2)
    rng = np.random.default_rng(0)
    afresh = start
    for _ in range(3):
        afresh = model.improve(afresh, given, rng, rounds=1, nodes=False)
    made = []
    plain = model.Chains

    def counted(*parts: object) -> model.Chains:
        made.append(parts)
        return plain(*parts)  # type: ignore[arg-type]

    monkeypatch.setattr(model, "Chains", counted)
    shared = model.improve(start, given, np.random.default_rng(0), rounds=3, nodes=False)
    assert len(made) == 1
    np.testing.assert_array_equal(shared.factors, afresh.factors)
    np.testing.assert_array_equal(shared.loadings, afresh.loadings)
