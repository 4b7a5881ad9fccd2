"""Sections IV and VI: the rate, the bound, the conditions."""

from __future__ import annotations

import numpy as np

from fieldmend.experiments.claims.claim import FAILS, HOLDS, Claim, Tables, share_verdict
from fieldmend.experiments.tables import column, select


def _rate(tables: Tables) -> list[Claim]:
    rows = select(tables["rate"], mu="fixed")
    below = all(float(r["excess"]) <= float(r["bound"]) for r in rows)
    tightest = min(float(r["bound"]) / float(r["excess"]) for r in rows)
    return [
        Claim("F(X_k) − F(X*) ≤ 4‖X₁ − X*‖²/k²", "Section VI, Theorem 2", "a bound",
              f"met at all {len(rows)} iterations looked at; bound/excess at least {tightest:.3g}",
              HOLDS if below else FAILS,
              "Simulated, μ fixed. With the falling μ that the algorithm uses the theorem says "
              "nothing until μ has fallen.")
    ]  # fmt: skip


def _iterations(tables: Tables) -> list[Claim]:
    rows = select(tables["iterations"], mu="fixed")
    if len(rows) < 2:
        return []
    x, y = np.log(column(rows, "epsilon")), np.log(column(rows, "iterations"))
    slope = -float(np.polyfit(x, y, 1)[0])
    below = all(float(r["iterations"]) <= float(r["lemma"]) + 1 for r in rows)
    return [
        Claim("ε needs O(1/√ε) iterations", "Section VI, Lemma", "exponent 0.5",
              f"exponent {slope:.2f}; never more than the lemma allows" if below else
              f"exponent {slope:.2f}; more than the lemma allows",
              HOLDS if below and slope <= 0.5 else FAILS,
              "An upper bound: near the optimum convergence is faster.")
    ]  # fmt: skip


def _error_bound(tables: Tables) -> list[Claim]:
    rows = tables["bound"]
    margins = column(rows, "bound_over_error")
    return [
        Claim("‖X̂ − X‖ ≤ (8n√(40n + 40n/p + 5) + √2)δ", "Section IV, Theorem 1", "a bound",
              f"met in all {len(rows)} cases; bound/error {min(margins):.3g} to "
              f"{max(margins):.3g}" if min(margins) >= 1 else f"broken: {min(margins):.3g}",
              HOLDS if min(margins) >= 1 else FAILS,
              "Simulated. A guarantee of stability, not a prediction; its proof has gaps "
              "([mathematics](../maths.md)).")
    ]  # fmt: skip


def _conditions(tables: Tables) -> list[Claim]:
    rows = tables["conditions"]
    joint = column(rows, "incoherence_joint")
    leak = column(rows, "support_and_space")
    runs = column(rows, "clumping_runs")
    small = sum(value <= 0.5 for value in leak)
    even = sum(float(row["runs_p_value"]) > 0.01 for row in rows)
    rho = column(rows, "rho_r_needed")
    return [
        Claim("L is incoherent: rank ≤ ρ_r·n/(μ log² n) with a small ρ_r", "Section IV",
              "assumed", f"needs ρ_r = {min(rho):.3g} to {max(rho):.3g} (μ {min(joint):.3g} to "
              f"{max(joint):.3g})", share_verdict(sum(v < 1 for v in rho), len(rho)),
              "Measured on the LS-separated part of every matrix."),
        Claim("The support of S is uniformly random", "Section IV", "assumed",
              f"false readings in a row: {min(runs):.3g} to {max(runs):.3g} times as often as by "
              f"chance; chance explains {even} of {len(rows)} matrices",
              share_verdict(even, len(rows)), "Real faults come in bursts and stay with a node."),
        Claim("‖P_Ω P_T‖ ≤ 1/2", "Section IV, Theorem 1", "assumed",
              f"{min(leak):.3g} to {max(leak):.3g}; met in {small} of {len(rows)} matrices",
              share_verdict(small, len(rows)),
              "Ω and T as LS-Separation finds them, with every nonzero entry of S in Ω."),
    ]  # fmt: skip


CHECKS = (_rate, _iterations, _error_bound, _conditions)
