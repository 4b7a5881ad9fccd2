"""The terminal: results on stdout, colours only where a person looks."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, RenderableType

    Story = Callable[[dict[str, Any]], list[RenderableType]]

WIDTH = 80


@dataclass(frozen=True)
class Voice:
    """How much is said, and in which form."""

    quiet: bool = False
    as_json: bool = False

    @property
    def bars(self) -> bool:
        """Progress bars: for a person who is looking, and has not asked for silence."""
        return not self.quiet and sys.stderr.isatty()

    def tell(self, summary: dict[str, Any], story: Story) -> None:
        """Print a result, as JSON or as a story in lines."""
        if self.as_json:
            _emit(json.dumps(_plain(summary), indent=2, allow_nan=False) + "\n")
        elif not self.quiet:
            stdout = console(sys.stdout)
            with stdout.capture() as captured:
                for line in story(summary):
                    stdout.print(line, soft_wrap=isinstance(line, str))
            _emit("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def console(stream: Any) -> Console:
    """Rich's console: 80 columns, and no escape sequences, unless the stream is a terminal."""
    from rich.console import Console

    terminal = bool(stream.isatty())
    return Console(
        file=stream,
        force_terminal=terminal,
        width=None if terminal else WIDTH,
        color_system="auto" if terminal else None,
        no_color=None if terminal else True,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _emit(text: str) -> None:
    """Write to stdout; a reader that went away (``| head``) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
