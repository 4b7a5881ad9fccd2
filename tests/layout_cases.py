# ruff: noqa: E501 - lines of foreign files
"""Files as loggers and platforms write them: each layout with a file made for it.

A case: the layout's name, a file's name and text, its nodes, the readings of each condition in
order of time (of the first node), the first time, and units.
"""

import json
from dataclasses import dataclass, field

NAN = float("nan")


@dataclass(frozen=True)
class Case:
    layout: str
    file: str
    text: str
    nodes: tuple[str, ...]
    readings: dict
    first: str
    units: dict = field(default_factory=dict)
    places: dict | None = None
    set_aside: int = 0


def lines(*rows):
    return "".join(row + "\n" for row in rows)


def ndjson(*rows):
    return lines(*(json.dumps(row) for row in rows))


TOA5 = Case(
    "Campbell TOA5", "mast.dat",
    lines('"TOA5","Mast7","CR1000","1234","CR1000.Std.27","CPU:x.CR1","5","Table1"',
          '"TIMESTAMP","RECORD","AirTC_Avg","RH"', '"TS","RN","Deg C","%"', '"","","Avg","Smp"',
          '"2024-01-01 00:00:00",1,20.5,40', '"2024-01-01 00:10:00",2,"NAN",41'),
    ("Mast7",), {"AirTC_Avg": [20.5, NAN], "RH": [40, 41]}, "2024-01-01T00:00",
    {"AirTC_Avg": "Deg C", "RH": "%"},
)  # fmt: skip
HOBO = Case(
    "HOBO", "greenhouse.csv",
    lines('"Plot Title: Greenhouse 3"',
          '"#","Date Time, GMT-05:00","Temp, °C (LGR S/N: 20456789, SEN S/N: 20456789, LBL: Air)",'
          '"RH, % (LGR S/N: 20456789, SEN S/N: 20456789)","Coupler Attached (LGR S/N: 20456789)",'
          '"End Of File (LGR S/N: 20456789)"',
          "1,06/05/23 11:50:00 AM,24.5,55.1,,", "2,06/05/23 12:00:00 PM,24.6,55.2,,",
          "3,06/05/23 12:10:00 PM,,,Logged,Logged"),
    ("Greenhouse 3",), {"Air": [24.5, 24.6], "RH": [55.1, 55.2]}, "2023-06-05T16:50",
    {"Air": "°C", "RH": "%"},
)  # fmt: skip
HOBO_DAYS = Case(
    "HOBO", "probe.csv",
    lines('"Date Time, GMT+02:00";"Temp, °C (LGR S/N: 9988)"', "2023-06-15 12:00:00;24,5",
          "2023-06-15 12:10:00;24,6"),
    ("9988",), {"Temp": [24.5, 24.6]}, "2023-06-15T10:00", {"Temp": "°C"},
)  # fmt: skip
DAVIS = Case(
    "Davis WeatherLink", "roof.txt",
    lines("\t\tTemp\tHi\tOut", "Date\tTime\tOut\tTemp\tHum", "13/06/23\t11:30p\t15.2\t15.4\t80",
          "14/06/23\t12:00a\t---\t15.1\t81", "14/06/23\t12:30a\t14.8\t15.0\t82"),
    ("roof",), {"Temp Out": [15.2, NAN, 14.8], "Hi Temp": [15.4, 15.1, 15.0], "Out Hum": [80, 81, 82]},
    "2023-06-13T23:30",
)  # fmt: skip
DAVIS_WEB = Case(
    "Davis WeatherLink", "export.csv",
    lines('"North roof"', '"Date & Time","Temp - °C","Hum - %"', '"6/13/23 11:30 PM","15.2","80"',
          '"6/14/23 12:00 AM","--","81"'),
    ("North roof",), {"Temp": [15.2, NAN], "Hum": [80, 81]}, "2023-06-13T23:30",
    {"Temp": "°C", "Hum": "%"},
)  # fmt: skip
SYNOP = Case(
    "Météo-France", "synop.202401.csv",
    lines("numer_sta;date;pmer;t;u;rr24;", "07005;20240101000000;100910;281.25;88;mq;",
          "07015;20240101000000;100950;280.15;90;mq;", "07005;20240101030000;mq;280.95;89;mq;"),
    ("07005", "07015"), {"t": [281.25, 280.95], "pmer": [100910, NAN]}, "2024-01-01T00:00",
    {"t": "K", "pmer": "Pa"},
)  # fmt: skip
HOURLY = Case(
    "Météo-France", "H_38_2024.csv",
    lines("NUM_POSTE;NOM_USUEL;LAT;LON;ALTI;AAAAMMJJHH;RR1;QRR1;T;QT",
          "38185001;GRENOBLE;45.1;5.7;212;2024010100;0.0;1;3.5;1",
          "38185001;GRENOBLE;45.1;5.7;212;2024010101;0.2;1;;9",
          "38565001;VILLARD;45.0;5.5;1050;2024010100;0.4;1;-1.5;1"),
    ("38185001", "38565001"), {"T": [3.5, NAN], "RR1": [0.0, 0.2]}, "2024-01-01T00:00",
    places={"38185001": {"lat": 45.1, "lon": 5.7, "elevation": 212.0},
            "38565001": {"lat": 45.0, "lon": 5.5, "elevation": 1050.0}},
)  # fmt: skip
NDBC = Case(
    "NDBC standard text", "46042h2013.txt",
    lines("#YY  MM DD hh mm WDIR WSPD PRES", "#yr  mo dy hr mn degT m/s  hPa",
          "2013 05 01 00 50  99  5.1 1013.5", "2013 05 01 01 50 999 99.0 9999.0"),
    ("46042",), {"WDIR": [99, NAN], "WSPD": [5.1, NAN]}, "2013-05-01T00:50", {"PRES": "hPa"},
)  # fmt: skip
THINGSPEAK = Case(
    "ThingSpeak", "feeds.csv",
    lines("created_at,entry_id,field1,field2,latitude,longitude,elevation,status",
          "2024-01-01 00:00:00 UTC,1,20.5,40,,,,", "2024-01-01 00:10:00 UTC,2,20.6,,,,,"),
    ("feeds",), {"field1": [20.5, 20.6], "field2": [40, NAN]}, "2024-01-01T00:00",
)  # fmt: skip
THINGSPEAK_JSON = Case(
    "ThingSpeak", "feeds.json",
    json.dumps({"channel": {"id": 9, "name": "Roof", "field1": "Temperature", "field2": "Humidity"},
                "feeds": [{"created_at": "2024-01-01T00:00:00Z", "entry_id": 1, "field1": "20.5", "field2": "40"},
                          {"created_at": "2024-01-01T00:10:00Z", "entry_id": 2, "field1": "20.6", "field2": None}]},
               indent=1),
    ("Roof",), {"Temperature": [20.5, 20.6], "Humidity": [40, NAN]}, "2024-01-01T00:00",
)  # fmt: skip
LINE_PROTOCOL = Case(
    "InfluxDB line protocol", "export.lp",
    lines("# exported", r"air,sensor=hall\ 1,house=north temperature=20.5,n=4i 1704067200000000000",
          'air,sensor=yard,house=north temperature=3.5,n=5i,note="a, b = c" 1704067200000000000',
          r"air,sensor=hall\ 1,house=north temperature=20.6,n=6i 1704067800000000000",
          "air,sensor=yard,house=north temperature=3.6,n=7i 1704067800000000000",
          "air,sensor=yard temperature=3.6 soon"),
    ("hall 1", "yard"), {"temperature": [20.5, 20.6], "n": [4, 6]}, "2024-01-01T00:00", set_aside=1,
)  # fmt: skip
ANNOTATED = Case(
    "InfluxDB annotated CSV", "export.csv",
    lines("#group,false,false,false,false,true,true",
          "#datatype,string,long,dateTime:RFC3339,double,string,string", "#default,_result,,,,,",
          ",result,table,_time,_value,host,_field", ",,1,2024-01-01T00:00:00Z,40,a,humidity",
          ",,1,2024-01-01T00:10:00Z,41,a,humidity"),
    ("a",), {"humidity": [40, 41]}, "2024-01-01T00:00",
)  # fmt: skip


