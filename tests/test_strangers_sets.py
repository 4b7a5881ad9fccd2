# ruff: noqa: E501 - lines of foreign files
"""Public sets of sensor data in their own layouts, small: what they hold is read as what it is."""

import re
import shlex
from datetime import datetime, timedelta

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.errors import InputError
from fieldmend.quantities import Kind, identify

START = datetime(2024, 1, 30, 20)


def written(path, header, row, *, nodes=1, slots=60, step=60):
    """A file: a header and a row for each node and time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        row(i, START + timedelta(minutes=step * k), k) for k in range(slots) for i in range(nodes)
    ]
    path.write_text(header + "\n" + "".join(line + "\n" for line in lines))
    return path


def wave(i, k):
    return round(12 + 3 * np.sin(k / 7 + i) + i, 1)


def test_a_matrix_of_whole_numbers_has_no_node_among_its_columns(tmp_path):
    """Hourly humidity of 36 cities: of so many columns some take turns."""
    rng = np.random.default_rng(0)
    names = [f"City {i}" for i in range(36)]
    values = np.round(70 + 10 * np.sin(np.arange(300)[:, None] / 9) + rng.normal(0, 3, (300, 36)))
    path = written(tmp_path / "humidity.csv", "datetime," + ",".join(names),
                   lambda _, t, k: f"{t}," + ",".join(f"{v:.1f}" for v in values[k]), slots=300)  # fmt: skip
    grid = fm.read(path).grid()
    assert grid.nodes == tuple(names)
    np.testing.assert_array_equal(grid.values["value"], values)


def test_a_small_matrix_of_whole_numbers_has_no_node_though_they_end_in_0(tmp_path):
    """CO2 with gaps, as a frame writes it: the first column was held against itself for levels."""
    rng = np.random.default_rng(0)
    hours = np.arange(600)[:, None]
    values = np.round(450 + 25 * np.sin(hours / 40 + np.arange(4)) + rng.normal(0, 1.5, (600, 4)))
    path = written(tmp_path / "co2.csv", "time,north,south,mill,dam",
                   lambda _, t, k: f"{t}," + ",".join(f"{v:.1f}" for v in values[k]), slots=600)  # fmt: skip
    grid = fm.read(path).grid()
    assert grid.nodes == ("north", "south", "mill", "dam")
    np.testing.assert_array_equal(grid.values["value"], values)


@pytest.mark.parametrize("name", ["WD", "RADON Bq/m3", "ws", "ppfd"])
def test_a_quantity_is_no_node_though_its_values_take_turns(name, tmp_path):
    path = written(tmp_path / "tower.csv", f"time,TA,{name},RH",
                   lambda _, t, k: f"{t},{wave(0, k)},{k * 40 % 360},{50 + k % 9}.5", slots=120)  # fmt: skip
    assert fm.read(path).nodes == ("tower",)


def test_files_of_places_in_brackets_and_points_are_their_own_nodes(tmp_path):
    """Cut at the first point, six sensors were one, and what they read at one time contradicted."""
    for i, name in enumerate(
        ["Oak (37.80 -122.41)", "Oak (37.85 -122.46)", "SPO.DE_1_NO2", "SPO.DE_2_NO2"]
    ):
        written(
            tmp_path / "all" / f"{name}.csv",
            "created_at,pm25",
            lambda _, t, k, i=i: f"{t},{wave(i, k)}",
        )
    assert fm.read(tmp_path / "all").nodes == (
        "Oak (37.80 -122.41)", "Oak (37.85 -122.46)", "SPO.DE_1_NO2", "SPO.DE_2_NO2")  # fmt: skip


def test_files_of_single_days_stay_one_node(tmp_path):
    for day in range(1, 4):
        written(tmp_path / "all" / f"mast.2024-01-0{day}.csv", "time,temperature",
                lambda _, t, k, day=day: f"{t + timedelta(days=3 * day)},{wave(0, k)}")  # fmt: skip
    assert fm.read(tmp_path / "all").nodes == ("mast",)


def test_a_stamp_and_its_label_are_one_time(tmp_path):
    """Chicago's beaches."""
    path = written(tmp_path / "beach.csv",
                   "Station Name,Measurement Timestamp,Air Temperature,Measurement Timestamp Label,Measurement ID",
                   lambda i, t, k: f"Beach {i},{t:%m/%d/%Y %I:%M:%S %p},{wave(i, k)},{t:%m/%d/%Y %-I:%M %p},B{i}{t:%Y%m%d%H%M}",
                   nodes=3)  # fmt: skip
    grid = fm.read(path).grid()
    assert grid.shape == (60, 3)
    assert grid.times[0] == int(np.datetime64("2024-01-30T20:00", "us").astype(int))


