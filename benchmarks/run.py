"""All benchmarks, or those named: ``make bench``, ``make bench BENCH='speed scaling'``.

speed    ls against the paper's algorithm, same problem, same certified gap
scaling  time, memory and share of the GEMM rate from 10⁴ to 10⁶ slots
memory   recover in a limited memory, from 10⁶ to 10⁸ entries: peak, parts, report
shapes   what a reading costs with few nodes and with thousands
stages   how every stage of recover grows with slots and with nodes: seconds and exponents
regions  many nodes: regions against the whole, and networks that only regions can recover
reading  a CSV of 60 million rows to a grid, beside plain DuckDB, Polars and pandas
command  the whole command on a real file, import and --help, beside qolmat and saqc
quantities  directions, rain, meters, dust and humidity as what they are, and as if linear
newdays  a model fitted once, on days that it has not seen, beside line and imputers
newfaults  faults as old as the file: found alone, and with a model of earlier days
since    who leaves its level for good: flagged from then on, or for the time before?
ablations  what each piece of the automatic recovery is worth
levels   levels fitted before steps: what it is worth in long gaps, and its time
jury     true readings flagged and replaced, faults found, errors and intervals: fourteen new kinds
injected faults of five kinds put into other real networks: F1 beside the slot median's
elsewhere  real networks that packages bring along: printed errors, intervals, faults put in
honesty  is the printed error true: real error over printed error, by record and pattern of loss
plan     what a plan says of its error, and what later days say; its share beside all that is tried;
         what silence is worth where nodes send on change
peers    the libraries a user could take instead; makes their environments first
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = {
    "speed": [[HERE / "speed.py"]],
    "scaling": [[HERE / "scaling.py"]],
    "shapes": [[HERE / "shapes.py"]],
    "stages": [[HERE / "stages.py"]],
    "regions": [[HERE / "regions.py"], [HERE / "regions.py", "--wide"], [HERE / "fits.py"]],
    "memory": [[HERE / "memory.py"]],
    "reading": [[HERE / "reading.py"]],
    "command": [[HERE / "command.py"]],
    "detection": [[HERE / "detection.py"]],
    "quantities": [[HERE / "quantities.py"]],
    "newdays": [[HERE / "newdays.py"]],
    "newfaults": [[HERE / "newfaults.py"]],
    "since": [[HERE / "since.py"]],
    "ablations": [[HERE / "ablations.py"]],
    "levels": [[HERE / "levels.py"]],
    "jury": [[HERE / "jury.py"]],
    "injected": [[HERE / "injected.py"]],
    "elsewhere": [[HERE / "elsewhere.py"]],
    "honesty": [[HERE / "honesty.py"]],
    "plan": [[HERE / "plan.py"], [HERE / "onchange.py"]],
    "peers": [[HERE / "peers" / "run.py", "--setup"], [HERE / "peers" / "run.py"]],
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SCRIPTS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(SCRIPTS)}")
        return 2
    for name in names or SCRIPTS:
        for command in SCRIPTS[name]:
            done = subprocess.run([sys.executable, *map(str, command)], check=False)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
