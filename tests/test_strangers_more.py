# ruff: noqa: E501 - lines of foreign files
"""More files as strangers have them: other letters, other counts of time, flags, sheets, codes.

Each is read right, or refused with the option that makes it right; then the option is tried.
"""

import json
import shlex
from datetime import datetime

import numpy as np
import pytest

import fieldmend as fm
from foreign import HOUR, rows_from, said, written

START = datetime(2023, 1, 10)
rows = rows_from(START)


# Letters


JAPANESE = "観測所,日時,気温(℃),湿度\r\n" + rows(
    lambda i, t: "\n".join(f"{n},{t:%Y/%m/%d %H:%M},{i}.5,4{i % 9}" for n in ("東京", "横浜"))
)
CHINESE = "站点,时间,温度\r\n" + rows(
    lambda i, t: "\n".join(f"{n},{t:%Y/%m/%d %H:%M},{i}.5" for n in ("北京", "上海"))
)


def test_shift_jis_is_found(tmp_path):
    records = fm.read(written(tmp_path, JAPANESE, encoding="cp932"))
    assert (records.nodes, records.conditions) == (("東京", "横浜"), ("気温", "湿度"))
    assert "CP932" in records.origin.dialect


def test_chinese_letters_are_asked_for_and_then_read(tmp_path):
    path = written(tmp_path, CHINESE, encoding="gb18030")
    with pytest.raises(fm.InputError, match=r"nothing tells their encoding.*--encoding \w+"):
        fm.read(path)
    assert fm.read(path, encoding="gb18030").nodes == ("上海", "北京")
    with pytest.raises(fm.InputError, match="is not known"):
        fm.read(path, encoding="klingon")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso8859-2", "cp1251"])
@pytest.mark.parametrize(
    "name", ["Température (°C)", "Überlaufhöhe", "Vägtemperatur", "déjà,naïve", "prędkość"]
)
def test_letters_of_one_byte_are_not_taken_for_east_asian_ones(name, encoding, tmp_path):
    text = f"node,time,{name}\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{i}.5" + ",1.5" * name.count(",")
    )
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode(encoding, errors="ignore"))
    assert fm.read(path).origin.used == 30


# Times


@pytest.mark.parametrize(
    ("stamp", "header"),
    [
        ("%d.%m.%Y %H:%M:%S,250", "Zeitstempel;T"),
        ("%d-%b-%y %H:%M:%S", "time;T"),
        ("%d-%b-%y %I:%M:%S %p UTC", "time;T"),
        ("%Y;%m;%d;%H:%M", "Year;Month;Day;Time;T"),
        ("%Y/%m/%d;%H%M UTC", "Data;Hora UTC;T"),
        ("%Y-%m-%d;%H:%M:%S", "Datum;Tid (UTC);T"),
    ],
)  # fmt: skip
def test_stamps_of_loggers_and_services(stamp, header, tmp_path):
    records = fm.read(
        written(tmp_path, f"{header}\n" + rows(lambda i, t: f"{t.strftime(stamp)};{i}.5", 40))
    )
    grid = records.grid()
    assert (len(grid.times), records.origin.used) == (40, 40)
    assert str(np.datetime64(int(grid.times[0]), "us"))[:16] == "2023-01-10T00:00"


def test_a_month_by_name_with_two_digits_of_a_year(tmp_path):
    first = fm.read(
        written(tmp_path, "time,T\n" + rows(lambda i, t: f"{t:%d-%b-}99 {t:%H:%M},{i}"))
    ).grid()
    assert str(np.datetime64(int(first.times[0]), "us"))[:4] == "1999"


def test_24_o_clock_is_the_next_day(tmp_path):
    text = rows(lambda i, t: f'"{t:%d-%m-%Y}","{t.hour + 1:02d}:00",{i}.5,{i}.7', 72)
    records = fm.read(written(tmp_path, '"Date","time","north","south"\n' + text))
    assert (records.origin.used, records.origin.set_aside) == (72, 0)
    assert len(records.grid().times) == 72