def uplink(device, time, **payload):
    return {
        "end_device_ids": {"device_id": device, "dev_eui": "70B3D5"},
        "received_at": time,
        "uplink_message": {"f_port": 2, "decoded_payload": payload, "received_at": time,
                           "locations": {"user": {"latitude": 48.5, "longitude": 9.2}}},
    }  # fmt: skip


THINGS_STACK = Case(
    "The Things Stack", "uplinks.json",
    ndjson(uplink("a", "2024-01-01T00:00:00.5Z", temperature=20.5, soil={"wet": 31}),
           {"result": uplink("b", "2024-01-01T00:00:00Z", temperature=21.5)},
           {"end_device_ids": {"device_id": "a"}, "join_accept": {}},
           uplink("a", "2024-01-01T00:10:00.5Z", temperature=20.6, soil={"wet": 32})),
    ("a", "b"), {"temperature": [20.5, 20.6], "soil.wet": [31, 32]}, "2024-01-01T00:00",
    places={n: {"lat": 48.5, "lon": 9.2} for n in "ab"}, set_aside=1,
)  # fmt: skip
CHIRPSTACK = Case(
    "ChirpStack", "events.ndjson",
    ndjson({"deviceInfo": {"deviceName": "a", "devEui": "0102"}, "time": "2024-01-01T00:00:00Z",
            "fCnt": 7, "object": {"temperature": 20.5, "open": True}},
           {"deviceInfo": {"deviceName": "a", "devEui": "0102"}, "time": "2024-01-01T00:10:00Z",
            "fCnt": 8, "object": {"temperature": 20.6}}),
    ("a",), {"temperature": [20.5, 20.6]}, "2024-01-01T00:00",
)  # fmt: skip
CHIRPSTACK_3 = Case(
    "ChirpStack", "events.jsonl",
    ndjson(*({"devEUI": "AQI=", "deviceName": "a", "rxInfo": [{"time": f"2024-01-01T00:{m}:00Z"}],
              "objectJSON": json.dumps({"temperature": v})} for m, v in (("00", 20.5), ("10", 20.6)))),
    ("a",), {"temperature": [20.5, 20.6]}, "2024-01-01T00:00",
)  # fmt: skip
NETATMO = Case(
    "Netatmo", "indoor.csv",
    lines("long,lat,ModuleName,ModuleType", '9.1,48.7,"Wohnzimmer",Indoor', "",
          'Timestamp,"Timezone : Europe/Berlin",Temperature,Humidity',
          '1704067200,"2024/01/01 01:00:00",20.5,40', '1704067500,"2024/01/01 01:05:00",20.6,'),
    ("Wohnzimmer",), {"Temperature": [20.5, 20.6], "Humidity": [40, NAN]}, "2024-01-01T00:00",
)  # fmt: skip


