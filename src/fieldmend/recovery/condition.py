"""One condition: what holds for all of it is found first, then window after window."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fieldmend import faults
from fieldmend.core import engine
from fieldmend.core.crew import Crew
from fieldmend.core.engine import blocks
from fieldmend.field.fitted import FittedField
from fieldmend.flags import Flag
from fieldmend.grid import Array, Grid
from fieldmend.quantities import Kind, Quantity
from fieldmend.quantities.scale import Scale
from fieldmend.recovery import notes
from fieldmend.recovery.decisions import settled
from fieldmend.recovery.extrapolating import margin, widen
from fieldmend.recovery.filling import Given
from fieldmend.recovery.honest import SCORED
from fieldmend.recovery.huge import without_huge
from fieldmend.recovery.judging import medians, outside
from fieldmend.recovery.keeping import Kept, single
from fieldmend.recovery.onchange import Band, resting
from fieldmend.recovery.quantity import passed_through, solver_of, within_bounds
from fieldmend.recovery.service import service
from fieldmend.recovery.sinks import Arrays
from fieldmend.recovery.skewed import OnScale
from fieldmend.recovery.solving import DECIDES, Afresh, Around, ByModel, Solver
from fieldmend.recovery.storage import Storage
from fieldmend.recovery.stretches import stretches
from fieldmend.recovery.window import Piece, Setting, WindowResult, evidence, recover_window
from fieldmend.recovery.windows import Window, windows
from fieldmend.recovery.witnesses import Witnesses, witnesses
from fieldmend.result.options import Options
from fieldmend.result.recovered import Recovered
from fieldmend.result.states import Service

log = logging.getLogger(__name__)

SAMPLED = 2_000_000  # entries that a node's level among the others is measured on

Share = Callable[[float], object]
"""Called with the share of the condition that is done."""


def recover_condition(  # noqa: PLR0913 - what, and by whom
    grid: Grid,
    name: str,
    quantity: Quantity,
    options: Options,
    storage: Storage,
    *,
    say: Share = lambda _: None,
    model: Applying | None = None,
    solver: Solver | None = None,
    crew: Crew | None = None,
    kept: Kept | None = None,
    spoken: bool = True,
) -> tuple[Recovered, Solver | None]:
    """Recover one condition of a grid as what it is, by a model fitted before if there is one.

    Windows that were `kept` by a run that was ended are taken as they are. A `solver` is one that a
    recovery of most of these readings gave back beside its result; None where it has none to give.
    Unless `spoken`, nothing is said of single nodes.
    """
    X = grid.values[name]
    if not quantity.measured:
        return passed_through(grid, name, quantity, storage), None
    known = witnesses(X, options.limits.get(name))
    life = _life(X, grid.slot, known, model)
    delta = options.change(name)
    band = None if delta is None else Band(delta, options.level, quantity.low, quantity.high)
    if band is not None:
        life = resting(life, X)
    if not known.heard.any():
        return _nothing(grid, name, known, life, storage), None
    plan = windows(*grid.shape, options.window)
    pieces = partial(_pieces, grid, name, plan)
    half = storage.real != np.float64
    setting = Setting(
        name=name,
        unit=grid.units.get(name, ""),
        nodes=grid.nodes,
        places=grid.places,
        slot=grid.slot,
        options=options,
        known=known,
        level=np.zeros(X.shape[1]) if len(plan) == 1 else _levels(X, options.limits.get(name)),
        solver=_solver(quantity, X, options, model) if solver is None else solver,
        quantity=quantity,
    )
    if model is None and len(plan) > 1 and options.method in DECIDES:
        setting = replace(setting, solver=fitted_once(grid, setting))
    sink = Arrays(X, setting, storage)

    done = 0 if kept is None else kept.count()

    def put(piece: Piece, found: WindowResult) -> None:
        found = single(found) if half else found
        if kept is not None and len(sink.solved) >= done:
            kept.save(len(sink.solved), found)
        sink.put(piece, found)
        say(len(sink.solved) / len(plan))

    for i, piece in enumerate(_pieces(grid, name, plan[:done])):
        assert kept is not None
        put(piece, kept.load(i, _model_of(setting.solver)))
    rest = _pieces(grid, name, plan[done:])
    engine.each(partial(recover_window, setting=setting), rest, put, crew)
    if options.extrapolate and sink.lower is not None and sink.upper is not None:
        wide = margin(_middle(pieces()), setting, sink.estimate, sink.flag)
        widen((sink.lower, sink.upper), sink.estimate, X, life, wide, quantity=quantity)
    given = Given(
        options.replace,
        options.extrapolate or options.everywhere,
        options.longest(grid.slot),
        options.widest(name),
        band,
    )
    said = sentences(grid, known, life, options, len(plan)) if spoken else []
    if spoken:
        said += _how_nodes_compare(grid, X, setting)
    found = without_huge(sink.result(life, given, notes=said), grid.nodes)
    again = sink.solved[0].again if len(plan) == 1 else None
    return settled(found, grid, options), again


def _how_nodes_compare(grid: Grid, X: Array, setting: Setting) -> list[str]:
    """Who stands apart from all others, or that nobody is held against another."""
    kind, unit = setting.quantity.kind, setting.unit or setting.quantity.unit
    if kind is Kind.MIXED:
        return [notes.UNLIKE]
    if kind not in (Kind.LINEAR, Kind.BOUNDED, Kind.POSITIVE):
        return []
    sample, ratios = _sample(X, setting.limits), kind is Kind.POSITIVE
    return [*notes.about_apart(grid, faults.standing_apart(sample, unit, ratios=ratios), unit)]


@dataclass(frozen=True)
class Applying:
    """A condition's part of a model, and the number of the grid's first slot to it."""

    fitted: FittedField
    first: int


def fitted_once(grid: Grid, setting: Setting) -> Solver:
    """A model fitted on stretches of a long record, to be applied to its windows.

    On the scale that the quantity is solved on; a direction or a meter is solved window by window.
    """
    solver, options = setting.solver, setting.options
    scale = solver.scale if isinstance(solver, OnScale) else Scale()
    if not isinstance(solver.base if isinstance(solver, OnScale) else solver, Afresh):
        return solver
    plan, period = stretches(*grid.shape, options.period, options.window)
    parts = [evidence(one, setting).believed for one in _pieces(grid, setting.name, plan)]
    afresh = Afresh(replace(options, period=tuple(period)))
    whole = Window(0, sum(len(part) for part in parts), 0, 0)
    level = np.zeros_like(setting.level)
    found = afresh(scale.forward(np.vstack(parts)), Around(whole, setting.known, level))
    if found.fitted is None:
        return solver
    model = ByModel(found.fitted, options, own=True)
    return replace(solver, base=model) if isinstance(solver, OnScale) else model


def _model_of(solver: Solver) -> FittedField | None:
    if isinstance(solver, OnScale):
        return solver.of_readings(_model_of(solver.base))
    return solver.fitted if isinstance(solver, ByModel) else None


def _life(X: Array, slot: int, known: Witnesses, model: Applying | None) -> Service:
    """When which node was in service; one that a model knows was, before the record began."""
    life = replace(service(X, slot), never=~known.heard)
    if model is None:
        return life
    new = np.arange(X.shape[1]) >= model.fitted.nodes
    new[list(model.fitted.unheard)] = True
    own = new[life.node]
    return Service(life.node[own], life.start[own], life.stop[own], life.never & new)


def _solver(quantity: Quantity, X: Array, options: Options, model: Applying | None) -> Solver:
    """Afresh, or by a model; both as what the condition is."""
    if model is None:
        return solver_of(quantity, Afresh(options), X, options)
    return within_bounds(quantity, ByModel(model.fitted, options, model.first), X)


def _middle(pieces: Iterator[Piece]) -> Piece:
    found = list(pieces)  # views of the readings, not copies
    return found[len(found) // 2]


def _pieces(grid: Grid, name: str, plan: Sequence[Window]) -> Iterator[Piece]:
    """The windows' readings, each when it is asked for."""
    for window in plan:
        rows = window.slots
        yield Piece(
            window,
            np.asarray(grid.values[name][rows]),
            grid.times[rows],
            {other: array[rows] for other, array in grid.values.items() if other != name},
        )


