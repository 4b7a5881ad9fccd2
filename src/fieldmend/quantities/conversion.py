"""From one unit to another of the same family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

# Unit → factor and offset to the family's first one. Families whose levels tell units apart: calm
# and storm differ by more than knots and metres a second.
FAMILIES: tuple[Mapping[str, tuple[float, float]], ...] = tuple(
    MappingProxyType(units)
    for units in (
        {"°C": (1.0, 0.0), "°F": (5 / 9, -160 / 9), "K": (1.0, -273.15)},
        {
            "hPa": (1.0, 0.0),
            "Pa": (0.01, 0.0),
            "kPa": (10.0, 0.0),
            "inHg": (33.8639, 0.0),
            "mmHg": (1.33322, 0.0),
            "bar": (1000.0, 0.0),
        },
        {"%": (1.0, 0.0), "1": (100.0, 0.0)},
        {"V": (1.0, 0.0), "mV": (0.001, 0.0)},
        {"µg/m³": (1.0, 0.0), "mg/m³": (1e3, 0.0), "g/m³": (1e6, 0.0)},
        {"ppb": (1.0, 0.0), "ppm": (1e3, 0.0)},
        {"lx": (1.0, 0.0), "klx": (1e3, 0.0)},
        {
            "mm": (1.0, 0.0),
            "cm": (10.0, 0.0),
            "m": (1e3, 0.0),
            "km": (1e6, 0.0),
            "in": (25.4, 0.0),
            "ft": (304.8, 0.0),
            "mi": (1_609_344.0, 0.0),
        },
    )
)


def conversions(unit: str) -> Iterator[tuple[str, float, float]]:
    """Other units of the family; factor and offset that turn a number in them into `unit`.

    Examples
    --------
    >>> {other: round(50 * factor + offset, 1) for other, factor, offset in conversions("°C")}
    {'°F': 10.0, 'K': -223.1}
    >>> list(conversions("furlong"))
    []
    """
    for family in FAMILIES:
        if unit in family:
            scale, shift = family[unit]
            for other, (factor, offset) in family.items():
                if other != unit:
                    yield other, factor / scale, (offset - shift) / scale