def stream(thing, what, unit, **more):
    return {"name": f"{thing} {what}", "unitOfMeasurement": {"symbol": unit},
            "ObservedProperty": {"name": what}, "Thing": {"name": thing}, **more}  # fmt: skip


SENSOR_THINGS = Case(
    "SensorThings", "observations.json",
    json.dumps({"value": [
        {"phenomenonTime": f"2024-01-01T00:{m}:00Z/2024-01-01T00:{m}:59Z", "result": v,
         "Datastream": stream(thing, "temperature", "°C")}
        for m, v, thing in (("00", 20.5, "a"), ("10", 20.6, "a"), ("00", 3.5, "b"))]}),
    ("a", "b"), {"temperature": [20.5, 20.6]}, "2024-01-01T00:00", {"temperature": "°C"},
)  # fmt: skip
DATASTREAMS = Case(
    "SensorThings", "datastreams.json",
    json.dumps({"value": [stream("a", what, unit, Observations=[
        {"phenomenonTime": f"2024-01-01T00:{m}:00Z", "result": v} for m, v in zip(("00", "10"), vs, strict=True)])
        for what, unit, vs in (("temperature", "°C", (20.5, 20.6)), ("humidity", "%", (40, 41)))]}, indent=2),
    ("a",), {"temperature": [20.5, 20.6], "humidity": [40, 41]}, "2024-01-01T00:00",
    {"temperature": "°C", "humidity": "%"},
)  # fmt: skip


def history(entity, unit, kind, *states):
    first = {"entity_id": entity, "attributes": {"unit_of_measurement": unit, "device_class": kind}}
    return [{**(first if i == 0 else {}), "state": state, "last_changed": f"2024-01-01T00:{i}0:00+00:00"}
            for i, state in enumerate(states)]  # fmt: skip


