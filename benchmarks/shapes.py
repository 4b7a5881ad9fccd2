"""What a reading costs in networks of different shape: `recover` with about as many readings each.

Simulated networks (`fm.simulate.network`: four common courses, rough in time, half of the readings
lost and 4 % false), recovered without the score and the report, by one process each: CPU seconds,
and microseconds an entry over the cheapest shape. The goal is 1.5 for all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from table import write

SHAPES = ((100, 4000), (400, 1000), (1600, 250), (2000, 300), (4000, 150))
GOAL = 1.5


def one(nodes: int, slots: int) -> None:
    """Print what a shape costs."""
    import fieldmend as fm

    net = fm.simulate.network(slots=slots, nodes=nodes, seed=1)
    grid = fm.Grid.of(net.readings, condition="temperature", unit="°C")
    start = time.process_time()
    rec = fm.recover(grid, holdout=False, workers=1)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "episodes": len(rec["temperature"].episodes)}))


def main(shapes: list[str]) -> None:
    chosen = [tuple(map(int, shape.split("x"))) for shape in shapes] or list(SHAPES)
    found = []
    for nodes, slots in chosen:
        command = [sys.executable, __file__, "--one", str(nodes), str(slots)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found.append((nodes, slots, json.loads(said)))
        least = min(one["seconds"] / (n * t) for n, t, one in found)
        rows = [
            {
                "nodes": n,
                "slots": t,
                "episodes": own["episodes"],
                "CPU s": f"{own['seconds']:.1f}",
                "µs an entry": f"{1e6 * own['seconds'] / (n * t):.0f}",
                "over the least": f"{own['seconds'] / (n * t) / least:.2f}",
                "goal": "met" if own["seconds"] / (n * t) <= GOAL * least else "missed",
            }
            for n, t, own in found
        ]
        print(rows[-1], flush=True)
        write("shapes", rows, __doc__ or "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(sys.argv[1:])
