"""Options that are checked before any work is done."""

from __future__ import annotations

from typing import Any

from fieldmend.errors import InputError
from fieldmend.records.gridding.filling import VALUES
from fieldmend.records.gridding.slotting import microseconds
from fieldmend.text import shown


def check_slot(slot: Any, slot_value: str) -> None:
    """As `Records.grid` does, before the records are read."""
    if slot is not None:
        microseconds(slot)
    if slot_value not in VALUES:
        raise InputError(f"slot_value={shown(slot_value)!r}", hint="One of " + ", ".join(VALUES))