HOME_ASSISTANT = Case(
    "Home Assistant", "history.json",
    json.dumps([history("sensor.hall", "°C", "temperature", "20.5", "unavailable", "20.6"),
                history("sensor.yard", "°C", "temperature", "3.5"),
                [{"entity_id": "light.hall", "state": "on", "attributes": {}, "last_changed": "2024-01-01T00:00:00Z"}]]),
    ("sensor.hall", "sensor.yard"), {"temperature": [20.5, NAN, 20.6]}, "2024-01-01T00:00", {"temperature": "°C"},
)  # fmt: skip
ERDDAP = Case(
    "ERDDAP", "erddap.csv",
    lines("time,station,latitude,longitude,wtmp", "UTC,,degrees_north,degrees_east,degree_C",
          "2013-05-01T00:00:00Z,46042,36.7,-122.4,12.5", "2013-05-01T01:00:00Z,46042,36.7,-122.4,NaN"),
    ("46042",), {"wtmp": [12.5, NAN]}, "2013-05-01T00:00", {"wtmp": "degree_C"},
    places={"46042": {"lat": 36.7, "lon": -122.4}},
)  # fmt: skip
PRSA = Case(
    "", "PRSA_Data_Aotizhongxin.csv",
    lines('"No","year","month","day","hour","PM2.5","TEMP","wd","station"',
          *(f'{h + 1},2013,3,1,{h},{4 + h},{"NA" if h == 1 else -0.7},"NNW","Aotizhongxin"' for h in range(9))),
    ("Aotizhongxin",), {"PM2.5": list(range(4, 13)), "TEMP": [-0.7, NAN, *[-0.7] * 7]}, "2013-03-01T00:00",
)  # fmt: skip
TAO = Case(
    "TAO", "airt0n140w_dy.ascii",
    lines("Location:  0N 140W  1 Jan 2000 to  2 Jan 2000 (    2 times,  1 blocks) Gap-fill=NO",
          "Units: C", " YYYYMMDD HHMM   AIRT Q M", " 20000105 1200  26.52 2 5", " 20000106 1200  -9.99 0 5"),
    ("0N140W",), {"AIRT": [26.52, NAN]}, "2000-01-05T12:00", places={"0N140W": {"lat": 0.0, "lon": -140.0}},
)  # fmt: skip
INTELLAB = Case(
    "IntelLab", "data.txt",
    lines("2004-03-04 00:00:26.983691 14285 1 20.5666 35.8876 46.92 2.65143",
          "2004-03-04 00:00:57.05 14286 1 20.5666 35.853  2.65143"),
    ("1",), {"temperature": [20.5666, 20.5666], "light": [46.92, NAN]}, "2004-03-04T00:00:26", {"light": "lux"},
)  # fmt: skip
ARRAY = Case(
    "JSON", "rows.json",
    json.dumps([{"node": n, "time": f"2024-01-01T00:{m}:00Z", "t": v}
                for n, m, v in (("a", "00", 1.5), ("b", "00", 2.5), ("a", "10", 3.5))], indent=2),
    ("a", "b"), {"t": [1.5, 3.5]}, "2024-01-01T00:00",
)  # fmt: skip
WRAPPED = Case(
    "JSON", "wrapped.json",
    json.dumps({"status": "ok", "data": [{"node": "a", "time": "2024-01-01T00:00:00Z", "t": 1.5}]}),
    ("a",), {"t": [1.5]}, "2024-01-01T00:00",
)  # fmt: skip

