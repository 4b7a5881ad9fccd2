"""``python tests/unchanged --write``: what small networks give now, put down as what they give."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from unchanged import kept  # noqa: E402 - the tests' folder is no package

if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or list(kept.PACKAGES)
    for package in chosen:
        now = {name: kept.account(package, name) for name in kept.cases(package)}
        was = kept.stored(package)
        for line in kept.differences(was, now, package):
            print(line)  # noqa: T201 - a script
        if "--write" in sys.argv:
            text = json.dumps(now, indent=1, ensure_ascii=False)
            text = re.sub(r"\[\s+(-?[\d.e+-]+),\s+(-?[\d.e+-]+)\s+\]", r"[\1, \2]", text)
            (HERE / f"{package}.json").write_text(text + "\n", encoding="utf-8")
