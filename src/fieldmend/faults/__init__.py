"""From readings to faults: lasting ones masked, single ones flagged, all grouped and explained.

Arrays are slots × nodes, NaN = not observed. See `docs/faults.md` for what each test asks.
"""

from fieldmend.faults.agreed import agreed
from fieldmend.faults.apart import Apart, standing_apart
from fieldmend.faults.daily import daily
from fieldmend.faults.episodes import classify, confidence, kinds
from fieldmend.faults.jumping import jumping
from fieldmend.faults.kind import Kind
from fieldmend.faults.labels import Context, Episode
from fieldmend.faults.lasting import Search, persistent, search
from fieldmend.faults.own_ways import as_others_do, visits
from fieldmend.faults.remembered import Expect, Expected
from fieldmend.faults.seen_too import alone, spared
from fieldmend.faults.spikes import spikes

__all__ = [
    "Apart",
    "Context",
    "Episode",
    "Expect",
    "Expected",
    "Kind",
    "Search",
    "agreed",
    "alone",
    "as_others_do",
    "classify",
    "confidence",
    "daily",
    "jumping",
    "kinds",
    "persistent",
    "search",
    "spared",
    "spikes",
    "standing_apart",
    "visits",
]
