"""Slots: where they begin, how long they are, what becomes of several readings in one."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldmend as fm

SECOND = 1_000_000
START = pd.Timestamp("2024-01-01")


def frame(times, values, node="a"):
    stamps = [START + pd.Timedelta(seconds=s) for s in times]
    return pd.DataFrame({"node": node, "time": stamps, "t": np.asarray(values, dtype=float)})


def test_slots_are_anchored_to_the_epoch_and_closed_on_the_left():
    grid = fm.read(frame([0, 299.999999, 300, 3 * 300 + 1], [1, 3, 5, 7])).grid(slot="5min")
    assert grid.times[0] % (300 * SECOND) == 0
    np.testing.assert_array_equal(np.diff(grid.times), 300 * SECOND)
    np.testing.assert_array_equal(grid.values["t"].ravel(), [2, 5, np.nan, 7])


def test_readings_that_scatter_about_the_beginnings_of_slots_go_to_the_nearest():
    rng = np.random.default_rng(3)
    sent = 1800 * np.arange(400) + rng.uniform(-240, 240, 400)
    grid = fm.read(frame(sent, np.arange(400))).grid()
    np.testing.assert_array_equal(grid.values["t"].ravel(), np.arange(400))
    assert grid.times[0] == START.value // 1000  # named by what it was sent for
    assert "nearest to it" in " ".join(grid.origin.notes)


def test_slots_of_several_readings_hold_their_left_edge():
    day = 600 * np.arange(6 * 8, 6 * 17)  # every ten minutes, from eight to five
    sent = np.concatenate([86400 * d + day for d in range(30)])
    grid = fm.read(frame(sent, np.arange(len(sent)))).grid(slot="1h")
    assert np.isfinite(grid.values["t"]).sum() == 30 * 9
    assert "nearest to it" not in " ".join(grid.origin.notes)


def test_slots_before_1970():
    stamps = pd.to_datetime(["1950-06-01 00:00:01", "1950-06-01 00:00:59", "1950-06-01 00:01:00"])
    grid = fm.read(pd.DataFrame({"node": "a", "time": stamps, "t": [1.0, 3.0, 5.0]})).grid("1min")
    assert grid.times[0] == pd.Timestamp("1950-06-01").value // 1000
    np.testing.assert_array_equal(grid.values["t"].ravel(), [2, 5])


@pytest.mark.parametrize(
    ("slot_value", "expected"),
    [("mean", 13 / 4), ("median", 2.5), ("first", 4), ("last", 7)],
)
def test_several_readings_in_one_slot(slot_value, expected):
    records = fm.read(frame([30, 10, 20, 40, 50], [1, 4, 1, 7, np.nan]))
    assert records.grid("1min", slot_value=slot_value).values["t"][0, 0] == expected


def test_a_random_reading_is_one_of_them_and_repeats_with_its_seed():
    records = fm.read(frame(range(600), np.arange(600)))
    first, again, other = (records.grid("1min", "random", seed=s).values["t"] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(first.ravel() // 60, np.arange(10))
    assert len(set(first.ravel() % 60)) > 3


def test_an_unknown_slot_value():
    with pytest.raises(fm.InputError, match="One of mean, median"):
        fm.read(frame([0], [1])).grid(slot_value="max")


@pytest.mark.parametrize(
    ("slot", "expected"),
    [("5min", 300), ("30 s", 30), (90, 90), ("1h", 3600), ("1D", 86400), ("0.5h", 1800),
     (timedelta(minutes=2), 120), (np.timedelta64(3, "s"), 3), ("h", 3600), ("250ms", 0.25)],
)  # fmt: skip
def test_lengths_of_slots(slot, expected):
    assert fm.read(frame([0, 1], [1, 2])).grid(slot).slot == expected * SECOND


@pytest.mark.parametrize(
    ("step", "jitter", "expected"),
    [
        (30, 0, 30),
        (31, 2, 30),
        (600, 20, 600),
        (3600, 0, 3600),
        (0.1, 0, 0.1),
        (45, 0, 45),
        (420, 0, 420),
    ],
)
def test_the_slot_is_found_and_stated(step, jitter, expected):
    rng = np.random.default_rng(0)
    times = np.arange(200) * step + rng.uniform(-jitter, jitter, 200)
    grid = fm.read(frame(times - times.min(), np.ones(200))).grid()
    assert grid.slot == expected * SECOND
    assert "found: a node's readings come every" in grid.origin.notes[-1]


def test_nodes_of_different_rates():
    fast = [frame(np.arange(0, 86400, 60), np.ones(1440), node=f"f{i}") for i in range(1)]
    slow = [frame(np.arange(0, 86400, 3600), np.ones(24), node=f"s{i}") for i in range(3)]
    assert fm.read(pd.concat(fast + slow)).grid().slot == 3600 * SECOND


@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin", "Pacific/Auckland"])
@pytest.mark.parametrize(("step", "day"), [(1, 1), (1, 15), (1, "last"), (3, 1), (12, 1)])
def test_each_month_has_a_slot_of_its_own(step, day, tz, tmp_path):
    """No two share one, none is empty: what is averaged or lost would be the calendar's doing."""
    first = pd.date_range("1900-11-01", periods=120 * step, freq="MS")[::step]
    when = first + pd.offsets.MonthEnd() if day == "last" else first + pd.Timedelta(days=day - 1)
    path = tmp_path / "months.csv"
    rows = [f"{n},{at:%Y-%m-%d},{k}" for n in "ab" for k, at in enumerate(when)]
    path.write_text("node,time,level\n" + "\n".join(rows))
    grid = fm.read(path, tz=tz).grid()
    np.testing.assert_array_equal(grid.values["level"][:, 0], np.arange(120))
    notes = " ".join(grid.origin.notes)
    assert "these differ in length" in notes
    assert abs(pd.Timestamp(grid.times[-1] * 1000) - when[-1]) < pd.Timedelta(days=31 * step)
    weeks = fm.read(path).grid(slot="7d")
    assert "differ in length" not in " ".join(weeks.origin.notes)


