"""The commands and their options. Each is parsed here and done elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fieldmend.cli.help import Greedy, flag, unwrapped
from fieldmend.cli.nightly import Nightly, takes_nightly
from fieldmend.cli.source import Source, takes_source

app = typer.Typer(
    name="fieldmend",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
OUTPUT, RECOVERING, SHOWING = "Output", "Recovering", "Showing"


class Format(StrEnum):
    """What the recovered table is written as."""

    parquet = "parquet"
    csv = "csv"
    netcdf = "netcdf"


class NewNodes(StrEnum):
    """What becomes of nodes that a model does not know."""

    refuse = "refuse"
    own = "own"


class Replace(StrEnum):
    """Which flagged readings the estimate takes the place of."""

    suspects = "suspects"
    certain = "certain"
    none = "none"


class FailOn(StrEnum):
    """What makes the command end with exit code 1."""

    suspect = "suspect"
    attention = "attention"


ABOUT = """
Give sensor networks their data back.

Lost readings are recovered, false ones flagged, and a report shows both.

Exit codes: 0 done, 1 suspects found (with --fail-on), 2 wrong usage, 3 input that cannot be
used, 4 the environment failed (disk, permission, memory), 70 an error inside fieldmend, 75
another run of the same job is at work, 130 stopped.
"""


def _version(wanted: bool) -> None:
    if wanted:
        from fieldmend import __version__

        typer.echo(f"fieldmend {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, help=unwrapped(ABOUT))
def fieldmend(
    ctx: typer.Context,
    version: Annotated[
        bool,
        flag("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """What comes before the commands."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


AsJson = Annotated[
    bool, flag("--json", help="Print one JSON object and nothing else.", panel=SHOWING)
]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Print nothing but errors.", panel=SHOWING)]
Force = Annotated[bool, flag("--force", help="Replace existing files.", panel=OUTPUT)]


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a command; its docstring is its help."""
    return app.command(cls=Greedy, help=unwrapped(function.__doc__ or ""))(function)


@command
@takes_source
@takes_nightly
def recover(  # noqa: PLR0913 - the options of the main job, keyword-only
    what: Source,
    *,
    nightly: Nightly,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for what is written; made if only its last part is not there.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("."),
    format: Annotated[
        list[Format] | None,
        typer.Option(
            help="What the recovered table is written as; may be repeated. Parquet if not given.",
            metavar="parquet|csv|netcdf",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        bool,
        flag("--report/--no-report", help="Write the report.", panel=OUTPUT),
    ] = True,
    force: Force = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="ls, apg, mc, srmf, ...: see 'Which method?' in the docs. Chosen by fieldmend if "
            "not given.",
            metavar="NAME",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Apply the model of this file instead of fitting one: a fraction of the time.",
            metavar="FILE",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    new_nodes: Annotated[
        NewNodes,
        typer.Option(
            help="Nodes that the model does not know: refuse them, or follow them by their own "
            "readings only.",
            metavar="refuse|own",
            rich_help_panel=RECOVERING,
        ),
    ] = NewNodes.refuse,
    save_model: Annotated[
        Path | None,
        typer.Option(
            help="Write the fitted model to this file, for --model on later records.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="Hard limits of a condition, one end may be empty: temperature=-40:60. Readings "
            "beyond them fail (flag 4). May be repeated.",
            metavar="NAME=LOW:HIGH",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the method, see 'Which method?' in the docs: debias=true. May be "
            "repeated.",
            metavar="NAME=VALUE",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="Of the intervals, where the method has them.",
            metavar="0.01..0.999",
            min=0.01,
            max=0.999,
            rich_help_panel=RECOVERING,
        ),
    ] = 0.9,
    joint: Annotated[
        bool | None,
        flag(
            "--joint/--separate",
            help="Ask a node's other conditions where one is lost: in any case, or never. "
            "Without it, where that lowers the error on hidden readings.",
            panel=RECOVERING,
        ),
    ] = None,
    holdout: Annotated[
        bool,
        flag(
            "--holdout/--no-holdout",
            help="Hide some readings and say how far off the estimates are there.",
            panel=RECOVERING,
        ),
    ] = True,
    replace: Annotated[
        Replace,
        typer.Option(
            help="Readings that the estimate takes the place of in the filled column: all "
            "suspects, only what is certainly false, or none.",
            metavar="suspects|certain|none",
            rich_help_panel=RECOVERING,
        ),
    ] = Replace.certain,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="Obey what a person decided in the report, saved there as a file: rejected "
            "episodes are not flagged again, accepted ones are certain.",
            metavar="FILE",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    extrapolate: Annotated[
        bool,
        flag(
            "--extrapolate",
            help="Estimate also where there was no sensor: before a node's first and after its "
            "last reading, in its longest silences, and at nodes without a reading.",
            panel=RECOVERING,
        ),
    ] = False,
    max_gap: Annotated[
        str | None,
        typer.Option(
            help="Leave longer gaps empty: 6h.", metavar="TIME", rich_help_panel=RECOVERING
        ),
    ] = None,
    max_width: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave empty what is more uncertain: the widest interval, in the unit of the "
            "condition: 2, or temperature=2. May be repeated.",
            metavar="[NAME=]WIDTH",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    on_change: Annotated[
        list[str] | None,
        typer.Option(
            help="Nodes send only what lies farther than this from their last message: silence "
            "means within it, and estimates keep to it: 0.45, or temperature=0.45. May be "
            "repeated.",
            metavar="[NAME=]CHANGE",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Of everything random.", metavar="NUMBER", min=0, rich_help_panel=RECOVERING
        ),
    ] = 0,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that share the work; the result is the same. As many as there are "
            "processors where that is worth their start, if not given.",
            metavar="NUMBER",
            min=1,
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a scheduler of Dask whose workers share the work: tcp://host:8786.",
            metavar="ADDRESS",
            envvar="FIELDMEND_SCHEDULER",
            show_envvar=False,
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="The most memory to take: 4GB. For records that do not fit: the table becomes a "
            "folder of Parquet parts, in single precision.",
            metavar="SIZE",
            rich_help_panel=RECOVERING,
        ),
    ] = None,
    resume: Annotated[
        bool,
        flag(
            "--resume",
            help="Go on with a run with --memory that was ended: the same result.",
            panel=RECOVERING,
        ),
    ] = False,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="End with exit code 1 if readings are suspect or beyond the limits; or if "
            "anything needs a person's attention.",
            metavar="suspect|attention",
            rich_help_panel=SHOWING,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Recover the field from a file of readings: table, flags, anomalies, report.

    Writes NAME.recovered.parquet, NAME.anomalies.parquet, NAME.rejects.csv and NAME.report.html,
    NAME being the first file's, into the current folder or --out. The readings themselves are
    never changed.

    [bold]Examples[/bold]

      fieldmend recover readings.csv
      fieldmend recover readings.csv --slot 5min --missing -9999 85 --out results
      fieldmend recover day1.csv day2.csv --locations nodes.csv --tz Asia/Tokyo
      fieldmend recover readings.csv --limits temperature=-40:60 --fail-on suspect
      fieldmend recover march.csv --save-model site.npz
      fieldmend recover today.csv --model site.npz
      fieldmend recover 'year/*.parquet' --out results --memory 4GB
      fieldmend recover readings.csv --decisions readings.decisions.json
      fieldmend recover --config site.toml
      fieldmend recover station.db --table readings --format csv --format netcdf
      zcat readings.csv.gz | fieldmend recover - --json > summary.json
    """
    from fieldmend.cli.outputs import Wish
    from fieldmend.cli.recovering import Job, run

    job = Job(
        method=method,
        model=model,
        new_nodes=new_nodes.value,
        option=option or (),
        limits=limits or (),
        level=level,
        joint=joint,
        holdout=holdout,
        replace=replace.value,
        decisions=decisions,
        extrapolate=extrapolate,
        max_gap=max_gap,
        max_width=max_width or (),
        on_change=on_change or (),
        seed=seed,
        workers=workers,
        scheduler=scheduler,
        memory=memory,
        resume=resume,
        fail_on=None if fail_on is None else fail_on.value,
    )
    formats = [f.value for f in format or [Format.parquet]]
    wish = Wish(
        out, formats, report, force=force, model=save_model, parts=memory is not None, resume=resume
    )
    raise typer.Exit(run(what, job, wish, _voice(quiet=quiet, as_json=as_json), nightly))


