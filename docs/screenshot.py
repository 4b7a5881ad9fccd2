"""Take the picture of README.md anew: the demo's report in headless Chromium (docs/images/)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "report.png"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--force-color-profile=srgb", "--window-size=1280,1000", "--virtual-time-budget=10000",
)  # fmt: skip


def main() -> None:
    """Run the demo in a temporary folder and photograph its report."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium: make browser")
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "fieldmend", "demo", "--out", folder, "--quiet"]
        subprocess.run(demo, check=True)
        PICTURE.parent.mkdir(exist_ok=True)
        report = Path(folder, "demo.report.html").as_uri()
        own = [f"--user-data-dir={folder}/profile", f"--screenshot={PICTURE}"]
        subprocess.run(
            [browser, *FLAGS, *own, report],
            check=True,
            timeout=120,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
