"""Take the picture of docs/live.md anew: a simulated network through `fieldmend live`, its page."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from fieldmend.simulate import CLIMATES, climate_field, observe

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "live.png"
NODES, DAY, SLOT = 40, 288, 300
LEARNT = 3 * DAY  # slots that the model is fitted to; the day after them comes live
STUCK, DRIFTING, SILENT = 6, 17, 24
CONDITIONS = ("temperature", "humidity")


def network(end: int) -> Iterator[dict[str, object]]:
    """Readings of four days that end at `end`, seconds since 1970, in order of time."""
    rng = np.random.default_rng(5)
    fields = [
        climate_field(LEARNT + DAY, NODES, climate=CLIMATES[name], seed=k)
        + 0.05 * rng.normal(size=(LEARNT + DAY, NODES))
        for k, name in enumerate(CONDITIONS)
    ]
    temperature = fields[0]
    temperature[-40:, STUCK] = temperature[-40, STUCK]
    temperature[-70:, DRIFTING] += np.linspace(0, 6, 70)
    temperature[[-100, -30], [3, 20]] += 4.0
    seen = observe(LEARNT + DAY, NODES, rate=0.15, seed=1)
    seen[-26:, SILENT] = False
    x, y = np.arange(NODES) % 8 + rng.uniform(-0.3, 0.3, NODES), np.arange(NODES) // 8 * 1.1
    for t in range(LEARNT + DAY):
        for n in np.flatnonzero(seen[t]):
            values = {
                name: round(float(f[t, n]), 2) for name, f in zip(CONDITIONS, fields, strict=True)
            }
            place = {"x": round(float(x[n]), 2), "y": round(float(y[n]), 2)}
            stamp = end - (LEARNT + DAY - t) * SLOT + 7 * int(n) % SLOT
            yield {"node": f"g{n + 1:02d}", "time": stamp, **place, **values}


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The past learnt, the day through live, then the page's address."""
    end = int(time.time()) // SLOT * SLOT
    rows = list(network(end))
    past = [row for row in rows if row["time"] < end - DAY * SLOT]
    lines = [",".join(past[0]), *(",".join(map(str, row.values())) for row in past)]
    (folder / "past.csv").write_text("\n".join(lines))
    names = ("node", "time", *CONDITIONS)
    today = [json.dumps({k: row[k] for k in names}) for row in rows[len(past) :]]
    (folder / "today.ndjson").write_text("\n".join(today))
    live = [sys.executable, "-m", "fieldmend", "live"]
    state = ["--state", str(folder / "greenhouse"), "--listen", "127.0.0.1:0"]
    with (folder / "today.ndjson").open() as stream:
        like = ["--like", str(folder / "past.csv")]
        subprocess.run([*live, "-", *state, *like], stdin=stream, check=True)
    server = subprocess.Popen([*live, "http", *state], stderr=subprocess.PIPE, text=True)
    try:
        yield next(line.split()[-1] for line in server.stderr or () if "http://" in line)
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Photograph the page, one node chosen."""
    sys.path.insert(0, str(ROOT / "tests"))
    import browser

    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as url:
        with browser.launched() as chromium:
            ready = "document.querySelectorAll('.chart svg .estimate').length === 2"
            chromium.visit(url, ready, width=1200, height=940)
            chromium.page.wait_for_timeout(500)
            chromium.page.screenshot(path=PICTURE)
    Image.open(PICTURE).quantize(64, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
