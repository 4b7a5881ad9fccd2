"""All that the page's scripts need, as plain data; the packed numbers stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldmend.core.engine import blocks
from fieldmend.faults import Kind
from fieldmend.flags import BAD, Flag
from fieldmend.report import palette
from fieldmend.report.contents import gravity, how_sure
from fieldmend.report.detail.packing import AGAINST, Packed
from fieldmend.report.figures.neighbours import neighbour_table, positions
from fieldmend.report.figures.places import unwrapped
from fieldmend.report.wording import plain
from fieldmend.result.decisions import NOTED, REJECTED, Decision
from fieldmend.result.states import State
from fieldmend.text import percent, shown
from fieldmend.version import __version__

if TYPE_CHECKING:
    from fieldmend.faults import Episode
    from fieldmend.grid import Array
    from fieldmend.report.detail import Detail
    from fieldmend.report.detail.planning import Kept
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

EPISODES = 2000  # in the table; the list of anomalies has all
PARTS = 64  # stretches of one episode in a file of decisions
PLACED = 3000  # marks on the map
SAMPLED = 400_000  # values that the ends of the colours are found by


def payload(recovery: Result, names: Sequence[str], detail: Detail) -> dict[str, Any]:
    """Plain data for `to_json`, of the conditions with these names."""
    grid = recovery.grid
    near = neighbour_table(recovery)
    rows, foreign = _episodes(recovery, names)
    return {
        "themes": palette.THEMES,
        "field": palette.FIELD,
        "against": AGAINST,
        "version": __version__,
        "kinds": {str(kind): {"symbol": kind.symbol, "words": kind.words} for kind in Kind},
        "level": recovery.options.level,
        "stem": _stem(recovery),
        "inputs": [{"name": shown(f.name), "sha256": f.sha256} for f in grid.origin.files[:50]],
        "times": {
            "start": int(grid.times[0]) / 1000, "slot": grid.slot / 1000, "count": len(grid.times),
        },
        "nodes": [_shown(node) for node in grid.nodes],
        "raw": {
            "nodes": {str(i): n for i, n in enumerate(grid.nodes) if _shown(n) != n},
            "conditions": {str(i): n for i, n in enumerate(names) if _shown(n) != n},
        },
        "neighbours": near,
        "places": _places(recovery),
        "conditions": [
            _condition(recovery, name, detail.conditions[name], near is None) for name in names
        ],
        "episodes": rows,
        "foreign": [one.as_written() for one in foreign],
    }  # fmt: skip


def _shown(name: str) -> str:
    return shown(name) or "(no name)"


def _stem(recovery: Result) -> str:
    files = recovery.grid.origin.files
    name = PurePath(files[0].name).name.split(".")[0] if files else ""
    return "".join(c for c in name if c.isalnum() or c in "-_ ")[:60].strip() or "fieldmend"


def _condition(recovery: Result, name: str, kept: Kept, alike: bool) -> dict[str, Any]:
    one = recovery.conditions[name]
    count = _Counts.of(one)
    lost, read, bad = count.states[State.LOST], count.states[State.READ], count.flags[BAD, :].sum(0)
    served = lost + read
    unit = shown(one.unit)
    title = f"{_shown(name)} ({unit or 'unit not given'})"
    low, high = _range(one)
    return {
        "name": _shown(name),
        "unit": unit,
        "title": title,
        "width": kept.width,
        "nodes": kept.nodes,
        "pieces": kept.pieces,
        "whole": _about(kept.whole),
        "fine": None if kept.fine is None else _about(kept.fine),
        "range": [low, high],
        "bounded": one.lower is not None,
        "lost": lost / np.maximum(served, 1),
        "flagged": bad / np.maximum(read, 1),
        "heard": (read > 0).astype(int),
        "states": {
            "lost": bool(lost.any()),
            "suspect": bool(count.flags[Flag.SUSPECT].any()),
            "fail": bool(count.flags[Flag.FAIL].any()),
            "unjudged": bool(count.flags[Flag.NOT_EVALUATED].any()),
            "absent": bool(count.states[State.LOST + 1 :].any()),
        },
        "neighbours": neighbour_table(recovery, one) if alike else None,
        "says": f"{_shown(name)}, nodes by time: "
        f"{percent(int(lost.sum()) / max(1, int(served.sum())))} lost and recovered, "
        f"{percent(int(bad.sum()) / max(1, int(read.sum())))} of the readings flagged.",
    }


@dataclass(frozen=True)
class _Counts:
    """Places of each node by state and by flag: kinds × nodes."""

    states: Array
    flags: Array

    @classmethod
    def of(cls, one: Recovered) -> _Counts:
        """A block of slots at a time: the record may lie in files."""
        nodes = one.flag.shape[1]
        states = np.zeros((len(State), nodes), dtype=np.int64)
        flags = np.zeros((max(Flag) + 1, nodes), dtype=np.int64)
        for rows in blocks(*one.flag.shape):
            state, flag = one.state_rows(rows), one.flag[rows]
            for kind in State:
                states[kind] += np.count_nonzero(state == kind, axis=0)
            for code in Flag:
                flags[code] += np.count_nonzero(flag == code, axis=0)
        return cls(states, flags)


def _about(packed: Packed) -> dict[str, Any]:
    return {
        "names": packed.names,
        "masks": packed.masks,
        "length": packed.length,
        "step": packed.step,
        "beside": packed.beside,
    }


def _range(one: Recovered) -> tuple[float, float]:
    """Ends of the colours: the lowest and highest half percent of the filled field are beyond."""
    every = max(1, one.observed.size // SAMPLED)
    some = one.estimate[::every], one.observed[::every], one.flag[::every]
    values = np.where(np.isin(some[2], (Flag.PASS, Flag.NOT_EVALUATED)), some[1], some[0])
    known = values[np.isfinite(values)]
    if known.size == 0:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(known, [0.5, 99.5]))
    return low, high if high > low else low + 1


def _places(recovery: Result) -> dict[str, Any] | None:
    at, degrees = positions(recovery)
    known = np.flatnonzero(np.isfinite(at).all(axis=1))[:PLACED]
    if known.size == 0:
        return None
    at = at[known]
    stretch = 1.0
    if degrees:
        at[:, 0] = unwrapped(at[:, 0])
        stretch = 1 / max(float(np.cos(np.radians(np.median(at[:, 1])))), 0.05)
    low = at.min(axis=0)
    return {
        "at": [[int(n), float(x), float(y)] for n, (x, y) in zip(known, at, strict=True)],
        "low": low.tolist(),
        "span": (at.max(axis=0) - low).tolist(),
        "stretch": stretch,
    }


def _episodes(
    recovery: Result, names: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Decision]]:
    """Rows of the table, the gravest first; and decisions about nothing that is in it."""
    found = [(c, e) for c, name in enumerate(names) for e in recovery.conditions[name].episodes]
    found.sort(key=lambda item: (-gravity(item[1]), -item[1].readings, -item[1].severity))
    rows = [_row(recovery, names, c, e) for c, e in found[:EPISODES]]
    foreign = []
    for one in recovery.options.decisions.made:
        spans = _spans(recovery, names, one)
        if not spans:
            foreign.append(one)
        elif one.verdict == REJECTED:
            rows.append(_gone(recovery, names, one, spans))
        elif not _marked(rows, names.index(one.condition), recovery, one, spans):
            foreign.append(one)
    for rank, row in enumerate(rows):
        row["rank"] = rank
    return rows, foreign


def _row(recovery: Result, names: Sequence[str], c: int, e: Episode) -> dict[str, Any]:
    flag = recovery.conditions[names[c]].flag[e.start : e.stop, e.node]
    parts = _parts(np.flatnonzero(flag == Flag.SUSPECT))
    whole = len(parts) == 1 and parts[0] == [0, e.stop - e.start]
    row = {
        "condition": c, "node": e.node, "start": e.start, "stop": e.stop, "kind": plain(e.kind, 40),
        "readings": e.readings, "sure": how_sure(certain=e.certain, confidence=e.confidence),
        "why": plain(e.explanation),
    }  # fmt: skip
    if parts and not whole:
        row["parts"] = [[a + e.start, b + e.start] for a, b in parts]
    return row


def _parts(at: Array) -> list[list[int]]:
    """Runs of slots; where there are too many, those that lie closest are joined."""
    if at.size == 0:
        return []
    gap = np.diff(at)
    wide = np.sort(gap)[-(PARTS - 1)] if gap.size >= PARTS else 2
    cut = np.flatnonzero(gap >= max(2, int(wide)))[: PARTS - 1]
    first = np.concatenate([[0], cut + 1])
    last = np.concatenate([cut, [at.size - 1]])
    return [[int(at[a]), int(at[b]) + 1] for a, b in zip(first, last, strict=True)]


def _spans(recovery: Result, names: Sequence[str], one: Decision) -> list[slice]:
    if one.condition not in names or one.node not in recovery.grid.nodes:
        return []
    return list(one.rows(recovery.grid.times, recovery.grid.slot))


def _gone(
    recovery: Result, names: Sequence[str], one: Decision, spans: list[slice]
) -> dict[str, Any]:
    """An episode that was rejected: no longer one, but the word can be taken back."""
    written = one.as_written()
    return {
        "condition": names.index(one.condition), "node": recovery.grid.nodes.index(one.node),
        "start": spans[0].start, "stop": spans[-1].stop, "kind": plain(one.kind or "fault", 40),
        "readings": 0, "sure": 0, "why": "", "was": [REJECTED, one.note],
        "gone": written.get("parts") or [[written["start"], written["end"]]],
    }  # fmt: skip


def _marked(
    rows: list[dict[str, Any]], c: int, recovery: Result, one: Decision, spans: list[slice]
) -> bool:
    """Whether a row is what was decided on; it says so then."""
    node = recovery.grid.nodes.index(one.node)
    for row in rows:
        same = row["condition"] == c and row["node"] == node and "gone" not in row
        if same and row["start"] < spans[-1].stop and spans[0].start < row["stop"]:
            row["was"] = [one.verdict if one.verdict != NOTED else NOTED, one.note]
            return True
    return False
