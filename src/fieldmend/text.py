"""How foreign text, numbers and times are written: one way for messages, screen and report."""

SHOWN = 64  # characters of foreign text that a message repeats


def shown(text: object) -> str:
    r"""Foreign text made safe to print: control and bidi characters escaped, cut at 64 characters.

    Examples
    --------
    >>> print(shown("a\x1b[31m"))
    a\x1b[31m
    >>> len(shown("x" * 1000))
    64
    """
    raw = str(text)
    cut = raw if len(raw) <= SHOWN else raw[: SHOWN - 1] + "…"
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in cut
    )
