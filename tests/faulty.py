"""Networks with faults put in, and what the search says of them."""

from dataclasses import replace

import numpy as np

import fieldmend as fm
from fieldmend import faults

HOUR = 3_600_000_000
SLOT = HOUR // 12
START = 1_078_358_400_000_000  # 4 March 2004
NODES = 20


def readings(slots=600, nodes=NODES, *, seed=0, noise=0.1, spread=1.0):
    """A clean temperature-like network without loss."""
    rng = np.random.default_rng(seed)
    field = fm.simulate.climate_field(slots, nodes, seed=seed) * spread
    return field + noise * rng.standard_normal(field.shape)


def context(X, **more):
    slots, nodes = X.shape
    labels = faults.Context(
        nodes=[f"n{i}" for i in range(nodes)],
        times=START + SLOT * np.arange(slots),
        slot=SLOT,
        condition="temperature",
        unit="°C",
    )
    return replace(labels, **more)


def diagnose(X, labels=None):
    """As the recovery does: mask, estimate, flag, classify."""
    labels = labels or context(X)
    lasting = faults.persistent(X, labels)
    estimate = fm.decompose(np.where(lasting, np.nan, X)).estimate
    suspect = faults.spikes(X, estimate, lasting) | lasting
    return faults.classify(X, estimate, suspect, labels, lasting), suspect


def of(episodes, node):
    return [e for e in episodes if e.node == node and e.kind != "event"]


def stuck(X, node, part):
    X[part, node] = X[part.start, node]


def drift(X, node, part):
    X[part, node] += np.linspace(0, 8, part.stop - part.start)


def bias(X, node, part):
    X[part, node] += 6.0


def dead(X, node, part):
    ramp = np.linspace(0, 80, part.stop - part.start)
    X[part, node] = np.minimum(X[part, node] + ramp, 90.0)


def burst(X, node, part):
    X[part, node] += np.random.default_rng(9).normal(0, 4, part.stop - part.start)


FAULTS = {
    "stuck": (stuck, slice(200, 300)),
    "drift": (drift, slice(250, 400)),
    "bias": (bias, slice(250, 400)),
    "dead": (dead, slice(400, 600)),
    "noisy": (burst, slice(200, 300)),
}


def labels_of(net, **more):
    names = [f"n{i}" for i in range(net.readings.shape[1])]
    places = {
        name: {"x": float(x), "y": float(y)} for name, (x, y) in zip(names, net.at, strict=True)
    }
    times = START + net.slot * np.arange(len(net.readings))
    return faults.Context(nodes=names, places=places, slot=net.slot, times=times, **more)
