"""From anomalies to episodes: which node, from when to when, and what kind of fault."""

from fieldmend.faults.episodes import Context, Episode, classify
from fieldmend.faults.spikes import spikes, spread

__all__ = ["Context", "Episode", "classify", "spikes", "spread"]