@command
@takes_source
def inspect(what: Source, *, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Say what is in a file: dialect, nodes, loss, gaps, singular values. Writes nothing.

    [bold]Examples[/bold]

      fieldmend inspect readings.csv
      fieldmend inspect data.txt mote_locs.txt --slot 5min
      fieldmend inspect readings.csv --json
    """
    from fieldmend.cli.inspecting import run

    run(what, _voice(quiet=quiet, as_json=as_json))


@command
def demo(
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for what is written; fieldmend-demo, replaced each time, if not given.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    open_: Annotated[
        bool,
        flag(
            "--open/--no-open",
            help="Open the report in the browser, if this is a terminal.",
            panel=SHOWING,
        ),
    ] = True,
    seed: Annotated[
        int,
        typer.Option(
            help="Of the simulated network.",
            metavar="NUMBER",
            min=0,
            rich_help_panel=RECOVERING,
        ),
    ] = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a network, write its records as CSV and recover them. Offline, in seconds.

    [bold]Examples[/bold]

      fieldmend demo
      fieldmend demo --out /tmp/demo --no-open
    """
    from fieldmend.cli.demo import run

    voice = _voice(quiet=quiet, as_json=as_json)
    raise typer.Exit(run(out, voice, force=force, open_=open_, seed=seed))


def _voice(**given: bool) -> Any:
    from fieldmend.cli.terminal import Voice

    return Voice(**given)


# Its commands join those above, whose options they share.
from fieldmend.cli import configuring as configuring  # noqa: E402
from fieldmend.cli import living as living  # noqa: E402
from fieldmend.cli import planning as planning  # noqa: E402
from fieldmend.cli import studies as studies  # noqa: E402
