"""Local times that do not say so: the hour that is skipped, and the one that comes twice."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

import fieldmend as fm


def record(tmp_path, zone, start, *, minutes=15, hours=48, without=()):
    """Stamps as a logger with summer time writes them, without any zone."""
    begin = dt.datetime.fromisoformat(start).replace(tzinfo=dt.UTC)
    lines = ["time,A,B,C"]
    for i in range(hours * 60 // minutes):
        stamp = (begin + dt.timedelta(minutes=i * minutes)).astimezone(ZoneInfo(zone))
        if stamp.strftime("%d %H") not in without:
            lines.append(f"{stamp:%Y-%m-%d %H:%M},{i}.5,{i % 7}.1,{i % 5}.2")
    path = tmp_path / "local.csv"
    path.write_text("\n".join(lines))
    return path


def warned(path, **options):
    return [w for w in fm.read(path, **options).origin.warnings if "hour that" in w]


@pytest.mark.parametrize("minutes", [5, 60])
@pytest.mark.parametrize(
    ("zone", "start", "hour"),
    [
        ("Europe/Madrid", "2024-03-30", "31 Mar 2024 02:00 to 03:00"),
        ("Europe/Lisbon", "2024-03-30", "31 Mar 2024 01:00 to 02:00"),
        ("America/Chicago", "2023-03-11", "12 Mar 2023 02:00 to 03:00"),
    ],
)
def test_an_hour_that_clocks_skip_is_no_outage(tmp_path, zone, start, hour, minutes):
    path = record(tmp_path, zone, start, minutes=minutes)
    (said,) = warned(path)
    assert f"no reading from {hour}, an hour that clocks skip" in said
    assert not warned(path, tz=zone)


def test_an_hour_that_comes_twice_is_no_repetition(tmp_path):
    path = record(tmp_path, "Europe/Paris", "2024-10-26")
    (said,) = warned(path)
    assert "twice as many readings from 27 Oct 2024 02:00 to 03:00" in said
    assert "(--tz Europe/Berlin --ambiguous missing)" in said
    assert not warned(path, tz="Europe/Berlin", ambiguous="missing")


def test_what_only_looks_so(tmp_path):
    assert not warned(record(tmp_path, "UTC", "2024-03-30"))
    assert not warned(record(tmp_path, "UTC", "2024-10-26"))
    # Another hour that is missing, and other gaps about that one: an outage like the others.
    assert not warned(record(tmp_path, "UTC", "2024-03-30", without=["31 05"]))
    assert warned(record(tmp_path, "UTC", "2024-03-30", without=["31 02"]))
    assert not warned(record(tmp_path, "UTC", "2024-03-30", without=["31 02", "31 06"]))
    # A record that begins or ends there.
    assert not warned(record(tmp_path, "Europe/Berlin", "2024-03-30", hours=26))
