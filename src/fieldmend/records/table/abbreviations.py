"""Zones written behind a stamp: offsets, and abbreviations that mean one zone, as fixed offsets.

CST is six hours behind UTC in July too: who writes CST in July means it. BST, IST and their like
mean several zones and are refused, unless the user says which is meant (``tz="BST=+01:00"``).
"""

import re
from collections.abc import Mapping

from fieldmend.errors import InputError
from fieldmend.text import shown

MINUTE = 60_000_000
OFFSETS = {
    "UTC": "+00:00", "GMT": "+00:00", "UT": "+00:00", "Z": "+00:00", "WET": "+00:00",
    "WEST": "+01:00", "CET": "+01:00", "MET": "+01:00", "MEZ": "+01:00", "CEST": "+02:00",
    "MEST": "+02:00", "MESZ": "+02:00", "EET": "+02:00", "EEST": "+03:00", "MSK": "+03:00",
    "SAST": "+02:00", "EAT": "+03:00", "PKT": "+05:00", "NPT": "+05:45", "WIB": "+07:00",
    "HKT": "+08:00", "SGT": "+08:00", "AWST": "+08:00", "JST": "+09:00", "KST": "+09:00",
    "ACST": "+09:30", "ACDT": "+10:30", "AEST": "+10:00", "AEDT": "+11:00", "NZST": "+12:00",
    "NZDT": "+13:00", "NDT": "-02:30", "BRT": "-03:00", "ART": "-03:00", "EDT": "-04:00",
    "EST": "-05:00", "CDT": "-05:00", "CST": "-06:00", "MDT": "-06:00", "MST": "-07:00",
    "PDT": "-07:00", "PST": "-08:00", "AKDT": "-08:00", "AKST": "-09:00", "HST": "-10:00",
}  # fmt: skip
SEVERAL = {
    "BST": {"British Summer Time": "+01:00", "Bangladesh": "+06:00"},
    "AST": {"Atlantic": "-04:00", "Arabia": "+03:00"},
    "ADT": {"Atlantic": "-03:00", "Arabia": "+04:00"},
    "IST": {"India": "+05:30", "Israel": "+02:00", "Ireland": "+01:00"},
    "NST": {"Newfoundland": "-03:30", "Norfolk": "+11:00"},
    "SST": {"Samoa": "-11:00", "Singapore": "+08:00"},
    "GST": {"Gulf": "+04:00", "South Georgia": "-02:00"},
    "AMT": {"Amazon": "-04:00", "Armenia": "+04:00"},
    "ECT": {"Ecuador": "-05:00", "Eastern Caribbean": "-04:00"},
    "WST": {"Western Samoa": "+13:00", "Western Australia": "+08:00"},
    "ACT": {"Acre": "-05:00", "Central Australia": "+09:30"},
    "LMT": {"local mean time": "+00:00"},
}  # fmt: skip
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?")
# After hours and minutes: a Z, letters, or a sign and digits, blanks before it or not.
_ZONE = (
    r"\d[:hH]\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s*[AaPp]\.?[Mm]\.?)?\s*"
    r"([Zz]|[A-Za-z]{2,5}|(?:UTC|GMT)?\s*[+-]\d{1,2}(?::?\d\d)?)$"
)


def minutes(offset: str) -> int | None:
    """An offset such as +05:30 in minutes; None if it is none.

    Examples
    --------
    >>> minutes("+05:30"), minutes("-3"), minutes("UTC+1"), minutes("Berlin")
    (330, -180, 60, None)
    """
    found = OFFSET.fullmatch(offset.strip())
    if not found or int(found[2]) > 15 or int(found[3] or 0) > 59:
        return None
    return (60 * int(found[2]) + int(found[3] or 0)) * (-1 if found[1] == "-" else 1)


def is_zone(text: str) -> bool:
    """Whether a cell is an abbreviation of a zone, an offset, or a name such as Europe/Berlin.

    Examples
    --------
    >>> is_zone("EST"), is_zone("+05:30"), is_zone("EUROPE/BERLIN"), is_zone("N")
    (True, True, True, False)
    """
    known = text in OFFSETS or text in SEVERAL or minutes(text) is not None
    return known or bool(re.fullmatch(r"[A-Z_]+/[A-Z_/]+", text))


def parted(tz: str | None) -> tuple[str | None, dict[str, str]]:
    """What tz= says: the zone of stamps that carry none, and the meaning of abbreviations.

    Examples
    --------
    >>> parted("Europe/London,BST=+01:00")
    ('Europe/London', {'BST': '+01:00'})
    """
    zone, meanings = None, {}
    for part in (tz or "").split(","):
        name, equals, offset = (piece.strip() for piece in part.partition("="))
        if not equals:
            zone = name or zone
        elif minutes(offset) is None:
            raise InputError(
                f"tz= says {shown(part)!r}, and {shown(offset)!r} is no offset",
                hint="Write BST=+01:00",
            )
        else:
            meanings[name.upper()] = offset
    return (zone if tz else tz), meanings


def once(expression: str, name: str, use: str) -> str:
    """SQL: `use`, in which `name` is an expression that is written, and evaluated, once.

    DuckDB compiles a pattern wherever it stands; one that stood in twenty places took as long to
    prepare as a small file to read.
    """
    return f"list_transform([{expression}], lambda {name}: {use})[1]"


def zone_sql(cell: str) -> str:
    """SQL: what stands behind the hours of a stamp; '' if it is AM, PM or nothing."""
    found = f"trim(regexp_extract({cell}, '{_ZONE}', 1))"
    return once(found, "f", "CASE WHEN upper(f) IN ('AM', 'PM') THEN '' ELSE f END")


def shift_sql(zone: str, meanings: Mapping[str, str]) -> str:
    """SQL: the µs that a zone is ahead of UTC; NULL if it is not known, or means several."""
    known = {**OFFSETS, **meanings}
    cases = " ".join(
        f"WHEN '{name}' THEN {(minutes(offset) or 0) * MINUTE}"
        for name, offset in known.items()
        if name.isalpha()
    )
    digits = f"replace(regexp_extract({zone}, '[0-9:]+$'), ':', '')"
    long = f"length({digits}) > 2"
    hours = f"TRY_CAST(CASE WHEN {long} THEN left({digits}, -2) ELSE {digits} END AS BIGINT)"
    rest = f"TRY_CAST(CASE WHEN {long} THEN right({digits}, 2) ELSE '0' END AS BIGINT)"
    sign = f"CASE WHEN contains({zone}, '-') THEN -1 ELSE 1 END"
    return (
        f"CASE WHEN {zone} = '' THEN 0 WHEN contains({zone}, '+') OR contains({zone}, '-') "
        f"THEN ({hours} * 60 + {rest}) * {sign} * {MINUTE} ELSE CASE upper({zone}) {cases} END END"
    )


def refuse_several(texts: Mapping[str, str]) -> None:
    """Refuse an abbreviation that means several zones; `texts`: a stamp → where it stands."""
    for text, where in texts.items():
        name = text.rstrip().rsplit(" ", 1)[-1].upper().lstrip("0123456789:.,")
        if name in SEVERAL:
            choices = SEVERAL[name]
            listed = ", ".join(f"{place} ({offset})" for place, offset in choices.items())
            offset = next(iter(choices.values()))
            raise InputError(
                f"{name} means several zones: {listed}; {where} has {shown(text)!r}",
                hint=f"Say which, such as tz='{name}={offset}' (--tz {name}={offset})",
            )
