"""What a notebook shows of a recovery: a table of counts, and who was heard when as a picture."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fieldmend.flags import Flag
from fieldmend.report.palette import LIGHT
from fieldmend.text import figure, percent, shown, stretch

if TYPE_CHECKING:
    from fieldmend.grid import Array
    from fieldmend.result.recovered import Recovered
    from fieldmend.result.result import Result

WIDEST, TALLEST = 480, 120  # cells of a picture
PICTURES = 3  # conditions that get one: the first
WORDS = ("heard", "no reading", "suspect", "beyond limits")
COLOURS = tuple(LIGHT[name] for name in ("seen", "lost", "suspect", "fail"))


def page(recovery: Result) -> str:
    """HTML that stands alone: some kilobytes, whatever the size of the record."""
    slots, nodes = recovery.grid.shape
    times = recovery.grid.times
    span = f"{stretch(int(times[0]), int(times[-1]) + recovery.grid.slot)} UTC"
    head = "".join(
        f"<th>{word}</th>"
        for word in ("condition", "readings", "missing", "suspect", "error", "line")
    )
    rows = "".join(_row(one) for one in recovery.conditions.values())
    named = list(recovery.conditions.values())[:PICTURES]
    return (
        f"<div><strong>Recovery</strong>: {nodes:,} nodes × {slots:,} slots, {escape(span)}"
        f"<table><tr>{head}</tr>{rows}</table>"
        f"{''.join(_picture(one) for one in named)}{_legend()}</div>"
    )


def _row(one: Recovered) -> str:
    heard = int(np.count_nonzero(one.flag != Flag.MISSING))
    bad = int(np.count_nonzero((one.flag == Flag.SUSPECT) | (one.flag == Flag.FAIL)))
    score = one.holdout
    errors = ("-", "-") if score is None else (figure(score.method.mae), figure(score.line.mae))
    unit = f" ({one.unit})" if one.unit else ""
    missing = percent(1 - heard / max(1, one.flag.size))
    cells = (shown(one.name) + unit, f"{heard:,}", missing, f"{bad:,}", *errors)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _picture(one: Recovered) -> str:
    cells = squeezed(one.flag)
    data = base64.b64encode(png(cells)).decode()
    what = f"{one.name}: nodes down, time across"
    size = f"width:{WIDEST}px;height:{max(48, len(cells))}px;image-rendering:pixelated"
    return (
        f'<figure style="margin:0.5em 0"><img style="{size}" alt="{escape(shown(what))}" '
        f'src="data:image/png;base64,{data}"><figcaption>{escape(shown(what))}</figcaption></figure>'
    )


def _legend() -> str:
    return "<p>" + " ".join(
        f'<span style="border-left:1em solid {colour};padding-left:0.3em">{word}</span>'
        for word, colour in zip(WORDS, COLOURS, strict=True)
    ) + "</p>"  # fmt: skip


def squeezed(flag: Array) -> Array:
    """Flags as 0 to 3, nodes × time, the worst of what shares a cell; lost only where most is.

    Examples
    --------
    >>> squeezed(np.array([[1, 9], [3, 9]], dtype=np.int8)).tolist()
    [[0, 2], [1, 1]]
    """
    slots, nodes = flag.shape
    across = np.linspace(0, slots, min(slots, WIDEST) + 1).astype(int)
    down = np.linspace(0, nodes, min(nodes, TALLEST) + 1).astype(int)

    def shares(mask: Array) -> Array:
        summed = np.add.reduceat(mask.astype(np.int32), across[:-1], axis=0)
        summed = np.add.reduceat(summed, down[:-1], axis=1)
        return np.asarray(summed / np.outer(np.diff(across), np.diff(down)))

    out = np.where(shares(flag == Flag.MISSING) > 0.5, 1, 0)
    out[shares(flag == Flag.SUSPECT) > 0] = 2
    out[shares(flag == Flag.FAIL) > 0] = 3
    return np.ascontiguousarray(out.T.astype(np.uint8))


def png(cells: Array) -> bytes:
    """A picture of the cells in the colours of the report: indexed PNG, one byte per cell."""
    height, width = cells.shape
    palette = b"".join(bytes.fromhex(colour[1:]) for colour in COLOURS)
    rows = b"".join(b"\0" + row.tobytes() for row in cells)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
