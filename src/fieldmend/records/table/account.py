"""The account of the cells: per condition, read = used + missing + duplicates + set aside."""

from collections import Counter
from collections.abc import Mapping, Sequence

from fieldmend.grid import Cells
from fieldmend.records.table.ledger import Ledger
from fieldmend.records.table.shapes import CELL, LONG, Shape
from fieldmend.text import shown

ALONE = {"number": "no number", "censored": "censored"}


def account(
    ledger: Ledger, names: Sequence[str], conditions: Sequence[str], shape: Shape, *, twice: bool
) -> tuple[dict[str, Cells], list[str]]:
    """What became of the cells of each condition, once duplicates are settled; and sentences.

    A row that could not be cut into cells counts as one cell of each of its source's conditions,
    set aside.
    """
    found: dict[str, Counter[str]] = {}
    for name, counts in shape.cells(ledger.con, names).items():
        found.setdefault(shape.counted_as(name), Counter()).update(counts)
    if shape is not LONG:
        for f, plan in enumerate(ledger.plans):
            lost = len(plan.stage.rejects) + ledger.broken(f)
            for v in plan.slots.values():
                found[shape.counted_as(names[v])].update(read=ledger.rows[f], row=lost)
    if twice:
        for name, n in shape.counts(ledger.con, names, "extra").items():
            found[shape.counted_as(name)]["kept"] += n
    examples = _alone(ledger, names, shape, found)
    out = {name: _cells(found.get(name, Counter())) for name in conditions}
    return out, _said(out, examples)


def _alone(
    ledger: Ledger, names: Sequence[str], shape: Shape, found: Mapping[str, Counter[str]]
) -> dict[tuple[str, str], str]:
    """Count the cells that are no numbers; one of each kind as an example."""
    kind = "kind" if shape is LONG else "NULL"
    rows = ledger.con.execute(
        f"SELECT {kind}, split_part(cell, chr(31), 1) AS code, coalesce(bad[1] = 'h', false) "
        "AS header, count(*), min(split_part(cell, chr(31), 2)) FROM (SELECT *, "
        f"unnest(string_split(odd, chr(30))) AS cell FROM (SELECT {kind} AS kind, odd, bad FROM r "
        "WHERE odd IS NOT NULL)) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    examples = {}
    for kind, code, header, n, example in rows:
        name = kind if shape is LONG else shape.counted_as(names[int(code[1:])])
        if name in found and header:  # its cells are no readings that went wrong
            found[name]["row"] += n
        elif name in found:
            found[name][CELL[code[0]]] += n
            examples[name, CELL[code[0]]] = example
    return examples


def _cells(n: Counter[str]) -> Cells:
    why = {reason: n[reason] for reason in ("row", "number", "censored") if n[reason]}
    aside, used, twice = sum(why.values()), n["used"] + n["kept"], n["twice"] - n["kept"]
    return Cells(n["read"], used, n["read"] - used - twice - aside, twice, aside, why)


def _said(cells: Mapping[str, Cells], examples: Mapping[tuple[str, str], str]) -> list[str]:
    """A sentence for each condition with cells that are no numbers."""
    out = []
    for name, found in cells.items():
        alone = {reason: found.why[reason] for reason in ALONE if reason in found.why}
        if alone:
            parts = [
                f"{n:,} {ALONE[reason]}, such as {shown(examples[name, reason])!r}"
                for reason, n in alone.items()
            ]
            out.append(
                f"{shown(name)}: {sum(alone.values()):,} of {found.read:,} cells set aside "
                f"({'; '.join(parts)})"
            )
    return out
