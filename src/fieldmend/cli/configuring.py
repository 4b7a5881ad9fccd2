"""``fieldmend config``: a commented file of options for ``recover --config``."""

from __future__ import annotations

import inspect
from contextlib import closing
from typing import Any

import typer

from fieldmend.cli import app as commands
from fieldmend.cli.config import written
from fieldmend.cli.source import source


def config(ctx: typer.Context, **given: Any) -> None:
    """Print a file of options for 'recover --config': what is given, and what the file shows.

    The file is read; the length of its slots is put down, so that every night makes the same
    grid. All other options stand there as comments, with their defaults.

    [bold]Examples[/bold]

      fieldmend config readings.csv --missing -9999 --out results > site.toml
      fieldmend recover --config site.toml
    """
    typer.echo(written(ctx, _found(given)), nl=False)


def _found(given: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """What a look at the file shows: option → value, and why."""
    from fieldmend.text import shown, slot_length

    names = inspect.signature(source).parameters
    what = source(**{name: given[name] for name in names})
    with closing(what.read()) as records:
        grid = what.grid(records)
    if what.slot is not None:
        return {}
    length = slot_length(grid.slot).replace(" ", "")
    nodes = f"{len(grid.nodes)} nodes"
    return {"slot": (length, f"found: {nodes}, {', '.join(shown(n) for n in grid.values)}")}


def _like_recover() -> None:
    """Give the command the options of ``recover``, from where they stand."""
    own = inspect.signature(commands.recover)
    config.__signature__ = own  # type: ignore[attr-defined]
    config.__annotations__ = {p.name: p.annotation for p in own.parameters.values()}
    commands.command(config)


_like_recover()