def test_two_times_that_differ_once_are_asked_for(tmp_path):
    path = written(tmp_path / "two.csv", "Station Name,Sample Timestamp,Air Temperature,Analysis Timestamp",
                   lambda i, t, k: f"Beach {i},{t},{wave(i, k)},{t + timedelta(hours=k == 30)}", nodes=3)  # fmt: skip
    with pytest.raises(InputError, match="several columns hold a time"):
        fm.read(path)


def test_an_hour_called_time_is_not_the_time_where_stamps_are(tmp_path):
    """Melbourne counts pedestrians."""
    path = written(tmp_path / "feet.csv", "ID,Date_Time,Year,Month,Mdate,Day,Time,Sensor_ID,Hourly_Counts",
                   lambda i, t, k: f'{9000 + 3 * k + i},"{t:%B %d, %Y %I:%M:%S %p}",{t:%Y,%B},{t.day},{t:%A},{t.hour},{i + 1},{100 + k % 7 + i}',
                   nodes=3)  # fmt: skip
    assert fm.read(path).grid().shape == (60, 3)


def test_what_is_measured_is_told_in_words_beside_one_column_of_numbers(tmp_path):
    """Zürich: one value after the other, two quantities."""
    path = written(tmp_path / "ugz.csv", "Datum,Standort,Parameter,Intervall,Einheit,Wert,Status",
                   lambda i, t, k: f"{t:%Y-%m-%dT%H:%M}+0100,Zch_{i // 2},{('NO2', 'T')[i % 2]},h1,{('µg/m3', '°C')[i % 2]},{wave(i, k)},ok",
                   nodes=6)  # fmt: skip
    grid = fm.read(path).grid()
    assert set(grid.values) == {"NO2", "T"}
    assert grid.nodes == ("Zch_0", "Zch_1", "Zch_2")
    assert grid.units == {"NO2": "µg/m3", "T": "°C"}


def test_a_field_where_something_grows_says_not_what_is_measured(tmp_path):
    path = written(tmp_path / "farm.csv", "time,node,field,soil_temperature",
                   lambda i, t, k: f"{t},{i},{('north', 'south')[i % 2]},{wave(i, k)}", nodes=4)  # fmt: skip
    assert set(fm.read(path).grid().values) == {"soil_temperature"}


@pytest.mark.parametrize("code", ["01n", "1P"])
def test_digits_and_a_letter_are_a_code_and_passed_over(code, tmp_path):
    path = written(tmp_path / "city.csv", "time,city_name,temp,weather_icon",
                   lambda i, t, k: f"{t},{'ABC'[i]},{wave(i, k)},{code}", nodes=3)  # fmt: skip
    origin = fm.read(path).origin
    assert set(origin.cells) == {"temp"}
    assert origin.warnings == ()


def test_days_months_and_years_with_blanks(tmp_path):
    """A wind turbine's SCADA."""
    path = written(tmp_path / "T1.csv", "Date/Time,LV ActivePower (kW),Wind Speed (m/s),Wind Direction (°)",
                   lambda _, t, k: f"{t:%d %m %Y %H:%M},{k}.5,{wave(0, k)},{k * 7 % 360}.25", slots=48)  # fmt: skip
    grid = fm.read(path).grid()
    assert grid.shape == (48, 1)
    assert str(np.datetime64(int(grid.times[-1]), "us"))[:16] == "2024-02-01T19:00"