DWD = Case(
    "DWD", "produkt_tu_stunde_20240305_20240308_00044.txt",
    lines("STATIONS_ID;MESS_DATUM;QN_9;TT_TU;RF_TU;eor", "         44;2024030523;    3;   4.5;  91.0;eor",
          "         44;2024030600;    3;-999;  92.0;eor"),
    ("44",), {"TT_TU": [4.5, NAN], "RF_TU": [91, 92]}, "2024-03-05T23:00",
)  # fmt: skip
ASOS = Case(
    "IEM ASOS", "asos.txt",
    lines("#DEBUG: Format Typ    -> comma", "station,valid,tmpf,mslp,skyc1,p01i", "AMW,2024-03-05 00:53,41.00,M,CLR,0.00",
          "AMW,2024-03-05 01:53,40.50,1013.2,CLR,T"),
    ("AMW",), {"tmpf": [41, 40.5], "mslp": [NAN, 1013.2], "p01i": [0, NAN]}, "2024-03-05T00:53",
    {"tmpf": "°F", "mslp": "hPa"},
)  # fmt: skip
ISD_LITE = Case(
    "ISD-Lite", "725300-94846-2024.txt",
    lines("2024 03 05 00   105    45 10196   220    44     8     0 -9999",
          "2024 03 05 01 -9999   -45 10197   230    44 -9999     0 -9999",
          "2024 03 05 02    99    44 10197   230    44 -9999     0     5"),
    ("725300-94846",), {"air_temperature": [105, NAN, 99], "dew_point": [45, -45, 44], "precipitation_6h": [NAN, NAN, 5]},
    "2024-03-05T00:00", {"wind_direction": "°", "air_temperature": "0.1 °C"},
)  # fmt: skip
COOPS = Case(
    "CO-OPS", "8454000.csv",
    lines("Date Time, Water Level, Sigma, O or I (for verified), F, R, L, Quality ",
          "2024-03-05 00:00,1.201,0.012,0,0,0,0,v", "2024-03-05 00:06,,,0,0,0,0,p"),
    ("8454000",), {"Water Level": [1.201, NAN]}, "2024-03-05T00:00",
)  # fmt: skip
AQS = Case(
    "EPA AQS", "hourly_44201_2024.csv",
    lines('"State Code","County Code","Site Num","Parameter Code","POC","Latitude","Longitude","Parameter Name",'
          '"Date Local","Time Local","Date GMT","Time GMT","Sample Measurement","Units of Measure","MDL"',
          '"42","101","0004","44201",1,40.1,-75.1,"Ozone","2024-03-05","00:00","2024-03-05","05:00",0.031,"Parts per million",0.005',
          '"34","101","0004","44201",1,39.1,-74.1,"Ozone","2024-03-05","00:00","2024-03-05","05:00",0.033,"Parts per million",0.005',
          '"42","101","0004","44201",2,40.1,-75.1,"Ozone","2024-03-05","01:00","2024-03-05","06:00",0.032,"Parts per million",0.005'),
    ("34/101/0004/1", "42/101/0004/1", "42/101/0004/2"), {"Ozone": [0.033]}, "2024-03-05T05:00",
    {"Ozone": "Parts per million"},
)  # fmt: skip
BADC = Case(
    "BADC-CSV", "midas_bude_2024.csv",
    lines("Conventions,G,BADC-CSV,1", "observation_station,G,bude", "location,G,50.8,-4.5", "height,G,15,m",
          "missing_value,G,NA", "long_name,ob_time,Date and time of observation,1", "long_name,air_temperature,air temperature,degC",
          "data", "ob_time,id,src_id,wind_speed,air_temperature,air_temperature_q", "2024-03-05 00:00:00,3723,1336,11,8.1,6",
          "2024-03-05 01:00:00,3723,1336,12,NA,6", "end data"),
    ("bude",), {"wind_speed": [11, 12], "air_temperature": [8.1, NAN]}, "2024-03-05T00:00",
    {"air_temperature": "degC"}, {"bude": {"lat": 50.8, "lon": -4.5, "elevation": 15.0}}, set_aside=1,
)  # fmt: skip
GHCN = Case(
    "GHCN-Daily", "2024.csv",
    lines("USW00014819,20240101,TMAX,46,,,W,2400", "USW00014819,20240101,TMIN,-31,,,W,2400",
          "USW00014819,20240102,TMAX,44,,,W,2400"),
    ("USW00014819",), {"TMAX": [46, 44], "TMIN": [-31]}, "2024-01-01",
)  # fmt: skip
DLY = Case(
    "GHCN-Daily months", "USW00014819.dly",
    lines("USW00014819202402TMAX" + "".join(f"{40 + day:5d}  W" for day in range(29)) + "-9999   " * 2,
          "USW00014819202403TMAX" + "   71  W-9999   " + "   73 I " * 29),
    ("USW00014819",), {"TMAX": [*range(40, 69), 71, *[73] * 29]}, "2024-02-01",
)  # fmt: skip
ABOVE = Case(
    "stations above", "valley.csv",
    lines("Station,ALD,BIR,CED", "Latitude,46.1,46.2,46.3", "Longitude,7.1,7.2,7.3", "Date,°C,°C,°C",
          "2024-03-05 00:00,1.5,,3.5", "2024-03-05 01:00,1.6,2.6,3.6"),
    ("ALD", "BIR", "CED"), {}, "2024-03-05T00:00", {"value": "°C"},
    {name: {"lat": lat, "lon": lon} for name, lat, lon in (("ALD", 46.1, 7.1), ("BIR", 46.2, 7.2), ("CED", 46.3, 7.3))},
)  # fmt: skip
PROMETHEUS = Case(
    "Prometheus", "range.json",
    json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": "temperature_celsius", "instance": f"n{k}:9100", "job": "rooms"},
         "values": [[1709596800 + 60 * i, f"{12 + k + i}.5"] for i in range(3)]} for k in range(2)]}}),
    ("n0:9100", "n1:9100"), {"temperature_celsius": [12.5, 13.5, 14.5]}, "2024-03-05T00:00",
)  # fmt: skip
WEATHERLINK = Case(
    "WeatherLink v2", "historic.json",
    json.dumps({"station_id": 96230, "sensors": [
        {"lsid": 1001, "data": [{"ts": 1709596800, "tz_offset": -18000, "arch_int": 900, "temp_out": 45.1},
                                {"ts": 1709597700, "tz_offset": -18000, "arch_int": 900, "temp_out": None}]},
        {"lsid": 1002, "data": [{"ts": 1709596800, "tz_offset": -18000, "arch_int": 900, "temp_in": 70.5}]}]}),
    ("96230/1001", "96230/1002"), {"temp_out": [45.1, NAN]}, "2024-03-05T00:00",
)  # fmt: skip