def _levels(X: Array, limits: tuple[float, float] | None) -> Array:
    """Each node's usual distance from the network's median, on evenly spaced slots."""
    sample = _sample(X, limits)
    if not len(sample):
        return np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        return medians(sample - np.nanmedian(sample, axis=1, keepdims=True))


def _sample(X: Array, limits: tuple[float, float] | None) -> Array:
    """Evenly spaced slots in which somebody was heard within the limits."""
    sample = np.asarray(X[:: max(1, -(-X.size // SAMPLED))])
    sample = np.where(outside(sample, limits), np.nan, sample)
    return np.asarray(sample[~np.isnan(sample).all(axis=1)])


def _nothing(grid: Grid, name: str, known: Witnesses, life: Service, storage: Storage) -> Recovered:
    X = grid.values[name]
    empty, zero = storage.array(X.shape), storage.array(X.shape)
    flag = storage.array(X.shape, np.int8)
    for block in blocks(*X.shape):
        empty[block], zero[block] = np.nan, 0.0
        flag[block] = np.where(np.isnan(X[block]), np.int8(Flag.MISSING), np.int8(Flag.FAIL))
    why = "no reading within the limits" if known.failed else "no reading at all"
    note = f"{why}: nothing to recover"
    log.warning("%s: %s", name, note)
    return Recovered(
        name=name, unit=grid.units.get(name, ""), observed=X, estimate=empty, lower=None,
        upper=None, anomaly=zero, flag=flag, scale=np.zeros(X.shape[1]), method="none", rank=0,
        gap=np.nan, status="nothing to recover", choice="", holdout=None, episodes=(),
        notes=(note,), warnings=(note,), service=life,
    )  # fmt: skip


def sentences(
    grid: Grid, known: Witnesses, life: Service, options: Options, count: int
) -> list[str]:
    """What is to be said of the nodes, and of `count` windows that were not all scored."""
    why = notes.too_little(len(grid.times), known)
    said = [] if why is None else [why]
    said += notes.about_nodes(grid, known, life, extrapolate=options.extrapolate)
    if count > SCORED and options.holdout:
        said.append(f"hidden readings scored in {SCORED} of {count} windows, evenly spread")
    return said
