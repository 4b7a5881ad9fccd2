"""`recover`: any source in, a `Recovery` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from fieldmend import spill
from fieldmend.core.engine import blocks
from fieldmend.core.room import keep_freed
from fieldmend.errors import InputError
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Grid
from fieldmend.quantities import identify_all
from fieldmend.records import Records, read
from fieldmend.records.gridding.slotting import microseconds
from fieldmend.recovery.conditions import Work, check_workers, crew_for, recovered
from fieldmend.recovery.decisions import Given as Decided
from fieldmend.recovery.decisions import read_decisions
from fieldmend.recovery.modelling import Known
from fieldmend.recovery.onchange import check_on_change
from fieldmend.recovery.options import More, bytes_of, check_slot, divided, with_units
from fieldmend.recovery.quantity import taken_as
from fieldmend.recovery.recovery import Recovery
from fieldmend.recovery.selective import warned
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.windows import fitting
from fieldmend.recovery.xarrays import takes_xarray
from fieldmend.result.frames import BACKENDS
from fieldmend.result.options import Options
from fieldmend.text import shown

Progress = Callable[[str, float], object]
"""Called with what is being done and how much of the whole is, from 0 to 1."""


@takes_xarray
def recover(  # noqa: PLR0913 - the options of the main job, keyword-only
    source: Any,
    *,
    method: str = "auto",
    model: FieldModel | str | PathLike[str] | None = None,
    new_nodes: str = "refuse",
    slot: str | float | None = None,
    slot_value: str = "mean",
    limits: Mapping[str, tuple[float, float]] | None = None,
    kinds: Mapping[str, str] | None = None,
    level: float = 0.9,
    joint: bool | None = None,
    holdout: bool = True,
    replace: str = "certain",
    decisions: Decided = None,
    extrapolate: bool = False,
    max_gap: str | float | None = None,
    max_width: float | Mapping[str, float] | None = None,
    on_change: float | Mapping[str, float] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | None = None,
    client: Any = None,
    memory: str | float | None = None,
    keep: str | PathLike[str] | None = None,
    command: str = "",
    units: Mapping[str, str] | None = None,
    **more: Unpack[More],
) -> Recovery:
    """Recover the field from records that arrived.

    Parameters
    ----------
    source
        Anything that `read` takes, `Records`, a `Grid`, or a plain array, slots × nodes; an
        `xarray.DataArray` of time and station gives an `xarray.Dataset` of estimate, lower, upper,
        flag and filled, lazy where Dask holds it.
    method
        As for `decompose`, without ``oracle``.
    model
        A `FieldModel` that was fitted before (``rec.model``), or its file: applied instead of
        fitting anew. Nodes are matched by name; those that are missing are estimated.
    new_nodes
        What becomes of nodes that the model does not know: ``refuse`` them, or follow them by
        their ``own`` readings only.
    slot, slot_value
        As for `Records.grid`.
    limits
        Condition → (lowest, highest) possible value; readings beyond fail (flag 4).
    kinds
        Condition → what it is, where `fieldmend inspect` shows it wrong: ``linear``, ``circular``
        (``circular:24``), ``accumulator``, ``positive``, ``bounded`` (``bounded:0:1``),
        ``intermittent``, ``mixed``, ``passed``.
    level
        Of the intervals.
    joint
        Ask the node's other conditions where they were heard and this one was not: if that lowers
        the error on hidden readings (None), in any case (True), never (False).
    holdout
        Hide some readings, shaped like the real gaps, and say how far off the estimates are there.
    replace
        Which flagged readings the estimate takes the place of in ``filled``: ``certain`` (beyond
        the limits, or certainly false: stuck, dead, impossible), ``suspects`` (all of them) or
        ``none``.
    decisions
        What a person decided about episodes: a file that the report saved, or what it holds. A
        rejected episode is neither masked nor flagged again; an accepted one is certain.
    extrapolate
        Estimate also where there was no sensor to lose a reading: before a node's first and after
        its last reading, in silences beyond what is plausible, and at nodes without any.
    max_gap
        Leave longer gaps empty: ``"6h"``, or seconds.
    max_width
        Leave empty what is more uncertain: the widest interval, in the unit of the condition; one
        number, or condition → number.
    on_change
        Nodes send only what lies farther than this from their last message: silence is a reading,
        "within this of the last", and estimates keep to it. In the unit of the condition; one
        number, or condition → number.
    seed
        Of everything random.
    progress
        Called with what is being done and the share done.
    workers
        Processes that share the work, the result being the same whatever their number: as many as
        there are processors where that is worth their start, if not given.
    client
        A client of Dask, or the address of its scheduler: its workers share the work (extra
        ``dask``), the result being the same.
    memory
        The most memory that may be taken, ``"4GB"`` or bytes: readings, results (in single
        precision) and what is sorted on the way go to files, and windows are as long as fits.
    keep
        A folder that finished windows are kept in: a run that was ended, and is started again with
        the same readings and options, goes on from there to the same result.
    command
        What the report shows as the command.
    units
        Condition → unit, where the file does not say it or says it wrong.
    **more
        Options of `read`, and those of the method that `decompose` has (``debias=True``).

    Returns
    -------
    Recovery

    Raises
    ------
    InputError
        What is wrong, where, and what to try.
    TypeError
        Where there is no option of that name, with the nearest that there is.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
    >>> grid = fm.Grid.of(net.readings, condition="temperature", unit="°C")
    >>> rec = fm.recover(grid)
    >>> rec.filled["temperature"].shape
    (60, 8)
    """
    reading, solving = divided(more, method)
    most = bytes_of(memory)
    options = Options(
        method=method,
        solving=solving,
        level=level,
        limits=dict(limits or {}),
        seed=seed,
        holdout=holdout,
        command=command,
        joint=joint,
        kinds=dict(kinds or {}),
        replace=replace,
        decisions=read_decisions(decisions),
        extrapolate=extrapolate,
        max_gap=max_gap,
        max_width=max_width,
        on_change=on_change,
        window=None if most is None else fitting(most),
    )
    check_slot(slot, slot_value)
    check_workers(workers)
    known = None if model is None else Known.of(model, options)
    say = progress or (lambda _, __: None)
    say("reading", 0.0)
    keep_freed()
    with spill.limited(most):
        grid = with_units(_grid(source, (slot, slot_value), seed, reading), units)
    options.check_conditions(grid)
    if all(np.isnan(X[rows]).all() for X in grid.values.values() for rows in blocks(*X.shape)):
        raise InputError("all readings are missing: nothing to recover from")
    options = options.for_grid(grid)
    quantities = identify_all(grid.values, grid.units, options.kinds)
    check_on_change(options, quantities)
    if known is not None:
        grid = known.aligned(grid, quantities, new_nodes)
    with spill.limited(most):
        storage = Storage.of(grid, single=most is not None, entries=options.window)
    work = Work(grid, quantities, options, known)

    def tell(name: str, share: float) -> None:
        say(f"recovering {shown(name)}", 0.2 + 0.8 * share)

    with spill.limited(most):
        crew = crew_for(workers, grid, options, client)
    try:
        done = recovered(work, storage, crew, tell, None if keep is None else Path(keep))
    finally:
        crew.close()
    say("recovered", 1.0)
    said = (*storage.notes, *taken_as(quantities))
    return Recovery(grid, warned(grid, done), options, _backend(source), said)


def _grid(source: Any, slots: tuple[Any, str], seed: int, reading: dict[str, Any]) -> Grid:
    if isinstance(source, Grid):
        _refuse_options(reading if slots == (None, "mean") else {"slot": slots, **reading}, "Grid")
        return source
    if isinstance(source, np.ndarray):
        _refuse_options(reading, "an array")
        return _of_array(source, slots[0])
    if isinstance(source, Records):
        _refuse_options(reading, "Records")
        return _own_columns_aside(source.grid(*slots, seed))
    with closing(read(source, **reading)) as records:
        return _own_columns_aside(records.grid(*slots, seed))


def _of_array(readings: np.ndarray[Any, Any], slot: Any) -> Grid:
    """A plain array, slots × nodes; a slot is 5 min unless it is said."""
    try:
        if slot is None:
            return Grid.of(readings)
        return Grid.of(readings, slot_seconds=microseconds(slot) / 1e6)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"an array of {shown(readings.dtype)}, {readings.shape}: {shown(error)}",
            hint="Hand in numbers, slots × nodes, with NaN where nothing was received",
        ) from error


def _refuse_options(given: Mapping[str, Any], kind: str) -> None:
    """What is already read cannot be read otherwise."""
    if given:
        raise InputError(
            f"{', '.join(given)}: not for {kind}, which {'are' if kind == 'Records' else 'is'} "
            "read already",
            hint="Give these options to read, or hand in the file itself",
        )


def _own_columns_aside(grid: Grid) -> Grid:
    """A table that an earlier recovery wrote: its readings are readings, the rest is not."""
    made = [
        f"{name}_{end}"
        for name in grid.values
        if all(f"{name}_{end}" in grid.values for end in ("estimate", "filled"))
        for end in ("estimate", "lower", "upper", "anomaly", "flag", "filled")
    ]
    kept = {name: array for name, array in grid.values.items() if name not in made}
    if len(kept) == len(grid.values):
        return grid
    note = "columns of an earlier recovery passed over: its readings are recovered anew"
    origin = replace(grid.origin, notes=(*grid.origin.notes, note))
    return replace(grid, values=kept, origin=origin)


def _backend(source: Any) -> str | None:
    """The library of the frame that was handed in."""
    first = source[0] if isinstance(source, list | tuple) and source else source
    package = type(first).__module__.partition(".")[0]
    return package if package in BACKENDS else None