CRN = Case(
    "US CRN", "CRNH0203-2023-NY_Ithaca_13_E.txt",
    lines(*(f"64758 20230110 {h:02d}00 20230109 {19 + h}00      3  -76.25   42.44    {8 + h}.0 -9999.0     9.0     7.0     0.0"
            "      0 0      0 0      0 0 C     8.0 0     8.0 0     8.0 0    70 0   0.345 -99.000 -99.000 -99.000 -99.000"
            "     1.1     2.2 -9999.0 -9999.0 -9999.0" for h in range(4))),
    ("64758",), {"T_CALC": [8, 9], "T_HR_AVG": [NAN, NAN], "SOIL_MOISTURE_5": [0.345]}, "2023-01-10T00:00", {"T_CALC": "°C"},
    {"64758": {"lat": 42.44, "lon": -76.25}},
)  # fmt: skip
TSPAIR = Case(
    "seismic ASCII", "IU_ANMO_00_BHZ.txt",
    lines("TIMESERIES IU_ANMO_00_BHZ_R, 2 samples, 20 sps, 2010-02-27T06:30:00.050000, TSPAIR, INTEGER, Counts",
          "2010-02-27T06:30:00.050000  11", "2010-02-27T06:30:00.100000  -12"),
    ("IU_ANMO_00_BHZ_R",), {"sample": [11, -12]}, "2010-02-27T06:30:00.05", {"sample": "Counts"},
)  # fmt: skip
SLIST = Case(
    "seismic ASCII", "IU_ANMO_00_BHZ.slist",
    lines("TIMESERIES IU_ANMO_00_BHZ_R, 4 samples, 20 sps, 2010-02-27T06:30:00.050000, SLIST, INTEGER, Counts",
          "11\t-12\t13", "14"),
    ("IU_ANMO_00_BHZ_R",), {"sample": [11, -12, 13, 14]}, "2010-02-27T06:30:00.05",
)  # fmt: skip
ZRXP = Case(
    "ZRXP", "gauge.zrx",
    lines("#SANR01234|*|SNAMENorth|*|SWATERBrook|*|", "#CNAMEW|*|CUNITcm|*|RINVAL-777|*|TZUTC+1|*|",
          "#LAYOUT(timestamp,value,status)|*|", "20230110010000 128.5 40", "20230110011500 -777 255"),
    ("North",), {"W": [128.5, NAN]}, "2023-01-10T00:00", {"W": "cm"},
)  # fmt: skip
SIEMENS = Case(
    "Siemens trends", "trend.csv",
    lines('"Key            Name:Suffix"', '"Point_1:","AHU1.SAT","","COV"', '"Point_2:","AHU1.RAT","","COV"',
          '"Time Interval:","15 Minutes"', '""', '"<>Date","Time","Point_1","Point_2"',
          *(f'"1/{13 + h // 24}/2023","{h % 24:02d}:00:00","{20 + h}.5","No Data"' for h in range(30))),
    ("AHU1.SAT", "AHU1.RAT"), {}, "2023-01-13T00:00",
)  # fmt: skip
PROMETHEUS_TEXT = Case(
    "Prometheus text", "metrics.txt",
    lines("# HELP room_temperature_celsius Temperature", "# TYPE room_temperature_celsius gauge",
          'room_temperature_celsius{room="attic",job="x"} 20.5 1704067200000',
          'room_temperature_celsius{room="attic",job="x"} NaN 1704067260000',
          'room_humidity{room="attic"} 40 1704067200000'),
    ("attic",), {"room_temperature_celsius": [20.5, NAN], "room_humidity": [40]}, "2024-01-01T00:00",
)  # fmt: skip
MQTT = Case(
    "MQTT messages", "house.log",
    lines("2024-01-01T00:00:00+0000 house/attic/temperature 20.5", "2024-01-01T00:00:00+0000 house/attic/humidity 40",
          "2024-01-01T00:10:00+0000 house/attic/temperature offline", "2024-01-01T00:20:00+0000 house/attic/temperature 21"),
    ("house/attic",), {"temperature": [20.5, 21], "humidity": [40]}, "2024-01-01T00:00", set_aside=1,
)  # fmt: skip
MQTT_JSON = Case(
    "MQTT messages", "zigbee.log",
    lines('1704067200 zigbee2mqtt/bench1 {"battery":100,"temperature":20.5,"state":"ON"}',
          '1704067260 zigbee2mqtt/bench1 {"battery":99,"temperature":20.6,"state":"ON"}'),
    ("zigbee2mqtt/bench1",), {"battery": [100, 99], "temperature": [20.5, 20.6]}, "2024-01-01T00:00",
)  # fmt: skip
TIMES_ACROSS = Case(
    "times across", "wide.csv",
    lines("station,2024-01-01 00:00,2024-01-01 01:00,2024-01-01 02:00", "North,1.5,2.5,", "South,4,5,6"),
    ("North", "South"), {"value": [1.5, 2.5, NAN]}, "2024-01-01T00:00",
)  # fmt: skip
HOURS_ACROSS = Case(
    "hours across", "air.csv",
    lines("Date,Station,Item," + ",".join(f"{h:02d}" for h in range(24)),
          *(f"2024-01-{d:02d},{s},{item}," + ",".join(f"{h + i}.5" for h in range(24))
            for d in (1, 2) for s in ("North", "South") for i, item in enumerate(("O3", "NO2")))),
    ("North", "South"), {"O3": [h % 24 + 0.5 for h in range(48)], "NO2": [1.5, 2.5]}, "2024-01-01T00:00",
)  # fmt: skip
MERGED = Case(
    "cells merged", "sheet.csv",
    lines("Station,Time,Temp (C),RH (%)",
          *(f"{s if h == 0 else ''},2024-01-01 {h:02d}:00,{h + k}.5,{50 + h}" for k, s in enumerate(("North", "South")) for h in range(6))),
    ("North", "South"), {"Temp": [0.5, 1.5], "RH": [50, 51]}, "2024-01-01T00:00", {"Temp": "C", "RH": "%"},
)  # fmt: skip
OPENAQ = Case(
    "OpenAQ v3", "measurements.json",
    json.dumps({"meta": {"name": "openaq-api"}, "results": [
        {"value": v, "sensorsId": 25, "parameter": {"id": 2, "name": "pm25", "units": "µg/m³"},
         "period": {"datetimeFrom": {"utc": f"2024-01-01T0{h}:00:00Z", "local": "x"}, "datetimeTo": {"utc": f"2024-01-01T0{h + 1}:00:00Z"}},
         "coordinates": {"latitude": 35.1, "longitude": -106.6}} for h, v in enumerate((8.5, 9.0))]}),
    ("25",), {"pm25": [8.5, 9]}, "2024-01-01T00:00", {"pm25": "µg/m³"}, {"25": {"lat": 35.1, "lon": -106.6}},
)  # fmt: skip
FROST = Case(
    "Frost", "observations.json",
    json.dumps({"data": [{"sourceId": "SN18700:0", "referenceTime": f"2024-01-01T0{h}:00:00.000Z", "observations": [
        {"elementId": "air_temperature", "value": -3.5 + h, "unit": "degC", "level": {"value": 2}},
        {"elementId": "soil_temperature", "value": 1.5, "unit": "degC", "level": {"value": 10}}]} for h in range(2)]}),
    ("SN18700",), {"air_temperature": [-3.5, -2.5], "soil_temperature 10": [1.5, 1.5]}, "2024-01-01T00:00",
    {"air_temperature": "degC"},
)  # fmt: skip
AZURE = Case(
    "nested JSON", "hub.json",
    ndjson(*({"EnqueuedTimeUtc": f"2024-01-01T00:{m}0:00.1230000Z", "SystemProperties": {"connectionDeviceId": d},
              "Body": {"messageId": m, "temperature": 20.5 + m, "note": "x"}} for m in range(4) for d in ("dev-1", "dev-2"))),
    ("dev-1", "dev-2"), {"temperature": [20.5, 21.5]}, "2024-01-01T00:00",
)  # fmt: skip
NESTED = Case(
    "nested JSON", "all.json",
    json.dumps([{"device": "a", "ts": 1704067200 + 60 * i, "payload": {"soil": {"wet": 0.5 + i}}} for i in range(3)]),
    ("a",), {"soil.wet": [0.5, 1.5, 2.5]}, "2024-01-01T00:00",
)  # fmt: skip

