"""Recover the field a sensor network measured: lost readings filled, false ones flagged."""

from typing import Any

from fieldmend import diagnostics, metrics, simulate
from fieldmend.decomposition import ConvergenceWarning, Decomposition, decompose
from fieldmend.solvers.loop import Status

__version__ = "0.1.0"

__all__ = [
    "ConvergenceWarning",
    "Decomposition",
    "Grid",
    "InputError",
    "LSDecomposition",
    "Records",
    "Recovery",
    "Status",
    "__version__",
    "decompose",
    "diagnostics",
    "metrics",
    "read",
    "recover",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # scikit-learn is an extra, and slow to import: only who asks for the estimator pays for it.
    if name == "LSDecomposition":
        from fieldmend.estimators import LSDecomposition

        return LSDecomposition
    # So is the reader, for its own weight; DuckDB is imported by the first `read`.
    if name in ("InputError", "Records", "read"):
        from fieldmend import records

        return getattr(records, name)
    if name in ("Recovery", "recover"):
        from fieldmend import recovery

        return getattr(recovery, name)
    if name == "Grid":
        from fieldmend.grid import Grid

        return Grid
    msg = f"module 'fieldmend' has no attribute {name!r}"
    raise AttributeError(msg)
