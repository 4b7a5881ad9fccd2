"""Files as loggers, platforms and archives write them (`layout_cases`): read right, or refused."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.records.sources.layouts import LAYOUTS
from fieldmend.records.sources.platforms import PLATFORMS
from layout_cases import CASES as LOGGERS
from layout_cases import NAN
from layout_cases_archives import CASES as ARCHIVES

CASES = [*LOGGERS, *ARCHIVES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.layout} {case.file}")
def test_a_layout(case, tmp_path):
    path = tmp_path / case.file
    path.write_text(case.text, encoding="utf-8")
    records = fm.read(path)
    assert records.origin.dialect.startswith(case.layout)
    assert records.nodes == case.nodes
    assert records.origin.set_aside == case.set_aside
    node = case.nodes[0]
    for name, expected in case.readings.items():
        column = records.conditions.index(name)
        kind = " AND kind = $kind" if records.kinds else ""
        v = "v0" if records.kinds else f"v{column}"
        rows = records.con.execute(
            f"SELECT {v} FROM used WHERE node = $node{kind} ORDER BY t",
            {"node": node} | ({"kind": name} if kind else {}),
        ).fetchall()
        got = [NAN if row[0] is None else row[0] for row in rows]
        np.testing.assert_allclose(got[: len(expected)], expected)
    first = records.con.execute("SELECT min(t) FROM used").fetchall()[0][0]
    assert str(np.datetime64(first, "us")).startswith(case.first)
    assert records.units.items() >= case.units.items()
    if case.places is not None:
        assert records.places == case.places
    records.grid(slot="1min")


def test_every_layout_has_a_file():
    told = {case.layout for case in CASES}
    rows = {name for name, _ in LAYOUTS} | {platform.name for platform in PLATFORMS}
    assert rows - told == {"positions"}  # tested with IntelLab's


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.layout} {case.file}")
def test_a_layout_cut_short_is_read_or_refused(case, tmp_path):
    """Any prefix: a clear refusal or a sound account."""
    path = tmp_path / case.file
    raw = case.text.encode()
    for length in np.linspace(0, len(raw), 6).astype(int):
        path.write_bytes(raw[:length])
        try:
            origin = fm.read(path).origin
        except fm.InputError:
            continue
        assert origin.read == origin.used + origin.duplicates + origin.set_aside
