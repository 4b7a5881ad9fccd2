"""One corrupted node leaves the others alone; one absurd reading, everything."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import fieldmend as fm


def examples(count):
    """The same ones in every run; a recipe is simple enough, so no time goes into simpler ones."""
    phases = [Phase.explicit, Phase.generate]
    return settings(max_examples=count, deadline=None, derandomize=True, phases=phases)


recipes = st.fixed_dictionaries(
    {
        "slots": st.integers(80, 140),
        "nodes": st.integers(20, 30),
        "field": st.sampled_from(["low_rank", "temperature"]),
        "rank": st.integers(1, 4),
        "sampling": st.floats(0.75, 1.0),
        "noise": st.floats(0.1, 1.0),
        "anomaly_rate": st.floats(0.0, 0.05),
        "seed": st.integers(0, 2**16),
    }
)


def spread(X):
    """Robust size of each node's variation."""
    sizes = []
    for x in X.T:
        x = x[~np.isnan(x)]
        sizes.append(1.4826 * np.median(np.abs(x - np.median(x))))
    return np.array(sizes)


# What a broken node may send instead of its own readings (their number, middle and size known).
BROKEN = {
    "huge": lambda rng, own, middle, size: 1e6 * rng.normal(size=len(own)),
    "1e30": lambda rng, own, middle, size: np.full(len(own), 1e30),
    "random 1e30": lambda rng, own, middle, size: 1e30 * rng.normal(size=len(own)),
    "1e308": lambda rng, own, middle, size: 1e308 * (-1.0) ** np.arange(len(own)),
    "random 1e308": lambda rng, own, middle, size: 1e308 * rng.choice([-1.0, 1.0], len(own)),
    "plausible": lambda rng, own, middle, size: middle + size * rng.normal(size=len(own)),
    "constant": lambda rng, own, middle, size: np.full(len(own), middle),
    "zero": lambda rng, own, middle, size: np.zeros(len(own)),
    "alternating": lambda rng, own, middle, size: middle + size * (-1.0) ** np.arange(len(own)),
    "far alternating": lambda rng, own, middle, size: 1e9 * (-1.0) ** np.arange(len(own)),
    "heavy tails": lambda rng, own, middle, size: rng.standard_cauchy(len(own)),
    "shuffled": lambda rng, own, middle, size: rng.permutation(own),
    "half 1e30": lambda rng, own, middle, size: np.where(rng.random(len(own)) < 0.5, own, 1e30),
}


@pytest.mark.parametrize("kind", BROKEN)
@examples(5)
@given(recipe=recipes, seed=st.integers(0, 99), debias=st.booleans())
def test_one_corrupted_node_leaves_the_others_alone(kind, recipe, seed, debias):
    """Of 20 or more: the others move by 5 % of their scale at most (root mean square)."""
    X, rng = fm.simulate.network(**recipe).readings, np.random.default_rng(seed)
    scale, broken = spread(X), int(rng.integers(X.shape[1]))
    heard = ~np.isnan(X[:, broken])
    own = X[heard, broken]
    Y = X.copy()
    Y[heard, broken] = BROKEN[kind](rng, own, np.median(own), scale[broken])
    options = {"debias": debias, "max_iter": 20_000}
    clean, hurt = fm.decompose(X, **options), fm.decompose(Y, **options)
    others = np.arange(X.shape[1]) != broken
    moved = ((hurt.estimate - clean.estimate) / scale)[:, others]
    assert np.sqrt((moved**2).mean()) <= 0.05
    assert np.isfinite(hurt.estimate).all()
    assert np.isfinite(hurt.sparse).all()


@examples(20)
@given(
    recipe=recipes,
    value=st.sampled_from([1e3, -1e4, 1e30, -1e30, 1e300, 1.7e308, -1.7e308]),
    seed=st.integers(0, 99),
    debias=st.booleans(),
)
def test_one_absurd_reading_moves_nothing_and_is_flagged(recipe, value, seed, debias):
    net, rng = fm.simulate.network(**recipe), np.random.default_rng(seed)
    X, Y = net.readings, net.readings.copy()
    t, n = rng.choice(np.argwhere(net.observed))
    Y[t, n] = value
    options = {"debias": debias, "max_iter": 20_000}
    clean, hurt = fm.decompose(X, **options), fm.decompose(Y, **options)
    moved = (hurt.estimate - clean.estimate) / spread(X)
    assert np.sqrt((moved**2).mean()) <= 0.05
    assert hurt.sparse[t, n] != 0
    assert abs(hurt.sparse[t, n] / value - 1) < 0.2
