"""Stamps with their zone: read fast and alike, and taken before a time in parts that has none."""

import re
from datetime import UTC, datetime, timedelta

import pytest

import fieldmend as fm
from fieldmend.records.table.clock import AHEAD, micros, shape_of
from fieldmend.records.table.timing import is_clock

START = datetime(2024, 3, 30, 22, tzinfo=UTC)


def readings(path, stamp, hours=6):
    """Three nodes every hour; `stamp` writes a moment."""
    rows = [
        f"{node},{stamp(START + timedelta(hours=h))},{h + i / 10}"
        for h in range(hours)
        for i, node in enumerate("abc")
    ]
    path.write_text("\n".join(["station,time,temperature", *rows]) + "\n")
    return path


def ahead(moment, hours, form, zone):
    return (moment + timedelta(hours=hours)).strftime(form) + zone


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S.%f"])
@pytest.mark.parametrize(
    ("hours", "zone"),
    [(1, "+01:00"), (-9.5, "-09:30"), (2, "+0200"), (5, "+05"), (0, " UTC"), (0, " GMT")],
)
def test_a_zone_behind_the_stamp_is_read_the_fast_way_and_right(tmp_path, form, hours, zone):
    file = readings(tmp_path / "r.csv", lambda t: ahead(t, hours, form, zone))
    written = file.read_text().splitlines()[1].split(",")[1]
    assert re.fullmatch(AHEAD, shape_of([written]))
    times = fm.read(file).grid(slot="1h").times
    assert times[0] == micros(START)
    assert len(times) == 6


def test_stamps_of_another_shape_among_them_are_read_with_care(tmp_path):
    """The clocks went forward, and one logger writes its zone in words."""
    file = readings(tmp_path / "r.csv", lambda t: ahead(t, 1, "%Y-%m-%dT%H:%M:%S", "+01:00"))
    lines = file.read_text().splitlines()
    lines[4] = f"a,{ahead(START + timedelta(hours=1), 2, '%Y-%m-%d %H:%M:%S', ' CEST')},1.0"
    lines[7] = f"a,{ahead(START + timedelta(hours=2), 2, '%Y-%m-%dT%H:%M:%S', '+02:00')},2.0"
    file.write_text("\n".join(lines) + "\n")
    grid = fm.read(file).grid(slot="1h")
    assert grid.values["temperature"][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_stamps_with_a_zone_come_before_the_parts_of_a_local_time(tmp_path):
    """In autumn an hour of local time comes twice: two readings would be one."""
    start = datetime(2013, 11, 3, 3, tzinfo=UTC)
    rows = ["station,year,month,day,hour,temp,time_hour"]
    for h in range(6):
        utc = start + timedelta(hours=h)
        local = utc - timedelta(hours=4 if h < 3 else 5)
        parts = f"{local.year},{local.month},{local.day},{local.hour}"
        rows += [f"{node},{parts},{h}.5,{utc:%Y-%m-%dT%H:%M:%SZ}" for node in "ab"]
    file = tmp_path / "hours.csv"
    file.write_text("\n".join(rows) + "\n")
    records = fm.read(file)
    assert records.origin.duplicates == 0
    grid = records.grid()
    assert grid.times[0] == micros(start)
    assert grid.values["temp"][:, 0].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert any("time_hour is taken for the time" in note for note in records.origin.notes)


def test_parts_stay_the_time_where_the_zoned_stamp_is_that_of_the_record(tmp_path):
    rows = ["station,year,month,day,hour,temp,inserted"]
    rows += [f"a,2024,1,{d},{h},1.5,2024-02-01T10:{d:02}:{h:02}Z" for d in (1, 2) for h in range(9)]
    file = tmp_path / "hours.csv"
    file.write_text("\n".join(rows) + "\n")
    assert (
        fm.read(file, time="year,month,day,hour").grid().times[0] == fm.read(file).grid().times[0]
    )


@pytest.mark.parametrize(("first", "warned"), [(1961, False), (1970, True)])
def test_a_record_of_the_sixties_is_no_clock_that_was_never_set(tmp_path, first, warned):
    step = timedelta(days=30) if first < 1970 else timedelta(hours=1)
    day = datetime(first, 1, 1, tzinfo=UTC)
    rows = [f"{n},{day + k * step:%Y-%m-%d %H:%M:%S},{k % 7}.5" for k in range(100) for n in "ab"]
    file = tmp_path / "old.csv"
    file.write_text("\n".join(["station,time,wind", *rows]) + "\n")
    told = any("unset clocks" in warning for warning in fm.read(file).origin.warnings)
    assert told == warned


@pytest.mark.parametrize("day", ["%d/%m/%Y", "%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%d.%m.%y"])
@pytest.mark.parametrize("clock", ["%H.%M.%S", "%H.%M"])
@pytest.mark.parametrize("between", [" ", ";"])
def test_clocks_with_points_are_clocks(tmp_path, day, clock, between):
    moments = [START + timedelta(minutes=30 * i) for i in range(100)]
    rows = [f"{t.strftime(day + between + clock)};{i},5" for i, t in enumerate(moments)]
    head = "Date;Time;t" if between == ";" else "time;t"
    path = tmp_path / "r.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    records = fm.read(path, dates="dmy")
    assert records.origin.used == 100
    assert records.grid().times[[0, -1]].tolist() == [micros(moments[0]), micros(moments[-1])]


def test_hours_as_decimals_are_no_clock_with_points():
    assert is_clock(["18.30", "19.00"])
    assert is_clock(["18.00", "19.00"])
    assert not is_clock(["18.50", "18.75", "19.00"])
    assert not is_clock(["0.25", "0.5"])
    assert not is_clock(["25.10", "26.10"])
