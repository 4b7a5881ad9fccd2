"""``live``: a network as it runs."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fieldmend.cli.app import OUTPUT, SHOWING, AsJson, Quiet, command
from fieldmend.cli.help import flag

if TYPE_CHECKING:
    from fieldmend.live.running import Live, Order

INPUT, TIME, MODEL, SERVER = "Input", "Time", "Model", "Server"
REFUSED = 3  # of the newest that `live status` shows


def _file(help: str, panel: str) -> Any:
    return typer.Option(help=help, metavar="FILE", rich_help_panel=panel)


def _length(help: str, panel: str = TIME) -> Any:
    return typer.Option(help=help, metavar="TIME", rich_help_panel=panel)


@command
def live(  # noqa: PLR0913 - options, keyword-only
    source: Annotated[
        list[str] | None,
        typer.Argument(
            help="mqtt://host/topic/#, http, a file, or - for lines of JSON. Or: status DIR.",
            metavar="SOURCE",
            show_default=False,
        ),
    ] = None,
    *,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the journal; made if it is not there, taken up if it is.",
            metavar="DIR",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    like: Annotated[
        Path | None, _file("Begin with a model fitted to this file of readings.", MODEL)
    ] = None,
    model: Annotated[
        Path | None, _file("Begin with this model (fieldmend recover --save-model).", MODEL)
    ] = None,
    refit: Annotated[str, _length("Fit a model anew so often.", MODEL)] = "1d",
    window: Annotated[str, _length("Fit models to so long a past.", MODEL)] = "14d",
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="Hard limits of a condition: temperature=-40:60. May be repeated.",
            metavar="NAME=LOW:HIGH",
            rich_help_panel=MODEL,
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="Of the intervals.",
            metavar="0.01..0.999",
            min=0.01,
            max=0.999,
            rich_help_panel=MODEL,
        ),
    ] = 0.9,
    format: Annotated[
        str,
        typer.Option(
            help="Of messages: json, bare, senml, influx, ttn, chirpstack, thingsboard, "
            "zigbee2mqtt, homeassistant, sensorthings; recognised if not given.",
            metavar="NAME",
            rich_help_panel=INPUT,
        ),
    ] = "auto",
    topic: Annotated[
        str | None,
        typer.Option(
            help="What a topic says: site/{node}/{condition}.",
            metavar="PATTERN",
            rich_help_panel=INPUT,
        ),
    ] = None,
    follow: Annotated[
        bool, flag("--follow", help="Wait for more at the file's end.", panel=INPUT)
    ] = False,
    ca_file: Annotated[
        Path | None, _file("Certificates for mqtts://, if not the system's.", INPUT)
    ] = None,
    slot: Annotated[str, _length("Length of a slot.")] = "5min",
    late: Annotated[str, _length("A slot closes so long after its end.")] = "1min",
    settle: Annotated[str, _length("And is settled so long after that.")] = "30min",
    keep: Annotated[str, _length("Older days move into Parquet, in DIR/days.")] = "30d",
    out: Annotated[
        list[str] | None,
        typer.Option(
            help="Where clean rows and alerts go: mqtt://host/base, postgresql://host/database. "
            "May be repeated.",
            metavar="ADDRESS",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    alert_url_file: Annotated[
        Path | None, _file("Post alerts to the address in this file.", OUTPUT)
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            help="Where page and API are served; 127.0.0.1:8765 if not given.",
            metavar="ADDRESS:PORT",
            rich_help_panel=SERVER,
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        _file("Who asks has to know this file's first line; other addresses need it.", SERVER),
    ] = None,
    tls_cert: Annotated[Path | None, _file("Certificate, PEM.", SERVER)] = None,
    tls_key: Annotated[Path | None, _file("Its key, PEM.", SERVER)] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A further name under which the server is asked for, as a proxy's. "
            "May be repeated.",
            metavar="NAME",
            rich_help_panel=SERVER,
        ),
    ] = None,
    no_page: Annotated[
        bool, flag("--no-page", help="No page, the API alone.", panel=SERVER)
    ] = False,
    check: Annotated[
        bool,
        flag("--check", help="Show the first ten messages as read, store nothing.", panel=SHOWING),
    ] = False,
    print_mosquitto_conf: Annotated[
        bool,
        flag("--print-mosquitto-conf", help="Print what to tell mosquitto.", panel=SHOWING),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Take readings as they arrive; give clean ones, alerts and a page. Ends with Ctrl-C.

    Each reading gets an estimate, an interval and a flag when its slot is over, and again when it
    is settled. What was acknowledged is on the disk.

    [bold]Examples[/bold]

      fieldmend live mqtt://broker/site/# --like readings.csv --state site
      fieldmend live http --listen 127.0.0.1:8765 --state site
      fieldmend live logger.csv --follow --state site
      fieldmend live - --state site < stream.ndjson
      fieldmend live mqtt://broker/site/# --check
      fieldmend live status site --json
      fieldmend recover site
    """
    if print_mosquitto_conf:
        from fieldmend.live.mosquitto import configuration

        typer.echo(configuration(), nl=False)
        return
    words = source or []
    if words[:1] == ["status"]:
        if len(words) != 2:
            raise typer.BadParameter("live status takes one folder: fieldmend live status DIR")
        _status(Path(words[1]), as_json=as_json)
        return
    if len(words) != 1:
        raise typer.BadParameter("live takes one source: mqtt://…, http, a file, or -")
    given = {
        "slot": slot, "late": late, "settle": settle, "refit": refit, "window": window, "keep": keep
    }  # fmt: skip
    from dataclasses import replace

    from fieldmend.live.formats import check_format

    check_format(format)
    order = replace(
        _order(words[0], state, given, limits or [], level, check=check),
        format=format,
        topic=topic,
        follow=follow,
        outs=tuple(out or ()),
        alert_url_file=alert_url_file,
        ca_file=ca_file,
    )
    if check:
        _check(order)
        return
    try:
        from fieldmend.live.server import UnsafeError, serving
    except ModuleNotFoundError as error:
        msg = "the page and its API need starlette and uvicorn: pip install 'fieldmend[live]'"
        raise ImportError(msg) from error
    try:
        served = serving(
            listen or "127.0.0.1:8765",
            token_file=token_file,
            tls_cert=tls_cert,
            tls_key=tls_key,
            names=allow_host or (),
            page=not no_page,
        )
    except UnsafeError as error:
        raise typer.BadParameter(str(error)) from None
    order = replace(order, serving=served, **_beginning(like, model, slot, level))
    _run(order, quiet=quiet, as_json=as_json)


