"""The paper's claims, each beside what the stored tables say: verdicts are computed from them."""

from __future__ import annotations

from collections.abc import Callable

from fieldmend.experiments.claims import (
    detection,
    introduction,
    observations,
    recovery,
    theory,
)
from fieldmend.experiments.claims.claim import (
    FAILS,
    HOLDS,
    OPEN,
    PART,
    Claim,
    Tables,
    percent,
)

__all__ = ["FAILS", "HOLDS", "OPEN", "PART", "Claim", "Tables", "claims", "percent"]

_CHAPTERS: dict[str, tuple[Callable[[Tables], list[Claim]], ...]] = {
    "Why anomalies matter (Section I)": introduction.CHECKS,
    "What real networks look like (Section V)": observations.CHECKS,
    "Recovery (Section VII)": recovery.CHECKS,
    "Finding the anomalies": detection.CHECKS,
    "Theory (Sections IV and VI)": theory.CHECKS,
}


def claims(tables: Tables) -> dict[str, list[Claim]]:
    """All claims by chapter of the page."""
    return {
        title: [claim for check in checks for claim in check(tables)]
        for title, checks in _CHAPTERS.items()
    }
