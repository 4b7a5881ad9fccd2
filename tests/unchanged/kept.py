"""The accounts of each package: which there are, what was written down, what they are now."""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from unchanged.account import differences, told

PACKAGES = ("core", "field", "faults", "recovery")
__all__ = ["PACKAGES", "account", "cases", "differences", "stored"]


def cases(package: str) -> dict[str, Any]:
    """Name → function that works it out."""
    found: dict[str, Any] = import_module(f"unchanged.of_{package}").CASES
    return found


def stored(package: str) -> dict[str, Any]:
    """What was written down, nothing before the first time."""
    path = Path(__file__).with_name(f"{package}.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def account(package: str, name: str) -> Any:
    """One case as it is now."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return json.loads(json.dumps(told(cases(package)[name]())))
