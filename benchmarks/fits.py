"""What fits where, and how long it takes: extrapolated from the tables `memory` and `wide`.

Nothing is run. Core-hours are entries times the microseconds of an entry: of up to 600 nodes those
in `memory`, in the row of as many entries or the next smaller; of more nodes those in the largest
row of `wide`, an upper bound for long records, whose model is fitted once. Results are entries
times the bytes of a cell in `memory`, before compression; temporary files, 25 bytes a cell, are
what `--memory` needs in TMPDIR. What is beyond the largest that was measured is marked.
"""

from __future__ import annotations

import csv

from table import RESULTS, write

MINUTE, YEAR = 1, 525_600
MANY = 600  # nodes, above which there are regions
TEMPORARY = 25  # bytes of a cell in files without a name
NETWORKS = (
    ("50 nodes, a month of 5 min", 50, 30 * 288),
    ("500 nodes, a year of 10 min", 500, YEAR // 10),
    ("10,000 nodes, a year of 10 min", 10_000, YEAR // 10),
    ("100,000 nodes, a day of 15 min", 100_000, 96),
    ("100,000 nodes, a year of 10 min", 100_000, YEAR // 10),
    ("1,000,000 nodes, a year of minutes", 1_000_000, YEAR // MINUTE),
)


def stored(name: str) -> list[dict[str, str]]:
    """The rows of a stored table."""
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def main() -> None:
    long, wide = stored("memory"), stored("wide")[-1]
    rows = []
    for name, nodes, slots in NETWORKS:
        entries = nodes * slots
        near = [row for row in long if float(row["entries"]) <= entries] or long[:1]
        row, reached = near[-1], float(long[-1]["entries"])
        if nodes > MANY:
            row, reached = wide, float(wide["nodes"]) * float(wide["slots"])
        hours = 1e-6 * float(row["µs an entry"]) * entries / 3600
        rows.append(
            {
                "network": name,
                "entries": f"{entries:.1e}",
                "core-hours": f"{hours:.2g}" if hours < 10 else f"{hours:,.0f}",
                "results": size(float(long[-1]["bytes a cell"]) * entries),
                "TMPDIR": size(TEMPORARY * entries),
                "like what was measured": "yes" if entries <= reached else "extrapolated",
            }
        )
        print(rows[-1])
    write("fits", rows, __doc__ or "")


def size(count: float) -> str:
    """Bytes, for people."""
    for unit in ("MB", "GB", "TB"):
        count /= 1e6 if unit == "MB" else 1e3
        if count < 1000:
            break
    return f"{count:.3g} {unit}"


if __name__ == "__main__":
    main()
