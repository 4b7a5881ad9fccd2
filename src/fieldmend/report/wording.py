"""Numbers, times and foreign text as the report writes them."""

from __future__ import annotations

import html
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np

from fieldmend.text import shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PIECE = 60  # `shown` cuts at 64; longer text goes through it in pieces


def plain(text: object, longest: int = 600) -> str:
    r"""Foreign text of any length, control and bidi characters escaped.

    Examples
    --------
    >>> print(plain("one\u2028two"))
    one\u2028two
    """
    raw = str(text)
    cut = raw if len(raw) <= longest else raw[: longest - 1] + "…"
    return "".join(shown(cut[i : i + PIECE]) for i in range(0, len(cut), PIECE))


def sentence(text: object) -> str:
    """Foreign words with one full stop at their end; nothing stays nothing."""
    words = plain(text).strip().rstrip(".")
    return f"{words}." if words else ""


def label(text: object) -> str:
    """Foreign text for a figure: Plotly reads some HTML in labels, so that is escaped.

    Examples
    --------
    >>> label("<b>7</b>")
    '&lt;b&gt;7&lt;/b&gt;'
    """
    return html.escape(shown(text) or "(no name)", quote=False)


def labels(names: Iterable[object], longest: int = 24) -> list[str]:
    """`label` for names on one axis; names that look alike once cut get a number.

    Examples
    --------
    >>> labels(["mast 1", "x" * 100, "x" * 101], longest=4)
    ['mas…', 'xxx…', 'xxx… (2)']
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        raw = str(name)
        text = label(raw if len(raw) <= longest else raw[: longest - 1] + "…")
        seen[text] = seen.get(text, 0) + 1
        out.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return out


def count(number: int) -> str:
    """A whole number with thousands separators."""
    return f"{number:,}"


def counted(number: int, thing: str) -> str:
    """A number and its noun: "1 node", "3 nodes"."""
    return f"{count(number)} {thing}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """A share, with as many digits as it needs.

    Examples
    --------
    >>> [percent(s) for s in (0, 0.00004, 0.00023, 0.0123, 0.361, 0.99999, 1)]
    ['0 %', '< 0.01 %', '0.02 %', '1.2 %', '36 %', '> 99.9 %', '100 %']
    """
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    if share < 0.001:
        return f"{share * 100:.2f} %" if share >= 0.0001 else "< 0.01 %"
    if share > 0.999:
        return "> 99.9 %"
    return f"{share * 100:.1f} %" if share < 0.1 or share > 0.9 else f"{share * 100:.0f} %"


def measure(value: float, unit: str = "") -> str:
    """Three digits and the unit.

    Examples
    --------
    >>> measure(0.04567, "°C"), measure(1234.5), measure(2.5e9)
    ('0.0457 °C', '1,230', '2.5e+09')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        digits = 0 if value == 0 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
        rounded = float(f"{value:.3g}")
        text = f"{rounded:,.{digits}f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {shown(unit)}" if unit else text


def quantity(name: str, unit: str) -> str:
    """Axis title of a condition: its name and unit."""
    return f"{label(name)} ({label(unit) if unit else 'unit not given'})"


def duration(microseconds: int) -> str:
    """A length of time in its two largest units.

    Examples
    --------
    >>> duration(300_000_000), duration(93_600_000_000), duration(500_000)
    ('5 min', '1 d 2 h', '0.5 s')
    """
    seconds = microseconds / 1e6
    if seconds < 1:
        return f"{seconds:g} s"
    parts = []
    for name, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        whole, seconds = divmod(seconds, size)
        if whole:
            parts.append(f"{whole:.0f} {name}")
    return " ".join(parts[:2])


def moment(microseconds: int, *, date: bool = True) -> str:
    """A time, UTC: "4 Mar 2004 23:15".

    Examples
    --------
    >>> moment(1_078_358_400_000_000)
    '4 Mar 2004 00:00'
    """
    try:
        at = EPOCH + timedelta(microseconds=int(microseconds))
    except OverflowError:
        return str(np.datetime64(int(microseconds), "us"))
    clock = at.strftime("%H:%M:%S" if at.second else "%H:%M")
    return f"{at.day} {at.strftime('%b %Y')} {clock}" if date else clock


def period(start: int, end: int) -> str:
    """From when to when; the date once if it is the same day."""
    same = start // 86_400_000_000 == end // 86_400_000_000
    return f"{moment(start)} – {moment(end, date=not same)}"


def listed(words: Iterable[str]) -> str:
    """Words as a sentence lists them: a, b and c."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
