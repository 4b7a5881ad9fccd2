"""Words and numbers for people."""

import pytest

from fieldmend.text import (
    duration,
    escaped,
    figure,
    listed,
    measure,
    moment,
    named,
    percent,
    shown,
    slot_length,
    stretch,
)

MINUTE, DAY = 60_000_000, 86_400_000_000


def test_measured_numbers_have_three_digits_and_all_before_the_point():
    values = (0.0, 0.0123456, -1.5, 999.4, 999.9, -1234.5, 999_999.4, 1e7, 1e-9, float("nan"))
    assert [figure(v) for v in values] == [
        "0", "0.0123", "-1.5", "999", "1,000", "-1,234", "999,999", "1e+07", "1e-09", "-",
    ]  # fmt: skip
    assert measure(2.0, "m\x07") == "2 m\\x07"


def test_a_share_that_is_not_all_or_nothing_does_not_look_like_it():
    shares = (0, 0.00009, 0.0005, 0.0321, 0.0999, 0.1, 0.5, 0.9, 0.91, 0.999, 0.9991, 1)
    assert [percent(s) for s in shares] == [
        "0 %", "< 0.01 %", "0.05 %", "3.2 %", "10.0 %", "10 %", "50 %", "90 %", "91.0 %",
        "99.9 %", "> 99.9 %", "100 %",
    ]  # fmt: skip
    assert percent(0.12345, digits=2) == "12 %"


def test_foreign_text_is_cut_and_made_harmless():
    assert escaped("a\u202eb") == "a\\u202eb"
    assert escaped("\ud800") == "\\ud800"
    assert escaped("x" * 10, 4) == "xxx…"
    assert len(shown("x" * 65)) == 64
    assert shown("x" * 64) == "x" * 64


@pytest.mark.parametrize(
    ("microseconds", "two", "one"),
    [
        (0, "0 s", "0 d"),
        (250, "0.25 ms", "0.25 ms"),
        (500_000, "500 ms", "500 ms"),
        (1_500_000, "1.5 s", "1.5 s"),
        (90 * MINUTE, "1 h 30 min", "90 min"),
        (DAY + 61 * MINUTE, "1 d 1 h", "1.042 d"),
        (2 * DAY, "2 d", "2 d"),
    ],
)
def test_lengths_of_time_in_two_units_or_in_one_that_can_be_typed(microseconds, two, one):
    assert (duration(microseconds), slot_length(microseconds)) == (two, one)


def test_a_stretch_names_the_day_once():
    at = 1_078_358_400_000_000  # 4 March 2004
    assert stretch(at, at + 5 * MINUTE) == "4 Mar 2004 00:00 to 00:05"
    assert stretch(at, at + DAY) == "4 Mar 2004 00:00 to 5 Mar 2004 00:00"
    assert moment(at, date=False) == "00:00"
    assert moment("2004-03-04T10:20:30.5Z") == "4 Mar 2004 10:20:30"


def test_years_that_datetime_does_not_know_are_written_all_the_same():
    assert moment(400_000_000_000_000_000) == "14645-06-30T15:06:40.000000"
    assert moment("14645-06-30T15:06:40Z") == "14645-06-30T15:06:40Z"


def test_names_are_listed_up_to_five():
    assert [listed(words) for words in ([], ["a"], ["a", "b"])] == ["", "a", "a and b"]
    assert named("node", list("abcde")) == "nodes a, b, c, d and e"
    assert named("node", list("abcdef")) == "6 nodes (a, b, c, d, e, …)"
