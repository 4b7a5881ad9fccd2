"""How commands are parsed and explained, where Typer's own way does not fit."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand


def flag(*names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option that is there or not; Typer would print ``<bool>`` beside it."""
    return typer.Option(*names, help=help, metavar="", rich_help_panel=panel, **more)


def unwrapped(text: str) -> str:
    r"""A docstring's paragraphs as one line each; indented ones stay as they are.

    Examples
    --------
    >>> unwrapped("One\n    two.\n\n      a\n      b\n")
    'One two.\n\n\x08\n  a\n  b'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    # A backspace is Click's mark for "do not wrap".
    return "\n\n".join(
        f"\b\n{p}" if p.startswith(" ") else p.replace("\n", " ") for p in paragraphs
    )


class Greedy(TyperCommand):
    """A command whose --missing takes all the numbers that follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with ``--missing -9999 85`` spelt out."""
        return super().parse_args(ctx, spelt_out(args))


def spelt_out(args: Sequence[str]) -> list[str]:
    """``--missing -9999 85 f.csv`` as ``--missing=-9999 --missing=85 f.csv``.

    The first word is taken whatever it is, further ones only if they are numbers.

    Examples
    --------
    >>> spelt_out(["--missing", "-9999", "85", "f.csv", "--", "--missing", "1"])
    ['--missing=-9999', '--missing=85', 'f.csv', '--', '--missing', '1']
    """
    out: list[str] = []
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            return [*out, word, *left]
        if word != "--missing" or not left:
            out.append(word)
            continue
        out.append(f"--missing={left.pop(0)}")
        while left and _is_number(left[0]):
            out.append(f"--missing={left.pop(0)}")
    return out


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
