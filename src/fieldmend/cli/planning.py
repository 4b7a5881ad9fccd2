"""``fieldmend plan``: its options, and how it is done: read, replay, choose, write, tell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fieldmend.cli.app import OUTPUT, AsJson, Force, Quiet, command
from fieldmend.cli.source import Source, check_there, takes_source

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmend.cli.terminal import Voice
    from fieldmend.planning import Plan

PLANNING, ENERGY = "Planning", "Energy"


class Radio(StrEnum):
    """Radios whose messages are known."""

    lora_sf7 = "lora-sf7"
    lora_sf8 = "lora-sf8"
    lora_sf9 = "lora-sf9"
    lora_sf10 = "lora-sf10"
    lora_sf11 = "lora-sf11"
    lora_sf12 = "lora-sf12"
    zigbee = "802.15.4"


@command
@takes_source
def plan(  # noqa: PLR0913 - options, keyword-only
    what: Source,
    *,
    error: Annotated[
        list[str],
        typer.Option(
            help="The mean error that readings which are not sent may have, in the unit of the "
            "condition: 0.2, or temperature=0.2. May be repeated: a message carries all "
            "conditions.",
            metavar="[NAME=]ERROR",
            rich_help_panel=PLANNING,
            show_default=False,
        ),
    ],
    quantile: Annotated[
        float | None,
        typer.Option(
            help="Plan for this quantile of the error, such as 0.95, in place of its mean.",
            metavar="0..1",
            rich_help_panel=PLANNING,
        ),
    ] = None,
    designs: Annotated[
        str,
        typer.Option(
            help="Which to compare: seldom and all together, seldom and staggered, on change.",
            metavar="NAME,...",
            rich_help_panel=PLANNING,
        ),
    ] = "clock,staggered,change",
    verify: Annotated[
        Path | None,
        typer.Option(
            help="A later record, read in the same way (but for --start and --end): thinned by the "
            "plan, recovered, and held against what the plan says. May be the same file: what "
            "comes after the record that was planned on is taken.",
            metavar="FILE",
            rich_help_panel=PLANNING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Of everything random.", metavar="NUMBER", min=0, rich_help_panel=PLANNING
        ),
    ] = 0,
    radio: Annotated[
        Radio,
        typer.Option(
            help="Whose messages are counted: lora-sf7 to lora-sf12, or 802.15.4.",
            metavar="NAME",
            rich_help_panel=ENERGY,
        ),
    ] = Radio.lora_sf9,
    payload: Annotated[
        int,
        typer.Option(
            help="Bytes of a message.", metavar="BYTES", min=1, max=242, rich_help_panel=ENERGY
        ),
    ] = 12,
    mj_per_message: Annotated[
        float | None,
        typer.Option(
            help="Millijoules of a message, if you know better than --radio and --payload.",
            metavar="MJ",
            min=0,
            rich_help_panel=ENERGY,
        ),
    ] = None,
    mj_per_reading: Annotated[
        float,
        typer.Option(
            help="Millijoules of a measurement.", metavar="MJ", min=0, rich_help_panel=ENERGY
        ),
    ] = 0.0,
    sleep_ua: Annotated[
        float,
        typer.Option(
            help="Microamperes of a node that sleeps.", metavar="UA", min=0, rich_help_panel=ENERGY
        ),
    ] = 10.0,
    volts: Annotated[
        float,
        typer.Option(help="Of the battery.", metavar="V", min=0, rich_help_panel=ENERGY),
    ] = 3.0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for schedule.csv, plan.json, curve.html and model.npz; nothing is "
            "written if not given.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find how seldom the nodes may send, the rest being recovered within an error.

    Every design is played on your own record: one half is thinned and recovered by a model of the
    other. Two days of readings at least, better a week.

    [bold]Examples[/bold]

      fieldmend plan readings.csv --error 0.2 --condition temperature
      fieldmend plan readings.csv --error temperature=0.2 --error humidity=1 --out plan
      fieldmend plan march.csv --error 0.2 --verify april.csv
      fieldmend plan readings.csv --error 0.5 --quantile 0.95 --mj-per-message 54
    """
    from fieldmend.cli.terminal import Voice

    wish = _Wish(error, quantile, designs, verify, seed)
    costs = _Costs(radio.value, payload, mj_per_message, mj_per_reading, sleep_ua, volts)
    _run(what, wish, costs, out, Voice(quiet=quiet, as_json=as_json), force=force)