def test_half_past_24_is_no_time(tmp_path):
    stamps = [f"2023-01-10 {h}:00" for h in range(10, 25)] + ["2023-01-10 24:30"]
    records = fm.read(written(tmp_path, "node,time,T\n" + "".join(f"a,{s},1.5\n" for s in stamps)))
    assert records.origin.set_aside == 1


def test_the_column_in_universal_time_is_taken_where_the_other_is_local(tmp_path):
    text = "Time,T,RH,DateUTC\n" + rows(
        lambda i, t: f"{t - 5 * HOUR:%Y-%m-%d %H:%M},{i}.5,40,{t:%Y-%m-%d %H:%M}"
    )
    records = fm.read(written(tmp_path, text))
    assert records.origin.files[0].columns.startswith("time DateUTC")
    assert "DateUTC is taken for the time, not Time, which has no zone" in said(records.origin)


def test_an_epoch_named_so_is_taken_before_local_stamps(tmp_path):
    text = "Epoch_UTC\tLocal_Date_Time\tT_12AB\tRH_12AB\tT_34CD\tRH_34CD\n" + rows(
        lambda i, t: (
            f"{1673308800 + 3600 * i}.000\t{t + HOUR:%Y-%m-%dT%H:%M:%S}\t{i}.5\t40.5\t{i}.7\t41.5"
        )
    )
    records = fm.read(written(tmp_path, text, "x.edf"))
    assert (records.nodes, records.conditions) == (("12AB", "34CD"), ("T", "RH"))
    assert str(np.datetime64(int(records.grid().times[0]), "us"))[:16] == "2023-01-10T00:00"


@pytest.mark.parametrize(
    ("origin", "zero", "form"),
    [("excel", 44936, "{:.6f}"), ("excel", 44936, "{:.5f}"), ("excel", 44936, "{!r}"),
     ("matlab", 738896, "{:.6f}"), ("julian", 2459954.5, "{:.5f}"), ("mjd", 59954, "{:.4f}")],
)  # fmt: skip
def test_days_as_programs_count_them_fall_on_the_hours_that_were_meant(
    origin, zero, form, tmp_path
):
    text = "Date,north,south\n" + "".join(
        f"{form.format(zero + i / 24)},{i}.5,{i}.7\n" for i in range(50)
    )
    path = written(tmp_path, text)
    if origin != "mjd":  # 59954 may be a day of Excel's, in 2064
        with pytest.raises(fm.InputError) as caught:
            fm.read(path)
        assert f"--time-unit d --origin {origin}" in str(caught.value)
    grid = fm.read(path, time_unit="d", origin=origin).grid()
    assert (len(grid.times), np.isnan(grid.values["value"]).sum()) == (50, 0)
    assert str(np.datetime64(int(grid.times[0]), "us"))[:16] == "2023-01-10T00:00"


def test_a_count_of_fine_steps_is_not_rounded(tmp_path):
    text = "t,a,b\n" + "".join(f"{i * 0.0125:.4f},{i}.5,1.5\n" for i in range(50))  # 45 s
    grid = fm.read(written(tmp_path, text), time="t", time_unit="h", origin="2024-01-01").grid()
    assert np.unique(np.diff(grid.times)).tolist() == [45_000_000]


def test_days_under_another_name_are_refused_with_the_whole_option(tmp_path):
    text = "datenum,node,T\n" + "".join(f"{738896 + i / 24:.6f},a,{i}.5\n" for i in range(30))
    with pytest.raises(fm.InputError, match="--time datenum --time-unit d --origin matlab"):
        fm.read(written(tmp_path, text))


# Headers


def test_names_in_a_comment_with_another_below(tmp_path):
    text = "# De Bilt\n# STN,YYYYMMDD,   HH,    T,    U\n#\n" + rows(
        lambda i, t: f"  260,{t:%Y%m%d},{t.hour + 1:5d},{80 + i:5d},   70"
    )
    records = fm.read(written(tmp_path, text, "x.txt"))
    assert (records.nodes, records.conditions) == (("260",), ("T", "U"))
    assert len(records.grid().times) == 30


