# ruff: noqa: E501 - lines of foreign files
"""Files as strangers have them: headers, stamps, units, flags and ids that nobody wrote for us.

Each is read right, or refused with the option that makes it right; then the option is tried.
"""

import shlex
from datetime import datetime

import numpy as np
import pytest

import fieldmend as fm
from foreign import HOUR, rows_from, written

START = datetime(2024, 3, 5)
rows = rows_from(START)


def hours(form, count=30):
    return rows(
        lambda i, t: f"{t.strftime(form)},{20 + i / 10:.1f},{40 + 7 * i % 5}.{i % 7}", count
    )


def first(records):
    t = records.con.execute("SELECT min(t) FROM used").fetchall()[0][0]
    return str(np.datetime64(t, "us"))[:16]


# Which column is the time


@pytest.mark.parametrize(
    "name", ["time_stamp", "Date/Time", "Date-Time", "createdAt", "Zeitstempel"]
)
def test_a_time_is_known_whatever_its_marks(name, tmp_path):
    path = written(tmp_path, f"{name},temperature,humidity\n" + hours("%Y-%m-%d %H:%M"))
    records = fm.read(path)
    assert records.conditions == ("temperature", "humidity")
    assert not any("taken for the time" in note for note in records.origin.notes)


def test_a_column_of_stamps_is_the_time_and_said(tmp_path):
    text = "station,seen,temperature\n" + rows(lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{i}.5")
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("a",)
    assert any("seen is taken for the time" in note for note in records.origin.notes)


@pytest.mark.parametrize(("one", "other", "taken"), [
    ("local", "utc", "utc"), ("TIMESTAMP_START", "TIMESTAMP_END", "TIMESTAMP_START"),
    ("DatetimeEnd", "DatetimeBegin", "DatetimeBegin"),
])  # fmt: skip
def test_of_two_stamps_the_universal_or_the_beginning(one, other, taken, tmp_path):
    text = f"node,{one},{other},temperature\n" + rows(
        lambda i, t: f"a,{t:%Y%m%d%H%M},{t + HOUR:%Y%m%d%H%M},{i}.5"
    )
    records = fm.read(written(tmp_path, text))
    assert records.conditions == ("temperature",)
    assert first(records) == ("2024-03-05T00:00" if taken == one else "2024-03-05T01:00")


def test_of_two_stamps_that_say_nothing_one_is_asked_for(tmp_path):
    text = "node,seen,noted,temperature\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{t + HOUR:%Y-%m-%d %H:%M},{i}.5"
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match=r"several columns hold a time.*--time seen"):
        fm.read(path)
    assert first(fm.read(path, time="noted")) == "2024-03-05T01:00"


def test_a_time_of_day_is_not_taken_where_a_whole_stamp_is(tmp_path):
    text = "Station Name,Date/Time (LST),Year,Month,Day,Time (LST),Temp (°C),Rel Hum (%)\n" + rows(
        lambda i, t: f"CDA,{t:%Y-%m-%d %H:%M},{t.year},{t.month},{t.day},{t:%H:%M},{i}.5,{40 + i}"
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("CDA",), ("Temp", "Rel Hum"))
    assert records.grid().shape == (30, 1)


def test_ten_digits_are_hours_of_a_day_and_no_epoch(tmp_path):
    text = "node;MOMENT;t\n" + rows(lambda i, t: f"a;{t:%Y%m%d%H};{i}.5")
    assert first(fm.read(written(tmp_path, text))) == "2024-03-05T00:00"


@pytest.mark.parametrize(("header", "form", "begin"), [
    ("Datum;Uhrzeit", "%d.%m.%Y;%H:%M", "2024-03-05T00:00"),
    ("Date;Hour (PST)", "%Y-%m-%d;%H00", "2024-03-05T08:00"),
    ("YYYYMMDD;HH", "%Y%m%d;%H", "2024-03-05T00:00"),
])  # fmt: skip
def test_a_date_and_an_hour_in_two_columns(header, form, begin, tmp_path):
    text = f"node;{header};t\n" + rows(lambda i, t: f"a;{t.strftime(form)};{i}.5")
    records = fm.read(written(tmp_path, text))
    assert first(records) == begin
    assert records.grid().shape == (30, 1)


