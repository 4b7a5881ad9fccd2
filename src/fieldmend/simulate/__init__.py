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
from fieldmend.simulate.quantities import (
    QUANTITIES,
    direction_field,
    humidity_field,
    meter_field,
    rain_field,
    skewed_field,
)

__all__ = [
    "CLIMATES",
    "DEPLOYMENTS",
    "FAULTS",
    "HAPPENINGS",
    "LOSSES",
    "QUANTITIES",
    "Climate",
    "Corruption",
    "Deployment",
    "Happening",
    "Network",
    "climate_field",
    "corrupt",
    "deployment",
    "direction_field",
    "happening",
    "humidity_field",
    "low_rank",
    "meter_field",
    "network",
    "observe",
    "rain_field",
    "skewed_field",
]