SENML = Case(
    "SenML", "pack.json",
    json.dumps([{"bn": "urn:dev:mac:01/", "bt": 1704067200, "n": "temp", "u": "Cel", "v": 20.5}, {"n": "hum", "u": "%RH", "v": 40},
                {"bt": 1704067260, "n": "temp", "u": "Cel", "v": 20.6}, {"n": "temp", "t": 60, "u": "Cel", "v": 20.7}]),
    ("urn:dev:mac:01",), {"temp": [20.5, 20.6, 20.7], "hum": [40]}, "2024-01-01T00:00", {"temp": "Cel"},
)  # fmt: skip
GEOJSON = Case(
    "GeoJSON", "points.json",
    json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.5, 50.0]},
         "properties": {"station": "a", "time": f"2024-01-01T0{h}:00:00Z", "temperature": 20.5 + h}} for h in range(3)]}),
    ("a",), {"temperature": [20.5, 21.5, 22.5]}, "2024-01-01T00:00", places={"a": {"lat": 50.0, "lon": 8.5}},
)  # fmt: skip
BY_COLUMN = Case(
    "JSON by column", "meteo.json",
    json.dumps({"latitude": 52.5, "longitude": 13.4, "hourly_units": {"time": "iso8601", "t": "°C"},
                "hourly": {"time": [f"2024-01-01T0{h}:00" for h in range(3)], "t": [20.5, None, 21.5], "rh": [40, 41, 42]}}),
    ("52.5 13.4",), {"t": [20.5, NAN, 21.5], "rh": [40, 41, 42]}, "2024-01-01T00:00",
)  # fmt: skip
THINGSBOARD = Case(
    "ThingsBoard", "room7.json",
    json.dumps({"t": [{"ts": 1704067200000, "value": "20.5"}, {"ts": 1704067800000, "value": "21.5"}],
                "rh": [{"ts": 1704067800000, "value": "41"}], "co2": []}),
    ("room7",), {"t": [20.5, 21.5], "rh": [NAN, 41]}, "2024-01-01T00:00",
)  # fmt: skip
PAIRS = Case(
    "names with values", "gateway.log",
    lines(*(f"2024-01-01 00:{m}0:00 INFO uplink dev=lht-{k} temp=2{m}.5 hum=4{m} msg=\"all, well\""
            for m in range(3) for k in (1, 2)), "2024-01-01 00:30:00 WARN restarted"),
    ("lht-1", "lht-2"), {"temp": [20.5, 21.5, 22.5], "hum": [40, 41, 42]}, "2024-01-01T00:00", set_aside=1,
)  # fmt: skip
LISTS = Case(
    "lists in JSON", "network.json",
    json.dumps({"network": "x", "stations": [
        {"id": f"ST{k}", "latitude": 50 + k, "longitude": 8.5, "observations": [
            {"time": f"2024-01-01T0{h}:00:00Z", "temperature": 20.5 + h + k, "humidity": 70} for h in range(3)]}
        for k in range(2)]}),
    ("ST0", "ST1"), {"temperature": [20.5, 21.5, 22.5]}, "2024-01-01T00:00",
    places={"ST0": {"lat": 50.0, "lon": 8.5}, "ST1": {"lat": 51.0, "lon": 8.5}},
)  # fmt: skip
GIOS = Case(
    "stations above", "pm10.csv",
    lines("Kod stanowiska;North-PM10;South-PM10", "Wskaźnik;PM10;PM10", "Czas;1g;1g", "Jednostka;ug/m3;ug/m3",
          "2024-01-01 01:00:00;8,5;9,5", "2024-01-01 02:00:00;8,6;9,6"),
    ("North", "South"), {}, "2024-01-01T01:00", {"PM10": "ug/m3"},
)  # fmt: skip

CASES = [one for one in list(globals().values()) if isinstance(one, Case)]
