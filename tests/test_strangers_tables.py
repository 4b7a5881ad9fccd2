# ruff: noqa: E501 - lines of foreign files
"""Tables that strangers put together: other headers below, uneven rows, hours across, sums, stretches."""

import json
import shlex
from datetime import datetime

import numpy as np
import pytest

import fieldmend as fm
from foreign import rows_from, said, written

START = datetime(2024, 1, 29)
rows = rows_from(START)


def at(grid, node, moment, condition="value"):
    slot = list(grid.times).index(np.datetime64(moment, "us").astype(int))
    return grid.values[condition][slot, grid.nodes.index(node)]


def option(message):
    """What a refusal tells to type after --query."""
    words = shlex.split(message[message.index("--query") :])
    return words[1]


# Headers and widths


def test_another_header_below_is_refused_with_its_line(tmp_path):
    """Two exports put together, the columns of the second in another order: no column is swapped."""
    above = "node,time,temperature,humidity\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%dT%H:%MZ},2{i % 9}.5,5{i % 9}"
    )
    below = "node,time,humidity,temperature\n" + rows(
        lambda i, t: f"b,{t:%Y-%m-%dT%H:%MZ},5{i % 9},2{i % 9}.5"
    )
    with pytest.raises(
        fm.InputError, match=r"line 32: another header stands there: humidity over .*temperature"
    ):
        fm.read(written(tmp_path, above + below))
    parts = [written(tmp_path, above, "a.csv"), written(tmp_path, below, "b.csv")]
    grid = fm.read(parts).grid()
    assert np.nanmax(grid.values["temperature"]) < 30 < np.nanmin(grid.values["humidity"])


def test_the_same_header_below_is_no_reading_that_went_wrong(tmp_path):
    part = "node,time (UTC),temperature [C]\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%dT%H:%M},2{i % 9}.5"
    )
    records = fm.read(written(tmp_path, part + part.replace("a,", "b,")))
    cells = records.origin.cells["temperature"]
    assert (records.origin.rejects.totals, records.nodes) == ({"header": 1}, ("a", "b"))
    assert (cells.read, cells.used, cells.missing, dict(cells.why)) == (61, 60, 0, {"row": 1})
    assert "cells set aside" not in said(records.origin)


def test_most_rows_of_another_width_are_refused(tmp_path):
    text = "time,t,rh\n2024-01-29 00:00,1,2\n" + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},{i},5,40,5")
    with pytest.raises(
        fm.InputError,
        match=r"line 3: 30 of 31 rows have more cells than the header, which has 3.*--columns",
    ):
        fm.read(written(tmp_path, text))


def test_one_short_row_is_set_aside_as_before(tmp_path):
    text = "time,t,rh\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i},40" if i != 4 else f"{t:%Y-%m-%d %H:%M},{i}"
    )
    assert fm.read(written(tmp_path, text)).origin.rejects.totals == {"ragged": 1}


def test_names_that_repeat_are_refused_with_names_to_give(tmp_path):
    path = written(
        tmp_path, "time,temp,temp,\n" + rows(lambda i, t: f"{t:%Y-%m-%dT%H:%MZ},{i}.5,{i}.7,{i}.9")
    )
    with pytest.raises(fm.InputError, match=r"--columns time,temp,temp_2,-"):
        fm.read(path)
    grid = fm.read(
        path, columns=["time", "temp", "temp_2", "-"], conditions=["temp", "temp_2"]
    ).grid()
    np.testing.assert_allclose([grid.values["temp"][1, 0], grid.values["temp_2"][1, 0]], [1.5, 1.7])


def test_time_in_parts_beside_places_is_no_file_of_positions(tmp_path):
    text = "Station_ID|Year|Month|Day|Hour|Latitude|Longitude|temperature\n" + rows(
        lambda i, t: "\n".join(f"{n}|{t:%Y|%m|%d|%H}|12.5|-70.0|{i}.5" for n in ("A1", "B2"))
    )
    records = fm.read(written(tmp_path, text, "x.psv"))
    assert (records.nodes, records.conditions) == (("A1", "B2"), ("temperature",))


# Hours across


HALVES = ",".join(f"hh_{i}" for i in range(48))


