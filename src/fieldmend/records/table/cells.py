"""What the cells of a column look like: numbers, text, counters, stamps."""

import re
from collections.abc import Sequence
from itertools import pairwise

from fieldmend.quantities import units
from fieldmend.records.sources.cutting import COMMA_NUMBER, NUMBER
from fieldmend.records.vocabulary import MISSING

# "1,234.5", "20.5°C", "0x1f", "<0.1": meant as numbers, though not to be half-parsed.
NUMBER_LIKE = re.compile(
    r"[+-]?\d{1,3}([.,'’ ]\d{3})+([.,]\d+)?|[+-]?\d+([.,]\d+)?\s*[°%a-zµ/²³·]{1,10}|0x[0-9a-f]+"
    r"|[<>≤≥]=?\s*[+-]?[\d.,]+",
    re.IGNORECASE,
)
CODED = re.compile(r"\d+([A-Za-z]{1,3})")
COUNTED = 8  # numbers that make a counter


def cells_of(column: int, sample: Sequence[Sequence[str | None]]) -> list[str]:
    """The cells of a column that are there."""
    cells = [(row[column] or "").strip() for row in sample if column < len(row)]
    return [cell for cell in cells if cell.casefold() not in MISSING]


def column_kind(cells: Sequence[str | None], missing: frozenset[str] = MISSING) -> str:
    """Whether a column holds numbers or text: the majority of its cells that are not missing."""
    numbers = texts = 0
    for cell in cells:
        text = (cell or "").strip()
        if text.casefold() in missing:
            continue
        if NUMBER.fullmatch(text) or COMMA_NUMBER.fullmatch(text):
            numbers += 1
        elif NUMBER_LIKE.fullmatch(text) and not _is_code(text):
            numbers += 1
        else:
            texts += text.casefold().lstrip("+-") not in ("inf", "infinity")
    return "text" if texts > numbers else "number"


def _is_code(text: str) -> bool:
    """Whether letters behind a whole number are no unit: 01n, 1P."""
    found = CODED.fullmatch(text)
    return found is not None and not units.spelt(found[1])[0]


def no_reading(i: int, sample: Sequence[Sequence[str | None]]) -> str:
    """What a column of numbers holds that is no reading; empty if it may be one."""
    cells = cells_of(i, sample)
    if len(cells) < COUNTED or not all(re.fullmatch(r"\d{1,19}(\.\d*)?", cell) for cell in cells):
        return ""
    numbers = [float(cell) for cell in cells]
    steps = [b - a for a, b in pairwise(numbers)]
    seconds = {1.0, 1e3, 1e6, 1e9}
    if any(all(5e8 <= n / unit < 4.3e9 for n in numbers) for unit in seconds) and all(
        step >= 0 for step in steps
    ):
        return "stamps"
    if numbers[0].is_integer() and sum(step == 1 for step in steps) >= 0.95 * len(steps):
        return "a counter"
    return ""
