"""Tidy tables: one row per measurement, written and read back as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

Value = str | int | float
Row = Mapping[str, Value]
Table = Sequence[Row]


def to_csv(rows: Table) -> str:
    r"""The rows as CSV, columns in order of appearance, numbers to six digits.

    Examples
    --------
    >>> to_csv([{"rate": 0.1, "nse": 1 / 3}, {"rate": 0.2, "runs": 10}])
    'rate,nse,runs\n0.1,0.333333,\n0.2,,10\n'
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([shown(row[name]) if name in row else "" for name in columns])
    return text.getvalue()


def shown(value: Value) -> str:
    """A cell's text: six digits are more than ten runs can tell apart."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def from_csv(text: str) -> list[dict[str, Value]]:
    r"""The rows of a CSV, numbers as numbers; empty cells are left out.

    Examples
    --------
    >>> from_csv("method,nse\nls,0.25\n")
    [{'method': 'ls', 'nse': 0.25}]
    """
    rows = csv.DictReader(io.StringIO(text))
    return [{name: _value(cell) for name, cell in row.items() if cell} for row in rows]


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return path


def _value(cell: str) -> Value:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def select(rows: Table, **wanted: Value) -> list[Row]:
    """The rows whose columns have these values.

    Examples
    --------
    >>> select([{"rate": 0.1, "n": 1}, {"rate": 0.2, "n": 2}], rate=0.2)
    [{'rate': 0.2, 'n': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def column(rows: Table, name: str, missing: float | None = None) -> list[float]:
    """A column of numbers; an empty cell is an error unless there is something to put there."""
    if missing is None:
        return [float(row[name]) for row in rows]
    return [float(row.get(name, missing)) for row in rows]


def over_runs(rows: Table, by: Iterable[str], measured: Iterable[str]) -> list[Row]:
    """Mean and spread (standard deviation over runs) of what was measured, group after group.

    Of a single run there is no spread.

    Examples
    --------
    >>> over_runs([{"p": 0.5, "e": 1.0}, {"p": 0.5, "e": 3.0}], by=["p"], measured=["e"])
    [{'p': 0.5, 'runs': 2, 'e': 2.0, 'e_spread': 1.4142135623730951}]
    """
    by, measured = list(by), list(measured)
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    out: list[Row] = []
    for key, group in groups.items():
        line: dict[str, Value] = {**dict(zip(by, key, strict=True)), "runs": len(group)}
        for name in measured:
            values = [float(row[name]) for row in group if name in row]
            if values:
                line[name] = fmean(values)
                if len(values) > 1:  # one run says nothing about the spread
                    line[f"{name}_spread"] = stdev(values)
        out.append(line)
    return out
