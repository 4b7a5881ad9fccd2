"""From readings to faults: lasting ones masked, single ones flagged, all grouped and explained.

Arrays are slots × nodes, NaN = not observed. See `docs/faults.md` for what each test asks.
"""

from fieldmend.faults.episodes import classify, confidence, kinds
from fieldmend.faults.kind import Kind
from fieldmend.faults.labels import Context, Episode
from fieldmend.faults.lasting import persistent
from fieldmend.faults.spikes import spikes

__all__ = [
    "Context",
    "Episode",
    "Kind",
    "classify",
    "confidence",
    "kinds",
    "persistent",
    "spikes",
]