@pytest.mark.parametrize("days", [7, 14, 28, 30])
def test_weeks_are_no_parts_of_a_calendar(days):
    grid = fm.read(frame(np.arange(600) * days * 86400 + 3600, np.arange(600))).grid()
    assert grid.slot == days * 86400 * SECOND
    np.testing.assert_array_equal(grid.values["t"][:, 0], np.arange(600))


def test_a_slot_far_too_short_warns_and_offers_a_longer_one():
    records = fm.read(frame(np.arange(0, 36000, 600), np.ones(60)))
    assert not records.grid().origin.warnings
    (warning,) = records.grid("1min").origin.warnings
    assert "fewer than one in 5" in warning
    assert "slot='10min'" in warning


def test_duplicates_first_last_mean():
    twice = pd.concat([frame([0, 60], [1, 5]), frame([0], [2])])
    for choice, expected in (("mean", 1.5), ("first", 1), ("last", 2)):
        records = fm.read(twice, on_duplicate=choice)
        assert records.grid("1min").values["t"][0, 0] == expected
        assert (records.origin.used, records.origin.duplicates) == (2, 1)


def test_a_duplicate_weighs_once():
    """Two readings in a slot, one of them sent three times: the mean is of the two."""
    twice = pd.concat([frame([0, 30], [1, 5]), frame([0], [1]), frame([0], [1])])
    assert fm.read(twice).grid("1min").values["t"][0, 0] == 3


def test_grid_checks_its_shape():
    with pytest.raises(ValueError, match="slots × nodes are"):
        fm.Grid({"t": np.zeros((2, 3))}, ("a", "b"), np.arange(2), 1)


def test_many_parts_are_one_grid(monkeypatch):
    many = pd.concat([frame(np.arange(0, 6000, 7), np.arange(858.0), node=n) for n in "abc"])
    twice = pd.concat([many, many[::5]])
    whole = fm.read(twice).grid("1min")
    monkeypatch.setattr("fieldmend.records.gridding.filling.PART", 100)
    pieces = fm.read(twice).grid("1min")
    assert whole.origin == pieces.origin
    np.testing.assert_array_equal(whole.values["t"], pieces.values["t"])


# Properties

CELLS = st.floats(-1e6, 1e6, allow_nan=False) | st.none()
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 40).map(lambda s: s * 30), CELLS, CELLS),
    min_size=1,
    max_size=25,
    unique_by=lambda row: row[:2],
).filter(lambda rows: any(row[2] is not None or row[3] is not None for row in rows))


def as_frame(rows):
    nodes, times, t, h = zip(*rows, strict=True)
    stamps = [START + pd.Timedelta(seconds=s) for s in times]
    columns = {"node": nodes, "time": stamps, "t": t, "h": h}
    return pd.DataFrame(columns).astype({"t": float, "h": float})