def test_hour_24_is_the_next_day(tmp_path):
    text = "node,date,hour,t\n" + "".join(f"a,2024-03-05,{h},{h}.5\n" for h in range(1, 25))
    grid = fm.read(written(tmp_path, text)).grid()
    assert grid.shape == (24, 1)
    assert str(np.datetime64(int(grid.times[-1]), "us")).startswith("2024-03-06T00:00")


# Zones


def test_a_column_of_zones_belongs_to_the_time(tmp_path):
    text = "site_no\tdatetime\ttz_cd\tflow\n"
    text += "1\t2024-03-10 01:30\tEST\t1.5\n1\t2024-03-10 03:30\tEDT\t2.5\n"
    records = fm.read(written(tmp_path, text), node="site_no")
    assert first(records) == "2024-03-10T06:30"
    assert records.grid().shape == (2, 1)  # an hour apart, not two


def test_a_zone_in_the_name_is_used_and_one_that_changes_is_asked_for(tmp_path):
    fixed = written(tmp_path, "Time (PST),a,b\n" + hours("%Y-%m-%d %H:%M"))
    records = fm.read(fixed)
    assert first(records) == "2024-03-05T08:00"
    assert any("times are PST, as their column says" in note for note in records.origin.notes)
    assert first(fm.read(fixed, tz="+01:00")) == "2024-03-04T23:00"  # who says so is obeyed
    season = written(tmp_path, "Time (EST/EDT),a,b\n" + hours("%Y-%m-%d %H:%M"))
    with pytest.raises(fm.InputError, match=r"EST/EDT.*--tz America/New_York"):
        fm.read(season)
    assert first(fm.read(season, tz="America/New_York")) == "2024-03-05T05:00"


# Day or month first


@pytest.mark.parametrize(("form", "words"), [
    ("%m/%d/%Y %I:%M %p", "month first"), ("%d/%m/%Y %H:%M", "day first"),
    ("%m/%d/%y %H:%M", "month first"), ("%y-%m-%d %H:%M", "year first"), ("%d.%m.%y %H:%M:%S", "day first"),
])  # fmt: skip
def test_the_order_in_which_stamps_run_on(form, words, tmp_path):
    records = fm.read(written(tmp_path, "time,a,b\n" + hours(form)))
    assert first(records) == "2024-03-05T00:00"
    assert records.grid().shape == (30, 2)
    assert any(f"read {words}" in note for note in records.origin.notes)


@pytest.mark.parametrize("form", ["%d/%m/%Y %H:%M", "%d/%m/%y %H:%M"])
def test_stamps_of_one_day_do_not_tell_and_the_option_does(form, tmp_path):
    path = written(tmp_path, "time,a,b\n" + hours(form, 20))
    with pytest.raises(fm.InputError, match="--dates dmy"):
        fm.read(path)
    assert first(fm.read(path, dates="dmy")) == "2024-03-05T00:00"
    assert first(fm.read(path, dates="mdy")) == "2024-05-03T00:00"
    with pytest.raises(fm.InputError, match="dmy, mdy, ymd"):
        fm.read(path, dates="european")


def test_days_without_hours_never_tell_days_from_months(tmp_path):
    text = "time,a,b\n" + "".join(f"{d}/3/2024,{d / 3:.2f},{d / 7:.2f}\n" for d in range(1, 13))
    with pytest.raises(fm.InputError, match="cannot be told apart"):
        fm.read(written(tmp_path, text))


def test_the_order_that_the_header_tells(tmp_path):
    path = written(tmp_path, "Time(dd/mm/yyyy),a,b\n" + hours("%d/%m/%Y %H:%M", 20))
    assert first(fm.read(path)) == "2024-03-05T00:00"


# Headers


def test_titles_above_a_header_are_passed_over(tmp_path):
    text = "A service / un service / ein Dienst\n\nstn;time;tre200s0;ure200s0\n" + rows(
        lambda i, t: f"TAE;{t:%Y%m%d%H%M};{i}.5;{60 + i}"
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("TAE",), ("tre200s0", "ure200s0"))


def test_titles_with_semicolons_and_blanks_inside_stamps(tmp_path):
    text = (
        'logger 174H;;;\nplace: cellar;;;\n\n"Datum/Uhrzeit";"Temperatur [°C]";"Feuchte [%]"\n'
        + rows(lambda i, t: f"{t:%d.%m.%Y %H:%M:%S};{i},5;{60 + i},0")
    )
    records = fm.read(written(tmp_path, text))
    assert records.units == {"Temperatur": "°C", "Feuchte": "%"}


