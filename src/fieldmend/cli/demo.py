"""``fieldmend demo``: a simulated network through the whole command."""

from __future__ import annotations

import csv
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fieldmend import simulate
from fieldmend.cli.outputs import Wish
from fieldmend.cli.recovering import Job
from fieldmend.cli.recovering import run as recover
from fieldmend.cli.source import Source
from fieldmend.export import whole
from fieldmend.grid import stamp

if TYPE_CHECKING:
    from fieldmend.cli.terminal import Voice

FOLDER = Path("fieldmend-demo")
SLOTS, NODES = 576, 40  # two days
SLOT = 300_000_000  # microseconds
START = 1_078_358_400_000_000  # 2004-03-04


def run(out: Path | None, voice: Voice, *, force: bool, open_: bool, seed: int) -> int:
    """Simulate, write the records, recover them, show the report; the exit code comes back."""
    # The default folder is the demo's own; a folder that the user names may hold other things.
    wish = Wish(out or FOLDER, force=force or out is None)
    records = wish.folder / "demo.csv"
    wish.check({"records": records, **wish.files("demo")})
    _write_records(records, seed, force=wish.force)
    source = Source([str(records)], None, "mean", {}, arguments=("demo",))
    code = recover(source, Job(), wish, voice)
    report = wish.files(source.name)["report"]
    if open_ and not voice.quiet and sys.stdout.isatty():
        webbrowser.open(report.resolve().as_uri())
    return code


def _write_records(path: Path, seed: int, *, force: bool) -> None:
    """Two days of a building's temperature: 40 nodes, some silent for hours, some false."""
    net = simulate.network(
        SLOTS, NODES, field="temperature", sampling=0.7, loss="blocks", anomaly_rate=0.004,
        noise=0.05, seed=seed,
    )  # fmt: skip
    readings = net.readings.copy()
    for node, fault in ((6, "drift"), (17, "stuck"), (29, "dead")):
        column = readings[:, [node]]
        found = simulate.corrupt(column, kind=fault, count=80, mean_length=80, seed=seed)
        readings[:, [node]] = found.readings
    places = np.random.default_rng(seed).uniform((0, 0), (40, 30), size=(NODES, 2)).round(1)
    with whole(path, force=force) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["node", "time", "x", "y", "temperature [°C]"])
        for t, n in zip(*np.nonzero(net.observed), strict=True):
            x, y = places[n]
            time = stamp(START + SLOT * int(t))
            writer.writerow([f"n{n + 1:02d}", time, x, y, f"{readings[t, n]:.2f}"])