def test_half_hours_across(tmp_path):
    text = f"LCLid,day,{HALVES}\n" + "".join(
        f"MAC{k},2024-01-{d},{','.join(f'{k}.{i:02d}' for i in range(48))}\n"
        for k in (1, 2)
        for d in (29, 30, 31)
    )
    grid = fm.read(written(tmp_path, text)).grid()
    assert (grid.nodes, grid.shape) == (("MAC1", "MAC2"), (144, 2))
    np.testing.assert_allclose(at(grid, "MAC2", "2024-01-30T01:30"), 2.03)


def test_hours_with_flags_behind_them_and_a_date_in_parts(tmp_path):
    """Madrid: H01 to H24, each with its V01; of the last the hour is the next day's first."""
    head = "ESTACION;PUNTO;ANO;MES;DIA;" + ";".join(f"H{h:02d};V{h:02d}" for h in range(1, 25))
    text = (
        head
        + "\n"
        + "".join(
            f"{k};28{k}_8;2024;1;{d};" + ";".join(f"{k}{h:02d};V" for h in range(1, 25)) + "\n"
            for k in (4, 8)
            for d in (29, 30)
        )
    )
    records = fm.read(written(tmp_path, text))
    grid = records.grid()
    assert records.conditions == ("value",)
    assert at(grid, grid.nodes[1], "2024-01-29T05:00") == 805
    assert at(grid, grid.nodes[0], "2024-01-30T00:00") == 424


def test_numbered_sensors_are_no_hours(tmp_path):
    """Twenty-four probes under names of their own stay nodes."""
    text = (
        "date,"
        + ",".join(f"probe{i}" for i in range(24))
        + "\n"
        + rows(
            lambda i, t: f"{t:%Y-%m-%d %H:%M}," + ",".join(f"{i % 7}.{k:02d}" for k in range(24))
        )
    )
    assert len(fm.read(written(tmp_path, text)).nodes) == 24


# Nodes that are none


def test_sums_and_means_among_nodes_are_no_sensors(tmp_path):
    """They are called so, and they are it: of the others that are not called so."""
    text = "Datum;Haus A;Haus B;Summe;Mittelwert\n" + rows(
        lambda i, t: f"{t:%d.%m.%Y %H:%M};{i},5;{i},7;{2 * i + 1},2;{i},6"
    )
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("Haus A", "Haus B")
    assert "Summe, Mittelwert" in said(records.origin)


def test_a_node_that_is_only_called_a_sum_stays(tmp_path):
    text = "Datum;Haus A;Haus B;Total\n" + rows(
        lambda i, t: f"{t:%d.%m.%Y %H:%M};{i},5;{i},7;{7 * i % 5},2"
    )
    assert fm.read(written(tmp_path, text)).nodes == ("Haus A", "Haus B", "Total")


def test_nobody_is_called_minus_sixty(tmp_path):
    """Five values that take turns would be asked for, were they no numbers below zero."""
    form = "{t:%Y/%m/%d %H:%M:%S};{i}.5;4{r};{sign}{r}"
    for sign, asked in (("-6", False), ("6", True)):
        text = "Time;Temp;Humidity;Signal\n" + rows(
            lambda i, t, s=sign: form.format(t=t, i=i, sign=s, r=i % 5), 60
        )
        if asked:
            with pytest.raises(fm.InputError, match="Signal may"):
                fm.read(written(tmp_path, text))
        else:
            assert fm.read(written(tmp_path, text)).nodes == ("x",)


def test_units_behind_names_are_those_of_one_station(tmp_path):
    text = "Date/time UTC,Active energy Wh,Min V,Max V\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,229.{i % 9},231.{i % 9}"
    )
    assert fm.read(written(tmp_path, text)).conditions == ("Active energy Wh", "Min V", "Max V")
    rooms = "time,Room A,Room C,Room V\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,{i}.6,{i}.7"
    )
    assert fm.read(written(tmp_path, rooms, "rooms.csv")).nodes == ("Room A", "Room C", "Room V")


