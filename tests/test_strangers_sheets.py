# ruff: noqa: E501, RUF001 - lines of foreign files
"""Files as sheets, loggers and services deliver them: titles, repeated headers, decimal commas."""

from datetime import datetime

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.quantities import identify
from foreign import HOUR, rows_from, written

START = datetime(2024, 1, 30)
rows = rows_from(START)


def test_rows_of_decimal_commas_are_no_names(tmp_path):
    """A mark at the end of each line leaves a column without a name: no reason to join rows."""
    text = "Datum;Raum 1;Raum 2;\n" + rows(lambda i, t: f"{t:%d.%m.%Y %H:%M};{i},5;{i},7;")
    grid = fm.read(written(tmp_path, text)).grid()
    assert (grid.nodes, len(grid.times)) == (("Raum 1", "Raum 2"), 30)
    np.testing.assert_allclose(grid.values["value"][:2], [[0.5, 0.7], [1.5, 1.7]])


def test_days_of_excel_with_a_decimal_comma(tmp_path):
    """Refused with the option that reads them, each on the quarter of an hour that was meant."""
    text = "Zeitstempel;Raum 1;Raum 2\n" + rows(
        lambda i, t: f"{45321 + i / 96:.6f}".replace(".", ",") + f";{i},5;{i},7"
    )
    path = written(tmp_path, text)
    with pytest.raises(fm.InputError, match=r"look like days: --time-unit d --origin excel"):
        fm.read(path)
    grid = fm.read(path, time_unit="d", origin="excel").grid()
    assert np.isfinite(grid.values["value"]).all()
    assert set(np.diff(grid.times)) == {15 * 60 * 10**6}


def test_a_count_with_a_decimal_comma_is_asked_for(tmp_path):
    text = "Zeitstempel;T;RH\n" + rows(lambda i, t: f"{i},5;{i},5;4{i % 9},5")
    with pytest.raises(fm.InputError, match=r"what they count: --time-unit h --origin 2024"):
        fm.read(written(tmp_path, text))


def test_a_time_of_day_without_its_day_is_said(tmp_path):
    text = "Time,Temperature,Humidity\n" + rows(lambda i, t: f"{t:%I:%M %p},{i}.5,4{i % 9}", 12)
    with pytest.raises(fm.InputError, match="without its day: write the day before it"):
        fm.read(written(tmp_path, text))


def test_a_header_that_stands_between_records_tells_no_kind(tmp_path):
    """Three downloads in one file: the node is found as in each of them."""
    header = "time_stamp,sensor_index,humidity,pm2.5\n"
    parts = [
        header + rows(lambda i, t, k=k: f"{t:%Y-%m-%d %H:%M},{1310 + k},{30 + i},{i % 7}.5")
        for k in range(3)
    ]
    records = fm.read(written(tmp_path, "".join(parts)))
    assert records.nodes == ("1310", "1311", "1312")
    assert records.origin.rejects.totals == {"header": 2}


def test_parts_of_a_file_that_do_not_name_their_station(tmp_path):
    header = "Datum;Uhrzeit;Temperatur\n"
    parts = [
        f"Station: {name}\n" + header + rows(lambda i, t, k=k: f"{t:%d.%m.%Y;%H:%M};{i},{k}")
        for k, name in enumerate(("Dach", "Keller"))
    ]
    with pytest.raises(fm.InputError, match=r"stands in it 2 times: .* files of their own"):
        fm.read(written(tmp_path, "\n".join(parts)))


def test_a_block_about_the_logger_as_wide_as_the_table(tmp_path):
    """And its lowest, highest and mean at the end, which are no readings."""
    text = (
        "Gerätename:;testo 174H;;\nSeriennummer:;39112233;;\nStart:;30.01.2024 00:00:00;;\n;;;\n"
        "Datum / Uhrzeit;Temperatur [°C];Feuchte [% rF];\n"
        + rows(lambda i, t: f"{t:%d.%m.%Y %H:%M:%S};{i},5;4{i % 9},1;")
        + ";;;\nMinimum:;0,5;40,1;\nMittelwert:;15,0;44,1;\n"
    )
    records = fm.read(written(tmp_path, text, encoding="cp1252"))
    assert records.conditions == ("Temperatur", "Feuchte")
    assert records.units == {"Temperatur": "°C", "Feuchte": "% rF"}
    assert (records.origin.used, records.origin.rejects.totals) == (30, {"time": 3})


def test_a_title_filled_up_to_the_width_of_the_table_is_in_no_name(tmp_path):
    text = (
        "Relevé des capteurs;;;;;\nDate;Heure;Salon;;Cave;\n;;T (°C);HR (%);T (°C);HR (%)\n"
        + rows(lambda i, t: f"{t:%d/%m/%Y};{t:%H:%M};{i},5;4{i % 9};-;{50 + i}")
        + "Moyenne;;15,0;44;15,0;65\n"
    )
    records = fm.read(written(tmp_path, text, encoding="utf-8-sig"))
    assert (records.nodes, records.conditions) == (("Salon", "Cave"), ("T", "HR"))
    assert "1 line above the header passed over" in records.origin.dialect
    assert records.origin.cells["T"].missing == 30


