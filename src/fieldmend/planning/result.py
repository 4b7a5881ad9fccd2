"""`Plan`: what was asked, tried, chosen and verified, and the ways out of it."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from fieldmend.errors import InputError
from fieldmend.export import check_outputs
from fieldmend.export.writing import whole
from fieldmend.field.fieldmodel import FieldModel
from fieldmend.grid import Grid
from fieldmend.planning import advice
from fieldmend.planning.asked import Wish
from fieldmend.planning.comparing import a_day
from fieldmend.planning.energy import Energy
from fieldmend.planning.replay import Played, Replay
from fieldmend.planning.schedule import Schedule
from fieldmend.planning.scoring import DAY, few_days
from fieldmend.planning.search import Asked
from fieldmend.planning.verifying import Found, verify
from fieldmend.quantities import Quantity
from fieldmend.version import __version__

FILES = {
    "schedule": "schedule.csv",
    "plan": "plan.json",
    "curve": "curve.html",
    "model": "model.npz",
}


@dataclass(frozen=True, eq=False)
class Ground:
    """What a plan is made on, whatever error is asked for: the record, ready to be played."""

    record: Grid
    quantities: Mapping[str, Quantity]
    replay: Replay
    models: tuple[FieldModel, ...]  # of the whole record, not yet for a schedule
    energy: Energy
    notes: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How seldom the nodes may send.

    Attributes
    ----------
    asked
        Condition and error, one each.
    ground
        What it was made on: the record, its replay, the energy of a message.
    chosen
        The fewest messages within the error; None if nothing was.
    schedule
        Who sends when; None if nothing was chosen.
    model
        Of the whole record, calibrated for the schedule: recovers what the network sends then.
    tried
        Design → all that was played of it, the most messages first.
    found
        What became of it on later days; None if it was not verified.

    Examples
    --------
    >>> import fieldmend as fm
    >>> net = fm.simulate.network(slots=144, nodes=8, field="temperature", noise=0.05, seed=3)
    >>> grid = fm.Grid.of(net.readings, condition="temperature", unit="°C", slot_seconds=1200)
    >>> plan = fm.plan(grid, error=0.5, designs=["staggered"])
    >>> plan
    <Plan temperature within 0.5: staggered, 1 in ...>
    """

    asked: tuple[Asked, ...]
    ground: Ground
    chosen: Played | None
    schedule: Schedule | None
    model: FieldModel
    tried: Mapping[str, list[Played]]
    found: Found | None = None

    @property
    def record(self) -> Grid:
        """What was played: the conditions planned for."""
        return self.ground.record

    @property
    def quantile(self) -> float | None:
        """Of the absolute error that was planned for; None for its mean."""
        return self.ground.replay.quantile

    @property
    def energy(self) -> Energy:
        """What a message costs."""
        return self.ground.energy

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        return self.ground.notes

    @property
    def scored(self) -> tuple[str, ...]:
        """Nodes that the errors are of."""
        return self.ground.replay.grid.nodes

    def again(self, error: float | Mapping[str, float]) -> Plan:
        """A plan for another error on the same record: what was played need not be played again.

        Parameters
        ----------
        error
            One number for one condition, or condition → number for those that were planned for.

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            For an error that cannot be kept, or a condition that was not planned for.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> plan = fm.plan(fm.Grid.of(net.readings, slot_seconds=1800), error=2, designs=["clock"])
        >>> plan.again(4).chosen.share <= plan.chosen.share
        True
        """
        from fieldmend.planning.job import choose

        wish = Wish(error, None, self.quantile, tuple(self.tried))
        errors = wish.errors(self.record, self.ground.quantities)
        return choose(self.ground, errors, wish.designs, lambda _, __: None)

    def __repr__(self) -> str:
        what = ", ".join(f"{one.condition} within {one.error:g}" for one in self.asked)
        if self.chosen is None:
            return f"<Plan {what}: none>"
        few = 1 / self.chosen.share
        return f"<Plan {what}: {self.chosen.schedule.design}, 1 in {few:.3g}>"

    @property
    def days(self) -> float:
        """Length of the record."""
        return len(self.record.times) * self.record.slot / DAY

    @property
    def has_interval(self) -> bool:
        """Whether the record has days enough to say how sure an error is."""
        return not few_days(len(self.record.times), self.record.slot)

    @property
    def advice(self) -> str:
        """One sentence."""
        return advice.sentence(self)

    def verify(self, later: Any) -> Plan:
        """The same, held against a later record: thinned by the schedule and recovered.

        Parameters
        ----------
        later
            A `Grid` with slots as long as the plan's.

        Returns
        -------
        Plan
            With ``found``.

        Raises
        ------
        InputError
            Where nodes, conditions or slots are not the plan's, or nothing was chosen.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=144, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> grid = fm.Grid.of(net.readings[:96], slot_seconds=1800)
        >>> later = fm.Grid.of(net.readings[96:], slot_seconds=1800, start="1970-01-03")
        >>> plan = fm.plan(grid, error=2, designs=["staggered"]).verify(later)
        >>> plan.found.errors["value"] < 2
        True
        """
        if self.schedule is None:
            raise InputError(
                "nothing was within the error: there is no plan to verify",
                hint="Ask for a larger error",
            )
        found = verify(
            later, self.record, self.schedule, self.model, self.ground.quantities,
            quantile=self.quantile, seed=self.ground.seed,
        )  # fmt: skip
        return replace(self, found=found)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the model, in numbers and words, as plan.json has it.

        Returns
        -------
        dict
            With one condition flat; with several, ``conditions`` has one such part for each.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> grid = fm.Grid.of(net.readings, slot_seconds=1800)
        >>> sorted(fm.plan(grid, error=2, designs=["clock"]).to_dict())[:3]
        ['advice', 'asleep_j_a_day', 'chosen']
        """
        parts = [self._of_condition(one) for one in self.asked]
        whole_ = {
            "fieldmend": __version__,
            "advice": self.advice,
            "unseen": advice.unseen(self),
            "quantile": self.quantile,
            "slot_s": self.record.slot / 1e6,
            "days": self.days,
            "nodes": len(self.record.nodes),
            "mj_per_message": self.energy.mj_per_message,
            "asleep_j_a_day": self.energy.asleep,
            "energy": advice.about_energy(self),
            "everything": self._costs(1.0, 1),
            "notes": [*advice.about_interval(self), *self.notes],
        }
        if self.found is not None:
            whole_["verified_notes"] = list(self.found.notes)
        if len(parts) == 1:
            return {**parts[0], **whole_}
        chosen = None if self.chosen is None else self._row(self.chosen, None)
        return {"conditions": parts, "chosen": chosen, **whole_}

    def _of_condition(self, asked: Asked) -> dict[str, Any]:
        rows = [self._row(one, asked) for tried in self.tried.values() for one in tried]
        part: dict[str, Any] = {
            "condition": asked.condition,
            "unit": self.record.units.get(asked.condition, ""),
            "error_asked": asked.error,
            "chosen": None if self.chosen is None else self._row(self.chosen, asked),
            "designs": rows,
        }
        if self.found is not None:
            error = self.found.errors[asked.condition]
            part["verified"] = {
                "error": _finite(error),
                "error_with_flagged": _finite(self.found.counted[asked.condition]),
                "share": self.found.share,
                "within": error <= asked.error,
            }
        return part

    def _row(self, played: Played, asked: Asked | None) -> dict[str, Any]:
        schedule = played.schedule
        row: dict[str, Any] = {
            "design": schedule.design,
            "share": played.share,
            "interval_s": schedule.every * schedule.slot / 1e6,
        }
        if asked is None:
            return {**row, "changes": dict(schedule.changes), **self._costs(played.share, 1)}
        score = played.scores[asked.condition]
        sure = self.has_interval
        worst, worst_error = score.worst
        return {
            **row,
            "change": schedule.changes.get(asked.condition),
            "error": _finite(score.error),
            "low": _finite(score.low) if sure else None,
            "high": _finite(score.high) if sure else None,
            "within": asked.meets(played),
            "worst_node": self.scored[worst] if worst >= 0 else None,
            "worst_error": _finite(worst_error),
            **self._costs(played.share, schedule.every),
        }

    def _costs(self, share: float, every: int) -> dict[str, float]:
        messages, readings = a_day(self, share, every)
        return {
            "messages_a_day": messages,
            "energy_j_a_day": self.energy.a_day(messages, readings),
            "radio_share": self.energy.radio_share(messages, readings),
        }

    def figure(self, theme: str = "light") -> Any:
        """Error against the share of the readings sent, all designs, as a Plotly figure.

        Parameters
        ----------
        theme
            ``light`` or ``dark``.

        Returns
        -------
        plotly.graph_objects.Figure

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> grid = fm.Grid.of(net.readings, slot_seconds=1800)
        >>> fm.plan(grid, error=2, designs=["clock"]).figure().layout.xaxis.title.text
        'share of the readings that is sent'
        """
        from fieldmend.planning.curve import figure

        return figure(self, theme)

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> dict[str, Path]:
        """Write schedule.csv, plan.json, curve.html and model.npz into a folder.

        Parameters
        ----------
        folder
            Made if only its last part is not there.
        force
            Replace files that are there.

        Returns
        -------
        dict
            What → where. Without a schedule there is no schedule.csv.

        Raises
        ------
        OutputError
            Where something cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> grid = fm.Grid.of(net.readings, slot_seconds=1800)
        >>> plan = fm.plan(grid, error=2, designs=["clock"])
        >>> sorted(plan.write(tempfile.mkdtemp()))
        ['curve', 'model', 'plan', 'schedule']
        """
        from fieldmend.planning.curve import page

        names = {kind: name for kind, name in FILES.items() if kind != "schedule" or self.schedule}
        files = {kind: Path(folder) / name for kind, name in names.items()}
        check_outputs(files.values(), force=force)
        made: dict[str, Callable[[], str]] = {
            "schedule": self.schedule_csv,
            "plan": lambda: json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n",
            "curve": lambda: page(self),
        }
        for kind, path in files.items():
            with whole(path, force=force) as part:
                if kind == "model":
                    self.model.save(part)
                else:
                    part.write_text(made[kind](), encoding="utf-8")
        return files

    def schedule_csv(self) -> str:
        """The schedule as CSV: node, interval_s, phase_s, change.

        Returns
        -------
        str
            A line for each node; empty if nothing was chosen.

        Examples
        --------
        >>> import fieldmend as fm
        >>> net = fm.simulate.network(slots=96, nodes=4, field="temperature", sampling=0.9, seed=3)
        >>> plan = fm.plan(fm.Grid.of(net.readings, slot_seconds=1800), error=4, designs=["clock"])
        >>> plan.schedule_csv().splitlines()[0]
        'node,interval_s,phase_s,change'
        """
        if self.schedule is None:
            return ""
        rows = self.schedule.rows()
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()


def _finite(value: float) -> float | None:
    """JSON has no NaN and no infinity: null."""
    return value if isfinite(value) else None
