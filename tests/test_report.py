"""The report: what it says, how it is thinned, its size, its bytes, and how a browser takes it."""

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.export import OutputError
from fieldmend.faults import Episode
from fieldmend.grid import FileRead, Origin, Rejects
from fieldmend.metrics import GapErrors, HiddenErrors
from fieldmend.records.sources.text import Reject
from fieldmend.recovery import Holdout, Options, Recovered, Recovery
from fieldmend.report import plot, write_report
from fieldmend.report.downsample import Cells, envelope, extremes, mean_cells, state_cells
from fieldmend.report.figures import FIGURES
from fieldmend.report.figures.curves import curve
from fieldmend.report.figures.heatmaps import states
from fieldmend.report.figures.neighbours import neighbours_of
from fieldmend.report.figures.places import places
from fieldmend.report.page import LIMIT, render
from fieldmend.report.palette import DARK, LIGHT, TENTHS
from fieldmend.report.wording import labels
from fieldmend.result.holdout import GapScore

HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}",
    "line\u2028separator",
    "right\u202eleft",
    "\x1b[31mred",
    "<b>bold</b> & co",
    "var(--text)",
    "%{y} <a href='http://example.org'>go</a>",
    "x" * 300,
)


def scored(error, line, covered=None):
    """A hold-out with these mean absolute errors."""

    def one(mae):
        rows = tuple(
            GapErrors(a, b, n, mae * s, mae * s, 0.1)
            for a, b, n, s in ((1, 1, 300, 0.5), (2, 3, 200, 0.8), (32, None, 1234, 1.2))
        )
        return HiddenErrors(1734, mae, 1.3 * mae, 0.1, rows)

    classes = tuple(
        GapScore(
            o.shortest, o.longest, 0.3, 0.0, o.count, o.mae, 0.02, o.rmse, s.mae, s.rmse, covered
        )
        for o, s in zip(one(error).by_gap, one(line).by_gap, strict=True)
    )
    return Holdout(one(error), one(line), covered, 0.01, 0.01, classes=classes)


