"""Imputers of other libraries, where they are installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from fieldmend.experiments.data import FloatArray

NEAREST = 20  # companions that an iterative imputer looks at: all of them take hours at 600 nodes

Impute = Callable[[FloatArray], FloatArray]


def installed() -> dict[str, Impute]:
    """Title → imputer."""
    if find_spec("sklearn") is None:
        return {}
    return {"sklearn-knn": _knn, "sklearn-iterative": _iterative}


def _knn(X: FloatArray) -> FloatArray:
    from sklearn.impute import KNNImputer

    return _transformed(KNNImputer(keep_empty_features=True), X)


def _iterative(X: FloatArray) -> FloatArray:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    nearest = min(NEAREST, X.shape[1] - 1) or None
    imputer = IterativeImputer(n_nearest_features=nearest, random_state=0, keep_empty_features=True)
    return _transformed(imputer, X)


def _transformed(imputer: Any, X: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "did not converge" is its default's usual end
        return np.asarray(imputer.fit_transform(X), dtype=np.float64)