@dataclass(frozen=True)
class _Wish:
    error: Sequence[str]
    quantile: float | None
    designs: str
    verify: Path | None
    seed: int

    def options(self, source: Source) -> dict[str, Any]:
        """Options of `fm.plan`, checked as far as they can be before anything is read."""
        from fieldmend.cli.recovering import by_condition
        from fieldmend.errors import InputError
        from fieldmend.planning.asked import Wish

        named: Sequence[str] = source.reading.get("conditions") or ()
        options: dict[str, Any] = {
            "error": by_condition(self.error, "--error", "ERROR"),
            "condition": named[0] if len(named) == 1 else None,
            "quantile": self.quantile,
            "designs": tuple(one for one in self.designs.split(",") if one),
        }
        try:
            Wish(**options)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        return options | {"seed": self.seed, "kinds": source.kinds}


@dataclass(frozen=True)
class _Costs:
    radio: str
    payload: int
    mj_per_message: float | None
    mj_per_reading: float
    sleep_ua: float
    volts: float

    def energy(self) -> Any:
        """What a message costs, checked."""
        from fieldmend.errors import InputError
        from fieldmend.planning.energy import Energy, of_radio

        try:
            spent, said = of_radio(self.radio, self.payload)
            if self.mj_per_message is not None:
                spent, said = self.mj_per_message, "as given"
            return Energy(spent, self.sleep_ua, self.mj_per_reading, self.volts, said)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error


def _run(
    source: Source, wish: _Wish, costs: _Costs, out: Path | None, voice: Voice, *, force: bool
) -> None:
    from fieldmend.cli.progress import progress
    from fieldmend.cli.recovering import read
    from fieldmend.planning import plan as find

    options = wish.options(source) | {"energy": costs.energy()}
    if wish.verify is not None:
        check_there([str(wish.verify)])
    if out is not None:
        _check_folder(out, source, force=force)
    with progress(voice.bars) as bars:
        with closing(read(source, bars)) as records:
            grid = source.grid(records)
        later = None if wish.verify is None else _later(source, wish.verify)
        found = find(grid, progress=bars.recovering(0), **options)
        if later is not None and found.schedule is not None:
            found = found.verify(later)
        files = {} if out is None else found.write(out, force=force)
    summary = found.to_dict() | {"files": {kind: str(path) for kind, path in files.items()}}
    voice.tell(summary, lambda _: story(found, summary))


def _later(source: Source, file: Path) -> Any:
    """The later record, read as the first was, but for the time that it is of."""
    from fieldmend.records import read

    reading = {**source.reading, "start": None, "end": None}
    with closing(read(str(file), **reading)) as records:
        return source.grid(records)


def _check_folder(out: Path, source: Source, *, force: bool) -> None:
    from fieldmend.export import check_outputs
    from fieldmend.planning.result import FILES

    check_outputs([out / name for name in FILES.values()], force=force, inputs=source.files)


def story(found: Plan, summary: dict[str, Any]) -> list[RenderableType]:
    """What the command prints."""
    from fieldmend.cli import printed
    from fieldmend.planning import advice
    from fieldmend.text import figure, measure, percent, shown

    lines: list[RenderableType] = []
    what = "mean error" if found.quantile is None else f"quantile {found.quantile:g} of the error"
    names = [shown(one.condition) for one in found.asked]
    lines += printed.heading("Designs", f"{what} of {' and '.join(names)} at readings not sent")
    head = ("design", "sent", "every/change", "error", "worst node", "J/day")
    lines.append(printed.table(head, advice.table(found), left=(0, 3, 4)))
    words = [summary[what] for what in ("advice", "unseen", "energy") if summary[what]]
    lines += printed.heading("Advice")
    lines += printed.bullets(words)
    if found.found is not None:
        lines += printed.heading("Verified", "a later record thinned by the plan and recovered")
        for one in found.asked:
            error, unit = found.found.errors[one.condition], found.record.units.get(one.condition)
            verdict = "within" if error <= one.error else "NOT within"
            lines.append(
                f"  {shown(one.condition)}: {measure(error, unit or '')} found, {verdict} "
                f"{figure(one.error)}; {percent(found.found.share)} sent"
            )
        lines += printed.bullets(found.found.notes)
    lines += printed.heading("Notes")
    lines += printed.bullets(summary["notes"])
    if summary["files"]:
        lines += printed.heading("Written")
        lines += [f"  {path}" for path in summary["files"].values()]
        lines += printed.heading("Next", "what the network sends then is recovered by")
        lines.append(f"  {_next(found, summary['files']['model'])}")
    return lines


def _next(found: Plan, model: str) -> str:
    from fieldmend.text import slot_length

    said = f"fieldmend recover FILE --slot {slot_length(found.record.slot)} --model {model}"
    changes = {} if found.schedule is None else found.schedule.changes
    changed = [f" --on-change {name}={change:g}" for name, change in changes.items()]
    return said.replace(" min", "min") + "".join(changed)