def test_another_table_above(tmp_path):
    text = (
        "latitude,longitude,elevation,timezone,abbreviation\n52.5,13.4,38.0,Europe/Berlin,CET\n\n"
    )
    text += "time,temperature_2m (°C),rain (mm)\n" + hours("%Y-%m-%dT%H:%M")
    assert fm.read(written(tmp_path, text)).conditions == ("temperature_2m", "rain")


def test_words_in_the_first_name_are_no_columns(tmp_path):
    text = "Timestamp for sample frequency every 15 min,Temperature_Celsius,Relative_Humidity\n"
    records = fm.read(written(tmp_path, text + hours("%Y-%m-%d %H:%M:%S"), "Kitchen.csv"))
    assert records.nodes == ("Kitchen",)
    assert records.conditions == ("Temperature_Celsius", "Relative_Humidity")


def test_a_header_in_the_last_comment(tmp_path):
    text = (
        "# SOURCE: A SERVICE\n# T: in 0.1 degrees\n#\n# STN,YYYYMMDD,   HH,    T,   DD\n\n"
        + rows(lambda i, t: f"  240,{t:%Y%m%d},{t.hour + 1:5d},{i:5d},{10 * i:5d}")
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("240",), ("T", "DD"))
    assert first(records) == "2024-03-05T01:00"


def test_units_under_the_names(tmp_path):
    text = "Timestamp,Station,Temperature,Humidity\n,,degC,%\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},a,{i}.5,{40 + i}"
    )
    records = fm.read(written(tmp_path, text))
    assert records.units == {"Temperature": "degC", "Humidity": "%"}
    assert (records.origin.read, records.origin.set_aside) == (30, 0)


def test_formats_under_the_names(tmp_path):
    text = "agency_cd\tsite_no\tdatetime\t69928_00060\t69928_00060_cd\n5s\t15s\t20d\t14n\t10s\n"
    for site in ("01646500", "01647500"):
        text += rows(lambda i, t, s=site: f"USGS\t{s}\t{t:%Y-%m-%d %H:%M}\t{900 + i}\tP")
    records = fm.read(written(tmp_path, "# a comment\n" + text, "x.rdb"))
    assert records.nodes == ("01646500", "01647500")
    assert (records.origin.read, records.origin.set_aside) == (60, 0)


def test_names_in_two_rows_are_joined(tmp_path):
    text = (
        "Time,Outdoor,,Indoor,\nTime,Temperature(°C),Humidity(%),Temperature(°C),Humidity(%)\n"
        + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,{40 + i},21.{i % 9},45")
    )
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("Outdoor", "Indoor")
    assert records.conditions == ("Temperature", "Humidity")


def test_stations_over_names_that_repeat(tmp_path):
    text = "A network,,,,,\n,,Aberdeen,,Bexley,\nDate,Time,Ozone,status,Ozone,status\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d},{t:%H:%M},{i / 3:.2f},R ugm-3,{i / 7:.2f},R ugm-3"
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("Aberdeen", "Bexley"), ("Ozone",))


def test_flags_that_share_a_name_are_called_after_their_column(tmp_path):
    text = "station,time,Air Temp (F),qc,Rel Hum (%),qc\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{i}.5,Y,{40 + i}, "
    )
    records = fm.read(written(tmp_path, text))
    assert records.conditions == ("Air Temp", "Rel Hum")
    assert any("Air Temp qc, Rel Hum qc" in note for note in records.origin.notes)


def test_the_rest_of_a_file_without_a_header(tmp_path):
    text = rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},400001,4,N,{i}.5,{60 - i},1,,,,")
    path = written(tmp_path, text, "d04.txt")
    records = fm.read(path, columns=["time", "node", "-", "-", "flow", "speed", "..."])
    assert (records.nodes, records.conditions) == (("400001",), ("flow", "speed"))


# Who is the node


@pytest.mark.parametrize("unit", ["(℃)", ""])
def test_a_reading_is_no_node_though_it_takes_turns(unit, tmp_path):
    """Nine values, each with its own step: a reading by its name or its unit."""
    text = f"Time,Indoor Temperature{unit},Outdoor Temperature{unit},Wind Speed\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{21 + i % 9},{i}.5,{i % 4}.5", 90
    )
    records = fm.read(written(tmp_path, text, "yard.csv"))
    assert records.grid().shape[0] == 90
    assert "21" not in records.nodes


