"""The vocabulary of the CF conventions: units as UDUNITS writes them, standard names.

Only what is clear is claimed: a name that could mean several things, or a unit that is not known,
stays without.
"""

from __future__ import annotations

import re

from fieldmend.flags import Flag

FLAG_VALUES = tuple(int(flag) for flag in Flag)
FLAG_MEANINGS = " ".join(flag.name for flag in Flag)

UNITS = {
    "°c": "degree_Celsius", "c": "degree_Celsius", "degc": "degree_Celsius",
    "deg c": "degree_Celsius", "celsius": "degree_Celsius", "degree_celsius": "degree_Celsius",
    "degrees_celsius": "degree_Celsius", "degree_c": "degree_Celsius", "℃": "degree_Celsius",
    "°f": "degree_Fahrenheit", "f": "degree_Fahrenheit", "degf": "degree_Fahrenheit",
    "deg f": "degree_Fahrenheit", "fahrenheit": "degree_Fahrenheit",
    "k": "K", "kelvin": "K", "%": "percent", "percent": "percent", "pct": "percent", "1": "1",
    "pa": "Pa", "hpa": "hPa", "kpa": "kPa", "mbar": "mbar", "mb": "mbar", "bar": "bar",
    "v": "V", "volt": "V", "volts": "V", "mv": "mV", "a": "A", "ma": "mA", "w": "W",
    "lux": "lux", "lx": "lux", "w/m2": "W m-2", "w/m²": "W m-2", "w m-2": "W m-2",
    "m": "m", "cm": "cm", "mm": "mm", "km": "km", "ft": "ft", "m/s": "m s-1", "m s-1": "m s-1",
    "km/h": "km h-1", "kt": "knot", "kn": "knot", "kts": "knot", "knot": "knot", "knots": "knot",
    "mm/h": "mm h-1", "°": "degree", "deg": "degree", "degree": "degree", "degrees": "degree",
    "s": "s", "sec": "s", "min": "min", "h": "h", "g/m3": "g m-3", "g/m³": "g m-3",
    "µg/m3": "ug m-3", "µg/m³": "ug m-3", "ug/m3": "ug m-3", "ug/m³": "ug m-3",
    "ppm": "1e-6", "ppb": "1e-9", "db": "dB", "dba": "dB",
}  # fmt: skip
TEMPERATURES = ("degree_Celsius", "degree_Fahrenheit", "K")
PRESSURES = ("Pa", "hPa", "kPa", "mbar", "bar")
SPEEDS = ("m s-1", "km h-1", "knot")

# Standard name, and the units it may have; other names could mean several things.
STANDARD = {
    "air_temperature": ("air_temperature", TEMPERATURES),
    "air_temp": ("air_temperature", TEMPERATURES),
    "sea_surface_temperature": ("sea_surface_temperature", TEMPERATURES),
    "sst": ("sea_surface_temperature", TEMPERATURES),
    "soil_temperature": ("soil_temperature", TEMPERATURES),
    "dew_point": ("dew_point_temperature", TEMPERATURES),
    "dew_point_temperature": ("dew_point_temperature", TEMPERATURES),
    "humidity": ("relative_humidity", ("percent",)),
    "relative_humidity": ("relative_humidity", ("percent", "1")),
    "rh": ("relative_humidity", ("percent",)),
    "air_pressure": ("air_pressure", PRESSURES),
    "sea_level_pressure": ("air_pressure_at_mean_sea_level", PRESSURES),
    "wind_speed": ("wind_speed", SPEEDS),
    "wind_direction": ("wind_from_direction", ("degree",)),
    "wind_from_direction": ("wind_from_direction", ("degree",)),
}


def units(given: str) -> str | None:
    """A unit as UDUNITS writes it, None if it is not known.

    Examples
    --------
    >>> units("°C"), units("%"), units("furlongs per fortnight")
    ('degree_Celsius', 'percent', None)
    """
    return UNITS.get(given.strip().casefold())


def standard_name(condition: str, unit: str | None) -> str | None:
    """The standard name of a condition, None unless it is clear and its unit fits.

    Examples
    --------
    >>> standard_name("air_temperature", "degree_Celsius"), standard_name("temperature", "K")
    ('air_temperature', None)
    """
    name, allowed = STANDARD.get(re.sub(r"[\s-]+", "_", condition.casefold()), ("", ()))
    return name if unit in allowed else None


def variable_name(condition: str) -> str:
    """Letters, digits and underscores, a letter first.

    Examples
    --------
    >>> variable_name("PM 2.5"), variable_name("2m temp"), variable_name("°")
    ('PM_2_5', 'v_2m_temp', 'v')
    """
    bare = re.sub(r"[^A-Za-z0-9_]+", "_", condition).strip("_")[:100]
    return bare if bare[:1].isalpha() else f"v_{bare}".rstrip("_")
