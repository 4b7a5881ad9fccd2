"""How foreign text, numbers and times are written: one way for messages, screen and report.

Our own words are plain ASCII: a terminal may have nothing else.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

SHOWN = 64  # characters of foreign text that a message repeats
NAMED = 5  # names that a sentence lists
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Not strftime's: those follow the locale.
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def shown(text: object) -> str:
    r"""Foreign text made safe to print: control and bidi characters escaped, cut at 64 characters.

    Examples
    --------
    >>> print(shown("a\x1b[31m"))
    a\x1b[31m
    >>> len(shown("x" * 1000))
    64
    """
    return escaped(text, SHOWN)


def escaped(text: object, longest: int | None = None) -> str:
    r"""Foreign text with control and bidi characters escaped, cut where a length is given.

    Examples
    --------
    >>> print(escaped("bell\x07"))
    bell\x07
    """
    raw = str(text)
    cut = raw if longest is None or len(raw) <= longest else raw[: longest - 1] + "…"
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in cut
    )


def typed(*words: str) -> str:
    """Words as they are typed in a shell, whole: what a message tells to type must work.

    Examples
    --------
    >>> typed("--node", "Observation station")
    "--node 'Observation station'"
    """
    return shlex.join(escaped(word) for word in words)


def figure(value: float | None) -> str:
    """A measured number: three significant digits, all that stand before the point, or a dash.

    Examples
    --------
    >>> figure(0.021349), figure(1234.5), figure(None), figure(2e-9), figure(2.5e9)
    ('0.0213', '1,234', '-', '2e-09', '2.5e+09')
    """
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def measure(value: float | None, unit: str = "") -> str:
    """A measured number and its unit.

    Examples
    --------
    >>> measure(0.04567, "°C"), measure(1234.5)
    ('0.0457 °C', '1,234')
    """
    return f"{figure(value)} {shown(unit)}" if unit else figure(value)


def give_or_take(value: float, doubt: float, unit: str = "") -> str:
    """A measured number and how sure it is: to the first digit of the doubt, to two if that is 1.

    0.146 ± 0.106 is not 0.1 ± 0.1.

    Examples
    --------
    >>> give_or_take(0.2163, 0.00663, "°C"), give_or_take(12.3, 4.0), give_or_take(3.0, 0.0)
    ('0.216 ± 0.007 °C', '12 ± 4', '3')
    >>> give_or_take(0.146, 0.106), give_or_take(47.2, 13.6), give_or_take(0.211, 0.0961)
    ('0.15 ± 0.11', '47 ± 14', '0.21 ± 0.10')
    """
    if not (math.isfinite(value) and math.isfinite(doubt) and 1e-9 < doubt < 1e9):
        return measure(value, unit)
    place = math.floor(math.log10(float(f"{doubt:.0e}")))  # 0.096 is 0.1
    digits = max(0, -place + (doubt < 1.95 * 10.0**place))
    text = f"{value:,.{digits}f} ± {doubt:,.{digits}f}"
    return f"{text} {shown(unit)}" if unit else text


def percent(share: float, *, digits: int | None = None) -> str:
    """A share, with as many digits as it needs, or with `digits` of them.

    What is not quite nothing or everything does not look like it.

    Examples
    --------
    >>> [percent(s) for s in (0, 0.00004, 0.00023, 0.0123, 0.361, 0.99999, 1)]
    ['0 %', '< 0.01 %', '0.02 %', '1.2 %', '36 %', '> 99.9 %', '100 %']
    >>> percent(0.05, digits=3), percent(1.234e-6, digits=3)
    ('5 %', '0.000123 %')
    """
    if digits is not None:
        text = f"{100 * share:.{digits}g}"
        return (f"{float(text):.10f}".rstrip("0").rstrip(".") if "e" in text else text) + " %"
    if 0 < share < 0.001:
        return f"{share * 100:.2f} %" if share >= 0.0001 else "< 0.01 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    whole = share in (0, 1) or 0.1 <= share <= 0.9
    return f"{share * 100:.0f} %" if whole else f"{share * 100:.1f} %"


def count(number: int) -> str:
    """A whole number with thousands separators."""
    return f"{number:,}"


def counted(number: int, thing: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> counted(1, "node"), counted(1234, "row")
    ('1 node', '1,234 rows')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


def gap_range(shortest: int, longest: int | None, dash: str = "–") -> str:
    """Lengths in slots, as a bar or a row names them.

    Examples
    --------
    >>> gap_range(1, 1), gap_range(1, 3, "-"), gap_range(256, None)
    ('1', '1-3', '256+')
    """
    if longest is None:
        return f"{shortest}+"
    return str(shortest) if shortest == longest else f"{shortest}{dash}{longest}"


def listed(words: Iterable[str]) -> str:
    """Words as a sentence lists them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    items = list(words)
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def named(thing: str, names: Sequence[str]) -> str:
    """A noun and its names, or how many there are and the first of them.

    Examples
    --------
    >>> named("node", ["3"]), named("node", ["3", "4", "9"]), named("node", list("1234567"))
    ('node 3', 'nodes 3, 4 and 9', '7 nodes (1, 2, 3, 4, 5, …)')
    """
    if len(names) > NAMED:
        return f"{len(names):,} {thing}s ({', '.join(names[:NAMED])}, …)"
    return f"{thing}{'s' * (len(names) > 1)} {listed(names)}"


def told_once(said: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences about conditions, once each for all of which the same is said; of most first.

    Examples
    --------
    >>> told_once([("t", "one node"), ("rh", "one node"), ("t", "a gap")])
    ['conditions t and rh: one node', 't: a gap']
    """
    about: dict[str, list[str]] = {}
    for name, sentence in said:
        about.setdefault(sentence, []).append(name)
    return [
        f"{names[0] if len(names) == 1 else named('condition', names)}: {sentence}"
        for sentence, names in sorted(about.items(), key=lambda item: -len(item[1]))
    ]


def size(number: int) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size(812), size(14_200), size(3_400_000), size(999_900)
    ('812 B', '14 kB', '3.4 MB', '1 MB')
    """
    power = 0 if number < 1000 else min(int(math.log10(number * 1.0005) / 3), 4)
    amount, unit = number / 1000**power, ("B", "kB", "MB", "GB", "TB")[power]
    return f"{amount:.2g} {unit}" if power and amount < 10 else f"{amount:.0f} {unit}"


def duration(microseconds: float) -> str:
    """A length of time in its two largest units.

    Examples
    --------
    >>> duration(300_000_000), duration(93_600_000_000), duration(1_500_000), duration(1500)
    ('5 min', '1 d 2 h', '1.5 s', '1.5 ms')
    """
    seconds = microseconds / 1e6
    if seconds < 1:
        return f"{microseconds / 1000:g} ms" if seconds else "0 s"
    if seconds < 60:
        return f"{seconds:g} s"
    parts = []
    for unit, length in UNITS:
        whole, seconds = divmod(seconds, length)
        if whole:
            parts.append(f"{whole:.0f} {unit}")
    return " ".join(parts[:2])


def slot_length(microseconds: int) -> str:
    """A length of time in one unit, so that it can be typed as one.

    Examples
    --------
    >>> slot_length(300_000_000), slot_length(31_000_000), slot_length(1500)
    ('5 min', '31 s', '1.5 ms')
    >>> slot_length(93_600_000_000)
    '26 h'
    """
    for unit, seconds in UNITS:
        whole, rest = divmod(microseconds, seconds * 1_000_000)
        if rest == 0 and whole < 1000:
            return f"{whole} {unit}"
    if microseconds >= 86_400_000_000:
        return f"{microseconds / 86_400_000_000:.4g} d"
    if microseconds > 1_000_000:
        return f"{microseconds / 1_000_000:g} s"
    return f"{microseconds / 1000:g} ms"


def moment(when: int | str, *, date: bool = True, year: bool = True) -> str:
    """A time, UTC: microseconds since 1970, or an ISO stamp.

    Examples
    --------
    >>> moment(1_078_358_400_000_000), moment("2004-03-04T00:05:30Z", year=False)
    ('4 Mar 2004 00:00', '4 Mar 00:05:30')
    """
    try:
        at = _instant(when)
    except (OverflowError, ValueError):  # years that datetime does not know
        import numpy as np  # slow to import

        return when if isinstance(when, str) else str(np.datetime64(int(when), "us"))
    clock = f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
    if not date:
        return clock
    day = f"{at.day} {MONTHS[at.month - 1]}"
    return f"{day} {at.year} {clock}" if year else f"{day} {clock}"


def stretch(start: int | str, end: int | str) -> str:
    """From when to when, the day named once where both are on it.

    Examples
    --------
    >>> stretch("2004-03-04T00:05:00Z", "2004-03-04T00:10:00Z")
    '4 Mar 2004 00:05 to 00:10'
    """
    first, last = moment(start), moment(end)
    day, _, clock = last.rpartition(" ")
    return f"{first} to {clock if first.rpartition(' ')[0] == day else last}"


def _instant(when: int | str) -> datetime:
    if isinstance(when, str):
        return datetime.fromisoformat(when.removesuffix("Z")).replace(tzinfo=UTC)
    return EPOCH + timedelta(microseconds=int(when))