def _order(
    source: str,
    state: Path | None,
    lengths: dict[str, str],
    limits: list[str],
    level: float,
    *,
    check: bool,
) -> Order:
    from fieldmend.cli.recovering import limit_of
    from fieldmend.live.running import Order
    from fieldmend.live.settings import Settings
    from fieldmend.result.options import length_of_time

    if state is None and not check:
        raise typer.BadParameter("live needs --state DIR: where its journal is kept")
    spans = {name: length_of_time(text, f"--{name}") for name, text in lengths.items()}
    settings = Settings(**spans, limits=dict(map(limit_of, limits)), level=level)
    return Order(source, state or Path("."), settings)


def _beginning(like: Path | None, model: Path | None, slot: str, level: float) -> dict[str, Any]:
    """The model to begin with, and where the nodes are."""
    from fieldmend.field.fieldmodel import FieldModel

    if like is not None and model is not None:
        raise typer.BadParameter("--like or --model, not both")
    if model is not None:
        return {"model": FieldModel.load(model)}
    if like is None:
        return {}
    from dataclasses import replace

    from fieldmend.live.companions import Companions
    from fieldmend.records import read
    from fieldmend.recovery import recover

    with closing(read(str(like))) as records:
        grid = records.grid(slot)
    fitted = recover(grid, holdout=False, level=level).model
    mine = {name: X for name, X in grid.values.items() if name in fitted.conditions}
    return {
        "model": fitted,
        "companions": Companions.fit(replace(grid, values=mine), fitted),
        "places": dict(grid.places or {}),
        "units": dict(grid.units),
    }


def _run(order: Order, *, quiet: bool, as_json: bool) -> None:
    from fieldmend.live.running import Live
    from fieldmend.live.view import View

    def say(text: str) -> None:
        if not quiet and not as_json:
            typer.echo(text, err=True)

    logging.basicConfig(
        level=logging.ERROR if quiet else logging.WARNING if as_json else logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
    )
    for name in ("uvicorn", "uvicorn.access", "fieldmend.recovery"):
        logging.getLogger(name).setLevel(logging.WARNING)
    live = Live(order, say=say)
    with _ended_by_services(live):
        try:
            live.run()
        except KeyboardInterrupt:
            live.ended.set()
    if live.ended.is_set():
        say("ended; everything that was acknowledged is in the journal")
    if as_json:
        typer.echo(json.dumps(View(order.state).counts(), indent=2))


@contextmanager
def _ended_by_services(live: Live) -> Iterator[None]:
    """SIGTERM is how services are stopped: an end like any other, and no failure."""
    try:
        before = signal.signal(signal.SIGTERM, lambda *_: live.ended.set())
    except ValueError:  # not the main thread, as in tests: whoever runs it ends it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(order: Order) -> None:
    from fieldmend.errors import InputError
    from fieldmend.live.clock import WallClock
    from fieldmend.live.trying import as_text, first_messages

    number = 0
    for seen in first_messages(order, WallClock()):
        number += 1
        for line in as_text(seen):
            typer.echo(line)
    if not number:
        raise InputError("no message came", hint="Look at the topic, and whether anybody sends")


def _status(folder: Path, *, as_json: bool) -> None:
    from fieldmend.live.lock import holder
    from fieldmend.live.view import View
    from fieldmend.text import escaped, shown

    view = View(folder)
    found = {**view.counts(), "pid": holder(folder)}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    readings = found["readings"]
    runs = f"runs (pid {found['pid']})" if found["pid"] else "does not run"
    model = found["model"]
    why = f": {found['why']}" if found["why"] else ""
    lines = [
        f"{found['network']}: {runs}, {found['status']}{why}",
        "readings  " + ", ".join(f"{readings[name]:,} {name}" for name in readings),
        f"slots     {found['slots']['closed']:,} closed, {found['slots']['settled']:,} settled",
        f"nodes     {found['nodes']:,}",
        f"model     {model['name'] if model else 'none yet'}",
        "episodes  "
        + (", ".join(f"{n} {kind}" for kind, n in found["episodes"].items()) or "none"),
    ]
    whys = [f"{number:,} {shown(why)}" for why, number in found["rejected"].items()]
    lines += [f"refused   {', '.join(whys)}; the newest:"] if whys else []
    lines += [
        f"          {one['arrived']} {shown(one['why'])}: {escaped(one['text'], 100)}"
        for one in view.rejects(REFUSED)
    ]
    for line in lines:
        typer.echo(line)
