"""Foreign text as the report writes it; what is not the report's alone is in `fieldmend.text`."""

from __future__ import annotations

import html
from collections.abc import Iterable

from fieldmend.text import escaped, shown


def plain(text: object, longest: int = 600) -> str:
    r"""Foreign text of some length, control and bidi characters escaped.

    Examples
    --------
    >>> print(plain("one\u2028two"))
    one\u2028two
    """
    return escaped(text, longest)


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


def quantity(name: str, unit: str) -> str:
    """Axis title of a condition: its name and unit."""
    return f"{label(name)} ({label(unit) if unit else 'unit not given'})"
