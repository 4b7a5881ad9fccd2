"""How every stage of `recover` grows with the slots and with the nodes: CPU seconds and exponents.

Simulated temperatures with a fifth lost, 1 % false one by one and ½ % in drifts: without any that
last, the fault search ends before it has asked anything, at one size and not at another. Long
records: 10 nodes, up to 300,000 slots, all of them larger than the 4·10⁵ entries that a model is
fitted to: of a smaller one fitting leaves next to nothing to apply. Wide networks: 30 slots, up to
5,000 nodes on a line, all of them of eight regions or more, since no more than eight are scored.
One process for each size (named on the command line, or all of them), one core, no score; a stage's
seconds are those of its function wherever it is called from. ``exponent``: slope of log seconds
over log size, of stages that take a twentieth of a second or more at every size; the goal is 1.1
for all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from table import write

LONG = ((10, 60_000), (10, 130_000), (10, 300_000))
WIDE = ((2000, 30), (3200, 30), (5000, 30))
LEAST, GOAL = 0.05, 1.1
STAGES = {
    "what it is": ("fieldmend.recovery.job", "identify_all"),
    "regions": ("fieldmend.recovery.regional", "regions"),
    "who was heard": ("fieldmend.recovery.condition", "witnesses"),
    "in service": ("fieldmend.recovery.condition", "service"),
    "fit on stretches": ("fieldmend.recovery.condition", "fitted_once"),
    "fault search": ("fieldmend.recovery.window", "evidence"),
    "fit": ("fieldmend.recovery.solving", "_decompose"),
    "apply": ("fieldmend.field.fitted", "FittedField.apply"),
    "what others saw": ("fieldmend.faults", "spared"),
    "episodes": ("fieldmend.faults", "classify"),
    "put together": ("fieldmend.recovery.sinks", "Arrays.result"),
}


def watched(seconds: dict[str, float]) -> None:
    """Have every stage add its time."""
    for stage, (module, name) in STAGES.items():
        owner: Any = __import__(module, fromlist=["_"])
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, last, timed(getattr(owner, last), seconds, stage))


def timed(plain: Callable[..., Any], seconds: dict[str, float], stage: str) -> Callable[..., Any]:
    """The same, its time noted."""

    def measured(*given: Any, **how: Any) -> Any:
        start = time.process_time()
        try:
            return plain(*given, **how)
        finally:
            seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - start

    return measured


def one(nodes: int, slots: int) -> dict[str, float]:
    """All stages of one size."""
    import fieldmend as fm
    from fieldmend.recovery import honest

    net = fm.simulate.network(
        slots=slots, nodes=nodes, field="temperature", sampling=0.8, anomaly_rate=0.01, seed=1
    )
    lasting = min(300, slots // 3)
    out = fm.simulate.corrupt(net.readings, kind="drift", rate=0.005, mean_length=lasting, seed=2)
    grid = fm.Grid.of(out.readings, condition="temperature", unit="°C")
    grid = replace(grid, places={n: {"x": float(i), "y": 0.0} for i, n in enumerate(grid.nodes)})
    fm.recover(fm.Grid.of(out.readings[:100, :10], condition="temperature"), holdout=False)
    seconds: dict[str, float] = {}
    watched(seconds)
    start = time.process_time()
    rec = fm.recover(grid, holdout=False, workers=1)
    seconds["recover"] = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        timed(rec.report, seconds, "report")(f"{folder}/report.html")
    timed(
        lambda: list(honest.trials(grid, "temperature", rec.options)), seconds, "what is hidden"
    )()
    return seconds


def rows_of(found: dict[tuple[int, int], dict[str, float]]) -> list[dict[str, object]]:
    """One row a stage and axis."""
    rows = []
    for sizes, axis in ((LONG, 1), (WIDE, 0)):
        done = [size for size in sizes if size in found]
        if len(done) < 2:
            continue
        for stage in dict.fromkeys(name for size in done for name in found[size]):
            seconds = [found[size].get(stage, 0.0) for size in done]
            slope = ""
            if min(seconds) >= LEAST:
                size = np.log([one[axis] for one in done])
                slope = f"{np.polyfit(size, np.log(seconds), 1)[0]:.2f}"
            rows.append(
                {
                    "grows": "slots" if axis else "nodes",
                    "sizes": " · ".join(f"{n:,} × {t:,}" for n, t in done),
                    "stage": stage,
                    "CPU s": " · ".join(f"{s:.2f}" for s in seconds),
                    "exponent": slope,
                    "goal": "" if not slope else "met" if float(slope) <= GOAL else "missed",
                }
            )
    return rows


def main(words: list[str]) -> None:
    if words[:1] == ["--one"]:
        print(json.dumps(one(int(words[1]), int(words[2]))))
        return
    found: dict[tuple[int, int], dict[str, float]] = {}
    named = [tuple(map(int, word.split("x"))) for word in words]
    for nodes, slots in named or (*WIDE, *LONG):
        command = [sys.executable, __file__, "--one", str(nodes), str(slots)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[nodes, slots] = json.loads(said.splitlines()[-1])
        print(nodes, slots, found[nodes, slots], flush=True)
        rows = rows_of(found)
        if rows:
            write("stages", rows, __doc__ or "")


if __name__ == "__main__":
    main(sys.argv[1:])