def test_titles_of_one_word_in_front_of_a_table(tmp_path):
    text = (
        "Station Name: DUBLIN AIRPORT\nStation Height: 71 M\n\ndate:  -  Date and Time (utc)\n\ndate,ind,rain,ind,temp,ind,wetb\n"
        + rows(lambda i, t: f"{t:%d-%b-%Y %H:%M},0,0.{i % 5},0,{i}.5,0,{i}.1")
    )
    records = fm.read(written(tmp_path, text))
    assert {"rain", "temp", "wetb"} < {*records.conditions}
    assert records.origin.used == 30


def test_a_mark_behind_every_row(tmp_path):
    text = "created_at;T;RH;\n" + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M};{i}.5;4{i % 9};")
    assert fm.read(written(tmp_path, text)).conditions == ("T", "RH")


def test_a_remark_without_a_name_is_passed_over_and_a_number_is_not(tmp_path):
    text = "time;T;RH;\n" + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M};{i}.5;40;{'checked' * (i == 3)}")
    assert fm.read(written(tmp_path, text)).conditions == ("T", "RH")
    with pytest.raises(fm.InputError, match="column 4 has no name"):
        fm.read(written(tmp_path, text.replace("40;", "40;7")))


def test_rows_that_end_with_a_mark_that_the_header_has_not(tmp_path):
    text = "Time,T,RH,Software\n" + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,40,weewx,")
    records = fm.read(written(tmp_path, text))
    assert records.conditions == ("T", "RH")


def test_names_over_names_with_an_index(tmp_path):
    text = (
        "sensor,s1,s1,s2,s2\nvariable,temperature,humidity,temperature,humidity\ntime,,,,\n"
        + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M:%S},{i}.5,40.5,{i}.7,41.5")
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("s1", "s2"), ("temperature", "humidity"))


def test_names_of_rows_that_have_no_name(tmp_path):
    text = '"time" "node" "temp"\n' + rows(
        lambda i, t: f'"{i + 1}" "{t:%Y-%m-%d %H:%M:%S}" "a" {i}.5'
    )
    records = fm.read(written(tmp_path, text, "x.txt"))
    assert (records.nodes, records.conditions) == (("a",), ("temp",))


def test_quoted_titles_are_no_blanks(tmp_path):
    text = '"DELTA-T LOGGER","GP2"\n"Program","Orchard"\n"Timestamp","Air","Soil"\n' + rows(
        lambda i, t: f'"{t:%d/%m/%Y %H:%M:%S}",{i}.5,{i}.7'
    )
    assert fm.read(written(tmp_path, text, "x.dat")).nodes == ("Air", "Soil")


# Which columns are what


def test_a_reading_with_fractions_is_no_node(tmp_path):
    text = "TIMESTAMP_START,TIMESTAMP_END,TA_F,TA_F_QC,VPD_F,VPD_F_QC\n" + rows(
        lambda i, t: f"{t:%Y%m%d%H%M},{t + HOUR:%Y%m%d%H%M},{i}.5,{i % 3},{2 + i % 5 / 10},0", 60
    )
    records = fm.read(written(tmp_path, text, "flux.csv"))
    assert records.nodes == ("flux",)
    assert records.conditions == ("TA_F", "TA_F_QC", "VPD_F", "VPD_F_QC")


def test_ids_are_no_nodes_of_a_matrix(tmp_path):
    text = "STAID, SOUID,    DATE,   TG, Q_TG\n" + rows(
        lambda i, t: f"   162,100522,{t:%Y%m%d},{80 + i % 7:5d},    0", 40, 24 * HOUR
    )
    records = fm.read(written(tmp_path, text, "x.txt"))
    assert (records.nodes, records.conditions) == (("162",), ("TG", "Q_TG"))


def test_codes_beside_a_column_are_no_nodes(tmp_path):
    text = "time,North,North judged,South,South judged\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,8,{i}.7,8"
    )
    assert fm.read(written(tmp_path, text)).nodes == ("North", "South")


def test_california_is_no_reading(tmp_path):
    text = "Date,Site,PM,Daily Count,State,Site Latitude,Site Longitude\n" + "".join(
        rows(
            lambda i, t, s=s: f"{t:%Y-%m-%d},{s},{i}.5,1,California,37.{s},-121.{s}", 30, 24 * HOUR
        )
        for s in (1, 2)
    )
    records = fm.read(written(tmp_path, text))
    assert "State" not in records.conditions
    assert records.places["1"] == {"lat": 37.1, "lon": -121.1}


