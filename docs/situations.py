"""The situations of the gallery: where their data come from, and the command that recovers them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

INTEL = "Intel Berkeley Research Lab, 2004"
MOLENE = "Météo-France, stations of Brittany (RADOME), January 2014"


@dataclass(frozen=True)
class Situation:
    """One page of the gallery."""

    name: str
    title: str
    story: str
    """What happened, before anything is computed."""
    data: str
    """Whose readings they are."""
    files: tuple[str, ...]
    """Of the folder of real data; none where the readings are simulated."""
    options: str
    """Of ``fieldmend recover``, after the first file."""
    condition: str
    """What the picture shows."""
    node: str = ""
    """Whose curve; the one with the gravest fault, else with the longest gap, if not given."""
    days: tuple[str, str] = ("", "")
    """What the curve shows; all if not given."""
    make: Callable[[Path], None] | None = None
    """Writes the readings, where they are simulated."""
    truth: str = ""
    """SQL for what was really there (node, time, value), where someone kept it."""

    @property
    def first(self) -> str:
        """The file that is recovered."""
        return self.files[0] if self.files else f"{self.name}.csv"

    @property
    def command(self) -> str:
        """As it is typed."""
        return f"fieldmend recover {self.first} {self.options}".strip()


def mountain(folder: Path) -> None:
    """Stations from 400 to 2,600 m: lapse, valley inversions at night, a storm that ices the top."""
    rng = np.random.default_rng(7)
    slots, heights = 24 * 14, np.linspace(400, 2600, 23)
    hours = np.arange(slots)
    fronts = np.convolve(rng.normal(0, 1, slots + 72), np.hanning(72) / 12, "same")[36:-36]
    night = np.clip(np.cos(2 * np.pi * (hours - 4) / 24), 0, None)
    calm = np.clip(
        np.convolve(rng.normal(0.5, 1, slots + 48), np.hanning(48) / 24, "same"), 0, None
    )
    pool = np.outer(night * calm[24:-24], np.exp(-(heights - 400) / 300))
    day = np.outer(np.cos(2 * np.pi * (hours - 15) / 24), 2 + 3 * np.exp(-(heights - 400) / 1500))
    field = 14 + 4 * fronts[:, None] - 0.0062 * (heights - 400) + day - 5 * pool
    readings = field + rng.normal(0, 0.15, field.shape)
    lost = rng.random(field.shape) < 0.08
    for n in np.flatnonzero(heights > 1900):  # rime on the antennas, the highest the longest
        start = 150 + int(rng.integers(0, 10))
        lost[start : start + 24 + int((heights[n] - 1900) / 12), n] = True
    readings[230:, 5] = readings[230, 5]  # a sensor under snow
    _write(
        folder / "mountain.csv",
        readings,
        lost,
        [f"{h:04.0f} m" for h in heights],
        "temperature [°C]",
    )


def _write(path: Path, readings: np.ndarray, lost: np.ndarray, nodes: list[str], head: str) -> None:
    start = np.datetime64("2024-01-08T00:00")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["station", "time", head])
        for t, n in zip(*np.nonzero(~lost), strict=True):
            writer.writerow(
                [nodes[n], f"{start + int(t) * np.timedelta64(1, 'h')}", f"{readings[t, n]:.2f}"]
            )


SITUATIONS = (
    Situation(
        "buoys", "Buoys that come and go",
        "Moored buoys of the Gulf of Mexico report every hour, by satellite. Some lose hours, some were "
        "taken ashore for weeks, some never had the sensor: a gap of an hour is a lost reading, a buoy on "
        "land has lost nothing.",
        "NDBC, May 2013 (US Government work)",
        ("ndbc_may2013.parquet", "ndbc_may2013_locations.csv"),
        "--locations ndbc_may2013_locations.csv --where \"node LIKE '42%'\" "
        "--condition water_temp_c --condition air_temp_c",
        "water_temp_c",
    ),
    Situation(
        "mountain", "A mountain in a storm",
        "Twenty-three stations climb from a valley to 2,600 m. At night cold air fills the valley; a "
        "storm ices the antennas of the upper ones for days, the highest for longest; one sensor ends "
        "under snow and reads the same from then on.",
        "simulated: no mountain's readings come with the project",
        (), "", "temperature", make=mountain,
    ),
    Situation(
        "building", "A building full of motes",
        "Fifty-two motes on the ceiling of an office, every 30 seconds by radio; a third of the packets is "
        "lost. Air conditioning, sun and people: every corner has a day of its own.",
        f"{INTEL}, 4 to 8 March",
        ("intellab_mar04_08.parquet", "intellab_locations.csv"),
        "--slot 5min --locations intellab_locations.csv --condition temperature --condition humidity",
        "temperature", "18", ("2004-03-07T00:00", "2004-03-09T00:00"),
    ),
    Situation(
        "air", "City air, and what is left of it in the country",
        "Dust is skewed, positive, and comes in episodes of days that a whole region shares; stations open "
        "and close. The stations here are rural, as readings of a city could not be had; the questions are "
        "those of a city.",
        "AirBase (EEA), rural PM10 of Germany, daily, 2008 and 2009",
        ("pm10_germany_rural.parquet", "pm10_germany_locations.csv"),
        "--locations pm10_germany_locations.csv --start 2008-01-01", "pm10",
    ),
    Situation(
        "wind", "Wind, which turns",
        "A direction of 350° and one of 10° are 20° apart, and their mean is north. Directions are recovered "
        "on the circle, speeds as what cannot be negative.",
        MOLENE, ("molene_radome.parquet", "molene_locations.csv"),
        "--locations molene_locations.csv --condition dd --condition ff", "dd",
        days=("2014-01-10T00:00", "2014-01-16T00:00"),
    ),
    Situation(
        "rain", "Rain, which mostly is not there",
        "Most hours are zero, and the others differ from valley to valley. A straight line between two "
        "showers rains for hours; an honest estimate says how little it knows.",
        MOLENE, ("molene_radome.parquet", "molene_locations.csv"),
        "--locations molene_locations.csv --condition rr1", "rr1",
    ),
    Situation(
        "dying", "A dying mote",
        "Nine motes of the same office over five weeks. As their batteries end, their temperatures climb "
        "and stay at 122 °C, while the radio goes on as if nothing were the matter.",
        f"{INTEL}; nine motes (de Bruijn et al. 2016, CC BY-SA 4.0)",
        ("intellab_full_9nodes.parquet",),
        "--slot 10min --condition temperature --start 2004-03-12 --end 2004-03-27", "temperature",
    ),
    Situation(
        "gateway", "A gateway that failed",
        "Motes in a redwood tree stored what they measured and sent it by radio; four in ten readings never "
        "reached the gateway's log, often those of all motes at once. What the motes had stored was fetched "
        "later: here the truth is known, and was not shown to the recovery.",
        "Sonoma redwoods, 2004 (Tolle et al. 2005)",
        ("redwood_sonoma.parquet",),
        "--where \"source = 'net'\" --slot 5min --condition temperature", "temperature", "80",
        ("2004-05-09T00:00", "2004-05-14T00:00"),
        truth="SELECT node, timestamp, temperature FROM 'redwood_sonoma.parquet' WHERE source = 'log'",
    ),
)  # fmt: skip
