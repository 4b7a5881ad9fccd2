"""The fuzz run: ``python driver.py STAGES FULL SEED BINARY`` prints one JSON object.

STAGES inputs go through everything that decides in Python: encoding, layout, dialect, columns,
time, and the SQL made from them. FULL others go through the whole of `fm.read(...).grid()`, and so
do BINARY files of Parquet, netCDF, SQLite and JSON whose bytes were broken.
An input fails by any exception but InputError, by rows that do not add up, and by over a second.
"""

import json
import logging
import os
import resource
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import binaries
import numpy as np
from inputs import made

import fieldmend as fm
from fieldmend.records.sources import encodings, text
from fieldmend.records.sources.dialect import decide
from fieldmend.records.sources.layouts import recognise
from fieldmend.records.sources.stage import Stage
from fieldmend.records.table import clock, loading, planning
from fieldmend.records.table.roles import Wanted
from fieldmend.records.vocabulary import KNOWN

SECONDS = 1.0


def stages(seed, folder):
    name, data = made(seed)
    head = data[: text.HEAD]
    encoding = encodings.found(head, name)
    lines = text.lines_in(head, encoding, whole=True)
    found = text.Text(name, folder / "none", "", len(data), lines, encoding)
    found.path.write_bytes(data)  # some layouts are written anew
    layout = recognise(found, folder)
    dialect = layout.dialect if layout else decide(lines, known=KNOWN, file=name)
    mark = " " if dialect.delimiter == "blanks" else dialect.delimiter
    rows = [text.split(line, mark) for line in lines[dialect.skip :] if line.strip()]
    names = list(dialect.header)
    stage = Stage(name, names, "x", kinds=["text"] * len(names), layout=layout, text=found)
    stage.sample = [row for row in rows if len(row) == len(names)]
    roles = planning.roles_of(stage, Wanted())
    _, (plan,) = planning.plans_of([(stage, roles)], (), zone=False)
    loading.insert_sql(plan)
    clock.stamped(seed * 10**12)


def whole(seed, folder):
    read(*made(seed), folder)


def binary(seed, folder):
    read(*binaries.made(seed), folder)


def read(name, data, folder):
    path = folder / name
    path.write_bytes(data)
    try:
        records = fm.read(path)
        o = records.origin
        assert o.read == o.used + o.duplicates + o.set_aside, "rows do not add up"
        assert o.used > 0, "no row is used"
        assert sum(o.rejects.totals.values()) == o.set_aside
        grid = records.grid()
        assert not any(np.isinf(array).any() for array in grid.values.values())
        records.close()
    finally:
        path.unlink()


def run(job, seeds, folder):
    """Failures, refusals, and the slowest of the inputs, in CPU seconds."""
    failed, refused, slowest = [], 0, (0.0, -1)
    for seed in seeds:
        start = time.process_time()
        try:
            job(seed, folder)
        except fm.InputError:
            refused += 1
        except Exception:
            failed.append([seed, traceback.format_exc(limit=-2)[-400:]])
        slowest = max(slowest, (time.process_time() - start, seed))
        if len(failed) > 20:
            break
    return failed, refused, slowest


def main(many, full, seed, broken=0):
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        fm.read(_warm(work)).grid()  # the first call starts the database
        for name, data in binaries.good() if broken else ():  # and imports the readers
            with suppress(fm.InputError):
                read(name, data, work)
        parts = [
            run(stages, range(seed, seed + many), work),
            run(whole, range(seed + many, seed + many + full), work),
            run(binary, range(seed, seed + broken), work),
        ]
    return {
        "inputs": many + full + broken,
        "whole reads": full + broken,
        "refused": sum(part[1] for part in parts),
        "failed": [failure for part in parts for failure in part[0]],
        "slowest": max(part[2] for part in parts),
        "peak MB": _peak() // 1024,
    }


def _peak():
    """Kilobytes. What getrusage says includes the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _warm(work):
    path = work / "warm.csv"
    path.write_text("node,time,t\na,2024-01-01,1\n")
    return path


if __name__ == "__main__":
    os.environ.setdefault("FIELDMEND_THREADS", "1")
    json.dump(main(*map(int, sys.argv[1:5])), sys.stdout)
