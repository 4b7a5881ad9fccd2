"""What the data are like: loss rates, gaps, singular-value energy, anomaly ratios, incoherence.

Plain functions of arrays, slots × nodes. They measure what the paper assumes (Section IV) and what
it observes in real networks (Section V). Section numbers are those of the overview that closes the
paper's introduction; its printed headings count one more from "Conditions and Performance
Guarantees" on.
"""

from fieldmend.diagnostics.guarantee import recovery_bound
from fieldmend.diagnostics.loss import Ecdf, ecdf, gap_at, gap_lengths, loss_rates
from fieldmend.diagnostics.spectrum import (
    EnergyRank,
    Incoherence,
    incoherence,
    singular_energy,
    values_for_energy,
)
from fieldmend.diagnostics.support import (
    Clumping,
    SupportUniformity,
    anomaly_ratio,
    support_uniformity,
)

__all__ = [
    "Clumping",
    "Ecdf",
    "EnergyRank",
    "Incoherence",
    "SupportUniformity",
    "anomaly_ratio",
    "ecdf",
    "gap_at",
    "gap_lengths",
    "incoherence",
    "loss_rates",
    "recovery_bound",
    "singular_energy",
    "support_uniformity",
    "values_for_energy",
]
