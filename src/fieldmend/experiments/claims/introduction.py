"""Section I: a few anomalies ruin matrix completion."""

from __future__ import annotations

from fieldmend.experiments.claims.claim import ALMOST_EXACT, FAILS, HOLDS, Claim, Tables, percent
from fieldmend.experiments.figures import size
from fieldmend.experiments.tables import select


def _exact_completion(tables: Tables) -> list[Claim]:
    rows = [r for r in select(tables["completion"], anomalies=0) if float(r["rate"]) >= 0.3]
    first = min(rows, key=lambda row: float(row["rate"]))
    error = float(first["error"])
    verdict = HOLDS if error <= ALMOST_EXACT else FAILS
    ours = f"relative error {percent(error)} at {percent(float(first['rate']))}"
    n = size(tables)
    note = f"Simulated, {n}×{n}. Nuclear norm with a small μ instead of exact equality."
    return [
        Claim("A 100×100 matrix of rank 5 is recovered exactly from 30 % of its entries",
              "Section I, Fig. 1", "exact", ours, verdict, note)
    ]  # fmt: skip


def _spoilt_completion(tables: Tables) -> list[Claim]:
    rate = max(float(row["rate"]) for row in tables["completion"])
    at = {float(r["anomalies"]): float(r["error"]) for r in select(tables["completion"], rate=rate)}
    clean, few, many = (at[share] for share in sorted(at))
    verdict = HOLDS if few > 5 * clean and many > few else FAILS
    ours = f"at {percent(rate)} sampling: {percent(clean)}, {percent(few)}, {percent(many)}"
    return [
        Claim("0.5 % and 3 % of anomalies raise the error of matrix completion significantly",
              "Section I, Fig. 1", "a figure", ours, verdict,
              "Simulated; errors for 0, 0.5 and 3 %.")
    ]  # fmt: skip


def _energy_of_ten(tables: Tables) -> list[Claim]:
    out = []
    for share, paper in ((0.005, 0.80), (0.03, 0.53)):
        rows = select(tables["spectrum"], anomalies=share, top=10)
        by = {str(row["reading"]): float(row["energy"]) for row in rows}
        low, high = min(by.values()), max(by.values())
        near = min(abs(paper - low), abs(paper - high)) <= 0.05
        verdict = HOLDS if low <= paper <= high or near else FAILS
        ours = f"{percent(by['added'])} (100 added) · {percent(by['replaced'])} (set to 100)"
        out.append(
            Claim(f"With {percent(share)} anomalies the top 10 singular values hold "
                  f"{percent(paper)} of the energy", "Section I, Fig. 2", percent(paper), ours,
                  verdict, "Simulated; the paper does not say which of the two it did.")
        )  # fmt: skip
    return out


CHECKS = (_exact_completion, _spoilt_completion, _energy_of_ten)