def test_names_in_three_rows_with_an_empty_one_between(tmp_path):
    """As the Japan Meteorological Agency writes them."""
    text = (
        "ダウンロードした時刻：2024/02/01 10:00:00\n\n,東京,東京,東京,横浜,横浜,横浜\n"
        "年月日時,気温(℃),気温(℃),降水量(mm),気温(℃),気温(℃),降水量(mm)\n,,,,,,\n,,品質情報,,,品質情報,\n"
        + rows(lambda i, t: f"{t.year}/{t.month}/{t.day} {t:%H:%M:%S},{i}.5,8,0,{i}.7,8,{i}")
    )
    grid = fm.read(written(tmp_path, text, encoding="cp932")).grid()
    assert grid.nodes == ("東京", "横浜")
    np.testing.assert_allclose(grid.values["気温"][:2], [[0.5, 0.7], [1.5, 1.7]])
    np.testing.assert_allclose(grid.values["降水量"][:2], [[0, 0], [0, 1]])


def test_words_among_numbers_with_fractions_make_no_node(tmp_path):
    """METER's loggers: a port with its sensor over the unit and the name, #N/A for what is lost."""
    text = (
        '"z6-12345","Port 1","Port 1","Port 2","Port 2"\n'
        '"Records: 30","TEROS 12","TEROS 12","TEROS 12","TEROS 12"\n'
        '"Timestamps"," m³/m³ Water Content"," °C Soil Temperature"," m³/m³ Water Content"," °C Soil Temperature"\n'
        + rows(lambda i, t: f"{t:%Y-%m-%d %H:%M:%S},0.2{i % 3},{i}.5,{'#N/A' if i % 5 == 0 else 0.31},{i}.7")
    )  # fmt: skip
    records = fm.read(written(tmp_path, text))
    assert records.nodes == ("Port 1", "Port 2")
    water, warm = records.conditions
    assert water.endswith("Water Content")
    assert warm.endswith("Soil Temperature")
    assert (records.origin.cells[water].missing, records.origin.cells[water].set_aside) == (6, 0)


def test_nodes_crossed_with_conditions_beside_the_logger_s_own_column(tmp_path):
    names = [f"{what}_N{k}" for what in ("T", "RH") for k in (1, 2, 3)]
    text = f"TIMESTAMP,{','.join(names)},BattV\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.1,{i}.2,{i}.3,41,42,43,12.4"
    )
    records = fm.read(written(tmp_path, text, "mast.csv"))
    assert (records.nodes, records.conditions) == (("N1", "N2", "N3", "mast"), ("T", "RH", "BattV"))
    grid = records.grid()
    np.testing.assert_allclose(grid.values["T"][1], [1.1, 1.2, 1.3, np.nan])
    np.testing.assert_allclose(grid.values["BattV"][1], [np.nan, np.nan, np.nan, 12.4])
    assert any(
        "3 nodes such as N1, with T, RH; BattV of mast" in note for note in grid.origin.notes
    )


def test_one_known_name_is_enough_where_all_are_crossed(tmp_path):
    """Never a matrix that has temperatures and another quantity for its nodes."""
    names = [f"Port {k} {what}" for k in (1, 2) for what in ("Zeta", "Temperature")]
    text = f"time,{','.join(names)}\n" + rows(
        lambda i, t: f"{t:%Y-%m-%d %H:%M},{i}.1,20.{i},{i}.3,21.{i}"
    )
    records = fm.read(written(tmp_path, text))
    assert (records.nodes, records.conditions) == (("Port 1", "Port 2"), ("Zeta", "Temperature"))
    places = text.replace("Zeta", "N").replace("Temperature", "S")  # n is a cloud cover elsewhere
    assert len(fm.read(written(tmp_path, places)).nodes) == 4
    # Places alone do not make one: "Temperature" has to stand before or after each of them.
    part = text.replace("Port 2 Zeta", "Yard")
    assert set(fm.read(written(tmp_path, part)).conditions) != {"Zeta", "Temperature"}


@pytest.mark.parametrize("prefix", ["METAR ", "SPECI COR ", ""])
def test_metar_reports_are_refused_with_what_to_take_instead(prefix, tmp_path):
    text = rows(lambda i, t: f"{prefix}EDDB {t:%d%H%M}Z 24008KT 9999 FEW030 06/00 Q1013 NOSIG=")
    with pytest.raises(fm.InputError, match=r"neither a month nor a year.*IEM ASOS"):
        fm.read(written(tmp_path, text, "metar.txt"))


def test_a_value_that_thingsboard_has_twice_at_one_time_is_counted(tmp_path):
    text = '{"t": [{"ts": 1704067200000, "value": 1}, {"ts": 1704067200000, "value": 3}, {"ts": 1704070800000, "value": 5}]}'
    records = fm.read(written(tmp_path, text, "room.json"))
    assert (records.origin.read, records.origin.duplicates) == (3, 1)
    np.testing.assert_allclose(records.grid(slot="1h").values["t"][:, 0], [2, 5])


