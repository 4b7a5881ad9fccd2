"""scikit-learn estimators: samples are slots, features are nodes, NaN is a reading that is missing.

``fit`` runs :func:`fieldmend.decompose` and keeps what it learnt of the nodes. ``transform`` of
``FieldRecovery`` applies the fitted model to slots that follow each other. Where slots stand alone
(``LSDecomposition``, ``FieldRecovery(ordered=False)``), each is fitted against the space that the
nodes span: they can come one at a time, in any order.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "the estimators need scikit-learn: pip install 'fieldmend[sklearn]'", name="sklearn"
    )

from fieldmend.estimators.field import FieldRecovery
from fieldmend.estimators.ls import LSDecomposition

__all__ = ["FieldRecovery", "LSDecomposition"]
