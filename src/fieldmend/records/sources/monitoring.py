"""JSON of databases of time series: series with labels, and their points beside them."""

from collections.abc import Iterator, Mapping
from typing import Any

from fieldmend.records.sources.nested import Row, at, listed, object_at


def _of_series(labels: Any, name: str) -> str:
    """The node of a series: what its labels say, else its name; `job` is who asked for it."""
    told = object_at(labels)
    told.pop("job", None)
    return "/".join(str(label) for label in told.values()) or name


def prometheus(found: Any) -> Iterator[Row]:
    """A query over a range: series with labels, and their pairs of time and value."""
    for series in found["data"]["result"]:
        labels = object_at(series, "metric")
        name = str(labels.pop("__name__", "value"))
        node = _of_series(labels, name)
        for pair in listed(series, "values"):
            yield {"node": node, "time": at(pair, 0), "variable": name, "value": at(pair, 1)}


def is_export(found: Any) -> bool:
    """VictoriaMetrics, /api/v1/export: a series in a line."""
    values, times = at(found, "values"), at(found, "timestamps")
    sound = isinstance(values, list) and isinstance(times, list) and len(values) == len(times)
    return sound and isinstance(at(found, "metric"), Mapping)


def export(found: Any) -> Iterator[Row]:
    """Values and times of a series side by side."""
    labels = dict(found["metric"])
    name = str(labels.pop("__name__", "value"))
    node = _of_series(labels, name)
    for time, value in zip(found["timestamps"], found["values"], strict=True):
        yield {"node": node, "time": time, "variable": name, "value": value}


def is_influx(found: Any) -> bool:
    """InfluxDB 1, /query: series with tags, columns and rows."""
    return isinstance(at(found, "results", 0, "series", 0, "columns"), list)


def influx(found: Any) -> Iterator[Row]:
    """Each row of each series; the tags, joined, are the node."""
    for result in found["results"]:
        for series in listed(result, "series"):
            name = str(at(series, "name") or "series")
            columns = [str(column) for column in listed(series, "columns")]
            for cells in listed(series, "values"):
                row = dict(zip(columns, cells, strict=False)) if isinstance(cells, list) else {}
                yield {"node": _of_series(at(series, "tags"), name), **row}


def is_graphite(found: Any) -> bool:
    """Graphite's render API with format=json."""
    return isinstance(at(found, 0, "datapoints"), list) and at(found, 0, "target") is not None


def graphite(found: Any) -> Iterator[Row]:
    """Pairs of value and time, in this order."""
    for series in found:
        for pair in listed(series, "datapoints"):
            yield {"node": at(series, "target"), "time": at(pair, 1), "value": at(pair, 0)}


def is_tsdb(found: Any) -> bool:
    """OpenTSDB's query: points by their time."""
    return isinstance(at(found, 0, "dps"), Mapping) and at(found, 0, "metric") is not None


def tsdb(found: Any) -> Iterator[Row]:
    """Each point of each series."""
    for series in found:
        name = str(at(series, "metric"))
        points = at(series, "dps")
        for time, value in points.items() if isinstance(points, Mapping) else ():
            node = _of_series(at(series, "tags"), name)
            yield {"node": node, "time": time, "variable": name, "value": value}
