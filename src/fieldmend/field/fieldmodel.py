"""`FieldModel`: fitted once, applied to any other slots of the same nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fieldmend.core.prox import Array
from fieldmend.core.readings import checked
from fieldmend.errors import InputError
from fieldmend.field import modelfile
from fieldmend.field.auto import for_days_to_come, learn
from fieldmend.field.checking import check_fit
from fieldmend.field.cycles import usual_periods
from fieldmend.field.fitted import Applied, FittedField
from fieldmend.field.labels import Labelled, followed_alone
from fieldmend.field.online import replay, start, step
from fieldmend.field.packing import pack_parts, unpack_model
from fieldmend.field.parts import Parts
from fieldmend.text import shown

VALUE = "value"
"""The one condition of a model that was fitted to a plain array."""


@dataclass(frozen=True, eq=False, repr=False)
class FieldModel(Parts):
    """A fitted field model: fit once, apply to any other slots of the same nodes.

    Attributes
    ----------
    conditions : Mapping
        Name of a condition → its fitted part; ``model["temperature"]`` is short for it. A model
        of a plain array has one condition, ``"value"``.
    nodes : tuple of str
        Names of the nodes, in the order of the columns.
    slot : int or None
        Length of a slot in microseconds; None for a model of a plain array.
    version : str
        The fieldmend that fitted it.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=400, nodes=20, field="temperature", noise=0.1, seed=1)
    >>> model = fm.FieldModel.fit(net.readings[:300])
    >>> model
    <FieldModel value: 20 nodes, 6 common factors, fitted on 300 slots>
    >>> out = model.apply(net.readings[300:])
    >>> inside = (out.lower <= net.truth[300:]) & (net.truth[300:] <= out.upper)
    >>> bool(inside.mean() > 0.8)
    True
    """

    @classmethod
    def of(cls, part: FittedField, *, nodes: Any = None) -> FieldModel:
        """The model of a plain array, from its one part.

        Parameters
        ----------
        part
            A fitted part, such as those in ``conditions``.
        nodes
            Names of its nodes; 1, 2, … if not given.

        Returns
        -------
        FieldModel

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=60, nodes=8, seed=1)
        >>> part = fm.FieldModel.fit(net.readings)["value"]
        >>> fm.FieldModel.of(part, nodes="abcdefgh").nodes[0]
        'a'
        """
        names = range(1, part.nodes + 1) if nodes is None else nodes
        return cls({VALUE: part}, tuple(str(name) for name in names))

    @classmethod
    def fit(
        cls,
        X: Any,
        observed: Any = None,
        *,
        level: float = 0.9,
        period: Any = None,
        seed: int = 0,
    ) -> FieldModel:
        """Fit a model to a record.

        Parameters
        ----------
        X
            Readings, slots × nodes in order of time, NaN = not observed; or a
            :class:`fieldmend.Grid`, of which every condition that has readings is fitted.
        observed
            Mask of what was observed, for an array.
        level
            Of the intervals.
        period
            In slots, one or several: cycles to try, used if hidden readings come out better.
            Of a grid, if nothing is given: a day and a week.
        seed
            Of everything random; the same seed gives the same model.

        Returns
        -------
        FieldModel

        Raises
        ------
        ValueError
            Where readings or options cannot be used.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=100, nodes=6, field="temperature", seed=1)
        >>> fm.FieldModel.fit(net.readings)["value"].fitted_on.rows
        100
        """
        options = {"level": level, "period": period, "seed": seed}
        if is_labelled(X):
            if observed is not None:
                msg = "observed is for arrays: in a grid, what was not observed is NaN"
                raise ValueError(msg)
            return _fitted_to_grid(cls, X, options)
        values, O = checked(X, observed)
        part = for_days_to_come(learn(values, O, **options), options["seed"])
        return cls.of(replace(part, live=replay(part, values, O)))

    def apply(
        self, X: Any, observed: Any = None, *, first: int = 0, new_nodes: str = "refuse"
    ) -> Any:
        """The field at every entry of other slots: a pure function of the model and the readings.

        Parameters
        ----------
        X
            Readings of consecutive slots, slots × nodes, nodes as in `fit`, NaN = not observed;
            or a :class:`fieldmend.Grid`.
        observed
            Mask of what was observed, for an array.
        first
            Of an array: the number of its first slot, counted from the first one fitted on. Only
            a model with a daily or weekly course asks for it. A grid has times.
        new_nodes
            Of a grid: see `align`.

        Returns
        -------
        Applied, or a dict of them by condition for a grid
            ``estimate``, ``lower``, ``upper``, ``sparse``, ``low_rank``: slots × nodes; for a grid
            the nodes of `align`: nodes that it lacks are estimated from the others.

        Raises
        ------
        ValueError
            Where nodes, slots or conditions are not the model's.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=200, nodes=6, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(net.readings[:150])
        >>> model.apply(net.readings[150:]).estimate.shape
        (50, 6)
        """
        if is_labelled(X):
            return self._applied_to_grid(self.align(X, new_nodes=new_nodes))
        part = self._only()
        values, O = self._columns(X, observed)
        return part.apply(values, O, first=first)

    def start(self, slot: int | None = None) -> Any:
        """A filter before its first slot: live readings, one slot after the other.

        Parameters
        ----------
        slot
            Number of the first slot to come, counted from the first one fitted on; by default the
            one after the last fitted. Only a model with a course asks for it.

        Returns
        -------
        FilterState, or a dict of them by condition
            To be handed to `step`.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=200, nodes=6, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(net.readings[:150])
        >>> state = model.start()
        >>> for readings in net.readings[150:]:
        ...     state, now = model.step(state, readings)
        >>> now.estimate.shape, now.score.shape
        ((6,), (6,))
        """
        states = {name: start(part, slot) for name, part in self.conditions.items()}
        return states if len(states) > 1 else next(iter(states.values()))

    def step(self, state: Any, y: Any) -> tuple[Any, Any]:
        """One slot further: a pure function of the model, the state and the slot's readings.

        The past alone is used, so the estimate is what can be known at the end of the slot; a
        batch (`apply`) on a window that ends some slots later is closer. Readings that are far
        from what the others and the past expect move nothing; a node that stays there is
        believed again: at its next reading, if off by far after six. O(N·r²).

        Parameters
        ----------
        state
            From `start` or the last `step`.
        y
            The slot's readings, nodes as in `fit`, NaN = not observed. For a model of several
            conditions: a dict by condition; one that is left out was not observed.

        Returns
        -------
        state, now
            ``now.estimate``, ``lower``, ``upper``, ``score``, ``expected``, ``believed``; for a
            model of several conditions dicts of both.

        Raises
        ------
        ValueError
            Where the readings are not those of the model's nodes.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=200, nodes=6, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(net.readings[:150])
        >>> state, now = model.step(model.start(), net.readings[150])
        >>> bool((now.lower < now.upper).all())
        True
        """
        if len(self.conditions) == 1:
            return step(self._only(), state, *self._row(y))
        nothing = np.full(len(self.nodes), np.nan)
        for name in y:
            self[name]  # what it knows nothing of is refused
        both = {
            name: step(part, state[name], *self._row(y.get(name, nothing)))
            for name, part in self.conditions.items()
        }
        return {k: b[0] for k, b in both.items()}, {k: b[1] for k, b in both.items()}

    def replayed(self, X: Any, observed: Any = None, *, first: int = 0) -> FieldModel:
        """The same model, its filter calibrated on a newer record.

        `fit` replays the newest slots of its own record: the filter needs readings to calibrate
        on, and a model that comes from a file has none. Parameters stay as they are, so this is
        cheap: once a day, on the newest day, keeps the intervals of `step` honest.

        Parameters
        ----------
        X, observed, first
            As for `apply`.

        Returns
        -------
        FieldModel

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=300, nodes=6, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(net.readings[:150])
        >>> model.replayed(net.readings[150:])
        <FieldModel value: 6 nodes, 2 common factors, fitted on 150 slots>
        """
        parts = {}
        if is_labelled(X):
            grid = self.align(X)
            given = {name: self._columns(_without_inf(v), None) for name, v in grid.values.items()}
            for name, part in self.conditions.items():
                if name in given:
                    first = self.first_slot(part, grid)
                    live = replay(part, *given[name], first=first, slot=int(grid.slot))
                    parts[name] = replace(part, live=live)
        else:
            part = self._only()
            live = replay(part, *self._columns(X, observed), first=first)
            parts = {next(iter(self.conditions)): replace(part, live=live)}
        return replace(self, conditions={**self.conditions, **parts})

    def still_fits(
        self, X: Any, observed: Any = None, *, first: int = 0, fresh: bool = True, seed: int = 0
    ) -> Any:
        """Ask the new data whether the model still fits them.

        Some of their readings are hidden and estimated from the others. The model no longer fits
        if its error there is over 1.1 times that of a model fitted to the new data, if its
        intervals hold a tenth less than they promise, or if it calls a tenth of the readings false
        (and a fresh fit less than half of that): then it is time to `fit` again.

        Parameters
        ----------
        X, observed, first
            As for `apply`.
        fresh
            Compare with a fresh fit, which costs as much as one; else look at the intervals only.
        seed
            Of the hidden readings and the fresh fit.

        Returns
        -------
        Fitness, or a dict of them by condition for a grid
            True or false as a condition; ``said`` is a sentence, ``error``, ``fresh`` and ``held``
            the figures behind it.

        Raises
        ------
        ValueError
            As `apply`.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=500, nodes=12, field="temperature", seed=1)
        >>> model = fm.FieldModel.fit(net.readings[:300])
        >>> bool(model.still_fits(net.readings[300:]))
        True
        >>> rough = net.readings[300:] + 20 * (net.truth[300:] - net.truth[300:].mean())
        >>> model.still_fits(rough, fresh=False).said[:24]
        'the model no longer fits'
        """
        check = partial(check_fit, fresh=fresh, seed=seed)
        if not is_labelled(X):
            return check(self._only(), *self._columns(X, observed), first=first)
        grid, out = self.align(X), {}
        for name, values in grid.values.items():
            part, given = self[name], self._columns(_without_inf(values), None)
            out[name] = check(part, *given, first=self.first_slot(part, grid))
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file: a JSON header and NumPy arrays, never a pickle.

        Parameters
        ----------
        path
            Where to; what is there is replaced.

        Raises
        ------
        OSError
            Where nothing can be written.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=100, nodes=6, field="temperature", seed=1)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "site.npz"
        >>> fm.FieldModel.fit(net.readings).save(path)
        >>> fm.FieldModel.load(path)
        <FieldModel value: 6 nodes, 2 common factors, fitted on 100 slots>
        """
        header = {"version": self.version, "slot": self.slot, "nodes": list(self.nodes)}
        parts, arrays = pack_parts(self.conditions)
        modelfile.write(path, header | {"conditions": parts}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FieldModel:
        """Read a model that was saved.

        Parameters
        ----------
        path
            A file that `save` wrote, here or elsewhere, by this version or an earlier one.

        Returns
        -------
        FieldModel
            It applies to the last bit as the one saved.

        Raises
        ------
        InputError
            Where there is no such file, or it is damaged, or written by a later version.

        Examples
        --------
        >>> import fieldmend as fm
        >>> fm.FieldModel.load("nowhere.npz")
        Traceback (most recent call last):
        fieldmend.errors.InputError: nowhere.npz: no model there: No such file or directory
        """
        header, arrays = modelfile.read(path)
        try:
            return cls(**unpack_model(header, arrays))
        except ValueError as error:
            said = f"no whole model file ({shown(error)})"
            raise InputError(said, file=os.fspath(path), hint=modelfile.FIT_AGAIN) from None

    def _applied_to_grid(self, grid: Labelled) -> dict[str, Applied]:
        """Of a grid that is aligned."""
        out, known = {}, len(self.nodes)
        for name, X in grid.values.items():
            part = self[name]
            values, O = checked(_without_inf(X), None, some=False)
            own = [followed_alone(values[:, [k]], part.level) for k in range(known, X.shape[1])]
            mine = slice(0, known)
            first = self.first_slot(part, grid)
            out[name] = part.apply(values[:, mine], O[:, mine], first=first).beside(own)
        return out


def is_labelled(X: Any) -> bool:
    """True for a Grid and what looks like one: values by condition, nodes, times."""
    return isinstance(getattr(X, "values", None), Mapping) and hasattr(X, "nodes")


def _without_inf(X: Any) -> Array:
    out: Array = np.where(np.isinf(X), np.nan, X)
    return out


def _fitted_to_grid(cls: type[FieldModel], grid: Labelled, options: dict[str, Any]) -> FieldModel:
    if options["period"] is None:
        options = options | {"period": usual_periods(grid.slot) or None}
    parts = {}
    for name, X in grid.values.items():
        if not np.isfinite(X).any():
            continue
        values, O = checked(_without_inf(X), None)
        part = for_days_to_come(learn(values, O, **options), options["seed"])
        part = replace(part, live=replay(part, values, O, slot=int(grid.slot)))
        first, last = int(grid.times[0]), int(grid.times[-1])
        fitted_on = replace(part.fitted_on, first=first, last=last)
        parts[name] = replace(part, fitted_on=fitted_on, unit=grid.units.get(name, ""))
    if not parts:
        raise InputError("no condition of the grid has readings", hint="There is nothing to fit")
    return cls(parts, tuple(grid.nodes), int(grid.slot))
