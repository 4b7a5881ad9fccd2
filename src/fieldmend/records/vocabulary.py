"""The words that the reader knows: names of columns, and words for "no reading"."""

import re
from collections.abc import Sequence

from fieldmend.text import shown

NODE = (
    "node_id node station station_id device device_id box_id deveui sensor_id moteid mote "
    "platform host entity_id thing platform_code platform_number stations_id stn"
).split()
TIME = (
    "timestamp time ts datetime date _time phenomenontime resulttime last_changed obs_time "
    "created_at received_at measured_at observed_at date_time timestamp_utc time_utc timestamps "
    "zeitstempel zeitpunkt datum_zeit datum_uhrzeit horodatage date_heure fecha_hora datum fecha"
).split()
ZONE = frozenset("tz tz_cd timezone time_zone tzname zone utc_offset zeitzone".split())
PLACE = {
    "lat": "lat", "latitude": "lat", "lon": "lon", "lng": "lon", "longitude": "lon",
    "alt": "elevation", "altitude": "elevation", "elevation": "elevation",
    "depth": "depth", "x": "x", "y": "y", "z": "z",
}  # fmt: skip
SPHERE = frozenset("latitude longitude".split())  # of PLACE, those that name nothing else
VARIABLE = (
    "variable parameter condition metric _field field quantity observed_property phenomenon "
    "pollutant species analyte variable_name parameter_name"
).split()
VALUE = "value _value state reading result".split()
UNIT = "unit units unit_of_measurement uom einheit unité unidad eenheid enhet".split()
# Counters and bookkeeping of loggers and exports: numbers, but no physical condition.
BOOKKEEPING = frozenset(
    "epoch record index row table seq sequence rowid id msgid _msgid message_id messageid ms "
    "millisecond milliseconds _score _version _seq_no _primary_term".split()
)
# Row numbers, if they count; NO may be a gas.
ROW_NUMBERS = frozenset(["no", "nr", "num", "#", "n", "unnamed: 0", "lfd", "line", "no."])
CONDITIONS = frozenset(
    "temperature temp humidity rh light lux voltage volt battery pressure co2 pm25 pm10 "
    "wspd wdir wvht pres atmp wtmp dewp wind rain precipitation snow radiation salinity ph "
    "turbidity oxygen noise moisture soil_moisture airtemp air_temperature water_temperature "
    "conductivity current power energy hum press pm1 pm2 no2 o3 so2 co voc tvoc uv dew "
    "dewpoint gust airtc battv ptemp visibility irradiance level pm2.5 pm1.0 pm10.0 nox nh3 "
    "ozone benzene toluene xylene ch4".split()
)
# Parts of names that speak for a node, where the column behaves like one.
NODE_HINTS = frozenset(
    "id node nodes sensor sensors mote site location loc place room station sta device dev logger "
    "probe serial sn stn mac address addr name plot tree well buoy point unitid tag channel nodeid "
    "moteid stationid sensorid deviceid siteid numersta numer eui imei wmo icao usaf thing asset "
    "machine gauge mast tower ort standort messstelle knoten geraet estacion capteur staid souid "
    "wban wbanno topic".split()
)
# Parts of names that speak against it: kinds, states, remarks.
NO_NODE = frozenset(
    "type kind status state flag flags quality qc unit units message msg payload port comment "
    "remark note mode version firmware date time".split()
)
# Words in names of columns that judge the column beside them.
FLAGS = frozenset(
    "flag flags qc qa qf quality qualifier flagged validity qcode attributes status ind indicator "
    "qualité qualitaet qualität kvalitet calidad kwaliteit".split()
)
CALENDAR = frozenset(
    "year month day hour minute second week weekday dayofyear doy dow julian yday jday yr mo dy hr "
    "mn min sec quarter season".split()
)
DAY_OF_YEAR = frozenset(
    "doy jday jul julian julian_day yday dayofyear day_of_year decimaldate decimal_date "
    "decimalyear decimal_year decyear decimalday decimal_day".split()
)
KNOWN = frozenset([*NODE, *TIME, *PLACE, *VARIABLE, *VALUE, *UNIT])
MISSING = frozenset(
    ["", "nan", "na", "n/a", "null", "none", "-", "unavailable", "unknown", "mm", "--", "---", "?",
     "no data", "nodata", "#n/a"]
)  # fmt: skip
MAX_COLUMNS = 2000
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
FEW = 12  # names of columns in one sentence


def words_of(name: str) -> list[str]:
    """The words of a name, small: stationId, station_id and "Station ID" alike."""
    return [w for w in re.split(r"[^a-z]+", HUMP.sub("_", name).casefold()) if w]


def bare(name: str) -> str:
    """A name's letters alone."""
    return re.sub(r"[\W\d_]", "", name)


def listing(names: Sequence[str]) -> str:
    """Column names for a message, cut after twelve."""
    head = ", ".join(shown(name) for name in names[:12])
    return head if len(names) <= 12 else f"{head}, … ({len(names)} in all)"


def first_of(
    aliases: Sequence[str], lower: Sequence[str], but: Sequence[int | None] = ()
) -> int | None:
    """The position of the first alias that is there, `but` not at these positions."""
    for alias in aliases:
        if alias in lower and lower.index(alias) not in but:
            return lower.index(alias)
    return None
