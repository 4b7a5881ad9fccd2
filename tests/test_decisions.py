"""What a person decided about episodes: read with care, obeyed to the letter, accounted for."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.errors import InputError
from fieldmend.faults import Kind
from fieldmend.flags import Flag
from fieldmend.grid import stamp
from fieldmend.recovery import storage
from fieldmend.recovery.decisions import LARGEST, read_decisions, told
from fieldmend.simulate import corrupt, network

GOOD = {
    "node": "1", "condition": "t", "decision": "rejected",
    "start": "2024-03-05T10:00:00Z", "end": "2024-03-05T11:00:00Z",
}  # fmt: skip


def sound(seed):
    """Readings without any fault, a few lost."""
    kinds = {"field": "temperature", "sampling": 0.9, "anomaly_rate": 0.0, "noise": 0.1}
    return network(slots=300, nodes=12, seed=seed, **kinds).readings


def grid():
    """A node that dies, another that is off for hours, and spikes."""
    readings = sound(seed=1).copy()
    readings[180:, 3] += 15
    readings[60:110, 7] += 4
    for slot, node in ((40, 1), (90, 5), (200, 8), (201, 10)):
        readings[slot, node] += 9
    return fm.Grid.of(readings, condition="t", unit="°C", start="2024-03-05")


def recovered(source, decisions=None, **more):
    return fm.recover(source, holdout=False, decisions=decisions, **more)


def decided(rec, episode, decision):
    times, slot = rec.grid.times, rec.grid.slot
    return {
        "node": rec.grid.nodes[episode.node], "condition": "t", "decision": decision,
        "start": stamp(times[episode.start]), "end": stamp(times[episode.stop - 1] + slot),
    }  # fmt: skip


def faults_of(rec):
    return [e for e in rec["t"].episodes if e.kind != Kind.EVENT]


@pytest.fixture(scope="module")
def before():
    """A recovery with faults of several kinds in it."""
    rec = recovered(grid())
    assert len({str(e.kind) for e in faults_of(rec)}) > 1
    return rec


def test_a_rejected_episode_is_neither_masked_nor_flagged_again(before):
    worst = max(faults_of(before), key=lambda e: e.readings)
    assert worst.readings > 10  # a lasting one: it was masked before the field was estimated
    rec = recovered(before.grid, {"decisions": [decided(before, worst, "rejected")]})
    held = (slice(worst.start, worst.stop), worst.node)
    assert (before["t"].flag[held] == Flag.SUSPECT).sum() == worst.readings
    assert not (rec["t"].flag[held] == Flag.SUSPECT).any()
    assert not rec["t"].replaced[held].any()
    off = np.nanmedian(np.abs(rec["t"].estimate[held] - rec["t"].observed[held]))
    was = np.nanmedian(np.abs(before["t"].estimate[held] - before["t"].observed[held]))
    assert off < was / 2  # the estimate believes it now


def test_an_accepted_episode_is_certain_and_replaced(before):
    doubtful = next(e for e in faults_of(before) if not e.certain)
    rec = recovered(before.grid, {"decisions": [decided(before, doubtful, "accepted")]})
    rows = slice(doubtful.start, doubtful.stop)
    seen = ~np.isnan(before["t"].observed[rows, doubtful.node])
    assert (rec["t"].flag[rows, doubtful.node][seen] == Flag.SUSPECT).all()
    assert rec["t"].replaced[rows, doubtful.node][seen].all()
    assert not before["t"].replaced[rows, doubtful.node].any()
    again = [e for e in rec["t"].episodes if e.node == doubtful.node and e.start <= doubtful.start]
    assert again[-1].certain
    none = recovered(
        before.grid, {"decisions": [decided(before, doubtful, "accepted")]}, replace="none"
    )
    assert not none["t"].replaced.any()


def test_what_nobody_flagged_can_be_accepted():
    rec = recovered(fm.Grid.of(sound(seed=3), condition="t", start="2024-03-05"))
    assert not (rec["t"].flag[100:105, 4] == Flag.SUSPECT).any()
    times = rec.grid.times
    mine = {**GOOD, "node": rec.grid.nodes[4], "decision": "accepted"}
    mine |= {"start": stamp(times[100]), "end": stamp(times[105])}
    rec = recovered(rec.grid, {"decisions": [mine]})
    seen = ~np.isnan(rec["t"].observed[100:105, 4])
    assert (rec["t"].flag[100:105, 4][seen] == Flag.SUSPECT).all()
    assert rec["t"].replaced[100:105, 4][seen].all()
    assert not rec["t"].replaced[105:120, 4].any()


def test_beyond_the_limits_nothing_is_true(before):
    top = float(np.nanmax(before["t"].observed))
    limits = {"t": (-1e6, top - 0.01)}
    failed = recovered(before.grid, limits=limits)
    slot, node = (int(i) for i in np.argwhere(failed["t"].flag == Flag.FAIL)[0])
    times = before.grid.times
    mine = {**GOOD, "node": before.grid.nodes[node], "start": stamp(times[slot])}
    mine["end"] = stamp(times[slot] + before.grid.slot)
    rec = recovered(before.grid, {"decisions": [mine]}, limits=limits)
    assert rec["t"].flag[slot, node] == Flag.FAIL


def test_the_later_word_counts_and_a_note_says_nothing(before):
    one = faults_of(before)[0]
    made = [decided(before, one, word) for word in ("rejected", "accepted", "noted")]
    usable = ~np.isnan(before["t"].observed)
    where = before.grid.nodes, before.grid.times, before.grid.slot
    said = told(read_decisions({"decisions": made}), "t", where, usable)
    assert said.accepted[one.start : one.stop, one.node].sum() > 0
    assert not said.rejected.any()
    assert told(read_decisions({"decisions": made[2:]}), "t", where, usable) is None


def test_parts_leave_the_readings_between_them_alone(before):
    node = before.grid.nodes[0]
    times, slot = before.grid.times, before.grid.slot
    parts = [[stamp(times[a]), stamp(times[a] + slot)] for a in (10, 14)]
    mine = {"node": node, "condition": "t", "decision": "accepted", "parts": parts}
    usable = np.ones(before.grid.shape, dtype=bool)
    where = (node,), times, slot
    said = told(read_decisions({"decisions": [mine]}), "t", where, usable[:, :1])
    assert np.flatnonzero(said.accepted[:, 0]).tolist() == [10, 14]


def test_results_in_files_obey_and_have_a_report_too(before, monkeypatch, tmp_path):
    monkeypatch.setattr(storage, "IN_MEMORY", 1)
    doubtful = next(e for e in faults_of(before) if not e.certain)
    rec = recovered(before.grid, {"decisions": [decided(before, doubtful, "accepted")]})
    assert isinstance(rec["t"].flag, np.memmap)
    assert rec["t"].replaced[doubtful.start, doubtful.node]
    rec.report(tmp_path / "report.html")
    assert b"1 accepted, 0 rejected" in (tmp_path / "report.html").read_bytes()


def test_the_summary_accounts_for_every_decision(before):
    one = faults_of(before)[0]
    strangers = [
        {**GOOD, "node": "nobody"},
        {**GOOD, "condition": "nothing"},
        {**GOOD, "node": before.grid.nodes[0], "start": "2031-01-01T00:00:00Z",
         "end": "2031-01-01T01:00:00Z"},
    ]  # fmt: skip
    made = {"decisions": [decided(before, one, "rejected"), *strangers]}
    said = recovered(before.grid, made).summary()["decisions"]
    assert (said["read"], said["rejected"], said["accepted"]) == (4, 1, 0)
    assert said["matched_nothing"] == 3
    assert said["unmatched"][0] == "node nobody, t, 5 Mar 2024 10:00: rejected"
    assert before.summary()["decisions"] is None


@pytest.fixture(scope="module")
def troubled():
    """The faults of `fieldmend demo` on fewer nodes, and more of them."""
    kinds = {"field": "temperature", "sampling": 0.8, "loss": "blocks", "noise": 0.05}
    readings = network(slots=240, nodes=14, anomaly_rate=0.02, seed=1, **kinds).readings.copy()
    for node, fault in ((2, "drift"), (5, "stuck"), (9, "dead")):
        found = corrupt(readings[:, [node]], kind=fault, count=60, mean_length=60, seed=1)
        readings[:, [node]] = found.readings
    return recovered(fm.Grid.of(readings, condition="t", unit="°C", start="2024-03-05"))


@settings(max_examples=3, deadline=None)
@given(st.data())
def test_whatever_is_decided_the_next_recovery_obeys(troubled, data):
    before, episodes = troubled, faults_of(troubled)
    assert len(episodes) > 40
    words = data.draw(
        st.lists(
            st.sampled_from(["accepted", "rejected", "noted"]),
            min_size=len(episodes), max_size=len(episodes),
        )
    )  # fmt: skip
    made = [decided(before, e, w) for e, w in zip(episodes, words, strict=True)]
    rec = recovered(before.grid, json.loads(json.dumps({"decisions": made})))
    for episode, word in zip(episodes, words, strict=True):
        held = (slice(episode.start, episode.stop), episode.node)
        was = before["t"].flag[held] == Flag.SUSPECT
        if word == "rejected":
            assert not (rec["t"].flag[held] == Flag.SUSPECT).any()
        elif word == "accepted":
            assert (rec["t"].flag[held][was] == Flag.SUSPECT).all()
            assert rec["t"].replaced[held][was].all()
    assert rec.summary()["decisions"]["matched_nothing"] == 0


HOSTILE = {
    "no json": (b"accept all", "no file of decisions"),
    "nothing": (b"", "no file of decisions"),
    "not utf-8": (b"\xff\xfe{}", "not UTF-8"),
    "a list": (b"[]", "no list of decisions"),
    "a number": (b"7", "no list of decisions"),
    "no decisions": (b"{}", "no list of decisions"),
    "decisions of text": (b'{"decisions": "all"}', "no list of decisions"),
    "brackets without end": (b"[" * 200_000, "no file of decisions"),
    "digits without end": (b'{"decisions": ' + b"9" * 5000 + b"}", "no file of decisions"),
    "too large": (b" " * (LARGEST + 1), "too large"),
    "one is a number": (b'{"decisions": [3]}', "decision 1: 3 is none"),
    "one is null": (b'{"decisions": [null]}', "decision 1"),
}
WRONG = {
    "no node": ({"node": ""}, "it has no node"),
    "node of number": ({"node": 7}, "its node is 7, no text"),
    "node of nothing": ({"node": None}, "its node is None, no text"),
    "no condition": ({"condition": ""}, "it has no condition"),
    "unknown word": ({"decision": "maybe"}, "'maybe' is none of accepted, rejected, noted"),
    "no word": ({"decision": ""}, "it has no decision"),
    "no start": ({"start": None}, "write times as"),
    "start of words": ({"start": "yesterday"}, "write times as"),
    "no zone": ({"start": "2024-03-05T10:00:00"}, "write times as"),
    "start of number": ({"start": 1e400}, "write times as"),
    "back to front": ({"end": "2024-03-05T09:00:00Z"}, "ends before it starts"),
    "of no length": ({"end": "2024-03-05T10:00:00Z"}, "ends before it starts"),
    "parts of text": ({"parts": "all"}, "no list of stretches"),
    "part of three": ({"parts": [["a", "b", "c"]]}, "no stretch"),
    "part of numbers": ({"parts": [[1, 2]]}, "write times as"),
    "note of list": ({"note": ["x"]}, "no text"),
    "note without end": ({"note": "x" * 20_000}, "20,000 characters"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_none_is_refused_in_a_sentence(name, tmp_path):
    raw, says = HOSTILE[name]
    file = tmp_path / "d.json"
    file.write_bytes(raw)
    with pytest.raises(InputError, match=says) as caught:
        read_decisions(file)
    assert str(caught.value).startswith(str(tmp_path)[:20])


@pytest.mark.parametrize("name", WRONG)
def test_a_decision_that_is_none_is_named(name):
    change, says = WRONG[name]
    with pytest.raises(InputError, match=says) as caught:
        read_decisions({"decisions": [GOOD, {**GOOD, **change}]})
    assert "decision 2:" in str(caught.value)


def test_more_that_cannot_be_decisions(tmp_path):
    for given_ in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(InputError, match="cannot be read"):
            read_decisions(given_)
    with pytest.raises(InputError, match="a int is neither"):
        read_decisions(7)
    with pytest.raises(InputError, match="more than 100,000"):
        read_decisions({"decisions": [GOOD] * 100_001})


def test_strange_names_come_through_as_they_are():
    odd = {**GOOD, "node": "</script>\u202e", "note": "\x1b[31m"}
    one = read_decisions({"decisions": [odd]}).made[0]
    assert (one.node, one.note) == ("</script>\u202e", "\x1b[31m")
    assert read_decisions(read_decisions({"decisions": [odd]})).made == (one,)


def test_the_command_obeys_and_says_so(before, tmp_path, capsys):
    rec = before
    rows = ["node,time,t"]
    rows += [
        f"{node},{stamp(rec.grid.times[i])},{value}"
        for n, node in enumerate(rec.grid.nodes)
        for i, value in enumerate(rec["t"].observed[:, n])
        if not np.isnan(value)
    ]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    worst = max(faults_of(rec), key=lambda e: e.readings)
    made = [decided(rec, worst, "rejected"), {**GOOD, "node": "nobody"}]
    (tmp_path / "d.json").write_text(json.dumps({"decisions": made}))
    common = ["recover", str(tmp_path / "r.csv"), "--no-holdout", "--no-report", "--out"]
    flags = ["--decisions", str(tmp_path / "d.json")]
    assert main([*common, str(tmp_path / "a"), *flags, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["decisions"]["rejected"] == 1
    assert said["decisions"]["matched_nothing"] == 1
    assert main([*common, str(tmp_path / "b"), *flags]) == 0
    out = capsys.readouterr().out
    assert "1 of 2 obeyed: 0 accepted, 1 rejected, 0 noted" in out
    assert "1 matched no reading" in out
    (tmp_path / "d.json").write_text("{}")
    assert main([*common, str(tmp_path / "c"), *flags]) == 3
    assert "no list of decisions in it" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_options_without_decisions_are_equal(before):
    options = before.options
    assert replace(options) == options
    assert not options.decisions
