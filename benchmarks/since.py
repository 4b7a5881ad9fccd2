"""A node leaves its level for good: is it flagged from then on, or for the time before?

The simulated kinds of `jury` with what `jury` loses of them; one node reads eight of its standard
deviations too high or too low from some part of the record on (``two``: two nodes from different
parts on), or until then (``begin``). ``found``: percent of the false readings that the search for
lasting faults marks, ``true``: of the true readings of all nodes, means over kinds and seeds. Seeds
1001 to 1006 and 2001 to 2003 were looked at while the rule was written, 3001 to 3003 were not.

``python benchmarks/since.py wells,streets`` runs some kinds and stores nothing.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from fieldmend import faults
from jury_networks import NETWORKS, Array, Rng
from jury_trouble import lost
from table import write

SEEDS = {"looked at": (2001, 2002, 2003), "held back": (3001, 3002, 3003)}
# Where in the record each of the nodes that leave does so.
FROM = {"a fifth": (0.2,), "half": (0.5,), "two": (0.2, 0.3), "begin": (0.2,)}
SIZE = 8.0


def broken(rng: Rng, X: Array, case: str) -> tuple[Array, Array]:
    """Readings with the fault, and which of them are false."""
    Y, false = X.copy(), np.zeros(X.shape, dtype=bool)
    for node, part in zip(rng.permutation(X.shape[1]), FROM[case], strict=False):
        cut = int(part * len(X))
        rows = slice(0, cut) if case == "begin" else slice(cut, None)
        Y[rows, node] += rng.choice([-1, 1]) * SIZE * X[:, node].std()
        false[rows, node] = True
    return Y, false


def asked(kind: str, seed: int, case: str) -> tuple[float, float]:
    """Percent of the false and of the true readings that are marked."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    net = NETWORKS[kind](rng)
    gone = lost(rng, net)
    Y, false = broken(rng, net.readings, case)
    Y[gone] = np.nan
    marks = faults.persistent(Y, faults.Context(slot=net.minutes * 60_000_000))
    return 100 * float(marks[false & ~gone].mean()), 100 * float(marks[~false & ~gone].mean())


def main(words: list[str]) -> int:
    kinds = words[0].split(",") if words else list(NETWORKS)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, seeds in SEEDS.items():
            for case in FROM:
                told = [asked(kind, seed, case) for kind in kinds for seed in seeds]
                found, true = np.mean(told, axis=0)
                rows.append(
                    {
                        "off": f"from {case} on" if case not in ("two", "begin") else case,
                        "seeds": name,
                        "networks": len(told),
                        "found": f"{found:.0f}",
                        "true": f"{true:.2f}",
                    }
                )
                print("  ".join(map(str, rows[-1].values())), flush=True)
    if not words:
        write("since", rows, __doc__ or "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
