"""How the numbers of a column are written: with their unit behind them, or in groups of thousands.

Both only where the column shows it: the same unit behind every number, and a group that nothing
else can be ("1,234.5", "1,000,000"; "1,234" alone may be a decimal comma, beside 871 it is not). A
cell that is written otherwise is set aside like any that is no number: nothing is half-parsed.
"""

import re
from collections import Counter
from collections.abc import Sequence

from fieldmend.quantities import units
from fieldmend.records.sources.stage import Stage
from fieldmend.records.vocabulary import MISSING, listing
from fieldmend.text import shown

WITH_UNIT = re.compile(
    r"[+-]?\d+(?P<part>[.,]\d+)?(?P<blank>\s*)(?P<unit>[^\d\s.,<>+-][^\d]{0,11})"
)
SIGNS = re.compile(r"[°%℃℉/]")
GROUPS = {  # by decimal mark
    ".": re.compile(r"[+-]?\d{1,3}(([,’]|\x27)\d{3})+(\.\d+)?"),
    ",": re.compile(r"[+-]?\d{1,3}(([.’]|\x27)\d{3})+(,\d+)?"),
}
# Two marks: a group and the decimals, or two groups; an apostrophe is nothing but a group's.
SURELY = re.compile(r".*[.,].*[.,].*|.*['’].*")
ENOUGH = 3  # cells that show it
NEARLY = 0.9  # share of the cells


def settle(stage: Stage, time: Sequence[int]) -> None:
    """What the columns of a stage show; a note says so."""
    grouped = []
    for i, name in enumerate(stage.names):
        if i in time or stage.kinds[i] != "text":
            continue
        cells = [(row[i] or "").strip() for row in stage.sample if i < len(row)]
        cells = [cell for cell in cells if cell.casefold() not in MISSING]
        unit = _unit(cells)
        if unit:
            stage.suffixes[i] = unit
            stage.units.setdefault(name, unit)
        elif _grouped(cells, stage.decimal):
            stage.grouped.add(i)
            grouped.append(name)
    if stage.suffixes:
        found = dict.fromkeys(stage.suffixes.values())
        stage.notes.append(
            f"{shown(stage.name)}: numbers have their unit behind them: {listing(list(found))}"
        )
    if grouped:
        stage.notes.append(
            f"{shown(stage.name)}: numbers are written in groups of thousands: {listing(grouped)}"
        )


def _unit(cells: Sequence[str]) -> str:
    found = [WITH_UNIT.fullmatch(cell) for cell in cells]
    named = Counter(one["unit"].strip() for one in found if one)
    if not named:
        return ""
    unit, count = named.most_common(1)[0]
    if count < max(ENOUGH, NEARLY * len(cells)):
        return ""
    if SIGNS.search(unit):
        return unit
    # Letters alone may belong to an id: 101c. A blank or decimals before them say unit.
    clear = any(one and (one["part"] or one["blank"]) for one in found)
    sure = any(one and one["part"] and one["blank"] for one in found)
    return unit if sure or (clear and units.spelt(unit)[0]) else ""


def _grouped(cells: Sequence[str], decimal: str) -> bool:
    rule = GROUPS[decimal]
    inside = [cell for cell in cells if rule.fullmatch(cell)]
    other = "," if decimal == "." else "."
    plain = sum(not rule.fullmatch(cell) and other in cell for cell in cells)
    if len(inside) < ENOUGH or plain:
        return False
    return any(map(SURELY.fullmatch, inside)) or _up_to_999(cells, inside)


def _up_to_999(cells: Sequence[str], inside: Sequence[str]) -> bool:
    """Whether all other cells are whole numbers up to 999: 1,234 beside 871 is no 1.234."""
    rest = [cell for cell in cells if cell not in {*inside}]
    return (
        len(rest) >= ENOUGH
        and all(re.fullmatch(r"[+-]?[1-9]?\d{1,2}", cell) for cell in rest)
        and any(re.fullmatch(r"[+-]?\d{3}", cell) for cell in rest)
    )


def bare_sql(stage: Stage, column: int, cell: str) -> str:
    """SQL for a text cell without its unit and its groups; NULL where it should have one."""
    if column in stage.suffixes:
        unit = stage.suffixes[column]
        # As numbers of letters: what a file says is never SQL.
        letters = " || ".join(f"chr({ord(letter)})" for letter in unit)
        bare = f"left(trim({cell}), -{len(unit)})"
        return f"CASE WHEN suffix(trim({cell}), {letters}) THEN {bare} END"
    if column in stage.grouped:
        rule = GROUPS[stage.decimal].pattern
        mark = "," if stage.decimal == "." else "."
        return (
            f"CASE WHEN regexp_full_match(trim({cell}), '{rule}') "
            f"THEN regexp_replace({cell}, '[{mark}’\\x27]', '', 'g') ELSE {cell} END"
        )
    return cell