def test_a_serial_number_in_the_first_row_is_no_node(tmp_path):
    text = "No.,Time,Celsius(°C),Humidity(%rh),Serial Number\n" + rows(
        lambda i, t: f"{i + 1},{t:%Y-%m-%d %H:%M},{i}.5,{40 + i},{'010054321' if i == 0 else ''}"
    )
    records = fm.read(written(tmp_path, text, "EL-USB.csv"))
    assert (records.nodes, records.origin.used) == (("EL-USB",), 30)


@pytest.mark.parametrize("role", ["node", "time"])
def test_most_rows_without_a_node_or_a_time_are_refused(role, tmp_path):
    def line(i, t):
        node = "" if role == "node" and i > 5 else "a"
        time = "later" if role == "time" and i > 5 else f"{t:%Y-%m-%d %H:%M}"
        return f"{node},{time},{i}.5"

    text = "node,time,t\n" + rows(line)
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match=f"24 of 30 rows have no {role}.*--{role}"):
        fm.read(path)
    assert fm.read(path, **{role: role}).origin.used == 6


def test_another_id_of_the_node_is_no_reading(tmp_path):
    text = "sensor_id;sensor_type;location;lat;lon;timestamp;P1\n" + rows(
        lambda i, t: f"{i % 2};SDS011;{6178 + i % 2};48.7;9.1;{t:%Y-%m-%dT%H:%M};{i}.5"
    )
    assert fm.read(written(tmp_path, text)).conditions == ("P1",)


def test_a_kind_beside_the_node_is_offered_as_what_it_is(tmp_path):
    text = "ID,DATE,ELEMENT,AMOUNT\n" + rows(
        lambda i, t: "\n".join(
            f"{s},{t:%Y-%m-%d %H:%M},{e},{i}.5" for s in "ab" for e in ("TMAX", "TMIN")
        )
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match="--node ID --variable ELEMENT"):
        fm.read(path)
    records = fm.read(path, node="ID", variable="ELEMENT")
    assert (records.nodes, records.conditions) == (("a", "b"), ("TMAX", "TMIN"))


def test_flags_beside_readings_are_passed_through(tmp_path):
    text = "time,station,TEMP LEVEL1 (degC),TEMP_QC LEVEL1,QN_9\n" + rows(
        lambda i, t: f"{t:%Y-%m-%dT%H:%MZ},a,{i}.5,{1 + 3 * (i == 7)},3"
    )
    rec = fm.recover(written(tmp_path, text))
    kinds = {name: str(rec[name].quantity.kind) for name in rec.conditions}
    assert kinds == {"TEMP LEVEL1": "linear", "TEMP_QC LEVEL1": "passed", "QN_9": "passed"}


# Columns that are a node and a condition


CROSSED = "Date,Mill Creek (600) Snow Depth (in) Start of Day Values,Mill Creek (600) Air Temperature (degF)," \
    "Trial Lake (601) Snow Depth (in) Start of Day Values,Trial Lake (601) Air Temperature (degF)\n"  # fmt: skip


def test_columns_that_are_a_node_and_a_condition(tmp_path):
    """Neither four nodes of mixed quantities, nor one station."""
    text = CROSSED + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i},{20 + i}.5,{'' if i == 3 else 100 + i},<1"
    )
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("Mill Creek (600)", "Trial Lake (601)")
    depth, air = records.conditions
    assert records.units == {depth: "in", air: "degF"}
    grid = records.grid()
    np.testing.assert_array_equal(
        grid.values[depth][:4], [[0, 100], [1, 101], [2, 102], [3, np.nan]]
    )
    np.testing.assert_array_equal(grid.values[air][:2], [[20.5, np.nan], [21.5, np.nan]])
    cells = records.origin.cells
    assert (cells[depth].read, cells[depth].used, cells[depth].missing) == (60, 59, 1)
    assert (cells[air].read, cells[air].used, cells[air].why) == (60, 30, {"censored": 30})
    assert fm.read(written(tmp_path, text), conditions=[air]).grid().values.keys() == {air}


def test_two_such_files_are_one(tmp_path):
    one = written(tmp_path, "time,A Temp (C),A RH (%),B Temp (C)\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,{40 + i},{i}.7"), "one.csv")  # fmt: skip
    two = written(tmp_path, "time,C Temp (C),C RH (%),B RH (%)\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.6,{50 + i},{60 + i}"), "two.csv")  # fmt: skip
    grid = fm.read([one, two]).grid()
    assert grid.nodes == ("A", "B", "C")
    np.testing.assert_allclose(grid.values["Temp"][0], [0.5, 0.7, 0.6])
    np.testing.assert_allclose(grid.values["RH"][0], [40, 60, 50])


