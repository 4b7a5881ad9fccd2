"""Readings as users give them, made into arrays that everything else may trust."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldmend.core.prox import Array, Mask


def checked(X: Any, observed: Any, *, some: bool = True) -> tuple[Array, Mask]:
    """X as float32 or float64, slots × nodes; O true where X is finite and observed.

    Masked entries of a masked array are not observed. With `some`, at least one entry has to be.
    """
    masked = np.ma.getmaskarray(X) if isinstance(X, np.ma.MaskedArray) else None
    X = np.asarray(X)
    if X.dtype.kind in "iub":
        X = X.astype(np.float64)
    X = X.astype(X.dtype.newbyteorder("="), copy=False)
    if X.dtype not in (np.float32, np.float64):
        msg = f"X must be an array of real numbers, float32 or float64; its dtype is {X.dtype}"
        raise ValueError(msg)
    if X.ndim != 2 or 0 in X.shape:
        msg = f"X must be slots × nodes with at least one of each; its shape is {X.shape}"
        raise ValueError(msg)
    O: Mask = ~np.isnan(X)
    if masked is not None:
        O &= ~masked
    if observed is not None:
        given = np.asarray(observed)
        if given.shape != X.shape or given.dtype != np.bool_:
            msg = (
                f"observed must be a boolean mask of the shape of X, {X.shape}; it is "
                f"{given.dtype} of shape {given.shape}"
            )
            raise ValueError(msg)
        O &= given
    infinite = np.isinf(X) & O
    if infinite.any():
        t, n = np.argwhere(infinite)[0]
        msg = (
            f"X has {int(infinite.sum())} infinite entries, the first at slot {t}, node {n}: "
            "mark them as missing (NaN)"
        )
        raise ValueError(msg)
    if some and not O.any():
        msg = "no entry of X is observed: nothing to decompose"
        raise ValueError(msg)
    return X, O
