"""Colours by what they mean, light and dark: page, figures and contrast test share them.

Figures name a colour as ``var(--token)``; whoever draws them puts the colour of the theme in. The
hues are Okabe and Ito's, darkened or lightened until they stand out from their background. States
also differ in lightness, from seen to fail, so that they can be told apart without any hue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TENTHS = 10  # steps of the share of lost readings in a cell
SERIES = 6  # colours for conditions
DASHES = ("solid", "dash", "dot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross")


def var(token: str) -> str:
    """The name of a colour, as figures and CSS write it."""
    return f"var(--{token})"


def _mix(near: str, far: str, share: float) -> str:
    parts = (
        round(int(near[i : i + 2], 16) * (1 - share) + int(far[i : i + 2], 16) * share)
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _with_lost(colours: dict[str, str]) -> dict[str, str]:
    """Add the steps between seen and lost; a tenth is already well away from nothing."""
    steps = {
        f"lost-{tenth}": _mix(colours["seen"], colours["lost"], 0.25 + 0.75 * tenth / TENTHS)
        for tenth in range(1, TENTHS + 1)
    }
    return {**colours, **steps}


LIGHT = _with_lost(
    {
        "page": "#f6f6f3", "card": "#ffffff", "text": "#1b2129", "muted": "#56606b",
        "rule": "#dcdfe3", "link": "#00588c", "focus": "#b34700",
        "observed": "#1b2129", "estimate": "#0072b2", "band": "rgba(0, 114, 178, 0.18)",
        "event": "rgba(140, 99, 0, 0.20)",
        "neighbour": "#7f8892", "straight": "#8c6300",
        "seen": "#e6eaed", "unjudged": "#d9cfa6", "lost": "#56b4e9", "suspect": "#b84300",
        "fail": "#3b0036",
        "series-0": "#0072b2", "series-1": "#b84300", "series-2": "#00805c",
        "series-3": "#a64a7e", "series-4": "#8c6300", "series-5": "#4b5563",
    }
)  # fmt: skip

DARK = _with_lost(
    {
        "page": "#101418", "card": "#181d23", "text": "#e8ebee", "muted": "#a4aeb8",
        "rule": "#333b44", "link": "#7cc4f2", "focus": "#ffb27a",
        "observed": "#e8ebee", "estimate": "#56b4e9", "band": "rgba(86, 180, 233, 0.25)",
        "event": "rgba(224, 177, 60, 0.28)",
        "neighbour": "#717c88", "straight": "#e0b13c",
        "seen": "#29313a", "unjudged": "#59532f", "lost": "#1f78b4", "suspect": "#ff9a52",
        "fail": "#fff3fb",
        "series-0": "#56b4e9", "series-1": "#ff9a52", "series-2": "#2bc49a",
        "series-3": "#e79bc4", "series-4": "#f0e442", "series-5": "#c3cbd3",
    }
)  # fmt: skip

THEMES: Mapping[str, Mapping[str, str]] = {"light": LIGHT, "dark": DARK}

# Cividis, thinned: rises in lightness, and looks the same to all kinds of colour vision.
FIELD = [
    [0.0, "#00224e"], [0.15, "#21396e"], [0.3, "#434e6c"], [0.45, "#63666f"], [0.6, "#838079"],
    [0.75, "#a89e73"], [0.9, "#d4c05e"], [1.0, "#fee838"],
]  # fmt: skip


def series(index: int) -> dict[str, Any]:
    """Colour, dash and symbol of the condition with this index."""
    dash = DASHES[index % len(DASHES)]  # lines that coincide still show both colours
    return {
        "line": {"color": var(f"series-{index % SERIES}"), "dash": dash},
        "marker": {
            "color": var(f"series-{index % SERIES}"),
            "symbol": SYMBOLS[index % len(SYMBOLS)],
        },
    }


def themes() -> str:
    """Both themes as CSS: the reader's choice (data-theme on the root), else the system's."""
    dark = f"{{color-scheme:dark;{css(DARK)}}}"
    return (
        f":root{{color-scheme:light;{css(LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){dark}}}"
        f":root[data-theme=dark]{dark}"
    )


def css(colours: Mapping[str, str]) -> str:
    """The colours as CSS custom properties."""
    return "".join(f"--{token}:{colour};" for token, colour in colours.items())