def test_a_kind_beside_a_known_node_is_offered_as_what_it_is(tmp_path):
    text = "STATION,ELEMENT,DT,VAL,QUALITY\n" + rows(
        lambda i, t: "\n".join(
            f"{n},{e},{t:%Y-%m-%dT%H:%MZ},{k}{i % 10}.5,0"
            for n in ("0-1", "0-2")
            for k, e in enumerate(("T", "H"))
        )
    )
    path = written(tmp_path, text)
    with pytest.raises(
        fm.InputError, match=r"--variable ELEMENT --value VAL; .*--node STATION,ELEMENT"
    ):
        fm.read(path)
    assert fm.read(path, variable="ELEMENT", value="VAL").conditions == ("H", "T")


# Numbers


@pytest.mark.parametrize("cells", ['"{0},5","4{1},25"', '"{0},5",4{1}'])
def test_decimal_commas_in_quotes(cells, tmp_path):
    text = "time,temp,rh\n" + rows(lambda i, t: f"{t:%Y-%m-%dT%H:%MZ}," + cells.format(i, i % 9))
    records = fm.read(written(tmp_path, text))
    assert "decimal comma" in records.origin.dialect
    assert records.grid().values["temp"][3, 0] == 3.5


def test_a_condition_of_numbers_that_cannot_be_read_is_refused(tmp_path):
    """Points beside quoted commas: nobody is left out, and the option makes a point of the comma."""
    text = "node,time,temp,rh\n" + rows(lambda i, t: f'a,{t:%Y-%m-%dT%H:%MZ},"{i},5",4{i % 9}.25')
    path = written(tmp_path, text)
    with pytest.raises(
        fm.InputError, match=r"none of 30 numbers of temp can be read, such as '0,5'.*comma a point"
    ) as told:
        fm.read(path)
    query = option(str(told.value).split("; or name")[0])
    assert fm.read(path, query=query).grid().values["temp"][3, 0] == 3.5


# Times


@pytest.mark.parametrize(
    "form",
    ["%d%b%Y:%H:%M:%S", "%Y-%jT%H:%M", "%a %b %d %H:%M:%S %Y", "%Y-%m-%d %H.%M.%S", "%Y:%m:%d %H:%M:%S",
     "%Y-%m-%d_%H:%M:%S", "%Y-%m-%d-%H-%M-%S", "%Y%m%d %H%M", "%Y-%m-%d %I-%p", "%m/%d/%Y %I %p", "%Y-%m-%d %I%p"],
)  # fmt: skip
def test_stamps_of_programs(form, tmp_path):
    text = "node,time,temp\n" + rows(lambda i, t: f"a,{t.strftime(form)},{i}.5", 60)
    grid = fm.read(written(tmp_path, text)).grid()
    assert grid.times[0] == np.datetime64("2024-01-29", "us").astype(int)
    assert len(grid.times) == 60
    np.testing.assert_allclose(grid.values["temp"][:, 0], np.arange(60) + 0.5)


@pytest.mark.parametrize(
    "form", ["%H:%M %d/%m/%Y", "%d-%b-%y %I.%M.%S.000000 %p", "%Y年%m月%d日 %H時%M分"]
)
def test_other_stamps_are_refused_with_a_query_that_reads_them(form, tmp_path):
    path = written(tmp_path, "node,time,temp\n" + rows(lambda i, t: f"a,{t.strftime(form)},{i}.5"))
    with pytest.raises(fm.InputError, match="say how they are written") as told:
        fm.read(path)
    grid = fm.read(path, query=option(str(told.value))).grid()
    assert at(grid, "a", "2024-01-29T13:00", "temp") == 13.5


@pytest.mark.parametrize("between", [" - ", " – ", "/", " to "])
def test_stretches_of_time_are_taken_by_their_beginning(between, tmp_path):
    text = "Time (UTC),Load A,Load B\n" + rows(
        lambda i, t: (
            f"{t:%d.%m.%Y %H:%M}{between}{datetime(2024, 1, 29, 12):%d.%m.%Y %H:%M},{i}.5,{i}.7"
        )
    )
    records = fm.read(written(tmp_path, text))
    assert "taken by their beginning" in said(records.origin)
    assert at(records.grid(), "Load B", "2024-01-29T13:00") == 13.7


