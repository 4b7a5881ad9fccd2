"""What a user of the peers writes by hand: IntelLab's text as one table per condition."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

NAMES = ["date", "time", "epoch", "mote", "temperature", "humidity", "light", "voltage"]
CONDITIONS = ("temperature", "humidity", "light")


def tables() -> dict[str, pd.DataFrame]:
    """Condition → slots × motes, means over five minutes, from the file of the first argument."""
    raw = pd.read_csv(sys.argv[1], sep=" ", names=NAMES, on_bad_lines="skip")
    raw = raw.dropna(subset=["mote"])
    raw["slot"] = pd.to_datetime(raw["date"] + " " + raw["time"], format="ISO8601").dt.floor("5min")
    means = raw.groupby(["slot", "mote"])[list(CONDITIONS)].mean()
    return {name: means[name].unstack().asfreq("5min") for name in CONDITIONS}


def save(name: str, table: pd.DataFrame) -> None:
    """Write a result into the folder of the second argument."""
    table.to_csv(Path(sys.argv[2]) / f"{name}.csv")
