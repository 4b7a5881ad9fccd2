"""``fieldmend paper``: re-run the evaluation, say what came out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fieldmend.cli.progress import progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmend.cli.terminal import Voice
    from fieldmend.experiments.claims import Claim


@dataclass(frozen=True)
class Reproduction:
    """What the user asked for."""

    out: Path
    data: Path | None
    quick: bool
    jobs: int
    force: bool

    def check(self) -> None:
        """Another's files are not replaced; those of an earlier run are."""
        if self.out.exists() and not self.out.is_dir():
            raise typer.BadParameter(f"--out {self.out}: it is no folder")
        ours = (self.out / "cells").is_dir()
        if not ours and not self.force and self.out.is_dir() and any(self.out.iterdir()):
            raise typer.BadParameter(
                f"--out {self.out}: there are files in it, not of an earlier run; choose another "
                "folder, or --force"
            )


def run(wish: Reproduction, voice: Voice) -> None:
    """Do the job."""
    from fieldmend.experiments import paper
    from fieldmend.experiments.claims import claims

    wish.check()
    with progress(voice.bars) as bars:
        step = bars.counting("experiments")
        done = paper.run(wish.out, wish.data, quick=wish.quick, jobs=wish.jobs, progress=step)
    found = [claim for chapter in claims(done.tables).values() for claim in chapter]
    voice.tell(_summary(done, found, wish), partial(_story, found))


def _summary(done: Any, found: list[Claim], wish: Reproduction) -> dict[str, Any]:
    from dataclasses import asdict

    from fieldmend import __version__

    return {
        "fieldmend": __version__,
        "quick": wish.quick,
        "cells": done.cells,
        "simulated": list(done.simulated),
        "verdicts": dict(Counter(claim.verdict for claim in found if claim.verdict != "–")),
        "claims": [asdict(claim) for claim in found],
        "files": {path.name: str(path) for path in done.files if path.suffix in (".md", ".html")},
    }


def _story(found: list[Claim], summary: dict[str, Any]) -> list[RenderableType]:
    from fieldmend.cli import printed

    rows = [[claim.verdict, claim.claim] for claim in found]
    lines: list[RenderableType] = [printed.table(("verdict", "claim"), rows, left=(0, 1)), ""]
    lines.append(", ".join(f"{n} {verdict}" for verdict, n in summary["verdicts"].items()))
    if summary["simulated"]:
        lines.append(f"Simulated, for want of files: {', '.join(summary['simulated'])} (--data)")
    if summary["quick"]:
        lines.append("A quick look at small matrices: the verdicts of a full run differ")
    return [*lines, "", *printed.bullets(list(summary["files"].values()))]
