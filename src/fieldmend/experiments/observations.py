"""Figs. 4 and 5: loss rates, anomaly ratios and singular-value energy of each matrix."""

from __future__ import annotations

from fieldmend import diagnostics
from fieldmend.experiments.cells import Cell, Store
from fieldmend.experiments.contestants import separation, solved
from fieldmend.experiments.data import Deployment, FloatArray, Matrix
from fieldmend.experiments.tables import Row

SHARE = 0.9


def cells(matrices: list[Matrix], store: Store) -> list[Cell]:
    """One cell per matrix and way of separating."""
    ways = ("paper", "ours", "debiased")
    return [
        Cell("observations", {"way": way}, store.keep(matrix))
        for matrix in matrices
        for way in ways
    ]


def measure(matrix: Matrix, *, way: str) -> list[Row]:
    """Anomaly ratio and energy of a matrix, raw and processed by LS-Separation."""
    if way == "paper":
        found = separation(matrix)
        low_rank, sparse, rank = found.low_rank, found.sparse, found.rank
    else:
        out = solved(matrix.values, debias=way == "debiased")
        low_rank, sparse, rank = out.low_rank, out.sparse, out.rank
    ratio = diagnostics.anomaly_ratio((sparse != 0) & matrix.known, matrix.known)
    raw, processed = matrix.full, low_rank
    return [
        {
            **matrix.labels,
            "settings": way,
            "anomaly_ratio": ratio,
            "rank": rank,
            "raw_for_90": _needed(raw),
            "processed_for_90": _needed(processed),
            **_curves(raw, processed, way),
        }
    ]


def _needed(array: FloatArray) -> float:
    """The share of singular values that hold 90 % of the energy; none if L = 0 was found."""
    return diagnostics.values_for_energy(array, share=SHARE).fraction if array.any() else 0.0


def _curves(raw: FloatArray, processed: FloatArray, way: str) -> dict[str, str]:
    """Energy in the largest 1, 2, … singular values: as text, one cell of the table."""
    if way != "paper" or not processed.any():
        return {}
    return {
        name: " ".join(f"{share:.4f}" for share in diagnostics.singular_energy(array))
        for name, array in (("raw_energy", raw), ("processed_energy", processed))
    }


def loss_table(deployments: tuple[Deployment, ...]) -> list[Row]:
    """Fig. 4 left: the distribution of the nodes' loss rates."""
    rows: list[Row] = []
    for one in deployments:
        found = diagnostics.ecdf(one.loss)
        rows += [
            {"deployment": one.key, "simulated": "yes" if one.simulated else "no",
             "loss_rate": float(rate), "share_of_nodes": float(share)}
            for rate, share in zip(found.values, found.shares, strict=True)
        ]  # fmt: skip
    return rows


def energy_table(rows: list[Row]) -> list[Row]:
    """Fig. 5 as a tidy table, from the cells' curves."""
    out: list[Row] = []
    for row in rows:
        if "raw_energy" not in row:
            continue
        curves = (str(row["raw_energy"]).split(), str(row["processed_energy"]).split())
        labels = {name: row[name] for name in ("deployment", "condition", "simulated")}
        for k, (raw, processed) in enumerate(zip(*curves, strict=True), start=1):
            portion = k / len(curves[0])
            energy = {"raw": float(raw), "processed": float(processed)}
            out.append({**labels, "portion": portion, **energy})
    return out


def separation_table(rows: list[Row]) -> list[Row]:
    """Fig. 4 right and the numbers of Fig. 5, without the curves."""
    return [{k: v for k, v in row.items() if not k.endswith("_energy")} for row in rows]
