"""The report in a real browser: any node, one axis of time, decisions, files, paper, phone."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.grid import FileRead, Rejects
from fieldmend.records.sources.text import Reject
from fieldmend.recovery.decisions import read_decisions
from fieldmend.report import write_report
from fieldmend.report.page import LIMIT
from fieldmend.report.palette import DARK, LIGHT
from test_decisions import grid as faulty
from test_report import HOSTILE, changed, network

FIRST_FIGURE = 1.5  # seconds of CPU


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with everything in it, names of the worst kind included."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    nodes = [*HOSTILE, "a", "b"]
    rec = network((900, 12), ("temperature", HOSTILE[1]), nodes=nodes, intervals=True)
    # A node is listed once, over its conditions: the second one's faults are at other nodes.
    elsewhere = tuple(replace(e, node=e.node + 6) for e in rec[HOSTILE[1]].episodes)
    rec = changed(rec, HOSTILE[1], episodes=elsewhere)
    listed = tuple(Reject(name, i, "no number", name) for i, name in enumerate(HOSTILE))
    origin = replace(
        rec.grid.origin,
        files=(FileRead(HOSTILE[0], "ab" * 32, 10, HOSTILE[1], 99),),
        rejects=Rejects(listed, {HOSTILE[2]: 5}),
        notes=HOSTILE, warnings=HOSTILE, suspects=HOSTILE,
    )  # fmt: skip
    units = dict.fromkeys(rec.conditions, "<i>°C</i>")
    grid = replace(rec.grid, origin=origin, units=units)
    for name in rec.conditions:
        said = tuple(replace(e, explanation=HOSTILE[1]) for e in rec[name].episodes)
        rec = changed(rec, name, unit="<i>°C</i>", episodes=said, choice=HOSTILE[1])
    rec = replace(rec, grid=grid, options=replace(rec.options, command=HOSTILE[1]))
    write_report(rec, file)
    return file, rec


def written(tmp_path, rec):
    file = tmp_path / "report.html"
    write_report(rec, file)
    return file


DRAWN = """[...document.querySelectorAll('canvas')].filter(c => c.offsetParent).map(c => {
  c.scrollIntoView(); return c; }).length"""
BLANK = """[...document.querySelectorAll('canvas')].filter(c => c.offsetParent).filter(c => {
  const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  for (let i = 3; i < p.length; i += 4) if (p[i]) return false; return true;
  }).map(c => c.outerHTML)"""


def see_all(chromium):
    """Scroll past everything, as a reader does: figures are drawn when they come into sight."""
    chromium.run(
        "(async () => { for (let y = 0; y < document.documentElement.scrollHeight; y += 400) {"
        " scrollTo(0, y); await new Promise((done) => setTimeout(done, 40)); } })()"
    )
    chromium.wait(
        "document.querySelectorAll('canvas:not([data-drawn])').length === 0 || "
        "[...document.querySelectorAll('canvas:not([data-drawn])')].every(c => !c.offsetParent)"
    )


def test_all_is_drawn_quietly_and_without_network(chromium, page):
    chromium.open(page[0])
    assert chromium.run("document.documentElement.dataset.figures") == "drawn"
    for index in range(len(page[1].conditions)):
        chromium.run(f"fieldmend.choose(3, {index})")
        see_all(chromium)
        assert chromium.run(DRAWN) > 8
        assert chromium.complaints == []
        assert chromium.run(BLANK) == []
        chromium.complaints.clear()  # of the browser, about our looking at pixels
    assert chromium.requests == []
    assert chromium.dialogs == []


def test_hostile_names_are_text(chromium, page):
    chromium.open(page[0])
    see_all(chromium)
    assert chromium.run("typeof window.pwned") == "undefined"
    assert chromium.run("document.querySelectorAll('img, a[href^=http], main i').length") == 0
    assert chromium.run("[...document.querySelectorAll('main b')].map(b => b.textContent)") == [
        "Recovered", "Accept", "Reject"
    ]  # fmt: skip
    text = chromium.run("document.body.innerText")
    for name in ("<script>window.pwned=1</script>", "{{7*7}}", "line\\u2028separator",
                 "right\\u202eleft", "\\x1b[31mred", "<b>bold</b> & co"):  # fmt: skip
        assert name in text, name
    chromium.page.fill("#node", "%{y}")
    assert "<a href=" in chromium.run("document.getElementById('nodes').textContent")
    assert chromium.run("document.querySelectorAll('#nodes a').length") == 0
    assert chromium.dialogs == []


SERIES = """(async () => { const c = fieldmend.conditions[0]; await fieldmend.load(c);
  const s = fieldmend.seriesOf(c, %d); return {width: s.width,
  pieces: s.pieces.map(p => [p.first, p.count]),
  state: Array.from(s.state), ...Object.fromEntries(
  ['low', 'high', 'least', 'most', 'lower', 'upper', 'filled']
  .map(k => [k, Array.from(s[k], v => Number.isNaN(v) ? null : v)]))}; })()"""


def test_a_browser_unpacks_what_was_packed(chromium, page):
    file, rec = page
    chromium.open(file)
    one = rec["temperature"]
    for node in (0, 4, 11):
        got = chromium.run(SERIES % node)
        assert got["width"] == 1
        for name, array in (("low", one.estimate), ("least", one.observed), ("upper", one.upper),
                            ("lower", one.lower), ("filled", one.filled)):  # fmt: skip
            # To a twentieth of the noise, which is 0.1; the step is a power of ten.
            np.testing.assert_allclose(
                np.array(got[name], dtype=float), array[:, node], atol=0.0005001
            )
        flags = {0: 9, 1: 1, 2: 2, 3: 3, 4: 4}
        assert [flags[s & 7] for s in got["state"]] == one.flag[:, node].tolist()


def test_coarse_stretches_hide_no_extreme_and_say_so(chromium, tmp_path):
    rec = network((60_000, 40), ("temperature", "humidity"), intervals=True, suspects=3)
    observed = rec["temperature"].observed.copy()
    observed[31_234, 39] = 99.0
    file = written(tmp_path, changed(rec, observed=observed))
    assert LIMIT / 2 < file.stat().st_size <= LIMIT
    chromium.open(file)
    got = chromium.run(SERIES % 39)
    width = got["width"]
    assert width > 1
    assert abs(got["most"][31_234 // width] - 99.0) < 0.01
    first = np.arange(0, 60_000, width)
    one = rec["temperature"]
    for name, pick, array in (("low", np.fmin, one.estimate), ("upper", np.fmax, one.upper)):
        want = pick.reduceat(array[:, 39], first)
        np.testing.assert_allclose(np.array(got[name], dtype=float), want, atol=0.0005001)
    chromium.run("fieldmend.choose(39)")
    chromium.wait("document.getElementById('curve').dataset.drawn === '0:39'")
    said = chromium.run("document.getElementById('level').textContent")
    assert said.startswith(f"Stretches of {width} slots (")
    # The worst are there slot by slot around their episodes, and that is said too.
    worst = rec["temperature"].episodes[2]
    pieces = chromium.run(SERIES % worst.node)["pieces"]
    assert any(a <= worst.start and worst.stop <= a + n for a, n in pieces)
    chromium.run(
        f"fieldmend.goTo({{condition: 0, node: {worst.node}, start: {worst.start}, "
        f"stop: {worst.stop}}})"
    )
    chromium.wait(f"document.getElementById('curve').dataset.drawn === '0:{worst.node}'")
    assert "Every slot of 5 min" in chromium.run("document.getElementById('level').textContent")


# ---------------------------------------------------------------- choosing


def chosen(chromium):
    return chromium.run("[fieldmend.state.condition, fieldmend.state.node]")


def test_a_node_is_found_by_a_part_of_its_name_with_keys_alone(chromium, tmp_path):
    chromium.open(written(tmp_path, network((200, 30))))
    chromium.page.focus("#node")
    chromium.page.keyboard.type("t 2")
    listed = chromium.run("[...document.querySelectorAll('#nodes li')].map(l => l.textContent)")
    assert listed == ["mast 2", *(f"mast {n}" for n in range(20, 30))]
    assert chromium.run("document.getElementById('node').getAttribute('aria-expanded')") == "true"
    chromium.page.keyboard.press("ArrowDown")
    chromium.page.keyboard.press("ArrowDown")
    active = chromium.run("document.getElementById('node').getAttribute('aria-activedescendant')")
    assert chromium.run(f"document.getElementById('{active}').textContent") == "mast 20"
    chromium.page.keyboard.press("Enter")
    assert chosen(chromium) == [0, 19]
    chromium.wait("document.getElementById('curve').dataset.drawn === '0:19'")
    assert (
        chromium.run("document.getElementById('curve-title').textContent")
        == "Node mast 20: temperature"
    )
    assert "node=mast+20" in chromium.run("location.hash")
    chromium.page.click("#next-node")
    assert chosen(chromium) == [0, 20]
    chromium.page.fill("#node", "nowhere")
    assert "no such node" in chromium.run("document.getElementById('nodes').textContent")


def test_a_click_on_heatmap_map_and_episode_chooses(chromium, tmp_path):
    rec = network((200, 30))
    chromium.open(written(tmp_path, rec))
    box = chromium.run(
        "(() => { const h = document.getElementById('heat'); h.scrollIntoView({block: 'center'});"
        "const b = h.getBoundingClientRect(); return [b.left, b.top, ...h.rows, ...h.plot]; })()"
    )
    chromium.page.mouse.click(box[0] + box[4] + 50, box[1] + box[2] + (box[3] - box[2]) * 17.5 / 30)
    assert chosen(chromium) == [0, 17]
    chromium.run("document.getElementById('map').scrollIntoView({block: 'center'})")
    at = chromium.run(
        "(() => { const m = document.getElementById('map'), b = m.getBoundingClientRect();"
        "const [n, x, y] = m.places[8]; return [b.left + x, b.top + y]; })()"
    )
    chromium.page.mouse.click(*at)
    assert chosen(chromium) == [0, 8]
    worst = rec["humidity"].episodes[4]
    chromium.page.select_option("#of-condition", "1")
    chromium.page.select_option("#of-kind", str(worst.kind))
    chromium.page.click("#episodes-body th button")
    assert chosen(chromium) == [1, worst.node]
    assert chromium.run("document.getElementById('condition').value") == "1"
    low, high = chromium.run("[fieldmend.view.from, fieldmend.view.to]")
    assert low < worst.start < worst.stop < high
    assert high - low < 100


def test_an_address_with_a_node_opens_there(chromium, tmp_path):
    file = written(tmp_path, network((200, 30)))
    chromium.open(file)
    chromium.run("location.hash = 'node=mast+7&condition=humidity'")
    chromium.wait("fieldmend.state.node === 6")
    assert chosen(chromium) == [1, 6]


def test_time_is_one_axis_for_all(chromium, tmp_path):
    chromium.open(written(tmp_path, network((2000, 5), ("a", "b", "c"))))
    chromium.run("document.getElementById('curve').scrollIntoView({block: 'center'})")
    box = chromium.run(
        "(() => { const c = document.getElementById('curve'), b = c.getBoundingClientRect();"
        "return [b.left + c.plot[0], b.left + c.plot[1], b.top + 150]; })()"
    )
    before = chromium.run("document.getElementById('heat').toDataURL()")
    wide = box[1] - box[0]
    chromium.page.mouse.move(box[0] + 0.25 * wide, box[2])
    chromium.page.mouse.down()
    chromium.page.mouse.move(box[0] + 0.5 * wide, box[2], steps=4)
    chromium.page.mouse.up()
    chromium.wait("fieldmend.view.from > 0")
    low, high = chromium.run("[fieldmend.view.from, fieldmend.view.to]")
    assert (low, high) == (pytest.approx(500, abs=5), pytest.approx(1000, abs=5))
    chromium.wait(f"document.getElementById('heat').toDataURL() !== {json.dumps(before)}")
    labels = chromium.run(
        "[...document.querySelectorAll('#others canvas')].filter(c => c.offsetParent)"
        ".map(c => c.getAttribute('aria-label'))"
    )
    see_all(chromium)
    labels = chromium.run(
        "[...document.querySelectorAll('#others canvas')].filter(c => c.offsetParent)"
        ".map(c => c.getAttribute('aria-label'))"
    )
    window = chromium.run("document.getElementById('window').textContent")
    assert len(labels) == 2
    assert all(window.strip(".") in label for label in labels)
    chromium.page.focus("#curve")
    chromium.page.keyboard.press("ArrowRight")
    chromium.wait(f"fieldmend.view.from > {low + 100}")
    chromium.page.keyboard.press("+")
    chromium.wait("fieldmend.view.to - fieldmend.view.from < 300")
    chromium.page.keyboard.press("0")
    chromium.wait("fieldmend.view.to === 2000")


def test_before_and_after_and_neighbours_change_the_curve(chromium, tmp_path):
    chromium.open(written(tmp_path, network((400, 8), intervals=True)))
    shot = "document.getElementById('curve').toDataURL()"
    seen = {chromium.run(shot)}
    for button in ("after", "with-neighbours"):
        chromium.page.click(f"#{button}")
        assert (
            chromium.run(f"document.getElementById('{button}').getAttribute('aria-pressed')")
            == "false"
        )
        chromium.page.wait_for_timeout(100)
        seen.add(chromium.run(shot))
    assert len(seen) == 3
    chromium.page.select_option("#what", "values")
    chromium.wait("document.getElementById('heat').dataset.drawn.includes('values')")


# ---------------------------------------------------------------- episodes and decisions


def cells(chromium, column):
    return chromium.run(
        "[...document.querySelectorAll('#episodes-body tr')]"
        f".map(r => r.children[{column}].textContent)"
    )


def test_episodes_sort_and_filter(chromium, tmp_path):
    chromium.open(written(tmp_path, network((600, 12))))
    assert cells(chromium, 3)[:2] == ["stuck", "stuck"]  # the gravest first
    chromium.page.click("#episodes th[data-key=readings] button")
    numbers = [int(n) for n in cells(chromium, 4)]
    assert numbers == sorted(numbers, reverse=True)
    head = "document.querySelector('#episodes th[data-key=readings]').getAttribute('aria-sort')"
    assert chromium.run(head) == "descending"
    chromium.page.click("#episodes th[data-key=readings] button")
    assert [int(n) for n in cells(chromium, 4)] == numbers[::-1]
    chromium.page.select_option("#of-kind", "drift")
    assert set(cells(chromium, 3)) == {"drift"}
    assert (
        chromium.run("document.getElementById('episodes-count').textContent") == "2 of 10 episodes"
    )
    chromium.page.fill("#find", "no such words")
    assert cells(chromium, 0) == []


def test_decisions_are_saved_obeyed_and_shown_again(chromium, tmp_path):
    """The whole circle: recover, decide in the page, recover with the file, report."""
    grid = faulty()
    before = fm.recover(grid, holdout=False)
    chromium.open(written(tmp_path, before))
    assert chromium.run("document.getElementById('save-decisions').disabled")
    lasting = max(before["t"].episodes, key=lambda e: e.readings)
    short = next(e for e in before["t"].episodes if e.node == 1)
    row = f"#episodes-body tr:has(th button:text-is('{before.grid.nodes[lasting.node]}'))"
    chromium.page.click(f"{row} button[data-word=rejected]")
    chromium.page.fill(f"{row} input", "oven on")
    other = f"#episodes-body tr:has(th button:text-is('{before.grid.nodes[short.node]}'))"
    chromium.page.click(f"{other} button[data-word=accepted]")
    said = chromium.run("document.getElementById('decided').textContent")
    assert said == "1 accepted, 1 rejected, not saved yet"
    with chromium.page.expect_download() as download:
        chromium.page.click("#save-decisions")
    file = tmp_path / "made.decisions.json"
    download.value.save_as(file)
    made = {one.verdict: one for one in read_decisions(file).made}
    assert (made["rejected"].node, made["rejected"].note) == (before.grid.nodes[3], "oven on")
    assert file.stat().st_size < 2000

    after = fm.recover(grid, holdout=False, decisions=file)
    flag = after["t"].flag
    assert not (flag[lasting.start : lasting.stop, lasting.node] == 3).any()
    assert after["t"].replaced[short.start, short.node]
    account = after.summary()["decisions"]
    assert (account["accepted"], account["rejected"], account["matched_nothing"]) == (1, 1, 0)

    again = tmp_path / "again.html"
    write_report(after, again)
    chromium.open(again)
    assert "1 accepted, 1 rejected, 0 noted" in chromium.run("document.body.innerText")
    rows = chromium.run("JSON.parse(fieldmend.decisionsFile()).decisions")
    key = ("node", "condition", "start", "end", "decision", "note")
    was = json.loads(file.read_text())["decisions"]
    assert sorted([one[k] for k in key] for one in rows) == sorted(
        [one[k] for k in key] for one in was
    )
    assert "rejected before" in chromium.run("document.getElementById('episodes').innerText")


def test_all_that_are_listed_are_decided_at_once(chromium, tmp_path):
    chromium.open(written(tmp_path, network((600, 12))))
    chromium.page.select_option("#of-kind", "drift")
    chromium.page.click("[data-all=rejected]")
    assert chromium.run("document.getElementById('decided').textContent") == (
        "2 rejected, not saved yet"
    )
    made = json.loads(chromium.run("fieldmend.decisionsFile()"))["decisions"]
    assert [(one["kind"], one["decision"]) for one in made] == [("drift", "rejected")] * 2
    chromium.page.click("[data-all='']")
    assert chromium.run("fieldmend.decided.size") == 0


def test_good_readings_between_false_ones_are_not_decided_on(chromium, tmp_path):
    rec = network((600, 12), ("temperature",))
    flag = rec["temperature"].flag.copy()
    one = rec["temperature"].episodes[4]
    flag[one.start : one.stop, one.node] = 3
    flag[one.start + 2 : one.start + 5, one.node] = 1
    chromium.open(written(tmp_path, changed(rec, flag=flag)))
    index = chromium.run(
        "(() => { const rows = JSON.parse(document.getElementById('payload').textContent).episodes;"
        f"return rows.findIndex(e => e.node === {one.node}); }})()"
    )
    chromium.run(f"fieldmend.decide({index}, {{decision: 'accepted'}})")
    made = read_decisions(json.loads(chromium.run("fieldmend.decisionsFile()"))).made[0]
    slots = [(rows.start, rows.stop) for rows in made.rows(rec.grid.times, rec.grid.slot)]
    assert slots == [(one.start, one.start + 2), (one.start + 5, one.stop)]


def test_a_file_of_decisions_can_be_loaded(chromium, tmp_path):
    rec = network((600, 12))
    chromium.open(written(tmp_path, rec))
    chromium.run("fieldmend.decide(0, {decision: 'accepted', note: 'x'})")
    text = chromium.run("fieldmend.decisionsFile()")
    content = json.loads(text)
    content["decisions"].append({**content["decisions"][0], "node": "stranger"})
    (tmp_path / "d.json").write_text(json.dumps(content))
    chromium.open(tmp_path / "report.html")
    chromium.page.set_input_files("#load-decisions", tmp_path / "d.json")
    chromium.wait("fieldmend.decided.size === 1")
    said = chromium.run("document.getElementById('decided').textContent")
    assert "1 taken from the file, 1 about nothing here" in said
    assert (
        chromium.run("document.querySelector('[data-word=accepted]').getAttribute('aria-pressed')")
        == "true"
    )
    assert len(json.loads(chromium.run("fieldmend.decisionsFile()"))["decisions"]) == 2
    (tmp_path / "bad.json").write_text("<nothing>")
    chromium.page.set_input_files("#load-decisions", tmp_path / "bad.json")
    chromium.wait("document.getElementById('decided').textContent.startsWith('That is no file')")


# ---------------------------------------------------------------- files


def test_the_table_of_a_node_is_what_is_seen(chromium, page, tmp_path):
    file, rec = page
    chromium.open(file)
    chromium.run("fieldmend.choose(4); fieldmend.show(100, 120)")
    with chromium.page.expect_download() as download:
        chromium.page.click("#save-csv")
    download.value.save_as(tmp_path / "node.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "node.csv").read_text("utf-8"))))
    assert len(rows) == 2 * 20
    mine = [row for row in rows if row["condition"] == "temperature"]
    observed = rec["temperature"].observed[100:120, 4]
    got = [float(row["reading_low"]) if row["reading_low"] else np.nan for row in mine]
    np.testing.assert_allclose(got, observed, atol=0.0005001)
    times = [row["from_utc"] for row in mine]
    assert times == [
        f"{np.datetime64(int(t), 'us').astype('datetime64[s]')}Z" for t in rec.grid.times[100:120]
    ]
    chromium.run("fieldmend.choose(8)")  # its name begins with %: only =, +, -, @ are dangerous
    assert chromium.run("fieldmend.nodeTable(8).then(t => t.includes('%{y}'))")


def test_a_formula_in_a_name_is_text_in_the_table(chromium, tmp_path):
    rec = network((40, 3), ("temperature",), nodes=["=1+1", "@x", 'a"b'])
    chromium.open(written(tmp_path, rec))
    table = chromium.run("fieldmend.nodeTable(0)")
    assert table.splitlines()[1].startswith("'=1+1,temperature")
    assert chromium.run("fieldmend.nodeTable(2)").splitlines()[1].startswith('"a""b",')


def test_every_figure_can_be_had_as_png(chromium, tmp_path):
    chromium.open(written(tmp_path, network((100, 6))))
    see_all(chromium)
    buttons = chromium.run(
        "[...document.querySelectorAll('[data-png]')]"
        ".filter(b => b.offsetParent).map(b => b.dataset.png)"
    )
    assert {"heat", "curve", "map"} < set(buttons)
    for which in ("heat", "curve", buttons[-1]):
        with chromium.page.expect_download() as download:
            chromium.page.click(f"[data-png='{which}']")
        download.value.save_as(tmp_path / "figure.png")
        raw = (tmp_path / "figure.png").read_bytes()
        assert raw.startswith(b"\x89PNG")
        assert len(raw) > 3000


# ---------------------------------------------------------------- sizes


SIZES = {
    "3 nodes": ((400, 3), 1),
    "55 nodes, 26 conditions": ((744, 55), 26),
    "600 nodes": ((300, 600), 1),
}


@pytest.mark.parametrize("name", SIZES)
def test_few_and_many_nodes_and_conditions(chromium, tmp_path, name):
    shape, count = SIZES[name]
    rec = network(shape, tuple(f"c{i}" for i in range(count)), intervals=True)
    file = written(tmp_path, rec)
    assert file.stat().st_size <= LIMIT
    chromium.open(file)
    assert chromium.run("document.documentElement.dataset.figures") == "drawn"
    assert cpu(chromium) < FIRST_FIGURE
    last = shape[1] - 1
    chromium.run(f"fieldmend.choose({last}, {count - 1})")
    chromium.wait(f"document.getElementById('curve').dataset.drawn === '{count - 1}:{last}'")
    assert chromium.run(BLANK.replace("'canvas'", "'#heat, #curve, #map'")) == []
    assert chromium.complaints == []
    assert pages(chromium) <= 4


@pytest.mark.long
def test_600_nodes_and_26_conditions(chromium, tmp_path):
    rec = network((2000, 600), tuple(f"c{i}" for i in range(26)), intervals=True)
    file = written(tmp_path, rec)
    assert LIMIT / 2 < file.stat().st_size <= LIMIT
    chromium.open(file)
    assert cpu(chromium) < FIRST_FIGURE
    chromium.run("fieldmend.choose(599, 25)")
    chromium.wait("document.getElementById('curve').dataset.drawn === '25:599'")
    assert pages(chromium) <= 4


LONG = """document.querySelectorAll('#episodes tbody tr').forEach(row => {
  row.cells[6].textContent = 'reads 212.5 once, 15.3 above what its 5 nearest companions imply '
    + 'from 1 May 21:20 to 1 May 23:10, while its battery gave 2.95 volts; also humidity'; })"""


def test_many_conditions_with_long_sentences_fit_on_four_pages(chromium, tmp_path):
    rec = network((744, 12), tuple(f"c{i}" for i in range(26)), intervals=True)
    chromium.open(written(tmp_path, rec))
    chromium.run(LONG)
    assert pages(chromium) <= 4
    assert pages(chromium, "Letter") <= 4


def cpu(chromium):
    """Seconds of CPU that the page takes until its first figures stand."""
    session = chromium.page.context.new_cdp_session(chromium.page)
    # Counts from here, and not while others have the processor.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    chromium.page.reload()
    chromium.wait("document.documentElement?.dataset.figures")
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    assert found["TaskDuration"] > 0.02  # it does count
    return found["TaskDuration"]


def pages(chromium, paper="A4"):
    pdf = chromium.page.pdf(prefer_css_page_size=True, format=paper)
    assert pdf.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


# ---------------------------------------------------------------- phone, paper, eyes


@pytest.mark.parametrize("width", [320, 360, 768])
def test_no_sideways_scrolling(chromium, page, width):
    chromium.open(page[0], width=width, height=740, mobile=True)
    assert chromium.run("document.documentElement.scrollWidth") <= width
    wide = chromium.run(
        f"[...document.querySelectorAll('canvas')].filter(c => c.offsetParent && "
        f"c.getBoundingClientRect().right > {width}).length"
    )
    assert wide == 0


def test_a_phone_has_one_screen_for_each_condition_before_details(chromium, tmp_path):
    rec = network((300, 8), ("temperature", "humidity", "light"))
    chromium.open(written(tmp_path, rec), width=390, height=800, mobile=True)
    screens = chromium.run(
        "[...document.querySelectorAll('.screen')]"
        ".map(s => [s.offsetHeight, s.scrollHeight, s.offsetTop])"
    )
    assert len(screens) == 3
    for height, needed, _ in screens:
        assert 500 < height <= 800 - 100  # a screen, but for the bar at its top
        assert needed <= height + 1  # nothing is cut off
    # Decisions are in sight: an episode is a card there, not a row to be pushed aside.
    room = "(e => [e.scrollWidth, e.clientWidth])(document.querySelector('#episodes .scroll'))"
    needed, there = chromium.run(room)
    assert needed <= there + 1
    details = chromium.run("document.getElementById('explore').offsetTop")
    assert all(top < details for *_, top in screens)
    see_all(chromium)
    assert chromium.run("document.querySelectorAll('canvas[data-worst][data-drawn]').length") == 3


def test_a_unit_beside_a_long_name_is_not_cut_into_letters(chromium, tmp_path):
    name = "Snow Water Equivalent at the Start of Hour Values"
    rec = changed(network((300, 4), (name,)), name, unit="inches")
    chromium.open(written(tmp_path, rec), width=390, height=800, mobile=True)
    lines = chromium.run(
        "(e => e.getClientRects()[0].height / parseFloat(getComputedStyle(e).lineHeight))"
        "(document.querySelector('.screen h3 .unit'))"
    )
    assert lines < 1.5


CONTRASTS = """(() => {
  const parts = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => { const f = parts(c).slice(0, 3).map((v) => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const solid = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; const p = parts(c);
    if (p.length === 3 || p[3] === 1) return c; } return 'rgb(255,255,255)'; };
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.disabled) continue;
    if (['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(e.tagName)) continue;
    if (!e.getClientRects().length) continue;
    const a = light(getComputedStyle(e).color), b = light(solid(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([e.tagName, e.textContent.slice(0, 30), ratio]);
  }
  return low;
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_on_the_page_meets_wcag_aa(chromium, page, dark):
    chromium.open(page[0], dark=dark)
    chromium.run("document.querySelector('[data-word=accepted]').click()")
    assert chromium.run(CONTRASTS) == []


COLOURS = """(() => { const c = document.getElementById('heat');
  const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
  for (let i = 0; i < p.length; i += 4) if (p[i + 3] === 255) {
    seen.add('#' + [p[i], p[i + 1], p[i + 2]].map(v => v.toString(16).padStart(2, '0')).join('')); }
  return [...seen]; })()"""


def test_dark_and_light_follow_the_system_and_the_button(chromium, page):
    ground = "getComputedStyle(document.body).backgroundColor"

    def rgb(colour):
        return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"

    chromium.open(page[0], dark=True)
    assert chromium.run(ground) == rgb(DARK["page"])
    assert {DARK["seen"], DARK["lost-10"], DARK["suspect"]} <= set(chromium.run(COLOURS))
    chromium.run("document.getElementById('theme').click()")
    chromium.wait(f"{COLOURS}.includes('{LIGHT['seen']}')")
    assert {LIGHT["lost-10"], LIGHT["suspect"]} <= set(chromium.run(COLOURS))
    assert chromium.run(ground) == rgb(LIGHT["page"])
    assert chromium.run("document.getElementById('theme').getAttribute('aria-pressed')") == "false"


def test_paper_is_white_short_and_has_its_legends(chromium, page):
    chromium.open(page[0], dark=True)
    chromium.run(f"addEventListener('beforeprint', () => {{ window.onPaper = {COLOURS}; }})")
    assert pages(chromium) <= 4
    # Legends are drawn in the figures: many printers leave out a swatch of the page's own.
    assert {LIGHT["seen"], LIGHT["lost-10"], LIGHT["suspect"]} <= set(
        chromium.run("window.onPaper")
    )
    assert chromium.complaints == []


def test_who_cannot_see_or_point_finds_everything(chromium, page):
    chromium.open(page[0])
    see_all(chromium)
    assert chromium.run(
        "[...document.querySelectorAll('canvas')].filter(c => c.offsetParent"
            " && (c.getAttribute('role') !== 'img'"
        " || c.getAttribute('aria-label').length < 20)).map(c => c.outerHTML)"
    ) == []  # fmt: skip
    assert chromium.run("document.querySelectorAll('table:not(:has(caption))').length") == 0
    assert chromium.run("document.querySelectorAll('th:not([scope])').length") == 0
    assert (
        chromium.run("document.querySelectorAll('#explore > figure:not(:has(figcaption))').length")
        == 0
    )
    assert chromium.run("document.getElementById('condition').labels.length") == 1
    unnamed = chromium.run(
        "[...document.querySelectorAll('button, input, select')]"
        ".filter(e => !(e.textContent.trim() || "
        "e.getAttribute('aria-label') || (e.labels && e.labels.length))).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert chromium.run("document.documentElement.lang") == "en"
    levels = chromium.run("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1
    ids = chromium.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    # The first stop of the Tab key is the way past the navigation, and it can be seen.
    chromium.page.keyboard.press("Tab")
    assert chromium.run("document.activeElement.className") == "skip"
    assert chromium.run("document.activeElement.getBoundingClientRect().left") >= 0


def test_an_old_browser_gets_the_words(chromium, page):
    chromium.open(page[0], before="delete window.DecompressionStream")
    assert chromium.run("document.documentElement.dataset.figures") == "failed"
    said = chromium.run("document.getElementById('trouble').innerText")
    assert said.startswith("The figures need a browser of 2023 or later")
    assert chromium.complaints == []
