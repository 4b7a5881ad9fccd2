"""NR in a column of rain is no rain, which is a reading: 0.

Only there: elsewhere it may be "not reported".
"""

from collections.abc import Sequence

from fieldmend.quantities import names
from fieldmend.records.sources.stage import Stage
from fieldmend.text import shown

NO_RAIN = "NR"


def settle(stage: Stage) -> None:
    """Which columns of a stage hold such cells: by their name, or by one beside them; a note."""
    for i, name in enumerate(stage.names):
        if stage.kinds[i] != "text":
            continue
        rows = [row for row in stage.sample if _is_dry(row[i] if i < len(row) else None)]
        if not rows or not (_of_rain(name) or any(_all_of_rain(c) for c in zip(*rows))):  # noqa: B905
            continue
        stage.dry.add(i)
        for row in rows:
            row[i] = "0"
        stage.notes.append(f"{shown(stage.name)}: {NO_RAIN} in {shown(name)} is no rain, read as 0")


def _is_dry(cell: str | None) -> bool:
    return (cell or "").strip().upper() == NO_RAIN


def _all_of_rain(cells: Sequence[str | None]) -> bool:
    return all(_of_rain(cell or "") for cell in set(cells))


def _of_rain(name: str) -> bool:
    return names.measure(names.words(name)) == "rain"


def number_sql(cell: str, number: str) -> str:
    """SQL for the number in such a cell, given that for any other."""
    return f"CASE WHEN upper(trim({cell})) = '{NO_RAIN}' THEN 0.0 ELSE {number} END"
