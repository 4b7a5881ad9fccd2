"""What `View.counts` says, as Prometheus reads it: names and kinds in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fieldmend.live.episodes import VISIT

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Counts = dict[str, Any]


class Row(NamedTuple):
    """One number: its name, what it is, where `View.counts` has it."""

    name: str
    about: str
    value: Callable[[Counts], float | None]


def _model(name: str) -> Callable[[Counts], float | None]:
    return lambda counts: (counts["model"] or {}).get(name)


COUNTERS = (
    Row(
        "readings_received", "Readings that came, all of them.", lambda c: c["readings"]["received"]
    ),
    Row("readings_duplicate", "Repeats, absorbed.", lambda c: c["readings"]["duplicate"]),
    Row("readings_late", "Stored after their slot was closed.", lambda c: c["readings"]["late"]),
    Row("slots_closed", "Slots closed, revision 0.", lambda c: c["slots"]["closed"]),
    Row("broker_dropped", "Messages the broker says it dropped.", lambda c: c["broker_dropped"]),
    Row("sequence_gaps", "Sequence numbers that never came.", lambda c: c["sequence_gaps"]),
)
GAUGES = (
    Row("slot_seconds", "CPU of the newest slot's closing.", lambda c: c["slot_seconds"]),
    Row("lag_seconds", "Since the end of the newest closed slot.", lambda c: c["lag_seconds"]),
    Row("outbox", "Closings and alerts not sent yet.", lambda c: c["outbox"]),
    Row("model_age_seconds", "Since the model's last fitted slot.", _model("age_seconds")),
    Row("replay_error", "Error of the model on a replay, over the last value's.", _model("error")),
    Row("journal_bytes", "Size of the journal.", lambda c: c["journal_bytes"]),
    Row("nodes", "Nodes heard so far.", lambda c: c["nodes"]),
)


class _Numbers(Collector):
    def __init__(self, counts: Counts, readers: int) -> None:
        self._counts, self._readers = counts, readers

    def collect(self) -> Iterator[Metric]:
        """The families, in the order of the tables."""
        counts = self._counts
        for row in COUNTERS:
            yield CounterMetricFamily(f"fieldmend_{row.name}", row.about, row.value(counts) or 0)
        rejected = CounterMetricFamily(
            "fieldmend_readings_rejected", "Refused, by reason.", labels=["why"]
        )
        for why, number in sorted(counts["rejected"].items()):
            rejected.add_metric([why], number)
        yield rejected
        for row in GAUGES:
            value = row.value(counts)
            if value is not None:
                yield GaugeMetricFamily(f"fieldmend_{row.name}", row.about, value)
        episodes = GaugeMetricFamily("fieldmend_episodes_open", "Open, by kind.", labels=["kind"])
        for kind in sorted(VISIT):  # a kind that is not open is 0: an alarm needs it to be there
            episodes.add_metric([kind], counts["episodes"].get(kind, 0))
        yield episodes
        yield GaugeMetricFamily("fieldmend_page_readers", "Open event streams.", self._readers)


def exposition(counts: Counts, readers: int = 0) -> bytes:
    """The numbers as text.

    Parameters
    ----------
    counts
        As `View.counts` gives them.
    readers
        Open event streams.
    """
    registry = CollectorRegistry()
    registry.register(_Numbers(counts, readers))
    return generate_latest(registry)
