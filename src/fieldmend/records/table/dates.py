"""Day or month first? The user, the header or the course of the stamps says so, or nobody.

Stamps run on: where one day ends and the next begins they step as they do within a day. Read in
the wrong order the same place is a step of a month or of years. Stamps of whole days have no such
places: 1/3, 2/3, 3/3 are three days or three months.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

ORDERS = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}
_STAMP = re.compile(
    r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{2}|\d{4})[ T]+"
    r"(\d{1,2}):?(\d\d)(?::(\d\d))?(?:[.,]\d+)?\s*([ap])?.*",
    re.IGNORECASE,
)
_PLACES = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}  # of year, month and day
_WORDS = re.compile(r"(dd?|mm?|yy(?:yy)?|tt?|jj(?:jj)?|aaaa)[-/. ](dd?|mm?|tt?|jj?)[-/. ]\w+")
_FOLLOWS = 1.5  # how much longer than within a day the step over midnight may be


def order_in(header: str) -> str:
    """The order that a format in a column's name tells; empty if it tells none.

    Examples
    --------
    >>> order_in("Time(dd/mm/yyyy)"), order_in("Date (M/D/YYYY)"), order_in("time")
    ('dmy', 'mdy', '')
    """
    found = _WORDS.search(header.casefold())
    if not found or found[1][0] in "yja":
        return ""
    return "mdy" if found[1][0] == "m" else "dmy"


def order_of(cells: Sequence[str]) -> str:
    """The one order in which stamps run on over midnight; empty if none or several do.

    Examples
    --------
    >>> order_of(["3/4/2024 22:00", "3/4/2024 23:00", "3/5/2024 0:00"])
    'mdy'
    >>> order_of(["3/4/2024", "3/5/2024", "3/6/2024"])
    ''
    """
    parted = [found for cell in cells if (found := _STAMP.fullmatch(cell.strip()))]
    short = bool(parted) and all(len(found[3]) == 2 for found in parted)
    sound = [order for order in (ORDERS if short else ("dmy", "mdy")) if _runs_on(parted, order)]
    return sound[0] if len(sound) == 1 else ""


def _runs_on(parted: Sequence[re.Match[str]], order: str) -> bool:
    moments = [_moment(found, order) for found in parted]
    if not moments or None in moments:
        return False
    days = [found.groups()[:3] for found in parted]
    steps = [
        (b - a, one != other)
        for (a, b), (one, other) in zip(pairwise(moments), pairwise(days), strict=True)
        if a and b and b != a
    ]
    within = sorted(abs(step) for step, over in steps if not over)
    if not within:
        return False
    usual = _FOLLOWS * within[len(within) // 2]
    return any(over and abs(step) <= usual for step, over in steps)


def _moment(found: re.Match[str], order: str) -> datetime | None:
    year, month, day = (int(found[i + 1]) for i in _PLACES[order])
    hour = int(found[4])
    if found[7]:
        hour = hour % 12 + 12 * (found[7].casefold() == "p")
    full = year if len(found[3]) == 4 else 2000 + year
    try:
        start = datetime(full, month, day, tzinfo=UTC)
    except ValueError:
        return None
    return start + timedelta(hours=hour, minutes=int(found[5]), seconds=int(found[6] or 0))
