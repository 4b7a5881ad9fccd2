"""The whole command on a real file, beside what peers need for the part of the job they can do.

``fieldmend recover`` reads IntelLab's raw text, 4 to 8 March (476,518 rows), grids temperature,
humidity and light by five minutes, recovers them, scores itself on hidden readings, and writes the
table, the anomalies, the rejects and the report. Without options it finds slots of 30 s and four
conditions: thirteen times as many entries. qolmat and saqc cannot read such a file: a pivot
written by hand with pandas (benchmarks/peers/jobs/pivot.py) does it for them. qolmat fills and
flags nothing, saqc flags and fills nothing; both with their defaults, neither with a score, a
report or counted rows. Every row is a process of its own from start to end, imports included: CPU
seconds (user + system, one thread; the least of three runs for fieldmend, one run for peers) and
peak memory of the process. Bytecode is kept between runs, as an installation keeps it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from table import write

HERE = Path(__file__).parent
sys.path.append(str(HERE / "peers"))
from environments import ENVIRONMENTS, Environment  # noqa: E402

ROOT = HERE.parent
DATA = Path(os.environ.get("FIELDMEND_DATA", ROOT.parent / "shared" / "data"))
FILE = DATA / "intellab_mar04_08.txt.gz"
CONDITIONS = ("temperature", "humidity", "light")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "FIELDMEND_THREADS": "1"}
KEPT = {"PYTHONDONTWRITEBYTECODE": ""}  # set where a source tree is to stay clean


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    mib: float


@dataclass(frozen=True)
class Job:
    """A row of the table."""

    what: str
    does: str
    command: list[str]
    goal: float | None = None
    repeat: int = 3
    environment: Environment | None = None


def jobs(folder: str) -> list[Job]:
    """Ours, then the peers'."""
    fieldmend = [sys.executable, "-m", "fieldmend"]
    only = [word for name in CONDITIONS for word in ("--condition", name)]
    where = [str(FILE), "--slot", "5min", *only]
    out = ["--out", folder, "--force"]
    peers = HERE / "peers" / "jobs"
    main, saqc = ENVIRONMENTS["main"], ENVIRONMENTS["saqc"]
    return [
        Job("fieldmend recover", "read, grid, fill, flag, score, write, report",
            [*fieldmend, "recover", *where, *out], 5.0),
        Job("fieldmend recover --method ls", "the same, by the convex method",
            [*fieldmend, "recover", *where, *out, "--method", "ls"], 5.0),
        Job("fieldmend recover --no-report --no-holdout", "read, grid, fill, flag, write",
            [*fieldmend, "recover", *where, *out, "--no-report", "--no-holdout"]),
        Job("fieldmend recover, no options", "30 s slots, four conditions",
            [*fieldmend, "recover", str(FILE), *out], None, 1),
        Job("fieldmend inspect", "read, grid, measure", [*fieldmend, "inspect", *where]),
        Job("fieldmend --help", "", [*fieldmend, "--help"], 0.3),
        Job("import fieldmend", "", [sys.executable, "-c", "import fieldmend"], 0.1),
        Job("qolmat RpcaPcp", "hand-made pivot, fill, write",
            [str(main.python), str(peers / "fill_qolmat.py"), str(FILE), folder], None, 1, main),
        Job("saqc flagUniLOF", "hand-made pivot, flag, write",
            [str(saqc.python), str(peers / "flag_saqc.py"), str(FILE), folder], None, 1, saqc),
    ]  # fmt: skip


def measured(job: Job) -> Cost:
    """The least CPU of the runs, and the peak memory of that one."""
    return min((_once(job.command) for _ in range(job.repeat)), key=lambda cost: cost.seconds)


def _once(command: list[str]) -> Cost:
    where = os.environ | ONE_THREAD | KEPT
    child = subprocess.Popen(command, env=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read().decode() if child.stderr else ""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.stderr:
        child.stderr.close()
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)}: {errors.strip()[-500:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def row(job: Job) -> dict[str, Any]:
    """One row; peers whose environment is not there say so."""
    told = {"command": job.what, "does": job.does or "–"}
    if job.environment and not job.environment.python.exists():
        return told | {"CPU s": "–", "peak MiB": "–", "goal": "not installed: peers/run.py --setup"}
    cost = measured(job)
    goal = "–"
    if job.goal is not None:
        goal = f"{job.goal:g} s {'met' if cost.seconds <= job.goal else 'missed'}"
    return told | {"CPU s": f"{cost.seconds:.2f}", "peak MiB": f"{cost.mib:.0f}", "goal": goal}


def main() -> int:
    if not FILE.exists():
        print(f"{FILE} is not there: nothing to measure")
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs(folder):
            rows.append(row(job))
            print(rows[-1], flush=True)
    write("command", rows, __doc__ or "")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