@pytest.mark.parametrize("word", ["?", "--", "---", "No data", "#N/A"])
def test_other_words_for_no_reading(word, tmp_path):
    path = written(tmp_path / "m.csv", "time,node,temperature",
                   lambda i, t, k: f"{t},{i},{word if k == 5 else wave(i, k)}", nodes=3)  # fmt: skip
    cells = fm.read(path).origin.cells["temperature"]
    assert (cells.missing, cells.set_aside) == (3, 0)


def test_degrees_of_wind_are_a_direction():
    found = identify(
        "wind_deg", "", np.random.default_rng(0).integers(0, 360, (90, 4)).astype(float)
    )
    assert (found.kind, found.unit) == (Kind.CIRCULAR, "°")


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("TA_1_1_1", "air temperature", wave),
        ("TA_F", "air temperature", wave),
        ("TA_30MIN_MEAN", "air temperature", wave),
        ("tre200h0", "air temperature", wave),
        ("VW_30MIN_MAX", "wind speed", wave),
        ("fu3010z1", "wind speed", wave),
        ("rre150h0", "rain", lambda i, k: 0.4 * (k % 17 == i)),
        ("SW_IN_F", "radiation", lambda i, k: max(0.0, 500 * np.sin(k / 4))),
        ("Nitrogen dioxide", "concentration", wave),
        ("NO2 [ug.m-3]", "concentration", wave),
        ("HS", "height of waves or snow", wave),
        ("Trial Lake Snow Water Equivalent", "snow water equivalent", wave),
        ("prestah0", "air pressure", lambda i, k: 960 + wave(i, k)),
    ],
)
def test_names_of_the_networks_of_countries(name, kind, values):
    readings = np.array([[values(i, k) for i in range(4)] for k in range(200)])
    assert identify(name, "", readings).what == kind


def test_what_rains_is_no_pressure_though_it_is_called_p():
    rain = np.where(np.random.default_rng(0).random((300, 4)) < 0.1, 0.4, 0.0)
    rain[5::50] = 1.2
    rain[7::50] = 0.8
    found = identify("P", "", rain)
    assert found.kind is Kind.INTERMITTENT
    assert "pressure, but" in found.reason


def test_a_gas_in_brackets_is_no_unit(tmp_path):
    path = written(tmp_path / "AirQuality.csv", "Date;Time;CO(GT);PT08.S1(CO);T(°C)",
                   lambda _, t, k: f"{t:%d/%m/%Y;%H.%M.%S};2,{k % 9};{1300 + k};{wave(0, k)}".replace(".5", ",5"))  # fmt: skip
    grid = fm.read(path).grid()
    assert "PT08.S1(CO)" in grid.values
    assert grid.units.get("PT08.S1(CO)", "") == ""
    assert identify("PT08.S1(CO)", "", grid.values["PT08.S1(CO)"]).unit == ""


@pytest.mark.parametrize("header", ["City,Country,Latitude,Longitude", "building_id,use,lat,lng"])
def test_positions_under_a_name_of_their_own(header, tmp_path):
    """Beside the matrix, or as locations=; what is the same in two rows names nobody."""
    path = written(tmp_path / "all" / "temperature.csv", "datetime,Vancouver,Portland,Seattle",
                   lambda _, t, k: f"{t},{wave(0, k)},{wave(1, k)},{wave(2, k)}")  # fmt: skip
    places = tmp_path / "all" / "places.csv"
    places.write_text(
        f"{header}\nVancouver,x,49.2,-123.1\nPortland,x,45.5,-122.7\nSeattle,x,47.6,-122.3\n"
    )
    for grid in (fm.read(tmp_path / "all").grid(), fm.read(path, locations=places).grid()):
        assert grid.places["Portland"] == {"lat": 45.5, "lon": -122.7}
        assert len(grid.places) == 3
    places.write_text("site,use,lat,lng\nA,x,1,2\nA,x,3,4\n")
    with pytest.raises(InputError, match="holds no positions"):
        fm.read(path, locations=places)


