"""Take the picture of README.md anew: the demo's report in headless Chromium (docs/images/)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
sys.path.insert(0, str(ROOT / "tests"))


def main(picture: Path = PICTURE) -> None:
    """Run the demo in a temporary folder and photograph where its report is worked with."""
    import browser

    if browser.path() is None:
        raise SystemExit("no Chromium: make browser")
    with tempfile.TemporaryDirectory() as folder, browser.launched() as chromium:
        demo = [sys.executable, "-m", "fieldmend", "demo", "--out", folder, "--quiet"]
        subprocess.run(demo, check=True)
        chromium.open(Path(folder, "demo.report.html"), width=1280, height=1240)
        chromium.run("document.getElementById('explore').scrollIntoView()")
        chromium.page.wait_for_timeout(500)  # what came into sight is drawn
        picture.parent.mkdir(exist_ok=True)
        chromium.page.screenshot(path=picture)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