def test_nodes_of_one_quantity_are_a_matrix_as_before(tmp_path):
    text = "time,Fridge 1 Top (°C),Fridge 1 Bottom (°C),Fridge 2 Top (°C)\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i / 3:.2f},{i / 4:.2f},{i / 7:.2f}"
    )
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("Fridge 1 Top", "Fridge 1 Bottom", "Fridge 2 Top")
    assert records.units == {"value": "°C"}


@pytest.mark.parametrize(
    ("columns", "nodes", "conditions"),
    [
        ("power_01 power_02 power_03", ("01", "02", "03"), ("power",)),
        ("temp1 temp2 temp5 hum1 hum2 hum5", ("1", "2", "5"), ("temp", "hum")),
        ("voltage_a voltage_b voltage_c battv", ("a", "b", "c", "rec"), ("voltage", "battv")),
        # sizes and depths; not every node has each; other quantities beside them
        ("temp_5 temp_10 temp_50", ("rec",), ("temp_5", "temp_10", "temp_50")),
        ("temp1 temp2 temp3 hum1", ("rec",), ("temp1", "temp2", "temp3", "hum1")),
        ("temp_1 temp_2 temp_3 wind pressure", ("rec",), ("temp_1", "temp_2", "temp_3", "wind", "pressure")),
    ],
)  # fmt: skip
def test_a_quantity_that_is_numbered_is_of_as_many_nodes(tmp_path, columns, nodes, conditions):
    """Twenty meters in columns called power_01 … were twenty networks of one node: lines only."""
    names = columns.split()
    text = f"time,{','.join(names)}\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M}," + ",".join(f"{i + k}.5" for k in range(len(names)))
    )
    records = fm.read(written(tmp_path, text, "rec.csv"))
    assert (records.nodes, records.conditions) == (nodes, conditions)


def test_a_matrix_whose_columns_are_all_called_after_one_quantity(tmp_path):
    """Its name says what it can be; it stood in the names of the nodes, and nobody read it there."""
    text = "Zeit;Büro Luftfeuchte [%];Bad Luftfeuchte [%];Keller Luftfeuchte [%]\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M};{40 + i},5;{50 + i},1;{60 + i},2"
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("Büro", "Bad", "Keller"), ("Luftfeuchte",))
    assert records.units == {"Luftfeuchte": "%"}
    rec = fm.recover(records.grid())
    assert rec["Luftfeuchte"].quantity.high == 100.0


def test_names_that_end_in_units_are_those_of_one_station(tmp_path):
    """Four such files, one per grid point, were four matrices that contradict each other."""
    text = "DateTime,WS50m_m/s,WD50m_deg,T2M_degC,PS_hPa\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,{100 + i},4.{i},997.{i}"
    )
    records = fm.read([written(tmp_path, text, name) for name in ("NE.csv", "NW.csv")])
    assert records.nodes == ("NE", "NW")
    assert records.conditions == ("WS50m_m/s", "WD50m_deg", "T2M_degC", "PS_hPa")


def test_of_several_files_each_is_a_station_with_numbered_sensors(tmp_path):
    text = "time,temp_1,temp_2,temp_3\n" + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,7.1,8.2")
    files = [written(tmp_path, text, name) for name in ("north.csv", "south.csv")]
    records = fm.read(files)
    assert (records.nodes, records.conditions) == (
        ("north", "south"),
        ("temp_1", "temp_2", "temp_3"),
    )


# How numbers are written


def test_units_behind_every_number(tmp_path):
    text = '"Time","sensor A","sensor B"\n' + rows(
        lambda i, t: (
            f'"{t:%Y-%m-%d %H:%M}",{i}.5 °C,{"" if i == 2 else f"{i}.6 °C" if i != 4 else "7.1"}'
        )
    )
    records = fm.read(written(tmp_path, text))
    cell = records.origin.cells["value"]
    assert records.units == {"value": "°C"}
    assert (cell.read, cell.used, cell.missing, cell.set_aside) == (60, 58, 1, 1)  # 7.1 of what?
    assert records.grid().values["value"][1, 0] == 1.5