def test_row_numbers_and_serial_numbers(tmp_path):
    text = "Line#,Date and Time,Pressure (PSI) (445566),Depth (ft) (445566)\n" + rows(
        lambda i, t: f"{i + 1},{t:%Y-%m-%d %H:%M},14.{i % 9},3.{i % 7}"
    )
    records = fm.read(written(tmp_path, text))
    assert records.conditions == ("Pressure", "Depth")
    assert records.units == {"Pressure": "PSI", "Depth": "ft"}


def test_depths_of_a_profile_are_offered_as_nodes(tmp_path):
    text = "PLATFORM_NUMBER,JULD,LATITUDE,LONGITUDE,PRES,TEMP\n" + "".join(
        f"6901234,{START + 240 * c * HOUR:%Y-%m-%dT%H:%M:%S}Z,40.{c},-30.{c},{5 * p},{15 - p}.5\n"
        for c in range(6)
        for p in range(1, 9)
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match="--node PLATFORM_NUMBER,PRES"):
        fm.read(path)
    records = fm.read(path, node=["PLATFORM_NUMBER", "PRES"])
    assert len(records.nodes) == 8
    assert "8 nodes moved by over 0.02 degrees" in said(records.origin)


def test_an_option_in_a_refusal_can_be_typed(tmp_path):
    name = "Minutes of the day in DD/MM/YYYY HH24:MI as the station's clock had it"
    text = f'node,"{name} A","{name} B",T\n' + rows(
        lambda i, t: f"a,{t:%Y-%m-%d %H:%M},{t + HOUR:%Y-%m-%d %H:%M},{i}.5"
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError) as caught:
        fm.read(path)
    words = shlex.split(str(caught.value).split("(")[-1].split(")")[0])
    assert words == ["--time", f"{name} A"]
    assert fm.read(path, time=words[1]).origin.used == 30


@pytest.mark.parametrize("kinds", [("TCA", "HUMA"), ("30001", "30002")])
def test_what_is_measured_is_offered_beside_a_pair_of_ids(kinds, tmp_path):
    text = "Timestamp;Slave ID;Register;Value\n" + rows(
        lambda i, t: "\n".join(
            f"{t:%Y-%m-%d %H:%M};{k};{r};{i}.5" for k in (1, 2, 3) for r in kinds
        )
    )
    path = written(tmp_path, text)
    with pytest.raises(
        fm.InputError,
        match="if Register says what is measured, --node 'Slave ID' --variable Register",
    ):
        fm.read(path)
    records = fm.read(path, node="Slave ID", variable="Register")
    assert (records.nodes, records.conditions) == (("1", "2", "3"), tuple(sorted(kinds)))


def test_readings_of_one_station_are_told_in_whole(tmp_path):
    text = "time,Fa,TEMPERATURE,Tau,Bo\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.5,{i}.7,0.{i},{i}.9"
    )
    path = written(tmp_path, text)
    with pytest.raises(
        fm.InputError, match="--condition Fa --condition TEMPERATURE --condition Tau --condition Bo"
    ):
        fm.read(path)
    assert fm.read(path, conditions=["Fa", "TEMPERATURE", "Tau", "Bo"]).nodes == ("x",)


# Numbers


def test_thousands_after_the_swiss_manner(tmp_path):
    text = "Zeit;A;B\n" + rows(lambda i, t: f"{t:%d.%m.%Y %H:%M};1'{200 + i};2’{100 + i}.5", 40)
    grid = fm.read(written(tmp_path, text)).grid()
    assert grid.values["value"][0].tolist() == [1200.0, 2100.5]


def test_decimal_commas_in_json(tmp_path):
    found = [{"fecha": f"{START + 24 * i * HOUR:%Y-%m-%d}", "indicativo": "3195", "nombre": n, "tmed": f"{i},{k}",
              "prec": "Ip" if i == 3 else "0,5", "alt": 667.5} for i in range(20) for k, n in enumerate(("RETIRO", "SOL"))]  # fmt: skip
    records = fm.read(written(tmp_path, json.dumps(found), "aemet.json"))
    grid = records.grid()
    assert records.nodes == ("RETIRO", "SOL")
    assert grid.values["tmed"][2].tolist() == [2.0, 2.1]
    assert records.origin.cells["prec"].set_aside == 2
    assert grid.values["alt"][0].tolist() == [667.5, 667.5]


