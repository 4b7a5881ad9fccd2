"""What the tests of files write: a small recovery, its intervals and units, and the writers."""

from dataclasses import replace

import fieldmend as fm
from fieldmend.grid import Grid

PLACES = {"a": {"lat": 50.0, "lon": 8.0, "elevation": 120.0}, "c": {"lat": 51.0, "lon": 9.0}}


def recovered(conditions=("temperature",), nodes="abcdefgh", unit="°C", **changes):
    net = fm.simulate.network(slots=60, nodes=len(nodes), seed=1)
    grid = Grid.of(net.readings, nodes=nodes, start="2024-01-01")
    values = {name: net.readings + i for i, name in enumerate(conditions)}
    units = dict.fromkeys(conditions, unit)
    grid = replace(grid, values=values, units=units, **changes)
    return fm.recover(grid, method="ls", holdout=False)  # it has no intervals


def with_interval(rec):
    def widened(one):
        return replace(one, lower=one.estimate - 1, upper=one.estimate + 1)

    return replace(rec, conditions={name: widened(one) for name, one in rec.conditions.items()})


def in_units(rec, units):
    conditions = {n: replace(one, unit=units.get(n, "")) for n, one in rec.conditions.items()}
    return replace(rec, conditions=conditions)


def write(rec, path, **options):
    writer = {".parquet": rec.to_parquet, ".nc": rec.to_netcdf}.get(path.suffix, rec.to_csv)
    writer(path, **options)
