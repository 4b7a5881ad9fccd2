"""The objective: what counts as a good answer. Methods never grade themselves."""

from __future__ import annotations

import numpy as np
from cases import Truth
from numpy.typing import NDArray

Array = NDArray[np.float64]

# An anomaly smaller than this share of the field's largest value is rounding, not a flag.
ROUNDING = 1e-6


def grade(truth: Truth, estimate: Array, sparse: Array | None) -> dict[str, float | None]:
    """Grade one answer.

    Returns
    -------
    dict
        ``nse`` over all entries and ``nse_lost`` over those never observed, Σ(x̂ − x)² / Σx²;
        ``f1`` of the flags on observed entries, an entry being flagged where the sparse part is
        not zero; ``f1_best`` the same at the threshold on its size that suits the method best (it
        uses the truth: the most the method's ranking could give). None without a sparse part.
    """
    error = (estimate - truth.field) ** 2
    energy = truth.field**2
    lost = ~truth.observed
    scores: dict[str, float | None] = {
        "nse": float(error.sum() / energy.sum()),
        "nse_lost": float(error[lost].sum() / energy[lost].sum()),
        "f1": None,
        "f1_best": None,
    }
    if sparse is not None:
        size, false = np.abs(sparse[truth.observed]), truth.anomalous[truth.observed]
        flags = size > ROUNDING * np.abs(truth.field).max()
        scores["f1"] = float(2 * (flags & false).sum() / (flags.sum() + false.sum()))
        scores["f1_best"] = _best_f1(size, false)
    return scores


def _best_f1(size: Array, false: NDArray[np.bool_]) -> float:
    hits = np.cumsum(false[np.argsort(-size, kind="stable")])
    flagged = np.arange(1, hits.size + 1)
    return float((2 * hits / (flagged + false.sum())).max())
