"""The account of the rows: which file and line a row came from, and why it was set aside."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fieldmend.records.sources.text import Reject
from fieldmend.records.sql import one
from fieldmend.records.table import clock, loading
from fieldmend.records.table.loading import LISTED, Plan
from fieldmend.records.table.shapes import CELL
from fieldmend.text import shown

if TYPE_CHECKING:
    import duckdb

REASONS = {
    "h": "header: it is repeated",
    "j": "json: no object",
    "n": "node: empty",
    "N": "node: longer than 256 bytes",
    "t": "time: unreadable",
    "c": "clock: no such time",
    "a": "local time: comes twice or never",
    "k": "variable: empty",
    "o": "outside: not between start and end",
}


@dataclass
class Ledger:
    """Sources in the order in which their rows stand in the table `r`."""

    con: "duckdb.DuckDBPyConnection"
    plans: list[Plan]
    rows: list[int] = field(default_factory=list)
    """Rows read of each source, those that could not be cut into cells included."""
    bases: list[int] = field(default_factory=list)
    """The first row of each source in `r`."""

    def load(self) -> int:
        """Read every source; how many rows there were."""
        for plan in self.plans:
            cut = sum(len(p.stage.rejects) for p in self.plans[: len(self.rows)])
            self.bases.append(sum(self.rows) - cut)
            self.rows.append(loading.load(self.con, plan))
        return sum(self.rows)

    def broken(self, f: int) -> int:
        """Rows of a source that are no object, and so have no cells."""
        if not self.plans[f].stage.json:
            return 0
        high = [*self.bases, 2**62][f + 1]
        row = one(
            self.con,
            "SELECT count(*) FROM r WHERE rowid >= $low AND rowid < $high AND bad[1] = 'j'",
            {"low": self.bases[f], "high": high},
        )
        return int(row[0])

    def where(self, ids: Sequence[int]) -> list[str]:
        """Row ids of `r` → "file, line n"."""
        return [f"{shown(r.file)}, line {r.line}" for r in self._located([(i, "") for i in ids])]

    def rejects(self) -> tuple[dict[str, int], list[Reject]]:
        """Rows set aside: all by reason; rows and lone cells one by one, the first thousand."""
        rows = self.con.execute(
            "SELECT row, unnest(why) FROM (SELECT rowid AS row, CASE WHEN bad IS NULL "
            "THEN string_split(odd, chr(30)) ELSE [bad] END AS why FROM r "
            "WHERE bad[1] <> 'o' OR (bad IS NULL AND odd IS NOT NULL) ORDER BY rowid "
            f"LIMIT {LISTED}) ORDER BY row"
        ).fetchall()
        listed = self._located(rows[:LISTED])
        totals = self._totals()
        for plan in self.plans:
            for reject in plan.stage.rejects:
                reason = reject.reason.split(":")[0]
                totals[reason] = totals.get(reason, 0) + 1
            listed += plan.stage.rejects[:LISTED]
        order = {plan.stage.name: i for i, plan in enumerate(self.plans)}
        listed.sort(key=lambda reject: (order[reject.file], reject.line))
        return dict(sorted(totals.items())), listed[:LISTED]

    def _totals(self) -> dict[str, int]:
        totals: dict[str, int] = {}
        counted = self.con.execute(
            "SELECT split_part(bad, chr(31), 1), count(*) FROM r WHERE bad IS NOT NULL GROUP BY 1"
        ).fetchall()
        for code, count in counted:
            reason = CELL.get(code[0]) or REASONS.get(code, "row").split(":")[0]
            totals[reason] = totals.get(reason, 0) + count
        return totals

    def _located(self, rows: Sequence[tuple[int, str]]) -> list[Reject]:
        sources = [max(f for f, base in enumerate(self.bases) if base <= row) for row, _ in rows]
        lines: dict[tuple[int, int], int] = {}
        for f in set(sources):
            mine = (row for (row, _), g in zip(rows, sources, strict=True) if f == g)
            ordinals = [row - self.bases[f] for row in mine]
            found = loading.lines_of(self.plans[f].stage, ordinals)
            lines |= {(f, ordinal): line for ordinal, line in found.items()}
        out = []
        for (row, bad), f in zip(rows, sources, strict=True):
            ordinal = row - self.bases[f]
            line = lines.get((f, ordinal), ordinal + 1)
            out.append(Reject(self.plans[f].stage.name, line, *self._reason(bad, f)))
        return out

    def _reason(self, bad: str, f: int) -> tuple[str, str]:
        code, _, cell = bad.partition("\x1f")
        plan = self.plans[f]
        if code[:1] in CELL:
            column = next(c for c, v in plan.slots.items() if v == int(code[1:]))
            name = shown(plan.stage.names[column])
            if code[0] == "i":
                what = f"number: {name} is a whole number over 2^53 and would lose digits"
                return what, shown(cell)
            if code[0] == "x":
                return f"censored: {name} is known as a bound only", shown(cell)
            return f"number: {name} is no number", shown(cell)
        if code == "c" and cell.lstrip("-").isdigit():
            return "clock: far from all other times", clock.stamped(int(cell))
        return REASONS.get(code, "row"), shown(cell)
