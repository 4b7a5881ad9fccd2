"""`recover`: any source in, a `Recovery` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fieldmend.grid import Grid
from fieldmend.records import InputError, read, shown
from fieldmend.recovery.condition import recover_condition
from fieldmend.recovery.result import Options, Recovery

Progress = Callable[[str, float], object]
"""Called with what is being done and how much of the whole is, from 0 to 1."""


def recover(  # noqa: PLR0913 - the options of the main job, keyword-only
    source: Any,
    *,
    method: str = "ls",
    slot: str | float | None = None,
    slot_value: str = "mean",
    limits: Mapping[str, tuple[float, float]] | None = None,
    level: float = 0.9,
    holdout: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
    **reading: Any,
) -> Recovery:
    """Recover the field from records that arrived.

    Parameters
    ----------
    source
        Anything that `read` takes, or a `Grid`.
    method
        As for `decompose`.
    slot, slot_value
        As for `Records.grid`.
    limits
        Condition → (lowest, highest) possible value; readings beyond fail (flag 4).
    level
        Of the intervals.
    holdout
        Hide some readings, shaped like the real gaps, and say how far off the estimates are there.
    seed
        Of everything random.
    progress
        Called with what is being done and the share done.
    command
        What the report shows as the command.
    **reading
        Options of `read`.

    Returns
    -------
    Recovery

    Raises
    ------
    InputError
        What is wrong, where, and what to try.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
    >>> grid = fm.Grid.of(net.readings, condition="temperature", unit="°C")
    >>> rec = fm.recover(grid)
    >>> rec.filled["temperature"].shape
    (60, 8)
    """
    say = progress or (lambda _, __: None)
    say("reading", 0.0)
    grid = _grid(source, slot, slot_value, seed, reading)
    options = Options(method, level, dict(limits or {}), seed, holdout, command)
    _check(grid, options)
    done = {}
    for i, name in enumerate(grid.values):
        say(f"recovering {shown(name)}", 0.2 + 0.8 * i / len(grid.values))
        done[name] = recover_condition(grid, name, options)
    say("recovered", 1.0)
    return Recovery(grid, done, options, _backend(source))


def _grid(
    source: Any, slot: str | float | None, slot_value: str, seed: int, reading: dict[str, Any]
) -> Grid:
    if isinstance(source, Grid):
        return source
    records = read(source, **reading)
    try:
        return records.grid(slot, slot_value, seed)
    finally:
        records.close()


def _check(grid: Grid, options: Options) -> None:
    import numpy as np

    for name in options.limits:
        if name not in grid.values:
            raise InputError(
                f"limits for {shown(name)!r}, which is not there",
                hint=f"Conditions: {', '.join(shown(c) for c in grid.values)}",
            )
    if all(np.isnan(array).all() for array in grid.values.values()):
        raise InputError("all readings are missing: nothing to recover from")


def _backend(source: Any) -> str | None:
    """The library of the frame that was handed in."""
    package = type(source).__module__.partition(".")[0]
    return package if package in ("pandas", "polars", "pyarrow") else None