def recovered(shape, name, unit="°C", *, seed=0, intervals=False, lost=0.2, suspects=5):
    """One condition made from a smooth field, without any solving."""
    rng = np.random.default_rng(seed)
    slots, nodes = shape
    day = np.sin(np.arange(slots) * 2 * np.pi / 288)[:, None]
    field = 20 + 5 * day * rng.uniform(0.5, 1.5, nodes) + rng.normal(0, 1, nodes)
    observed = field + 0.1 * rng.standard_normal(shape)
    flag = np.ones(shape, dtype=np.int8)
    episodes = []
    for i in range(min(suspects, nodes)):
        start = min(3 + i * (slots // (suspects + 1)), slots - 1)
        stop = min(start + 1 + 3 * i, slots)
        observed[start:stop, i] += 8
        flag[start:stop, i] = 3
        kind = ("spike", "burst", "drift", "stuck", "dead node")[i % 5]
        episodes.append(
            Episode(i, name, start, stop, kind, stop - start, 10.0 + i, 0.9, "reads 8 °C above")
        )
    flag[rng.random(shape) < lost] = 9
    observed[flag == 9] = np.nan
    return Recovered(
        name=name, unit=unit, observed=observed, estimate=field,
        lower=field - 0.3 if intervals else None, upper=field + 0.3 if intervals else None,
        anomaly=np.where(flag == 3, observed - field, 0.0), flag=flag, scale=np.full(nodes, 0.1),
        method="ls", rank=3, gap=1e-7, status="converged", choice="", holdout=scored(0.2, 0.4),
        episodes=tuple(episodes), notes=(),
    )  # fmt: skip


def network(shape=(600, 12), conditions=("temperature", "humidity"), *, nodes=None, **more):
    """A recovery of made-up conditions, with places and an origin."""
    made = {name: recovered(shape, name, seed=i, **more) for i, name in enumerate(conditions)}
    names = tuple(nodes or (f"mast {n + 1}" for n in range(shape[1])))
    grid = fm.Grid(
        {name: one.observed for name, one in made.items()},
        names,
        1_078_358_400_000_000 + 300_000_000 * np.arange(shape[0], dtype=np.int64),
        300_000_000,
        {name: {"x": 3.0 * (i % 20), "y": 4.0 * (i // 20)} for i, name in enumerate(names)},
        dict.fromkeys(conditions, "°C"),
        Origin((FileRead("readings.csv", "ab" * 32, 10, "comma-separated", 99),), read=99, used=99),
    )
    return Recovery(grid, made, Options(command="fieldmend recover readings.csv"))


def changed(recovery, condition="temperature", **what):
    """The same recovery with other parts in one condition."""
    one = replace(recovery.conditions[condition], **what)
    return replace(recovery, conditions={**recovery.conditions, condition: one})


def words(recovery):
    """The page without its scripts and styles, as text."""
    return words_of(render(recovery).decode())


def words_of(page):
    """The same of any piece of HTML."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


# ---------------------------------------------------------------- what it says


def test_headline_counts_what_the_flags_say():
    rec = network(conditions=("temperature",))
    flag = rec["temperature"].flag
    lost, suspect, seen = ((flag == 9).sum(), (flag == 3).sum(), (flag != 9).sum())
    said = (
        f"12 nodes: {lost:,} lost temperature readings recovered, {suspect:,} of {seen:,} suspect"
    )
    assert said in words(rec)


def test_a_straight_line_that_wins_is_named():
    rec = changed(network(), "humidity", holdout=scored(0.6, 0.3))
    text = words(rec)
    assert "closer than a straight line for temperature, the line for humidity." in text
    assert "a straight line is 2 times closer" in text
    rec = changed(rec, "temperature", holdout=scored(0.6, 0.3))
    assert "here a straight line between a node’s own readings comes closer" in words(rec)


def test_without_a_holdout_there_is_no_score_and_no_empty_section():
    rec = network()
    for name in rec.conditions:
        rec = changed(rec, name, holdout=None)
    text = words(rec)
    assert "No readings were hidden to score the estimates" in text
    assert "by gap length" not in text
    assert "verdict" not in text


def test_intervals_their_coverage_and_the_choice_appear_when_they_are_there():
    without = words(network())
    rec = changed(
        network(intervals=True),
        holdout=scored(0.2, 0.4, covered=0.912),
        choice="The low-rank field won: gaps are long.",
    )
    text = words(rec)
    assert "inside the 90 % interval" in text
    assert "91.2 %" in text
    assert "The low-rank field won: gaps are long." in text
    assert "interval" not in without
    names = [trace.get("name") for trace in curve(rec, "temperature", 0).data]
    assert "90 % interval" in names
    assert "90 % interval" not in [t.get("name") for t in curve(network(), "temperature", 0).data]


def test_nothing_suspect_gets_a_kind_sentence():
    text = words(network(suspects=0))
    assert "Nothing looks suspect: every reading that could be judged agrees" in text
    assert "none suspect" in text


def test_failed_limits_get_their_own_column_and_card():
    rec = network()
    flag = rec["temperature"].flag.copy()
    flag[flag == 3] = 4
    text = words(changed(rec, flag=flag, episodes=()))
    assert "outside the limits" in text
    assert "beyond the limits that were set" in text
    assert "beyond the limits" not in words(rec)


def test_no_places_no_map():
    rec = network()
    page = render(replace(rec, grid=replace(rec.grid, places=None))).decode()
    assert 'id="map"' not in page
    assert 'href="#map"' not in page
    assert 'id="map"' in render(rec).decode()


def test_a_condition_without_a_reading_is_said_and_not_drawn():
    rec = network()
    shape = rec.grid.shape
    nothing = np.full(shape, np.nan)
    rec = changed(
        rec, "humidity", observed=nothing, estimate=nothing, flag=np.full(shape, 9, np.int8),
        anomaly=np.zeros(shape), method="none", gap=np.nan, holdout=None, episodes=(),
        notes=("no reading at all: nothing to recover",),
    )  # fmt: skip
    text = words(rec)
    assert "No reading of humidity can be used" in text
    assert "humidity: no reading at all: nothing to recover" in text
    lost = (rec["temperature"].flag == 9).sum()
    assert f"{lost:,} of {lost + nothing.size:,} lost" in text


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (40, 1), (2, 2)])
def test_tiny_networks_have_a_report(shape):
    assert render(network(shape, ("temperature",), lost=0.0)).startswith(b"<!doctype html>")


def test_a_real_recovery_has_a_report():
    net = fm.simulate.network(slots=120, nodes=8, seed=1)
    rec = fm.recover(fm.Grid.of(net.readings, condition="temperature", unit="°C"))
    text = words(rec)
    assert "8 nodes:" in text
    assert rec.summary()["conditions"]["temperature"]["holdout"]["verdict"] in text


def test_rejects_notes_warnings_and_origin_are_there():
    rec = network()
    listed = tuple(Reject("readings.csv", 1000 + i, "no number", f"text {i}") for i in range(80))
    origin = replace(
        rec.grid.origin, read=1299, set_aside=1200,
        rejects=Rejects(listed, {"clock": 200, "no number": 1000}),
        notes=("slot 5 min, found",), warnings=("mast 2 and mast 3 hold the same data",),
        suspects=("exactly 85.0 in 412 readings of 3 nodes",),
    )  # fmt: skip
    text = words(replace(rec, grid=replace(rec.grid, origin=origin)))
    for said in (
        "1,200 rows were set aside", "no number 1,000 clock 200", "The first 50 of them",
        "1,000 no number text 0", "slot 5 min, found", "mast 2 and mast 3 hold the same data",
        "exactly 85.0 in 412 readings of 3 nodes", "fieldmend recover readings.csv", "ab" * 32,
        f"fieldmend {fm.__version__}", f"numpy {np.__version__}", "set aside 1,200",
        "method auto, level 0.9", "1.0e-07 converged",
    ):  # fmt: skip
        assert said in text, said
    assert "text 50" not in text


def test_worst_episodes_lead_to_their_node_and_time():
    rec = network(shape=(600, 30), suspects=9)
    page = render(rec).decode()
    links = re.findall(r'class="who"><button[^>]* data-go="([\d ]+)"', page)
    assert len(links) == 9  # one for each node, over both conditions
    names = list(rec.conditions)
    for link in links:
        condition, node, start, stop = (int(part) for part in link.split())
        assert any(
            e.node == node and start <= e.start < stop for e in rec[names[condition]].episodes
        )


def test_more_conditions_than_have_room_are_said():
    rec = network((60, 4), tuple(f"c{i}" for i in range(15)))
    assert "can be looked at here" not in words(rec)
    rec = network((20, 4), tuple(f"c{i}" for i in range(203)))
    text = words(rec)
    assert "The 200 conditions with most flagged readings can be looked at here; 3 more" in text


def test_words_are_those_of_the_field_not_of_the_model():
    rec = changed(network(), choice="own wandering 0 % of a node's variance")
    page = render(rec).decode()
    first, _, rest = page.partition('<section id="made"')
    for word in ("wandering", "variance", "singular", "rank", "duality", "confidence"):
        assert word not in words_of(first), word
    assert "own wandering" in words_of(rest)  # for the record, in what can be opened


# ---------------------------------------------------------------- thinning


def test_extremes_keep_the_lowest_and_highest_and_the_gaps():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(10_007)
    values[3000:4000] = np.nan
    values[77], values[9000] = -50, 60
    at = extremes(values, 500)
    assert len(at) <= 500
    assert (np.diff(at) > 0).all()
    assert {77, 9000} <= set(at.tolist())
    width = -(-len(values) // 250)
    for first in range(0, len(values), width):
        part, kept = values[first : first + width], at[(at >= first) & (at < first + width)]
        if np.isnan(part).all():
            assert np.isnan(values[kept]).all()
            assert len(kept) == 1
        else:
            assert values[kept].min() == np.nanmin(part)
            assert values[kept].max() == np.nanmax(part)
    assert extremes(values[:400], 500).tolist() == list(range(400))


def test_an_envelope_never_narrows_an_interval():
    values = np.random.default_rng(1).standard_normal(5003)
    slots, low = envelope(values, 300, np.fmin)
    assert len(slots) <= 300
    drawn = np.interp(np.arange(len(values)), slots, low)
    inside = np.isin(np.arange(len(values)), slots)
    assert (drawn[inside] <= values[inside]).all()
    assert low.min() == values.min()


def test_cells_show_the_worst_state_and_round_losses_up():
    rng = np.random.default_rng(2)
    flag = rng.choice([1, 1, 1, 1, 1, 2, 9], size=(103, 17)).astype(np.int8)
    flag[50, 3], flag[51, 3], flag[90, 16] = 3, 4, 3
    cells = Cells(10, 4)
    codes = state_cells(flag, cells)
    assert codes.shape == (5, 11)
    for row in range(5):
        for column in range(11):
            part = flag[10 * column : 10 * column + 10, 4 * row : 4 * row + 4]
            lost = (part == 9).sum() / part.size
            want = int(np.ceil(round(lost * TENTHS, 9)))
            if want == 0 and (part == 2).any():
                want = TENTHS + 1
            if (part == 3).any():
                want = TENTHS + 2
            if (part == 4).any():
                want = TENTHS + 3
            assert codes[row, column] == want


def test_means_of_cells_leave_out_what_is_not_there():
    values = np.arange(12.0).reshape(4, 3)
    values[0, 0] = np.nan
    values[2:, 2] = np.nan
    got = mean_cells(values, Cells(2, 1))
    np.testing.assert_array_equal(got, [[3, 7.5], [2.5, 8.5], [3.5, np.nan]])


@pytest.mark.parametrize("shape", [(10_000, 600), (744, 614), (100, 5000), (5, 3), (10**6, 2)])
def test_cells_stay_within_their_number(shape):
    cells = Cells.within(shape, 30_000)
    slots, nodes = cells.starts(shape)
    assert len(slots) * len(nodes) <= 30_000
    assert len(slots) * len(nodes) >= min(30_000, shape[0] * shape[1]) / 50
    assert Cells.within((100, 50), 30_000).single


def test_captions_say_how_much_was_joined():
    drawing = states(network((3000, 12), ("temperature",)), "temperature", cells=1200)
    assert "Each column is 30 slots (2 h 30 min)." in drawing.caption
    assert "The worst state in a cell is shown" in drawing.caption
    drawing = states(network((50, 12), ("temperature",)), "temperature")
    assert "Each cell is one slot of 5 min." in drawing.caption
    long = network((9000, 3), ("temperature",))
    said = curve(long, "temperature", 0, points=2000).caption
    assert "Of every 9 slots the lowest and the highest reading are drawn." in said


def test_a_reading_far_away_does_not_flatten_the_curve():
    rec = network((600, 4), ("temperature",), suspects=1)
    observed = rec["temperature"].observed.copy()
    observed[rec["temperature"].flag == 3] = -8983.0
    drawing = curve(changed(rec, observed=observed), "temperature", 0)
    low, high = drawing.layout["yaxis"]["range"]
    assert -40 < low < high < 60
    edge = next(t for t in drawing.data if t.get("marker", {}).get("symbol") == "arrow-down")
    assert edge["y"].min() >= low
    assert edge["customdata"].min() == -8983.0


def test_neighbours_are_the_nearest_or_else_the_most_alike():
    rec = network((300, 30), ("temperature",))
    near = neighbours_of(rec, rec["temperature"], 5, 2)
    assert set(near.nodes) == {4, 6}
    rec = replace(rec, grid=replace(rec.grid, places=None))
    estimate = np.random.default_rng(0).standard_normal((300, 30))
    estimate[:, 9] = 2 * estimate[:, 5] + 1
    alike = neighbours_of(rec, replace(rec["temperature"], estimate=estimate), 5, 3)
    assert alike.nodes[0] == 9
    assert "alike" in alike.why


def test_the_map_is_not_torn_at_the_date_line():
    rec = network((60, 4), ("temperature",))
    at = {"mast 1": 179.0, "mast 2": -179.0, "mast 3": -170.0, "mast 4": 170.0}
    where = {name: {"lat": 50.0, "lon": lon} for name, lon in at.items()}
    drawing = places(replace(rec, grid=replace(rec.grid, places=where)), "temperature")
    assert np.ptp(drawing.data[0]["x"]) == 20
    assert drawing.layout["yaxis"]["scaleratio"] == pytest.approx(1 / np.cos(np.radians(50)))


# ---------------------------------------------------------------- words and colours


def test_labels_are_escaped_for_plotly_and_stay_apart():
    got = labels(["<b>1</b>", "a" * 50, "a" * 51])
    assert got[0] == "&lt;b&gt;1&lt;/b&gt;"
    assert len(set(got)) == 3


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_meet_wcag_aa(theme):
    for ground in ("page", "card"):
        for text in ("text", "muted", "link"):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        for mark in ("observed", "estimate", "neighbour", "straight", "suspect", "focus"):
            assert contrast(theme[mark], theme[ground]) >= 3, (mark, ground)
        for i in range(6):
            assert contrast(theme[f"series-{i}"], theme[ground]) >= 3, i


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_states_can_be_told_apart_without_hue(theme):
    order = ("seen", f"lost-{TENTHS}", "suspect", "fail")
    for weaker, stronger in itertools.pairwise(order):
        assert contrast(theme[weaker], theme[stronger]) >= 1.6, (weaker, stronger)
    bright = [luminance(theme[state]) for state in order]
    assert bright == sorted(bright) or bright == sorted(bright, reverse=True)
    assert contrast(theme["seen"], theme["lost-1"]) > 1.1


# ---------------------------------------------------------------- one by one, for notebooks


def test_every_figure_has_a_section_of_the_page_and_a_word_in_the_docs():
    root = Path(__file__).parents[1]
    template = (root / "src/fieldmend/report/assets/report.html.j2").read_text("utf-8")
    told = (root / "docs/report.md").read_text("utf-8")
    for name, figure in FIGURES.items():
        if figure.section:
            assert f'<section id="{figure.section}"' in template, name
        if figure.section in ("statistics", "hidden"):
            assert f'p.of("{figure.section}")' in template, name
        assert figure.about != "all" or figure.section == "statistics", name
        assert f"`{name}`" in told, name
        assert f"``{name}``" in plot.__doc__, name


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_can_be_had_alone(name, theme):
    figure = network(intervals=True).plot(name, "humidity", theme=theme)
    assert type(figure).__name__ == "Figure"
    assert len(figure.data) >= 1
    assert "var(--" not in figure.to_json()


def test_words_of_states_reach_the_notebook():
    rec = network((50, 3), ("temperature",))
    figure = plot(rec)
    flag = rec["temperature"].flag.T
    assert (figure.data[0].text[flag == 9] == "lost, recovered").all()
    assert (figure.data[0].text[flag == 3] == "suspect").all()


def test_names_that_are_not_there_are_answered_with_those_that_are():
    rec = network()
    with pytest.raises(ValueError, match="no figure 'heat'; there are heatmap, values, curve"):
        plot(rec, "heat")
    with pytest.raises(ValueError, match="no condition 'light'; there are temperature, humidity"):
        plot(rec, "heatmap", "light")
    with pytest.raises(ValueError, match="no node '99'; there are mast 1, mast 2"):
        plot(rec, "curve", node=99)
    with pytest.raises(ValueError, match="no theme 'blue'; there are light, dark"):
        plot(rec, theme="blue")
    nowhere = replace(rec, grid=replace(rec.grid, places=None))
    with pytest.raises(ValueError, match="needs places of nodes"):
        plot(nowhere, "map")
    with pytest.raises(ValueError, match="needs lost readings"):
        plot(network(lost=0.0), "gaps")


# ---------------------------------------------------------------- the file


def test_a_file_is_replaced_only_by_force(tmp_path):
    target = tmp_path / "report.html"
    rec = network((40, 3), ("temperature",))
    target.write_text("mine")
    with pytest.raises(OutputError, match="is there already"):
        rec.report(target)
    assert target.read_text() == "mine"
    write_report(rec, target, force=True)
    assert target.read_bytes() == render(rec)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(OutputError, match="no such folder"):
        write_report(rec, tmp_path / "no" / "where" / "report.html")


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="no space"):
        write_report(network((40, 3), ("temperature",)), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_same_recovery_same_bytes_in_every_process(tmp_path):
    code = (
        "import sys, test_report as t; "
        "t.write_report(t.network((300, 8), intervals=True), sys.argv[1])"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            check=True, cwd=os.path.dirname(__file__),
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": f"Etc/GMT+{seed}",
                 "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.long
def test_a_large_network_fits_the_limit():
    rec = network((10_000, 600), ("temperature", "humidity", "light"), intervals=True)
    assert LIMIT / 2 < len(render(rec)) <= LIMIT == 6_000_000


def test_long_hostile_names_fit_the_limit():
    names = [f"{'<&>' * 40}{i}" for i in range(700)]
    rec = network((60, 700), tuple(f"{'&' * 60}{i}" for i in range(12)), nodes=names)
    assert len(render(rec)) <= LIMIT


def test_values_near_the_largest_float_do_not_break_it():
    rec = network((60, 4), ("temperature",))
    observed = rec["temperature"].observed.copy()
    observed[5:8, 0] = [1.7e308, -1.7e308, 1.7e308]
    assert render(changed(rec, observed=observed))
    assert render(changed(rec, observed=observed, estimate=observed * 0 + 1.7e308))


class Attributes(HTMLParser):
    """Every address that an element of the page names."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href", "action", "srcset", "data")]


def test_nothing_in_the_page_points_outside():
    page = render(network(nodes=[*HOSTILE, "a", "b"])).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.split(";")[1]
    found = Attributes()
    found.feed(page)
    assert len(found.addresses) > 5
    for address in found.addresses:
        assert address.startswith(("#", "data:")), address
    assert "url(" not in page
    assert "@import" not in page


def test_data_cannot_leave_its_script_element():
    page = render(network(nodes=[*HOSTILE, "a", "b"])).decode()
    payload = re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)[1]
    assert not set(payload) & set("<>&\u2028\u2029")
    assert payload.isascii()
    assert len(json.loads(payload)["figures"]) > 5