# Sheets that only look merged


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "", "", "a", "", ""],  # the same again: nodes are missing, not merged
        ["", "a", "", "", "b", ""],  # none over the first row
        ["a", "b", "c", "", "b", "c"],  # most are there
    ],
)
def test_a_column_with_empty_cells_is_not_filled(cells, tmp_path):
    text = "Station,Time,T\n" + "".join(
        f"{cell},2024-01-01 0{i}:00,{i}.5\n" for i, cell in enumerate(cells)
    )
    try:
        origin = fm.read(written(tmp_path, text)).origin
    except fm.InputError:
        return
    assert "merged" not in origin.dialect
    assert origin.set_aside == cells.count("")


def test_prometheus_text_of_one_moment_is_refused(tmp_path):
    text = '# TYPE t gauge\nt{room="a"} 20.5\nt{room="b"} 20.6\n'
    with pytest.raises(fm.InputError, match="without times"):
        fm.read(written(tmp_path, text, "metrics.txt"))


# Seen after the rules above were written


def test_a_reading_written_with_two_zeros_is_no_id(tmp_path):
    text = "HourEnding,COAST,EAST\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{100 + i % 7}.00,{200 + i % 5}.00", 80
    )
    assert fm.read(written(tmp_path, text)).nodes == ("COAST", "EAST")


def test_a_time_of_day_is_never_offered_as_the_node(tmp_path):
    text = "Report Date,Ending,speed,flow\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d} 00:00:00,{t:%H:%M:%S},{60 + i % 8}.5,{i % 59}.5", 96
    )
    with pytest.raises(fm.InputError) as caught:
        fm.read(written(tmp_path, text))
    assert "--node Ending" not in str(caught.value)


def test_names_that_repeat_are_called_after_the_one_before_them(tmp_path):
    text = "ID,Date,Level (m),Grade,Flow (cms),Grade\n" + rows(
        lambda i, t: f"a,{t:%Y-%m-%dT%H:%M},1.{i % 9},3,2.{i % 7},3"
    )
    names = fm.read(written(tmp_path, text), node="ID").conditions
    assert names == ("Level", "Level Grade", "Flow", "Flow Grade")
    with pytest.raises(fm.InputError, match="two columns are named"):
        fm.read(
            written(
                tmp_path, text.replace("Level (m),Grade,Flow (cms)", "Grade,Level (m),Level (m)")
            )
        )


def test_spanish_hours(tmp_path):
    text = "node;time;T\n" + rows(
        lambda i, t: f"a;{t.day}/{t.month}/{t.year} {t:%I:%M:%S} {'ap'[t.hour > 11]}. m.;{i},5", 60
    )
    grid = fm.read(written(tmp_path, text)).grid()
    assert len(grid.times) == 60
    assert str(np.datetime64(int(grid.times[0]), "us"))[:13] == "2023-01-10T00"


def test_columns_without_names_by_what_they_hold(tmp_path):
    text = "\t\tair\tsoil\n" + rows(lambda i, t: f"{i + 1}\t{t:%Y-%m-%d %H:%M:%S}\t{i}.5\t{i}.7")
    assert fm.read(written(tmp_path, text, "x.txt")).nodes == ("air", "soil")


def test_a_unit_that_is_declared(tmp_path):
    text = 'time,station,temp[unit="celsius"]\n' + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M},a,{i}.5")
    assert fm.read(written(tmp_path, text)).units == {"temp": "celsius"}


def test_the_mean_of_readings_whose_sum_overflows(tmp_path):
    text = "node,time,t\n" + rows(
        lambda i, t: "\n".join(
            f"{n},{t:%Y-%m-%dT%H:%M}Z,{v}" for n in "ab" for v in ("1.75e308", "1.25e308")
        ),
        4,
    )
    grid = fm.read(written(tmp_path, text), on_duplicate="mean").grid()
    np.testing.assert_allclose(grid.values["t"], 1.5e308)
