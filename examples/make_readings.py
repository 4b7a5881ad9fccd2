"""Write readings.csv and nodes.csv: a small weather network as loggers deliver it.

Twelve masts, two days, every ten minutes: readings lost in bursts, a mast whose battery dies, a
code for "no reading", a broken row, a clock at 1970, a row sent twice. The quickstart reads it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from fieldmend.simulate import CLIMATES, climate_field, corrupt, network

SLOTS, NODES, PER_DAY = 288, 12, 144
DYING = 6


def condition(name: str, noise: float, seed: int) -> np.ndarray:
    """What arrived of one condition, slots × nodes, NaN where lost."""
    field = climate_field(SLOTS, NODES, climate=CLIMATES[name], slots_per_day=PER_DAY, seed=seed)
    net = network(field=field, sampling=0.8, loss="bursts", anomaly_rate=0.003, noise=noise, seed=1)
    return net.readings


def rows() -> list[str]:
    """The records, in order of time."""
    temperature, humidity = condition("temperature", 0.05, 1), condition("humidity", 0.2, 2)
    dying = corrupt(temperature[:, [DYING]], kind="dead", count=60, seed=3)
    temperature[:, [DYING]] = dying.readings
    lines = []
    for t, n in zip(*np.nonzero(~np.isnan(temperature)), strict=True):
        time = np.datetime64("2024-05-01T00:00") + np.timedelta64(10 * int(t), "m")
        damp = "-9999" if n == 3 and t % 50 == 0 else f"{humidity[t, n]:.1f}"
        lines.append(f"mast-{n + 1:02d},{time},{temperature[t, n]:.2f},{damp}")
    return [
        *lines,
        lines[-1],
        "mast-02,2024-05-02T23:50,21.5C,40.1",
        "mast-05,1970-01-01,19.9,41.0",
    ]


def main(folder: Path) -> None:
    text = "\n".join(["node,time,temperature [°C],humidity [%]", *rows()]) + "\n"
    (folder / "readings.csv").write_text(text, encoding="utf-8")
    places = [
        f"mast-{n + 1:02d},{48 + n % 4 / 100:.2f},{11 + n // 4 / 100:.2f}" for n in range(NODES)
    ]
    (folder / "nodes.csv").write_text("\n".join(["node,lat,lon", *places]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("."))