def test_letters_behind_whole_numbers_may_be_ids(tmp_path):
    text = "node,time,room,t\n" + rows(lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{100 + i}c,{i}.5")
    assert "room" not in fm.read(written(tmp_path, text)).units


def test_groups_of_thousands(tmp_path):
    text = "Sensor,Date,Flow\n" + rows(lambda i, t: f'P,{t:%Y-%m-%d %H:%M},"{990 + i:,}.5"')
    records = fm.read(written(tmp_path, text), node="Sensor")
    values = records.grid().values["Flow"]
    assert (values[0, 0], values[20, 0]) == (990.5, 1010.5)
    whole = text.replace('.5"', '"')  # "1,010" beside 990 and 999 is no decimal comma
    values = fm.read(written(tmp_path, whole), node="Sensor").grid().values["Flow"]
    assert (values[0, 0], values[20, 0]) == (990, 1010)


def test_groups_that_may_be_decimals_are_asked_for(tmp_path):
    """Never a record of the few readings that are below 1,000."""
    text = "Sensor,Date,Flow\n" + rows(
        lambda i, t: f'P,{t:%Y-%m-%d %H:%M},"{(1000 + i) if i % 4 else 12.5:,}"'
    )
    path = written(tmp_path, text)
    with pytest.raises(
        fm.InputError, match=r"22 of 30 rows have no number.*'1,001' in Flow"
    ) as error:
        fm.read(path, node="Sensor")
    query = shlex.split(str(error.value).partition("a query: ")[2])[1]
    values = fm.read(path, node="Sensor", query=query).grid().values["Flow"]
    assert (values[0, 0], values[21, 0]) == (12.5, 1021)


# What a unit says of a name


@pytest.mark.parametrize(("name", "unit", "what"), [
    ("Abs Humidity", "g/m³", "concentration"), ("Battery", "%", "share"), ("Humidity", "%", "humidity"),
    ("relative_humidity_set_1", "", "humidity"),
])  # fmt: skip
def test_a_unit_contradicts_a_name(name, unit, what):
    X = np.random.default_rng(0).uniform(40, 60, (50, 3))
    found = fm.quantities.identify(name, unit, X)
    assert found.what == what
    assert found.unit != "1"


def test_a_state_may_be_a_place(tmp_path):
    text = "date,state,births\n" + "".join(
        rows(lambda i, t, s=state: f"{t:%Y-%m-%d %H:%M},{s},{100 + i}")
        for state in ("Ohio", "Texas", "Utah")
    )
    with pytest.raises(fm.InputError, match=r"state may.*--node state"):
        fm.read(written(tmp_path, text))
    assert fm.read(written(tmp_path, text), node="state").nodes == ("Ohio", "Texas", "Utah")


def test_no_rain_in_letters_is_no_rain(tmp_path):
    """NR was no number: four hours in five were "lost", and filled with rain."""
    hours = ",".join(f"{h:02d}" for h in range(24))
    dry = ",".join(["NR"] * 20 + ["0.4", "1.2", "", "NR"])
    text = f"Date,Station,Item,{hours}\n" + "".join(
        f"2015/1/{d},{s},{item},{cells}\n"
        for d in range(1, 6)
        for s in ("Banqiao", "Cailiao", "Datong")
        for item, cells in (("AMB_TEMP", ",".join(["20.5"] * 24)), ("RAINFALL", dry))
    )
    records = fm.read(written(tmp_path, text))
    cell = records.origin.cells["RAINFALL"]
    assert (cell.read, cell.used, cell.missing, cell.set_aside) == (360, 345, 15, 0)
    np.testing.assert_array_equal(
        records.grid().values["RAINFALL"][18:24, 0], [0, 0, 0.4, 1.2, np.nan, 0]
    )
    assert any("is no rain, read as 0" in note for note in records.origin.notes)


def test_nr_in_a_column_of_rain_and_elsewhere(tmp_path):
    text = "time,node,rain,no2\n" + rows(
        lambda i, t: (
            f"{t:%Y-%m-%d %H:%M},{'ab'[i % 2]},{'nr' if i % 3 else i},{'NR' if i == 4 else i}"
        )
    )
    origin = fm.read(written(tmp_path, text)).origin
    assert (origin.cells["rain"].used, origin.cells["rain"].set_aside) == (30, 0)
    assert (origin.cells["no2"].used, origin.cells["no2"].why) == (29, {"number": 1})
