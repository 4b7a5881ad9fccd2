"""Write the gallery: each situation recovered by its command, drawn, and told with its numbers.

``python docs/gallery.py`` writes all pages, ``python docs/gallery.py rain`` one. Real readings are
taken from ``FIELDMEND_DATA``, else ``../shared/data``; where they are not there the page stays as
it is. Nothing on a page but its story is written by hand.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from fieldmend.cli import main as command
from fieldmend.export.naming import safe_name
from fieldmend.text import figure, percent, stretch

sys.path.insert(0, str(Path(__file__).parent))
from situation_figure import draw
from situations import SITUATIONS, Situation

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FIELDMEND_DATA", HERE.parents[1] / "shared" / "data"))
FIRST = 3  # faults that a page tells


def made(one: Situation) -> bool:
    """Write one page and its picture; False where its readings are not there."""
    if any(not (DATA / name).exists() for name in one.files):
        return False
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name in one.files:
            Path(name).symlink_to(DATA / name)
        if one.make is not None:
            one.make(Path(folder))
        summary = recovered(one)
        table = columns(Path(f"{safe_name(one.first)}.recovered.parquet"))
        node = one.node or telling(summary, table, one.condition)
        truth = known(one, table, node) if one.truth else None
        unit = summary["conditions"][one.condition]["unit"]
        picture = HERE / "images" / "gallery" / f"{one.name}.png"
        draw(table, one.condition, unit, node, picture, days=one.days, truth=truth)
        text = page(one, summary, error(table, one.condition, node, truth))
    (HERE / "gallery" / f"{one.name}.md").write_text(text, encoding="utf-8")
    return True


def recovered(one: Situation) -> dict[str, Any]:
    """Run the command of the page; what ``--json`` prints."""
    out = StringIO()
    arguments = [*shlex.split(one.command)[1:], "--no-report", "--json"]
    with redirect_stdout(out):
        code = command(arguments)
    if code:
        msg = f"{one.command}: exit code {code}"
        raise RuntimeError(msg)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def columns(path: Path) -> dict[str, Any]:
    """The recovered table, times as UTC without a zone."""
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        select = f"SELECT * REPLACE (timezone('UTC', time) AS time) FROM '{path}'"
        found = con.execute(select).fetchnumpy()
    return {name: np.ma.filled(c, np.nan) if c.dtype.kind == "f" else np.asarray(c)
            for name, c in found.items()}  # fmt: skip


def telling(summary: dict[str, Any], table: dict[str, Any], condition: str) -> str:
    """The node whose curve tells most: of the gravest fault, else with the longest gap filled."""
    for fault in summary["look_first"]:
        if condition in fault["conditions"] and fault["kind"] != "silent":
            return str(fault["node"])
    nodes = np.array(list(dict.fromkeys(table["node"].tolist())), dtype=object)
    shape = (-1, len(nodes))
    lost = np.isnan(table[condition]).reshape(shape) & ~np.isnan(
        table[f"{condition}_filled"].reshape(shape)
    )
    return str(nodes[int(lost.sum(axis=0).argmax())])


def known(one: Situation, table: dict[str, Any], node: str) -> Any:
    """What was really there at a node, slot by slot; NaN where nobody knows."""
    times = table["time"][table["node"] == node].astype("datetime64[us]").astype(np.int64)
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT epoch_us(timestamp), temperature FROM ({one.truth}) WHERE node = ?", [node]
        ).fetchall()
    slot = times[1] - times[0]
    out = np.full(len(times), np.nan)
    for when, value in rows:
        at = (when - times[0]) // slot
        if 0 <= at < len(out) and value is not None:
            out[at] = value
    return out


def error(table: dict[str, Any], condition: str, node: str, truth: Any) -> str:
    """How far the estimate lies off the truth where nothing arrived."""
    if truth is None:
        return ""
    own = table["node"] == node
    off = np.abs(table[f"{condition}_filled"][own] - truth)[np.isnan(table[condition][own])]
    off = off[~np.isnan(off)]
    return (f"At the {len(off):,} slots where nothing of node {node} arrived and the mote had "
            f"stored a reading, the estimate lies {figure(float(off.mean()))} off it on "
            "average.")  # fmt: skip


def page(one: Situation, summary: dict[str, Any], more: str) -> str:
    """The page."""
    grid = summary["grid"]
    lines = [
        f"# {one.title}", "", one.story, "",
        f"*Readings: {one.data}.* {grid['nodes']} nodes × {grid['slots']:,} slots, "
        f"{stretch(grid['start'], grid['end'])} UTC.", "",
        "```text", f"$ {one.command}", "```", "",
        f"![Who was heard when, and one node](../images/gallery/{one.name}.png)", "",
        "| condition | readings | missing | lost, recovered | no sensor there | suspect | error "
        "| straight line |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]  # fmt: skip
    lines += [_row(name, found) for name, found in summary["conditions"].items()]
    lines += ["", "*Error*: the mean on readings hidden the way readings were lost."]
    lines += ["", more] if more else []
    faults = [
        f"- **{fault['kind']}**, node {fault['node']}, {stretch(fault['start'], fault['end'])}: "
        f"{fault['explanation']}"
        for fault in summary["look_first"][:FIRST]
    ]
    lines += ["", "What to look at first:", "", *faults] if faults else ["", "No fault was found."]
    lines += [
        "",
        f"*This page and its picture are written by `python docs/gallery.py {one.name}`.*",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, found: dict[str, Any]) -> str:
    places, held = found["places"], found["holdout"]
    label = f"{name} ({found['unit']})" if found["unit"] else name
    errors = ("-", "-") if held is None else (figure(held["mae"]), figure(held["line_mae"]))
    counts = (f"{found['readings']:,}", percent(found["missing_share"]),
              f"{places['lost']:,}, {places['recovered']:,}",
              f"{places['not_in_service'] + places['never_fitted']:,}",
              f"{found['flags']['suspect']:,}")  # fmt: skip
    return f"| {label} | {' | '.join((*counts, *errors))} |"


def main() -> int:
    chosen = sys.argv[1:] or [one.name for one in SITUATIONS]
    for one in SITUATIONS:
        if one.name in chosen:
            print(one.name, "written" if made(one) else f"left as it is: no {one.first} in {DATA}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
