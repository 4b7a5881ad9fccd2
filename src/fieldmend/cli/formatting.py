"""Numbers, sizes and foreign text as words for the screen; plain ASCII where they are ours."""

from __future__ import annotations

import math


def escaped(text: object) -> str:
    r"""Foreign text with control and bidi characters escaped; unlike `shown`, not cut.

    Examples
    --------
    >>> print(escaped("bell\x07"))
    bell\x07
    """
    from fieldmend.text import shown

    return "".join(c if c.isprintable() else shown(c) for c in str(text))


def size(count: int) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size(812), size(14_200), size(3_400_000), size(999_900)
    ('812 B', '14 kB', '3.4 MB', '1 MB')
    """
    power = 0 if count < 1000 else min(int(math.log10(count * 1.0005) / 3), 4)
    amount, unit = count / 1000**power, ("B", "kB", "MB", "GB", "TB")[power]
    return f"{amount:.2g} {unit}" if power and amount < 10 else f"{amount:.0f} {unit}"


def figure(value: float | None) -> str:
    """A measured number: three significant digits, a dash where there is none.

    Examples
    --------
    >>> figure(0.021349), figure(1234.5), figure(None), figure(2e-9)
    ('0.0213', '1,234', '-', '2e-09')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.2e}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share; what is not quite nothing or everything does not look like it.

    Examples
    --------
    >>> percent(0.0052), percent(0.36), percent(0.0), percent(0.00001), percent(0.99999)
    ('0.5 %', '36 %', '0 %', '<0.1 %', '>99.9 %')
    """
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1 %"
    if 99.9 < value < 100:
        return ">99.9 %"
    return f"{value:.1f} %" if 0 < value < 10 or 99 < value < 100 else f"{value:.0f} %"


def several(count: int, noun: str) -> str:
    """A count and its noun.

    Examples
    --------
    >>> several(1, "node"), several(1234, "row")
    ('1 node', '1,234 rows')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def moment(stamp: str) -> str:
    """An ISO stamp of the summary, to the minute where it has no seconds.

    Examples
    --------
    >>> moment("2004-03-04T00:05:00Z"), moment("2004-03-04T00:05:30Z")
    ('2004-03-04 00:05', '2004-03-04 00:05:30')
    """
    text = stamp.replace("T", " ").rstrip("Z")
    return text.removesuffix(":00") if text.count(":") == 2 else text


def stretch(start: str, end: str) -> str:
    """From when to when, the day named once where both are on it.

    Examples
    --------
    >>> stretch("2004-03-04T00:05:00Z", "2004-03-04T00:10:00Z")
    '2004-03-04 00:05 to 00:10'
    """
    first, last = moment(start), moment(end)
    return f"{first} to {last[11:] if first[:10] == last[:10] else last}"
