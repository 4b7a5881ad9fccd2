"""A node leaves its level for good: is it flagged from then on, or for the time before?

The simulated kinds of `jury` with what `jury` loses of them; one node reads eight of its standard
deviations too high or too low from some part of the record on (``two``: two nodes from different
parts on), or until then (``begin``), from a tenth to nine tenths of it (``middle``), or by more and
more from its first reading to its last (``ramp``; its first third counts as neither). ``found``:
percent of the false readings that the search for lasting faults marks, ``true``: of the true
readings of all nodes, means over kinds and seeds. Seeds 1001 to 1006 and 2001 to 2003 were looked
at while the rules were written, 3001 to 3003 were not.

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
# Which part of the record is false, of each of the nodes that leave.
CASES = {
    "from a fifth on": ((0.2, 1.0),),
    "from half on": ((0.5, 1.0),),
    "two": ((0.2, 1.0), (0.3, 1.0)),
    "begin": ((0.0, 0.2),),
    "middle": ((0.1, 0.9),),
    "ramp": ((0.0, 1.0),),
}
SIZE = 8.0
UNTOLD = 1 / 3


def broken(rng: Rng, X: Array, case: str) -> tuple[Array, Array, Array]:
    """Readings with the fault, which of them are false, and which nobody could tell."""
    Y, false = X.copy(), np.zeros(X.shape, dtype=bool)
    untold = false.copy()
    for node, (begin, end) in zip(rng.permutation(X.shape[1]), CASES[case], strict=False):
        rows = slice(int(begin * len(X)), int(end * len(X)))
        course = np.linspace(0, 1, len(X)) if case == "ramp" else np.ones(len(X))
        Y[rows, node] += (rng.choice([-1, 1]) * SIZE * X[:, node].std() * course)[rows]
        false[rows, node] = True
        untold[:, node] = course < UNTOLD
    return Y, false & ~untold, untold


def asked(kind: str, seed: int, case: str) -> tuple[float, float]:
    """Percent of the false and of the true readings that are marked."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    net = NETWORKS[kind](rng)
    gone = lost(rng, net)
    Y, false, untold = broken(rng, net.readings, case)
    Y[gone] = np.nan
    marks = faults.persistent(Y, faults.Context(slot=net.minutes * 60_000_000))
    true = ~false & ~untold & ~gone
    return 100 * float(marks[false & ~gone].mean()), 100 * float(marks[true].mean())


def main(words: list[str]) -> int:
    kinds = words[0].split(",") if words else list(NETWORKS)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, seeds in SEEDS.items():
            for case in CASES:
                told = [asked(kind, seed, case) for kind in kinds for seed in seeds]
                found, true = np.mean(told, axis=0)
                rows.append(
                    {
                        "off": case,
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
