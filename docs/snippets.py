"""Run the ``console`` blocks of README.md and docs/, and compare what they print with the page.

``python docs/snippets.py`` says where a page is not true; ``--write`` puts the true output there.
In a block, a line ``$ command`` is run by bash, in a folder that holds what
examples/make_readings.py writes; the lines below it are its output, with ``...`` for anything.
``make``, ``pip`` and ``pipx`` are not run.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = ("make ", "pip ", "pipx ", "cd ")


@dataclass(frozen=True)
class Snippet:
    """A command and what the page says it prints."""

    command: str
    printed: str

    @property
    def runs(self) -> bool:
        """False for what sets things up."""
        return not self.command.startswith(NOT_RUN)

    def holds(self, output: str) -> bool:
        """True if the page is right."""
        return doctest.OutputChecker().check_output(self.printed, output, doctest.ELLIPSIS)


def snippets(block: str) -> Iterator[Snippet]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield Snippet(command, printed)


def place(folder: Path) -> dict[str, str]:
    """Put the example's files and a ``fieldmend`` into a folder; the environment comes back."""
    (folder / "bin").mkdir()
    script = folder / "bin" / "fieldmend"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fieldmend "$@"\n')
    script.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    make = [sys.executable, str(ROOT / "examples" / "make_readings.py"), str(work)]
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    package = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PATH": path, "PYTHONPATH": package, "LC_ALL": "C.UTF-8"}
    subprocess.run(make, check=True, env=env)
    return env


def run(command: str, folder: Path, env: dict[str, str]) -> str:
    """What a command prints, errors included."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder / "work", env=env, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300,
    )  # fmt: skip
    return done.stdout


def true_page(page: Path) -> tuple[str, list[str]]:
    """The page with true output, and where it was not true."""
    wrong: list[str] = []

    def rewritten(block: re.Match[str]) -> str:
        parts = []
        for one in snippets(block[1]):
            printed = one.printed
            if one.runs:
                output = run(one.command, folder, env)
                if not one.holds(output):
                    wrong.append(f"{page.name}: $ {one.command}\n{output}")
                    printed = output
            elif printed.strip():
                wrong.append(f"{page.name}: $ {one.command} is not run, yet has output")
            parts.append(f"$ {one.command}\n{printed}")
        return "```console\n" + "".join(parts) + "```"

    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        env = place(folder) if FENCE.search(text) else {}
        return FENCE.sub(rewritten, text), wrong


def main() -> int:
    """Check all pages, or write what is true."""
    found = 0
    for page in PAGES:
        text, wrong = true_page(page)
        for one in wrong:
            print(one)
        found += len(wrong)
        if "--write" in sys.argv:
            page.write_text(text, encoding="utf-8")
    return int(bool(found) and "--write" not in sys.argv)


if __name__ == "__main__":
    raise SystemExit(main())
