"""A simulated sensor network, half of its readings lost and one in 25 false, recovered."""

from __future__ import annotations

import time

import numpy as np

import fieldmend as fm

METHODS = {
    "straight line": None,
    "matrix completion": {"method": "mc"},
    "paper's algorithm": {"method": "apg"},
    "fieldmend ls": {"method": "ls"},
    "fieldmend ls, debiased": {"method": "ls", "debias": True},
}


def main() -> None:
    net = fm.simulate.network(slots=500, nodes=54, sampling=0.5, anomaly_rate=0.04, seed=1)
    slots, nodes = net.readings.shape
    print(f"{nodes} nodes × {slots} slots, {net.lost.mean():.0%} of the readings lost, ", end="")
    print(f"{net.support.sum()} of the rest false\n")
    print(f"{'':24}{'typical error':>14}{'false found':>13}{'gap':>9}{'seconds':>9}")
    for name, options in METHODS.items():
        start = time.perf_counter()
        if options is None:
            estimate, found, gap = fm.metrics.interpolate(net.readings), None, ""
        else:
            out = fm.decompose(net.readings, **options)
            estimate, gap = out.estimate, f"{out.gap:.0e}"
            flagged = out.sparse != 0
            found = fm.metrics.detection(flagged, net.support, where=net.observed)
        seconds = time.perf_counter() - start
        error = np.abs(estimate - net.truth)[net.lost]
        score = f"F1 {found.f1:.2f}" if found is not None and flagged.any() else "–"
        print(f"{name:24}{np.median(error):>14.3f}{score:>13}{gap:>9}{seconds:>9.2f}")
    print("\ntypical error: median on the lost readings, in their unit (the noise is 0.5)")
    print("gap: proven distance from the optimum of the convex problem, relative")


if __name__ == "__main__":
    main()
