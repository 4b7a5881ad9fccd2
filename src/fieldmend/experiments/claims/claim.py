"""A claim, its verdict, and how its numbers are put into words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fieldmend import text
from fieldmend.experiments.data import SOURCES
from fieldmend.experiments.figures import words
from fieldmend.experiments.tables import Row, Table, select

Tables = Mapping[str, Table]
HOLDS, PART, FAILS, OPEN = "holds", "in part", "does not hold", "not checked"
READINGS = {"full": "full matrix", "separated": "separated"}
ALMOST_EXACT = 0.01  # what "almost exact recovery" is taken to mean, in NSE


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, its number, ours, and the verdict."""

    claim: str
    where: str
    paper: str
    ours: str
    verdict: str
    note: str = ""


def percent(share: float) -> str:
    """A share to three digits: claims are compared by their digits."""
    return text.percent(share, digits=3)


def span(values: Iterable[float]) -> str:
    """Lowest to highest."""
    found = list(values)
    return f"{percent(min(found))} to {percent(max(found))}"


def share_verdict(hits: int, total: int) -> str:
    """All: holds. None, or fewer than a tenth: does not. Else in part."""
    if total == 0:
        return OPEN
    return HOLDS if hits == total else FAILS if hits < 0.1 * total else PART


def by_matrix(rows: Table) -> dict[str, list[Row]]:
    """Matrix → its rows."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(f"{row['deployment']} {row['condition']}", []).append(row)
    return out


def curves(tables: Tables, truth: str) -> dict[tuple[str, str], list[Row]]:
    """(matrix, method) → rows by rising rate."""
    out: dict[tuple[str, str], list[Row]] = {}
    for row in select(tables["recovery"], truth=truth):
        name = f"{row['deployment']} {row['condition']}"
        out.setdefault((name, str(row["method"])), []).append(row)
    return {key: sorted(rows, key=lambda row: float(row["rate"])) for key, rows in out.items()}


def errors_by_cell(
    tables: Tables, truth: str, measured: str = "nse"
) -> dict[tuple[str, float], dict[str, float]]:
    """(matrix, rate) → method → error."""
    out: dict[tuple[str, float], dict[str, float]] = {}
    for row in select(tables["recovery"], truth=truth):
        key = f"{row['deployment']} {row['condition']}", float(row["rate"])
        out.setdefault(key, {})[str(row["method"])] = float(row[measured])
    return out


def name_of(row: Row) -> str:
    """The matrix of a row, for people."""
    made = ", simulated" if row["simulated"] == "yes" else ""
    return f"{SOURCES[str(row['deployment'])].title} {words(str(row['condition']))}{made}"


def simulated(rows: Table) -> str:
    """Which of the deployments are simulated, as the start of a note."""
    names = dict.fromkeys(
        SOURCES[str(r["deployment"])].title for r in rows if r["simulated"] == "yes"
    )
    return f"{', '.join(names)}: simulated. " if names else ""
