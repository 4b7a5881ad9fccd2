"""The report: a recovery as one HTML file that needs no network, or figure by figure.

`contents` (what is said), `figures` (what is drawn), `page` (the template around both), with
`wording`, `palette`, `downsample` and `encoding` beneath; `plotting` for notebooks.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from fieldmend.export.writing import whole
from fieldmend.report.page import render
from fieldmend.report.plotting import plot

if TYPE_CHECKING:
    from fieldmend.result.result import Result

__all__ = ["plot", "write_report"]


def write_report(recovery: Result, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write the report: one HTML file, at most 6 MB, that needs no network.

    The same recovery gives the same bytes. The file appears whole or not at all.

    Parameters
    ----------
    recovery
    path
    force
        Replace a file that is there.

    Raises
    ------
    OutputError
        If the file is there and `force` is not set, or it cannot be written.
    """
    with whole(path, force=force) as part:
        part.write_bytes(render(recovery))
