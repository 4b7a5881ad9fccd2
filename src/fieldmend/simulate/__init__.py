"""Seeded sensor networks to test and demonstrate with: fields, loss patterns, injected faults.

Everything is slots × nodes, NaN where no reading arrived, and the same seed gives the same bytes.
"""

from fieldmend.simulate.events import HAPPENINGS, Happening, happening
from fieldmend.simulate.faults import FAULTS, Corruption, corrupt
from fieldmend.simulate.fields import (
    CLIMATES,
    DEPLOYMENTS,
    Climate,
    Deployment,
    climate_field,
    deployment,
    low_rank,
)
from fieldmend.simulate.loss import LOSSES, observe
from fieldmend.simulate.networks import Network, network

__all__ = [
    "CLIMATES",
    "DEPLOYMENTS",
    "FAULTS",
    "HAPPENINGS",
    "LOSSES",
    "Climate",
    "Corruption",
    "Deployment",
    "Happening",
    "Network",
    "climate_field",
    "corrupt",
    "deployment",
    "happening",
    "low_rank",
    "network",
    "observe",
]