def test_what_is_said_of_many_files_is_said_once(tmp_path):
    for i in range(5):
        written(tmp_path / "all" / f"m{i}.csv", "TIMESTAMP_START,TIMESTAMP_END,TA,RH",
                lambda _, t, k, i=i: f"{t:%Y%m%d%H%M},{t + timedelta(minutes=30):%Y%m%d%H%M},{wave(i, k)},5{k % 9}.5", step=30)  # fmt: skip
    notes = [
        note for note in fm.read(tmp_path / "all").origin.notes if "taken for the time" in note
    ]
    assert len(notes) == 1
    assert " and 4 more: TIMESTAMP_START is taken" in notes[0]


def test_a_folder_of_another_ending_is_refused_with_a_pattern_that_reads_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(2):
        written(
            tmp_path / "icos [2024]" / f"s{i}.CO2",
            "time,co2",
            lambda _, t, k, i=i: f"{t},{400 + wave(i, k)}",
        )
    with pytest.raises(InputError) as refused:
        fm.read("icos [2024]")
    pattern = shlex.split(str(refused.value).split("hand in ")[1])[0]
    assert fm.read(pattern).nodes == ("s0", "s1")
    written(tmp_path / "psv" / "a.psv", "time|co2", lambda _, t, k: f"{t}|{400 + wave(0, k)}")
    assert fm.read("psv").nodes == ("a",)


def test_a_rain_meter_is_not_measured_in_metres():
    assert identify("rain_meter", "", np.zeros((90, 4))).unit == ""


def test_several_values_beside_what_is_measured_are_asked_for(tmp_path):
    """Chicago's Array of Things: temperature and pressure of one chip are never averaged."""
    rows = [("bmp180", "temperature"), ("bmp180", "pressure"), ("tmp112", "temperature")]
    path = written(tmp_path / "aot.csv", "timestamp,node_id,subsystem,sensor,parameter,value_raw,value_hrf",
                   lambda i, t, k: f"{t:%Y/%m/%d %H:%M:%S},001e{i // 3},metsense,{rows[i % 3][0]},{rows[i % 3][1]},{100 * i + k},{wave(i, k)}",
                   nodes=6)  # fmt: skip
    with pytest.raises(
        InputError, match="several columns may hold the values: value_raw, value_hrf"
    ):
        fm.read(path)
    with pytest.raises(InputError, match="--node node_id,sensor"):
        fm.read(path, value="value_hrf")
    grid = fm.read(path, value="value_hrf", node=["node_id", "sensor"]).grid()
    assert set(grid.values) == {"temperature", "pressure"}
    assert grid.shape == (60, 4)


def test_small_tables_above_a_large_one(tmp_path):
    """SMHI: what is measured, since when, and then the readings."""
    head = """Stationsnamn;Klimatnummer;Mäthöjd (meter över marken)
Abisko Aut;188790;2.0

Parameternamn;Beskrivning;Enhet
Lufttemperatur;momentanvärde, 1 gång/tim;celsius

Tidsperiod (fr.o.m);Tidsperiod (t.o.m);Höjd (meter över havet);Latitud (decimalgrader);Longitud (decimalgrader)
1985-01-01 00:00:00;2021-10-01 06:00:00;392.303;68.3538;18.8164

Datum;Tid (UTC);Lufttemperatur;Kvalitet;;Tidsutsnitt:"""
    path = written(tmp_path / "abisko.csv", head,
                   lambda _, t, k: f"{t:%Y-%m-%d;%H:%M:%S};{wave(0, k)};G;;" + "Kvalitetskontrollerade data" * (k == 0))  # fmt: skip
    grid = fm.read(path).grid()
    assert (tuple(grid.values), grid.nodes, grid.shape) == (
        ("Lufttemperatur",),
        ("abisko",),
        (60, 1),
    )