def test_units_at_the_end_of_names_and_tens_of_degrees():
    X = np.random.default_rng(0).integers(1, 37, (96, 3)).astype(float)
    assert identify("PRESSURE hPa", "", X + 990).unit == "hPa"
    assert identify("Stn Press kPa", "", X + 60).unit == "kPa"
    for name, unit in (("Wind Dir", "10s deg"), ("Wind Dir (10s deg)", "")):
        found = identify(name, unit, X)
        assert (found.kind, found.period) == ("circular", 36.0)
    assert identify("VENTO, DIREÇÃO HORARIA (gr)", "", 10 * X).period == 360.0
    assert identify("VENTO, VELOCIDADE HORARIA", "m/s", X).what == "wind speed"
    assert identify("UMIDADE RELATIVA DO AR", "", X).what == "humidity"


def test_tenths_of_degrees_are_no_degrees(tmp_path):
    """187 is 18.7 °C where the unit says so, and nothing that no thermometer can read."""
    X = np.tile(np.linspace(100.0, 187.0, 96)[:, None], (1, 4)) + np.array([0.0, -9, -20, -50])
    assert identify("air_temperature", "0.1 °C", X).possible == (-900.0, 600.0)
    assert identify("air_temperature", "", X).possible[1] < 187
    assert identify("wind_speed", "tenths of m/s", X).unit == "0.1 m/s"


def test_units_that_comments_tell(tmp_path):
    """As KNMI writes them, the names in the last comment."""
    text = (
        "# BRON: KNMI\n# T         : Temperatuur (in 0.1 graden Celsius) op 1.50 m hoogte\n"
        "# U         : Relatieve vochtigheid (in procenten)\n#\n# STN,YYYYMMDD,   HH,    T,    U\n#\n"
        + rows(lambda i, t: "\n".join(f"  {k},{t:%Y%m%d},{t.hour + 1:5d},{i + k:5d},{90:5d}" for k in (209, 260)))
    )  # fmt: skip
    records = fm.read(written(tmp_path, text, "uurgeg.txt"))
    assert records.nodes == ("209", "260")
    assert records.units == {"T": "0.1 graden Celsius", "U": "procenten"}
    assert identify("T", records.units["T"], np.ones((20, 2))).unit == "0.1 °C"


def test_a_date_and_where_its_time_begins(tmp_path):
    """A meter's stand in groups of thousands, with a decimal comma, from one time to another."""
    text = "Meter;Datum;Zeit von;Zeit bis;Stand (kWh)\n" + rows(
        lambda i, t: f"M1;{t:%d.%m.%Y};{t:%H:%M};{t + HOUR:%H:%M};1.2{10 + i},50"
    )
    records = fm.read(written(tmp_path, text), node="Meter")
    assert "decimal comma" in records.origin.dialect
    grid = records.grid()
    assert len(grid.times) == 30
    np.testing.assert_allclose(grid.values["Stand"][:2, 0], [1210.5, 1211.5])


def test_directions_in_tens_of_degrees_without_a_unit():
    X = np.random.default_rng(0).integers(1, 37, (96, 3)).astype(float)
    found = identify("DIR", "", X)
    assert (found.unit, found.unit_guessed, found.period) == ("10°", True, 36.0)
    assert "round at 36 × 10°" in found.in_words()
    assert identify("DIR", "", X + 0.5).period == 360.0
    assert identify("DIR", "", np.minimum(X, 20)).period == 360.0


def test_a_history_of_states_is_not_refused_for_its_words(tmp_path):
    """Most rows are "on" and "off": they are set aside, and the numbers are used."""
    text = "entity_id,state,last_changed\n" + rows(
        lambda i, t: "\n".join(
            f"{name},{state},{t:%Y-%m-%dT%H:%M}Z"
            for name, state in (("sensor.t", f"{i}.5"), ("switch.a", "on"), ("switch.b", "off"))
        )
    )
    origin = fm.read(written(tmp_path, text)).origin
    assert (origin.used, origin.set_aside) == (30, 60)


def test_an_id_with_a_letter_in_some_places_is_no_reading(tmp_path):
    """Stations 3195 and 3260B beside their names: nothing is set aside for a letter."""
    ids = {"Madrid": "3195", "Toledo": "3260B", "Segovia": "2465"}
    text = "FECHA;CLAVE;NOMBRE;T\n" + rows(
        lambda i, t: "\n".join(f"{t:%Y-%m-%d %H:%M};{k};{n};{i},5" for n, k in ids.items())
    )
    records = fm.read(written(tmp_path, text), node="NOMBRE")
    assert (records.conditions, records.origin.cells["T"].set_aside) == (("T",), 0)
    # A sensor that reads one value and ERR elsewhere is one.
    broken = text.replace("3260B", "ERR").replace("2465", "7.5")
    assert fm.read(written(tmp_path, broken), node="NOMBRE").conditions == ("CLAVE", "T")
