"""The commands that measure: ``evaluate`` on one's own data, ``paper`` on the paper's."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fieldmend.cli.app import OUTPUT, AsJson, Force, Quiet, command
from fieldmend.cli.help import flag
from fieldmend.cli.source import Source, takes_source

COMPARING = "Comparing"


class Hide(StrEnum):
    """How readings are hidden."""

    gaps = "gaps"
    uniform = "uniform"
    bursts = "bursts"
    blocks = "blocks"


@command
@takes_source
def evaluate(  # noqa: PLR0913 - options, keyword-only
    what: Source,
    *,
    hide: Annotated[
        list[Hide] | None,
        typer.Option(
            help="How readings are hidden: as the file lost them, one by one, in runs, "
            "or whole stretches of a node. May be repeated; gaps if not given.",
            metavar="gaps|uniform|bursts|blocks",
            rich_help_panel=COMPARING,
        ),
    ] = None,
    rate: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of the readings that stays (not for gaps); may be repeated. 0.95, 0.8 and "
            "0.5 if not given.",
            metavar="0..1",
            rich_help_panel=COMPARING,
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this method with the straight line; may be repeated. All but the paper's "
            "slow algorithm (apg) if not given.",
            metavar="NAME",
            rich_help_panel=COMPARING,
        ),
    ] = None,
    peers: Annotated[
        bool,
        flag(
            "--peers/--no-peers",
            help="scikit-learn's imputers too, if it is installed.",
            panel=COMPARING,
        ),
    ] = True,
    runs: Annotated[
        int,
        typer.Option(help="Draws of each.", metavar="NUMBER", min=1, rich_help_panel=COMPARING),
    ] = 2,
    seed: Annotated[
        int,
        typer.Option(
            help="Of everything random.", metavar="NUMBER", min=0, rich_help_panel=COMPARING
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for NAME.evaluation.csv, NAME.evaluation.gaps.csv and "
            "NAME.evaluation.html (a figure); nothing is written if not given.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Hide readings of your own file, compare the methods on them, recommend one.

    [bold]Examples[/bold]

      fieldmend evaluate readings.csv
      fieldmend evaluate readings.csv --hide uniform --hide blocks --rate 0.9 --rate 0.3
      fieldmend evaluate readings.csv --method ls --method mc --out results
    """
    from fieldmend.cli.evaluating import Comparison, run
    from fieldmend.cli.terminal import Voice

    comparison = Comparison(
        hide=[one.value for one in hide or [Hide.gaps]],
        rates=rate,
        only=method,
        peers=peers,
        runs=runs,
        seed=seed,
    )
    run(what, comparison, out, Voice(quiet=quiet, as_json=as_json), force=force)


@command
def paper(
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the paper's data sets (data.txt or intellab*, ndbc* or ctd*, "
            "greenorbs*); what is not there is simulated, and labelled so.",
            metavar="DIR",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for tables, figures, the page of claims and the report; a run that was "
            "stopped goes on where it was.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("fieldmend-paper"),
    quick: Annotated[
        bool, flag("--quick", help="Small matrices and few runs: under a minute.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(help="Processes at work; they change no number.", metavar="NUMBER", min=1),
    ] = 2,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Re-run the paper's evaluation: every table, figure and claim beside what was found.

    Takes about 20 minutes on two cores, or under one with --quick.

    [bold]Examples[/bold]

      fieldmend paper --quick
      fieldmend paper --data ~/intellab --out results
    """
    from fieldmend.cli.reproducing import Reproduction, run
    from fieldmend.cli.terminal import Voice

    wish = Reproduction(out=out, data=data, quick=quick, jobs=jobs, force=force)
    run(wish, Voice(quiet=quiet, as_json=as_json))