def naive(rows, slot):
    """The grid by loops."""
    nodes = sorted({row[0] for row in rows})
    slots = [row[1] // slot for row in rows]
    first = min(slots)
    out = np.full((2, max(slots) - first + 1, len(nodes)), np.nan)
    for k in range(2):
        for s in range(out.shape[1]):
            for j, node in enumerate(nodes):
                cells = [r[2 + k] for r in rows if r[0] == node and r[1] // slot == first + s]
                cells = [c for c in cells if c is not None]
                if cells:
                    out[k, s, j] = sum(cells) / len(cells)
    return out


@settings(max_examples=12, deadline=None)
@given(ROWS, st.sampled_from([30, 60, 300]))
def test_the_grid_is_what_loops_make_of_it(rows, slot):
    grid = fm.read(as_frame(rows)).grid(slot)
    np.testing.assert_allclose(
        [grid.values["t"], grid.values["h"]], naive(rows, slot), rtol=1e-12, atol=1e-9
    )


@settings(max_examples=10, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    one, two = (fm.read(as_frame(r)).grid("2min") for r in (rows, shuffled))
    assert (one.nodes, one.slot) == (two.nodes, two.slot)
    np.testing.assert_array_equal(one.times, two.times)
    for name in one.values:
        np.testing.assert_allclose(one.values[name], two.values[name], rtol=1e-12, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(ROWS, st.data())
def test_duplicates_change_nothing(rows, data):
    again = data.draw(st.lists(st.sampled_from(rows), max_size=10))
    one, two = fm.read(as_frame(rows)), fm.read(as_frame(rows + again))
    assert two.origin.read == len(rows) + len(again)
    assert (two.origin.used, two.origin.duplicates) == (len(rows), len(again))
    for name, array in one.grid("2min").values.items():  # the order of a mean's terms may differ
        np.testing.assert_allclose(two.grid("2min").values[name], array, rtol=1e-12, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(ROWS)
def test_there_and_back(rows):
    """Grid → records → grid: the same grid."""
    grid = fm.read(as_frame(rows)).grid("1min")
    slots, nodes = grid.shape
    back = pd.DataFrame(
        {
            "node": np.tile(grid.nodes, slots),
            "time": np.repeat(grid.times, nodes),
            **{name: array.ravel() for name, array in grid.values.items()},
        }
    )
    again = fm.read(back).grid("1min")
    assert again.nodes == grid.nodes
    np.testing.assert_array_equal(again.times, grid.times)
    for name in grid.values:
        np.testing.assert_array_equal(again.values[name], grid.values[name])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=8))
def test_no_text_makes_the_reader_fail_but_by_refusing(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_text("node,time,t\na,2024-01-01,1\n" + "\n".join(lines), encoding="utf-8")
    try:
        o = fm.read(path).origin
    except fm.InputError as refusal:
        if "rows have fewer cells than the header" not in str(refusal):
            raise
        return
    assert o.read == o.used + o.duplicates + o.set_aside
    assert o.used >= 1


@settings(max_examples=10, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail_but_by_refusing(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(raw)
    try:
        o = fm.read(path).origin
    except fm.InputError:
        return
    assert o.read == o.used + o.duplicates + o.set_aside


def test_a_reading_of_each_node_years_apart_makes_no_grid_of_millions(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("node,time,t\na,1975-05-27T06:52:00,1\nb,2024-01-01T00:01:00,2\n")
    grid = fm.read(path).grid()
    assert grid.slot == 86_400_000_000
    assert len(grid.times) < 20_000
    assert any("want of two readings" in note for note in grid.origin.notes)


def test_a_reading_of_each_node_minutes_apart_is_kept_apart(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("node,time,t\na,2024-01-01T00:00:00,1\nb,2024-01-01T00:03:00,2\n")
    grid = fm.read(path).grid()
    assert grid.slot == 60_000_000
    assert grid.values["t"].shape == (4, 2)


@pytest.mark.parametrize("slot_value", ["mean", "median"])
@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("wind_dir_deg", [350, 20, 5], 5),
        ("wind_dir_deg", [350, 10], 360),
        ("wind_direction", [170, 190, 180], 180),
        ("wind_direction", [-170, 170], -180),
        ("temperature", [350, 20, 5], None),
    ],
)
def test_directions_in_one_slot_meet_on_the_circle(slot_value, name, values, expected):
    table = frame(range(len(values)), values).rename(columns={"t": name})
    found = fm.read(table).grid("1h", slot_value=slot_value).values[name].item()
    if expected is None:
        assert found == pytest.approx(np.mean(values) if slot_value == "mean" else 20)
    else:
        assert (found - expected + 180) % 360 - 180 == pytest.approx(0, abs=1e-9)
        assert -180 <= found <= 360


def test_a_grid_of_next_to_nothing_is_refused(tmp_path):
    """One row in ten has a wrong clock, at every node: too many to be set aside as strays."""
    rng = np.random.default_rng(0)
    lines = ["time,node,t"]
    for n in range(3):
        wrong = ["1970-01-01T00:00:24", "1987-11-03T15:00:00"]
        right = [str(np.datetime64("2024-01-01") + np.timedelta64(3 * k, "m")) for k in range(20)]
        lines += [f"{stamp},n{n},{20 + rng.normal():.2f}" for stamp in (*wrong, *right)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        fm.InputError, match=r"66 rows from 1970.* nearly all of them empty.*--start"
    ):
        fm.read(path).grid()
    assert fm.read(path, start="2024-01-01").grid().times.size == 20
    assert fm.read(path).grid("1d").times.size > 19_000