def test_a_date_and_the_seconds_of_its_day(tmp_path):
    text = "day,interval,detid,flow\n" + "".join(
        f"2024-01-{d},{s},{n},{s // 300}.5\n"
        for d in (29, 30)
        for s in range(0, 86400, 300)
        for n in ("U1", "U2")
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match="--time-unit s"):
        fm.read(path, time="day,interval", node="detid")
    grid = fm.read(path, time="day,interval", time_unit="s").grid()
    assert at(grid, "U2", "2024-01-30T01:00", "flow") == 12.5


def test_a_column_called_after_its_zone(tmp_path):
    text = "DATE (MM/DD/YYYY),MST,Global [W/m^2],Temperature [deg C]\n" + rows(
        lambda i, t: f"{t:%m/%d/%Y,%H:%M},{i},{i}.5"
    )
    records = fm.read(written(tmp_path, text))
    assert "times are MST" in said(records.origin)
    assert records.grid().times[0] == np.datetime64("2024-01-29T07:00", "us").astype(int)


def test_when_records_were_made_is_not_when_they_begin(tmp_path):
    text = "Samplingpoint,Start,End,Value,ResultTime\n" + "".join(
        f"SPO-{k},2024-01-29 0{h}:00:00,2024-01-29 0{h + 1}:00:00,{k}{h}.5,2024-03-01 09:00:00\n"
        for k in range(3)
        for h in range(9)
    )
    grid = fm.read(written(tmp_path, text)).grid()
    assert (len(grid.nodes), at(grid, "SPO-2", "2024-01-29T04:00", "Value")) == (3, 24.5)


# JSON


def test_numbers_in_objects_beside_numbers_above_are_not_lost(tmp_path):
    found = [
        {"stationID": f"S{k}", "obsTimeUtc": f"2024-01-29T{h:02d}:00:00Z", "lat": 47.1, "lon": 8.2, "humidity": 60 + h, "metric": {"temp": h + 0.5}}
        for h in range(12) for k in range(2)
    ]  # fmt: skip
    for text, name in (
        (json.dumps({"observations": found}), "w.json"),
        ("\n".join(map(json.dumps, found)), "w.ndjson"),
    ):
        records = fm.read(written(tmp_path, text, name))
        assert records.conditions == ("humidity", "metric.temp")
        assert records.places["S1"] == {"lat": 47.1, "lon": 8.2}
        assert records.grid().values["metric.temp"][5, 0] == 5.5


def test_a_flat_message_among_nested_ones_is_read_too(tmp_path):
    lines = [
        {
            "node": "a",
            "time": f"2024-01-29T{h:02d}:00:00Z",
            "t": h,
            **({"soil": {"wet": h + 0.5}} if h % 2 == 0 else {}),
        }
        for h in range(12)
    ]
    grid = fm.read(written(tmp_path, "\n".join(map(json.dumps, lines)), "m.ndjson")).grid()
    np.testing.assert_array_equal(grid.values["t"][:, 0], np.arange(12))


def test_the_list_with_times_is_taken_however_deep(tmp_path):
    hits = [{"_index": "x", "_score": 1.0, "_source": {"@timestamp": f"2024-01-29T{h:02d}:00:00.000Z", "device": {"id": n}, "t": h + 0.5}}
            for h in range(12) for n in "ab"]  # fmt: skip
    deep = {
        "took": 5,
        "hits": {"total": {"value": 24}, "hits": hits},
        "fields": [{"id": "t", "type": "number"}],
    }
    records = fm.read(written(tmp_path, json.dumps(deep), "es.json"))
    assert (records.nodes, records.conditions) == (("a", "b"), ("t",))


# What is no table


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [(b"%PDF-1.4\n", "x.pdf", "it is PDF"), (b"\x93NUMPY\x01\x00v\x00{}", "x.npy", "NumPy array"),
     (b"<?xml version='1.0'?><a/>", "x.xml", "it is XML"), (b"<html><table>", "x.xls", "HTML or XML"),
     (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "x.xls", "old Excel"), (b"ARROW1\0\0", "x.feather", "Feather")],
)  # fmt: skip
def test_what_a_file_is_that_is_no_table(data, name, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(data + b"\n" * 50)
    with pytest.raises(fm.InputError, match=words):
        fm.read(path)
