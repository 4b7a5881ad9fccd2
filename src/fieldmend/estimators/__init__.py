"""scikit-learn estimators: samples are slots, features are nodes, NaN is a reading that is missing.

``fit`` runs :func:`fieldmend.decompose` and keeps the space the nodes span. ``transform`` fits each
new slot against that space alone: a slot's coefficients, never the nodes' loadings, so slots can
come one at a time, in any order, without a second decomposition.
"""

from fieldmend.estimators.field import FieldRecovery
from fieldmend.estimators.ls import LSDecomposition

__all__ = ["FieldRecovery", "LSDecomposition"]