def test_a_header_that_begins_with_a_number_sign(tmp_path):
    """HOBOconnect."""
    path = written(tmp_path / "2123.csv", '#,Date-Time (PDT),"Temperature , °C","RH , %"',
                   lambda _, t, k: f"{k + 1},{t:%m/%d/%Y %H:%M:%S},{wave(0, k)},5{k % 9}.5")  # fmt: skip
    grid = fm.read(path).grid()
    assert grid.shape == (60, 1)
    assert grid.times[0] == int(np.datetime64("2024-01-31T03:00", "us").astype(int))
    assert [identify(name, "", X).unit for name, X in grid.values.items()] == ["°C", "%"]


def test_a_title_of_one_word_and_rows_about_the_columns(tmp_path):
    """Luchtmeetnet: of two times the one is asked for, and the option it names reads the file."""
    head = '"Luchtmeetnet"\n\nComponent;NO2\nStationsCode;;;NL10131;NL10136\nBegindatumtijd;Einddatumtijd;;NL10131;NL10136'
    path = written(tmp_path / "no2.csv", head,
                   lambda _, t, k: f"{t:%Y%m%d %H:%M};{t + timedelta(hours=1):%Y%m%d %H:%M};;{wave(0, k)};{wave(1, k)}")  # fmt: skip
    with pytest.raises(InputError, match="several columns hold a time") as refused:
        fm.read(path)
    time = re.search(r"time='([^']+)'", str(refused.value))[1]
    grid = fm.read(path, time=time).grid()
    assert grid.shape == (60, 2)
    assert grid.times[0] == int(np.datetime64("2024-01-30T20:00", "us").astype(int))


def test_a_part_of_a_node_s_name_may_be_empty(tmp_path):
    """Daily temperatures of major cities: only the United States have a state, and two Portlands."""
    cities = ["Germany,,Munich", "US,Maine,Portland", "US,Oregon,Portland", ",,"]
    path = written(tmp_path / "city.csv", "Country,State,City,Month,Day,Year,AvgTemperature",
                   lambda i, t, k: f"{cities[i]},{t.month},{t.day},{t.year},{wave(i, k)}", nodes=4, step=1440)  # fmt: skip
    records = fm.read(path, node=["Country", "State", "City"])
    assert records.nodes == ("Germany/Munich", "US/Maine/Portland", "US/Oregon/Portland")
    assert records.origin.set_aside == 60  # who has no part at all
    assert set(records.origin.cells) == {"AvgTemperature"}


def test_matrices_of_several_quantities_are_never_averaged(tmp_path):
    """Hourly weather of 36 cities: temperature.csv and humidity.csv have the same nodes and times."""
    for name, level in (("temperature", 285), ("humidity", 70)):
        written(tmp_path / "all" / f"{name}.csv", "datetime,Vancouver,Portland,Seattle",
                lambda _, t, k, level=level: f"{t},{level + wave(0, k):.1f},{level + wave(1, k):.1f},{level + wave(2, k):.1f}")  # fmt: skip
    with pytest.raises(InputError, match="matrices of different quantities"):
        fm.read(tmp_path / "all")
    alone = fm.read(tmp_path / "all" / "humidity.csv").grid()
    assert alone.values["value"].max() < 100
    later = tmp_path / "later"
    for day in range(2):  # months of one matrix, one after the other, the last row twice
        written(later / f"t{day}.csv", "datetime,Vancouver,Portland,Seattle",
                lambda _, t, k, day=day: f"{t + timedelta(hours=59 * day)},{wave(0, k + 59 * day)},1.5,2.5")  # fmt: skip
    origin = fm.read(later).origin
    assert (origin.read, origin.used, origin.duplicates) == (120, 119, 1)
