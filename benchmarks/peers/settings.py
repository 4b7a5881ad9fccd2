"""Who takes part: each peer's function, environment, default, and the small grid for its best.

"Best" is generous on purpose: the setting is chosen by the truth (lowest NSE over all entries on
seed 0 of that size and sampling rate, the quickest of those within 2 %), the true rank is told
wherever a rank can be given, and the nodes' medians may be taken out first. A search ends when its
time is up, so the likely come first; later sizes begin with the best of the size before, and the
largest takes its winner over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from cases import NOISE, RANK

Settings = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """One method of one library.

    Attributes
    ----------
    name
        As in the tables.
    method
        Function in methods.py.
    environment
        Name in environments.py.
    convex
        Whether the problem it solves is convex.
    default
        What must be given even by default, because the library has no default for it.
    told
        What of the truth is in `default`.
    grid
        Settings among which the best is chosen; empty: no such row.
    """

    name: str
    method: str
    environment: str
    convex: bool
    default: Settings = field(default_factory=dict)
    told: str = ""
    grid: tuple[Settings, ...] = ()


def grid(**choices: Any) -> tuple[Settings, ...]:
    """Every combination of the choices; a value that is no tuple is the same in all."""
    axes = [value if isinstance(value, tuple) else (value,) for value in choices.values()]
    return tuple(dict(zip(choices, combination, strict=True)) for combination in product(*axes))


OURS = (
    Peer("fieldmend ls", "fieldmend_ls", "fieldmend", True),
    Peer("fieldmend ls debias", "fieldmend_ls", "fieldmend", False, {"debias": True}),
)

PEERS = (
    Peer(
        "qolmat RpcaPcp",
        "qolmat_pcp",
        "main",
        True,
        grid=grid(center=(True, False), lam=(1.4, 1.0, 2.0, 0.7, 2.8), tolerance=1e-5),
    ),
    Peer(
        "qolmat RpcaNoisy",
        "qolmat_noisy",
        "main",
        False,
        # Its tolerance is absolute, on sums of rows: the default of 1e-6 only costs time.
        grid=grid(center=True, rank=RANK, tau=(0.05, 0.02, 0.1), lam=(0.75, 1.0), tolerance=1e-2),
    ),
    Peer(
        "qolmat SoftImpute",
        "qolmat_soft",
        "main",
        True,
        grid=grid(center=True, rank=(RANK - 1, RANK), tau=(1.5, 3.0, 6.0)),
    ),
    Peer(
        "tensorly robust_pca",
        "tensorly_rpca",
        "main",
        True,
        grid=grid(center=(True, False), lam=(1.4, 1.0, 2.0, 0.7, 2.8)),
    ),
    Peer(
        "pyproximal FISTA",
        "pyproximal_fista",
        "main",
        True,
        default={"sigma": NOISE},
        told="noise",
        grid=grid(
            center=True, mu=(0.22, 0.33, 0.15), threshold=(0.75, 1.0, 0.5), niter=300, tol=1e-6
        ),
    ),
    Peer(
        "hyperspy RPCA",
        "hyperspy_rpca",
        "main",
        False,
        default={"rank": RANK},
        told="rank",
        grid=grid(center=True, rank=RANK, lambda1=(0.1, 0.5, 2.0), fill=("median", "linear")),
    ),
    Peer(
        "hyperspy ORPCA",
        "hyperspy_orpca",
        "main",
        False,
        default={"rank": RANK},
        told="rank",
        grid=grid(
            center=True,
            rank=RANK,
            lambda1=(0.02, 0.1),
            lambda2=(2.0, 4.0, 8.0),
            method="CF",
            training_samples=50,
            project=True,
            fill="linear",
        ),
    ),
    Peer(
        "scikit-learn IterativeImputer",
        "sklearn_iterative",
        "main",
        False,
        grid=grid(neighbours=(4, 8, 15), max_iter=20),
    ),
    Peer(
        "fancyimpute SoftImpute",
        "fancyimpute_soft",
        "legacy",
        True,
        grid=grid(center=True, shrinkage=(3.0, 6.0, 12.0), convergence_threshold=1e-4)
        + grid(center=True, shrinkage=6.0, max_rank=RANK, convergence_threshold=1e-4),
    ),
    Peer(
        "cmfrec CMF",
        "cmfrec_cmf",
        "cmfrec",
        False,
        grid=grid(center=True, k=(RANK - 1, RANK), lambda_=(30.0, 100.0, 300.0), use_cg=False),
    ),
    Peer(
        "ImputeGAP CDRec",
        "imputegap_cdrec",
        "imputegap",
        False,
        grid=grid(rank=(RANK - 1, RANK), epsilon=1e-6, iterations=100, center=(True, False)),
    ),
    Peer(
        "ImputeGAP SoftImpute",
        "imputegap_soft",
        "imputegap",
        True,
        grid=grid(max_rank=RANK, center=(True, False)),
    ),
    Peer(
        "ImputeGAP ROSL",
        "imputegap_rosl",
        "imputegap",
        False,
        grid=grid(rank=RANK, regularization=(0.2, 0.6, 2.0), center=True),
    ),
)
