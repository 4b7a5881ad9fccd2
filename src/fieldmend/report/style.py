"""The page's looks: colours of both themes and one stylesheet, for whoever draws a page."""

from __future__ import annotations

from importlib.resources import files

from fieldmend.report import palette


def asset(name: str) -> str:
    """A file that belongs to the page, as text."""
    return files("fieldmend.report").joinpath("assets", *name.split("/")).read_text("utf-8")


def colours() -> str:
    """Custom properties of both themes; dark follows the system unless the page says otherwise.

    Examples
    --------
    >>> colours().startswith(":root{color-scheme:light;--page:#f6f6f3;")
    True
    """
    light = palette.css(palette.LIGHT)
    # Three times: stronger than the rules of both themes. Paper is white.
    paper = f"@media print{{:root:root:root{{color-scheme:light;{light}--page:#fff}}}}"
    return palette.themes() + paper


def stylesheet(*sheets: str) -> str:
    """Colours, then the shared sheet, then others of the page's own."""
    return colours() + "".join(asset(name) for name in ("base.css", *sheets))
