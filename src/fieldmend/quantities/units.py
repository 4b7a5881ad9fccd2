"""Units: as they are spelt, at the end of a column's name, or told by the range of the readings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

# Family → unit → its spellings, case-blind, without blanks, dots and carets.
SPELLINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "temperature": {
            "°C": "c degc °c celsius deg_c degree_c degrees_c degree_celsius degrees_celsius "
            "grad_c grad_celsius graden_celsius",
            "°F": "f degf °f fahrenheit deg_f",
            "K": "k kelvin degk deg_k",
        },
        "pressure": {
            "hPa": "hpa mbar mb millibar hectopascal",
            "kPa": "kpa",
            "Pa": "pa pascal",
            "inHg": "inhg in_hg",
            "mmHg": "mmhg mm_hg torr",
            "bar": "bar",
        },
        "speed": {
            "m/s": "ms mps m/s m_s ms-1 m_s-1 ms1 meter_per_second meters/second",
            "kt": "kt kts kn knot knots",
            "km/h": "kmh kph km/h km_h",
            "mph": "mph mi/h",
        },
        "angle": {
            "°": "deg degree degrees ° grad graden degt",
            "10°": "10sdeg 10s_deg 10deg 10° tens_of_degrees",  # Environment Canada: 0 to 36
            "rad": "rad radian radians",
        },
        "share": {
            "%": "% pct percent percents prozent procent procenten pourcent rh_pct perc %rh %rf "
            "%hr",
            "1": "1 fraction frac",
        },
        "length": {
            "mm": "mm",
            "cm": "cm",
            "m": "m meter metre",
            "km": "km",
            "in": "in inch inches",
            "ft": "ft feet",
            "mi": "mi mile miles",
            "kg/m²": "kg/m2 kgm2",
        },
        "concentration": {
            "µg/m³": "ugm-3 µgm-3 ug_m-3 µg/m3 ug/m3 ugm3 ug_m3 µgm3 μg/m3 μgm3 mcg_m3",
            "mg/m³": "mg/m3 mgm3 mg_m3",
            "g/m³": "g/m3 gm3 g_m3",
            "ppm": "ppm parts_per_million",
            "ppb": "ppb parts_per_billion",
            "mg/l": "mg/l mgl mg_l",
        },
        "light": {
            "lx": "lx lux",
            "klx": "klx klux",
            "µmol/m²/s": "umol µmol umol/m2/s µmolm-2s-1 umolm-2s-1 umolm2s ppfd umol_m2_s",
        },
        "irradiance": {
            "W/m²": "w/m2 wm2 w_m2 wm-2 watt_m2",
            "J/m²": "j/m2 jm2 j_m2",
            "J/cm²": "j/cm2 jcm2 j_cm2",
        },
        "energy": {"kWh": "kwh", "Wh": "wh", "MWh": "mwh", "J": "j joule", "m³": "m3 m³ cbm"},
        "voltage": {"V": "v volt volts", "mV": "mv millivolt"},
        "time": {"s": "s sec second seconds", "min": "min minute minutes", "h": "h hour hours"},
        "sound": {"dB": "db dba"},
    }
)

FAMILY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        spelling: (family, unit)
        for family, units in SPELLINGS.items()
        for unit, spellings in units.items()
        for spelling in spellings.split()
    }
)
# At the end of a name these mean a unit only if what stands before is measured in it: "par_m",
# "sensor_c", "model_s" are no metres, degrees or seconds.
SHORT = 1
ONCE = re.compile(r"[\s.^*·]+")
TENTH = "0.1 "  # weather services write 187 for 18.7 °C
TENTHS = re.compile(r"(?:0[.,]1|1/10|tenths?(?: of)?(?: an?)?)\s*([^\d\s].*)", re.IGNORECASE)
SIGNS = str.maketrans({"²": "2", "³": "3", "℃": "°C", "℉": "°F", "º": "°"})


def spelt(unit: str) -> tuple[str, str]:
    """Family and usual spelling of a unit as a file has it; ("", as it is) if it is not known.

    Examples
    --------
    >>> spelt("degC"), spelt("W m^2"), spelt("furlong"), spelt("0.1 degC")
    (('temperature', '°C'), ('irradiance', 'W/m²'), ('', 'furlong'), ('temperature', '0.1 °C'))
    """
    bare = unit.strip().translate(SIGNS)
    if found := TENTHS.fullmatch(bare):
        family, whole = spelt(found[1])
        return family, f"{TENTH}{whole}" if family else bare
    key = bare.casefold()
    for one in (key, ONCE.sub("", key), ONCE.sub("_", key)):
        if one in FAMILY:
            return FAMILY[one]
    return "", bare


def at_the_end(words: list[str], families: tuple[str, ...]) -> tuple[str, int]:
    """Unit that a name ends with, and how many of its words it takes; ("", 0) if none.

    `families` are those that the name without the unit is measured in, empty if not known.

    Examples
    --------
    >>> at_the_end(["air", "temp", "c"], ("temperature",))
    ('°C', 1)
    >>> at_the_end(["pressure", "hpa"], ())
    ('hPa', 1)
    >>> at_the_end(["model", "s"], ())
    ('', 0)
    """
    if words[-1:] == ["1"] or words[-1:] == ["meter"]:  # "humidity_set_1" is no share, and
        return "", 0  # a "rain_meter" measures no metres
    for count in (3, 2, 1):
        if len(words) <= count:
            continue
        ending = words[-count:]  # hPa was cut at its hump
        family, unit = FAMILY.get("_".join(ending)) or FAMILY.get("".join(ending), ("", ""))
        if not family:
            continue
        if family in families or (not families and len(words[-1]) > SHORT):
            return unit, count
    return "", 0


def by_range(family: str, low: float, middle: float, high: float) -> str:
    """Unit that the range of readings leaves no doubt of, "" if it does.

    `low`, `middle`, `high` are quantiles of the readings. Kelvin: no place outdoors has 200 to 340
    of any other degree all the time. Pascal and hectopascal: the air's pressure at any height where
    people put sensors.

    Examples
    --------
    >>> by_range("temperature", 270.0, 281.0, 289.0), by_range("pressure", 97000, 99600, 102000)
    ('K', 'Pa')
    """
    inside = {
        "K": family == "temperature" and low > 200 and high < 340,
        "Pa": family == "pressure" and low > 50_000 and high < 110_000,
        "hPa": family == "pressure" and low > 500 and high < 1100,
        "°": family == "angle" and high > 7 and np.abs([low, high]).max() <= 360,
        "%": family == "share" and low >= -5 and 2 < middle and high <= 115,
    }
    return next((unit for unit, fits in inside.items() if fits), "")
