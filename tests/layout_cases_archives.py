# ruff: noqa: E501 - lines of foreign files
"""Files as archives and databases of time series write them: each layout with a file made for it."""

import json

from layout_cases import NAN, Case, lines, ndjson

STAMPS = [1704067200 + 600 * i for i in range(3)]

GLOBAL_HOURLY = Case(
    "NOAA global hourly", "72503014732.csv",
    lines('"STATION","DATE","SOURCE","LATITUDE","LONGITUDE","ELEVATION","NAME","WND","CIG","VIS","TMP","DEW","SLP","AA1"',
          '"72503014732","2024-01-01T00:51:00","7","40.77","-73.88","3.4","LAGUARDIA, NY US","030,1,N,0046,1","22000,5,9,N","016093,5,N,5","+0056,1","-0011,1","10131,1","01,0000,9,5"',
          '"72503014732","2024-01-01T01:51:00","7","40.77","-73.88","3.4","LAGUARDIA, NY US","999,9,V,0021,1","99999,9,9,N","999999,9,9,9","+9999,9","+0006,1","99999,9",""'),
    ("72503014732",),
    {"air_temperature": [5.6, NAN], "dew_point": [-1.1, 0.6], "wind_direction": [30, NAN], "wind_speed": [4.6, 2.1],
     "ceiling": [22000, NAN], "visibility": [16093, NAN], "sea_level_pressure": [1013.1, NAN]},
    "2024-01-01T00:51", {"air_temperature": "°C", "wind_speed": "m/s"},
    {"72503014732": {"lat": 40.77, "lon": -73.88, "elevation": 3.4}},
)  # fmt: skip
RDB = Case(
    "USGS RDB", "nwis.txt",
    lines("# ---------- WARNING ----------", "# Data for two sites",
          "agency_cd\tsite_no\tdatetime\ttz_cd\t69928_00010\t69928_00010_cd\t69930_00060\t69930_00060_cd",
          "5s\t15s\t20d\t6s\t14n\t10s\t14n\t10s",
          "USGS\t01646500\t2024-01-01 00:00\tEST\t5.5\tP\t1200\tP",
          "USGS\t01646500\t2024-01-01 00:15\tEST\t5.6\tP\tIce\tP",
          "# Data for the second site, whose columns stand in another order",
          "agency_cd\tsite_no\tdatetime\ttz_cd\t70001_00060\t70001_00060_cd\t70002_00010\t70002_00010_cd",
          "5s\t15s\t20d\t6s\t14n\t10s\t14n\t10s",
          "USGS\t01646502\t2024-01-01 00:00\tEST\t900\tP\t7.5\tP"),
    ("01646500", "01646502"), {"water_temperature_00010": [5.5, 5.6], "discharge_00060": [1200, NAN]},
    "2024-01-01T05:00", {"water_temperature_00010": "°C", "discharge_00060": "ft³/s"},
)  # fmt: skip
LEFT_OUT = Case(
    "cells left out", "Loft.txt",
    lines("EL-USB-2,Time,Celsius(°C),Humidity(%rh),Serial Number", "1,29/01/2024 00:00:00,5.5,50.5,010036218",
          *(f"{i + 1},29/01/2024 0{i}:00:00,{i}.5,5{i}.5" for i in range(1, 10)),
          *(f"{i + 11},30/01/2024 0{i}:00:00,{i}.5,5{i}.5" for i in range(10))),
    ("Loft",), {"Celsius": [5.5, 1.5, 2.5], "Humidity": [50.5, 51.5]}, "2024-01-29T00:00", {"Celsius": "°C"},
)  # fmt: skip
PARTED = Case(
    "decimal commas between commas", "button.csv",
    lines("Part Number: DS1922L", "Sample Rate: Every 600 seconds", "Date/Time,Unit,Value",
          *(f"2{i}/01/2024 00:00:00,C,2{i},{i}13" for i in range(6))),
    ("button",), {"Value": [20.013, 21.113, 22.213]}, "2024-01-20T00:00",
)  # fmt: skip
VICTORIA = Case(
    "VictoriaMetrics", "export.jsonl",
    ndjson(*({"metric": {"__name__": name, "job": "x", "instance": node}, "values": [20.5 + k, 21.5, None], "timestamps": [s * 1000 for s in STAMPS]}
             for k, node in enumerate("ab") for name in ("t", "rh"))),
    ("a", "b"), {"t": [20.5, 21.5], "rh": [20.5, 21.5]}, "2024-01-01T00:00",
)  # fmt: skip
INFLUX_1 = Case(
    "InfluxDB 1", "query.json",
    json.dumps({"results": [{"statement_id": 0, "series": [
        {"name": "weather", "tags": {"host": node}, "columns": ["time", "t", "rh"],
         "values": [[f"2024-01-01T0{h}:00:00Z", 20.5 + h + k, 40] for h in range(3)]} for k, node in enumerate("ab")]}]}),
    ("a", "b"), {"t": [20.5, 21.5, 22.5], "rh": [40, 40, 40]}, "2024-01-01T00:00",
)  # fmt: skip
GRAPHITE = Case(
    "Graphite", "render.json",
    json.dumps([{"target": f"site.{node}.t", "datapoints": [[20.5 + i + k if i != 1 else None, s] for i, s in enumerate(STAMPS)]}
                for k, node in enumerate("ab")]),
    ("site.a.t", "site.b.t"), {"value": [20.5, NAN, 22.5]}, "2024-01-01T00:00",
)  # fmt: skip
OPENTSDB = Case(
    "OpenTSDB", "tsdb.json",
    json.dumps([{"metric": "env.t", "tags": {"host": node}, "dps": {str(s): 20.5 + i + k for i, s in enumerate(STAMPS)}}
                for k, node in enumerate("ab")]),
    ("a", "b"), {"env.t": [20.5, 21.5, 22.5]}, "2024-01-01T00:00",
)  # fmt: skip
FRAME = Case(
    "JSON of a frame", "frame.json",
    json.dumps({"node": {str(i): "ab"[i % 2] for i in range(6)}, "time": {str(i): STAMPS[i // 2] * 1000 for i in range(6)},
                "t": {str(i): 20.5 + i for i in range(6)}}),
    ("a", "b"), {"t": [20.5, 22.5, 24.5]}, "2024-01-01T00:00",
)  # fmt: skip
FRAME_BY_TIME = Case(
    "JSON of a frame", "indexed.json",
    json.dumps({f"2024-01-01T0{h}:00:00.000Z": {"a": 20.5 + h, "b": 30.5} for h in range(4)}),
    ("a", "b"), {}, "2024-01-01T00:00",
)  # fmt: skip
FRAME_SPLIT = Case(
    "JSON of a frame", "split.json",
    json.dumps({"columns": ["a", "b"], "index": [s * 1000 for s in STAMPS], "data": [[20.5, 30.5]] * 3}),
    ("a", "b"), {}, "2024-01-01T00:00",
)  # fmt: skip

PEMS = Case(
    "PeMS", "d04_text_station_5min_2024_01_01.txt",
    lines(*(f"01/01/2024 00:0{5 * k}:00,40000{n},4,101,N,ML,.38,40,100,{100 + n},.0123,{'' if k else '67.2'},10,32,.01,67.2,1,,,,,0"
            for k in range(2) for n in (1, 7))),
    ("400001", "400007"), {"flow": [101, 101], "occupancy": [0.0123, 0.0123], "speed": [67.2, NAN]}, "2024-01-01T00:00",
    {"speed": "mph", "occupancy": "1"},
)  # fmt: skip
AIRNOW = Case(
    "AirNow", "HourlyData_2024010105.dat",
    lines(*(f"01/01/24|0{h}:00|00001010{n}|St. John's|-4|{what}|{unit}|{value}|Newfoundland & Labrador DEC"
            for h in (5, 6) for n in (2, 5) for what, unit, value in (("OZONE", "PPB", 17 + h), ("PM2.5", "UG/M3", 4.5)))),
    ("000010102", "000010105"), {"OZONE": [22, 23], "PM2.5": [4.5, 4.5]}, "2024-01-01T05:00",
    {"OZONE": "PPB", "PM2.5": "UG/M3"},
)  # fmt: skip
TOMST = Case(
    "TOMST", "data_94184102_2024_05_01_0.csv",
    lines(*(f"{k};2024.01.01 00:{15 * k:02};0;{4 + k}.0625;5.5;6.5;210{k};202;0;" for k in range(4))),
    ("94184102",), {"T1_soil": [4.0625, 5.0625, 6.0625, 7.0625], "soil_moisture_count": [2100, 2101, 2102, 2103]},
    "2024-01-01T00:00", {"T1_soil": "°C", "T2_surface": "°C", "T3_air": "°C"},
)  # fmt: skip
SENSORSCOPE = Case(
    "SensorScope", "stbernard-meteo-10.txt",
    lines(*(f"10 2024 1 1 0 {2 * k} 17 {1704067217 + 120 * k} {k} {4 + k}.28 3.28 0.0 69.44 -1 -1 0 2.5 201.5" for k in range(4))),
    ("10",), {"ambient_temperature": [4.28, 5.28, 6.28, 7.28], "wind_direction": [201.5] * 4},
    "2024-01-01T00:00", {"ambient_temperature": "°C", "wind_direction": "°", "relative_humidity": "%"},
)  # fmt: skip
CHANNEL = Case(
    "meter channel", "channel_3.dat", lines(*(f"{1704067200 + 6 * k} {59 + k}" for k in range(5))),
    ("channel_3",), {"value": [59, 60, 61, 62, 63]}, "2024-01-01T00:00",
)  # fmt: skip
GSOD = Case(
    "NOAA summary of the day", "72000099999.csv",
    lines('"STATION","DATE","LATITUDE","LONGITUDE","ELEVATION","NAME","TEMP","TEMP_ATTRIBUTES","SLP","SLP_ATTRIBUTES","STP","STP_ATTRIBUTES","GUST","PRCP","PRCP_ATTRIBUTES","FRSHTT"',
          '"72000099999","2024-01-01","40.5","-90.5","200.0","HERE, US","  45.5","24","1010.5","24"," 999.9","24","999.9"," 0.12","G","010000"',
          '"72000099999","2024-01-02","40.5","-90.5","200.0","HERE, US","9999.9"," 0","9999.9"," 0"," 985.5","24"," 18.5","99.99"," ","000000"'),
    ("72000099999",), {"TEMP": [45.5, NAN], "SLP": [1010.5, NAN], "STP": [NAN, 985.5], "GUST": [NAN, 18.5], "PRCP": [0.12, NAN]},
    "2024-01-01T00:00", {"TEMP": "°F", "SLP": "hPa", "GUST": "kt", "PRCP": "in"},
    {"72000099999": {"lat": 40.5, "lon": -90.5, "elevation": 200.0}},
)  # fmt: skip
CASES = [one for one in list(globals().values()) if isinstance(one, Case)]
