"""Several conditions together: the others of the same nodes as more columns, where that helps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from fieldmend.decomposition import ConvergenceWarning
from fieldmend.grid import Array
from fieldmend.holdout.drawing import draw

BETTER = 0.97  # the error on hidden readings has to fall by this factor
SEED = 17  # apart from the seeds of other hold-outs

Estimate = Callable[[Array], Array]


def heard_columns(others: Sequence[Array]) -> Array | None:
    """The other conditions side by side, without columns that hold nothing."""
    parts = [other[:, ~np.isnan(other).all(axis=0)] for other in others]
    parts = [part for part in parts if part.size]
    return np.hstack(parts) if parts else None


def helps(X: Array, others: Sequence[Array], estimate: Estimate, seed: int) -> tuple[bool, str]:
    """Do the other conditions lower the error on hidden readings? And the answer in words.

    A packet that is lost takes all its conditions along. Where a gap that is copied did so, the
    companions' readings are hidden with the condition's: else they would look better than they are.
    """
    heard = ~np.isnan(X).all(axis=0)
    drawn = draw(~np.isnan(X), np.isnan(X) & heard, seed + SEED)
    hidden = drawn.mask
    if not hidden.any():
        return False, "alone: too few readings to try the conditions together"
    shown = np.where(hidden, np.nan, X)
    left = [np.where(drawn.along(np.isnan(other)), np.nan, other) for other in others]
    company = heard_columns(left)
    if company is None:
        return False, "alone: the other conditions hold no readings"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        own, kept = shown[:, heard], hidden[:, heard]
        alone = _error(estimate(own), X[:, heard], kept)
        joint = _error(estimate(np.hstack([own, company]))[:, : own.shape[1]], X[:, heard], kept)
    if alone == 0 or joint >= BETTER * alone:
        change = f"{100 * (joint / alone - 1):+.0f} %" if alone else "nothing to gain"
        return False, f"alone: with the other conditions the error on hidden readings is {change}"
    change = f"{100 * (joint / alone - 1):+.0f} %"
    return True, f"together with the other conditions: error on hidden readings {change}"


def _error(estimate: Array, X: Array, hidden: Array) -> float:
    """Root mean square error on hidden readings, the worst twentieth left out."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.sort(np.abs(estimate - X)[hidden])
    off = off[: max(1, int(0.95 * off.size))]
    top = float(off.max())
    return top * float(np.sqrt(((off / top) ** 2).mean())) if 0 < top < np.inf else top
