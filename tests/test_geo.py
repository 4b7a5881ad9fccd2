"""Neighbours: the same wherever on earth the network lies."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend import faults, geo
from fieldmend.faults import neighbours

# Greenwich, Chicago, Tokyo, Wellington, across the date line, Svalbard, beside the pole.
TOWNS = [(51.5, 0.0), (41.9, -87.6), (35.7, 139.7), (-41.3, 174.8), (-17.0, 180.0), (78.0, 16.0)]
POLE = (89.99, 30.0)


def haversine(a, b):
    """Great circle, written down apart from the module."""
    lat, lon = np.radians([a["lat"], b["lat"]]), np.radians([a["lon"], b["lon"]])
    h = np.sin(np.diff(lat) / 2) ** 2 + np.cos(lat).prod() * np.sin(np.diff(lon) / 2) ** 2
    return float(2 * geo.EARTH * np.arcsin(np.sqrt(h[0])))


def town(lat, lon, count=40, seed=0):
    """Nodes within about two kilometres."""
    rng = np.random.default_rng(seed)
    north, east = rng.uniform(-0.02, 0.02, (2, count))
    lat = np.clip(lat + north, -90, 90)
    lon = (lon + east / np.cos(np.radians(lat)) + 180) % 360 - 180
    return [{"lat": a, "lon": o} for a, o in zip(lat, lon, strict=True)]


@pytest.mark.parametrize("where", [*TOWNS, POLE])
def test_the_nearest_are_those_of_the_great_circle(where):
    places = town(*where)
    true = np.array([[haversine(a, b) for b in places] for a in places])
    np.fill_diagonal(true, np.inf)
    found = geo.nearest(geo.distances(places), 5)
    for mine, theirs in zip(found, np.argsort(true, axis=1)[:, :5], strict=True):
        assert set(mine) == set(theirs)


def test_distances_are_metres():
    places = town(35.7, 139.7)
    true = np.array([[haversine(a, b) for b in places] for a in places])
    np.testing.assert_allclose(geo.distances(places), true, atol=0.01)
    assert geo.distances(places, slice(3, 4)).shape == (1, 40)
    np.testing.assert_array_equal(geo.distances(places, slice(3, 4))[0], geo.distances(places)[3])


def test_heights_count_where_all_have_one():
    mast = [{"lat": 48.0, "lon": 9.0, "elevation": h} for h in (0.0, 100.0, 10.0)]
    assert geo.nearest(geo.distances(mast), 1)[:, 0].tolist() == [2, 2, 0]
    del mast[1]["elevation"]
    assert geo.distances(mast).max() < 1e-6
    assert geo.distances([{"x": 0, "y": 0, "z": 3}, {"x": 0, "y": 4, "z": 0}])[0, 1] == 5


def test_a_node_without_a_place_is_nobodys_neighbour():
    places = [{"x": 0.0, "y": 0.0}, None, {"x": 2.0, "y": 0.0}, {"x": 9.0, "y": 0.0}]
    order = geo.nearest(geo.distances(places), 2)
    assert order.tolist() == [[2, 3], [-1, -1], [0, 3], [2, 0]]
    able = np.array([True, True, False, True])
    assert geo.nearest(geo.distances(places), 2, able)[0].tolist() == [3, -1]


def test_metres_among_degrees_have_no_place():
    at = geo.points([{"lat": 1.0, "lon": 2.0}, {"x": 3.0, "y": 4.0}])
    assert np.isfinite(at[0]).all()
    assert np.isnan(at[1]).all()


@pytest.mark.parametrize("where", [(51.5, 0.0), (35.7, 139.7), (-17.0, 180.0)])
def test_an_event_at_four_neighbours_is_spared_anywhere(where):
    """At Greenwich 10 of 12 were spared and in Tokyo 2, when degrees were taken for a plan."""
    swell, spared = 5.0 * np.sin(np.linspace(0, np.pi, 120)), 0
    for seed in range(10):
        places = dict(zip((f"n{i}" for i in range(40)), town(*where, seed=1), strict=True))
        rng = np.random.default_rng(seed)
        X = fm.simulate.climate_field(600, 40, seed=seed) + 0.1 * rng.standard_normal((600, 40))
        near = [seed, *geo.nearest(geo.distances(list(places.values())), 3)[seed]]
        X[300:420, near] += swell[:, None]
        labels = faults.Context(nodes=tuple(places), places=places, slot=300_000_000)
        spared += not faults.persistent(X, labels)[:, near].any()
    assert spared >= 7


def test_faults_and_report_name_the_same_neighbours():
    places = dict(zip((f"n{i}" for i in range(40)), town(35.7, 139.7), strict=True))
    X = fm.simulate.climate_field(50, 40, seed=0)
    labels = faults.Context(nodes=tuple(places), places=places)
    order, in_space = neighbours.companions(X, labels)
    assert in_space
    np.testing.assert_array_equal(order, geo.nearest(geo.distances(list(places.values())), 5))


@pytest.mark.parametrize("count", [1, 5, 20])
def test_the_smallest_are_a_stable_sort_cut_off(count):
    rng = np.random.default_rng(count)
    some = rng.random((30, 300))
    tied = rng.integers(0, 40, (30, 300)).astype(float)
    tied[0] = np.inf
    for values in (some, tied, some[:, :40]):
        expected = np.argsort(values, axis=1, kind="stable")[:, :count]
        np.testing.assert_array_equal(geo.smallest(values, count), expected)
