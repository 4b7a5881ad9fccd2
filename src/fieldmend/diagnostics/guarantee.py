"""The error bound of the main theorem, with the errata of its proof."""

from __future__ import annotations

import numpy as np


def recovery_bound(n: int, p: float, delta: float) -> float:
    """The paper's bound on the error (Section IV, Theorem 1), (8n√(40n + 40n/p + 5) + √2)·δ.

    Bounds (‖L̂ − L‖_F² + ‖Ŝ − S‖_F²)^½, for noise ‖P_O(Z)‖_F <= δ, under the theorem's conditions.

    Parameters
    ----------
    n
        max(slots, nodes).
    p
        Sampling rate |O|/(TN), in (0, 1].
    delta
        δ >= 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For n below 1, p outside (0, 1], or a δ that is negative.

    Notes
    -----
    Errata of the statement and its proof in the appendix, "Proof of Theorem 1":

    - The theorem equates the error with ‖L̂ + Ŝ − L − S‖_F; by the paper's own definition of the
      norm of a pair it is the quantity above, and that is what the proof bounds.
    - The last display has 320n²δ²(8n + 8n/p + 1), which is indeed (8nδ√(40n + 40n/p + 5))².
      Inserting ‖H^Γ‖² <= 2δ² + 8nδ²(2+p)/p gives 4n in place of its first 8n.
    - The bound then drops the term 8nδ²(2+p)/p. The 4n too many, 1280n³δ², is at least that term
      whenever p >= 1/n², that is, always when one reading arrived: the two slips cancel and the
      stated bound follows from the inequalities before it.
    - Those are not all proven: ‖P_O(H_L)‖_F <= ‖P_O(H_L + H_S)‖_F fails when H_S = −H_L on O, and
      ‖L + H_L‖_* <= ‖L‖_* does not follow from the optimality of the pair. The left side of the
      bound on the third term should not be squared, and λ is missing before a ‖H_S‖₁ there.
    - At p = 1 it does not fall back to the (8√5·n + √2)δ of full observation; it is about 4√n
      times that.

    It grows like n^1.5·δ: a guarantee of stability, not a prediction. Time O(1).

    Examples
    --------
    >>> round(recovery_bound(1, 1.0, 1.0), 3)  # 8√85 + √2
    75.171
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    if not 0 < p <= 1:
        raise ValueError(f"the sampling rate p must lie in (0, 1], got {p}")
    if not 0 <= delta < np.inf:
        raise ValueError(f"delta must be finite and not negative, got {delta}")
    return float((8 * n * np.sqrt(40 * n + 40 * n / p + 5) + np.sqrt(2)) * delta)
