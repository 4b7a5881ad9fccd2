"""Saved models: the same to the last bit, small, and whatever else is in the file is refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.field import modelfile
from fieldmend.field.labels import followed_alone
from test_fieldmodel import assert_same, grid_of, network


@pytest.fixture(scope="module")
def net():
    return network(300, 8)


@pytest.fixture(scope="module")
def saved(net, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "site.npz"
    fm.FieldModel.fit(net.readings[:200], period=24).save(path)
    return path


@pytest.fixture(scope="module")
def old(saved):
    return of_format_1(saved, saved.with_name("old.npz"))


def entries(path):
    with zipfile.ZipFile(path) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}


def rewritten(path, contents, target, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(target, "w", compression) as file:
        for name, raw in contents.items():
            file.writestr(name, raw)
    return target


def with_header(path, target, change):
    contents = entries(path)
    header = json.loads(contents["header.json"])
    change(header)
    contents["header.json"] = json.dumps(header).encode()
    return rewritten(path, contents, target)


def of_format_1(path, target):
    """The same model as it was saved before: an entry for each array, nothing compressed."""
    header, arrays = modelfile.read(path)
    head = json.dumps(header | {"format": 1}).encode()
    contents = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    return rewritten(path, {"header.json": head} | contents, target)


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def refusal(path):
    with pytest.raises(fm.InputError) as caught:
        fm.FieldModel.load(path)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 400
    return said


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (network(300, 8).readings, "jumps"),
        (network(300, 12, field="low_rank", seed=4).readings, "slots"),
        (network(200, 6, seed=5).readings[:, :1], "jumps"),
    ],
    ids=["smooth", "rough", "one node"],
)
def test_a_loaded_model_applies_to_the_last_bit(record, kind, tmp_path):
    model = fm.FieldModel.fit(record[:200])
    assert model["value"].start == kind
    model.save(tmp_path / "m")
    again = fm.FieldModel.load(tmp_path / "m")
    assert_same(model.apply(record), again.apply(record))
    assert again["value"].fitted_on == model["value"].fitted_on
    assert again["value"].choice == model["value"].choice
    assert (again.nodes, again.slot, again.version) == (model.nodes, model.slot, model.version)
    again.save(tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_a_course_and_several_conditions_come_back(tmp_path):
    rng = np.random.default_rng(3)
    X = 10 * np.sin(np.arange(480) / 24 * 2 * np.pi)[:, None] + rng.normal(size=(480, 6))
    for day in range(0, 18, 2):
        X[24 * day + 3 : 24 * day + 15] = np.nan
    grid = grid_of({"t": X, "ü/\n": X * 2 + 1}, nodes="abcde\n", units={"t": "°C"})
    model = fm.FieldModel.fit(grid)
    assert model["t"].view.course is not None
    about = {"kind": "linear", "low": None}
    parts = {name: replace(part, quantity=about) for name, part in model.conditions.items()}
    model = replace(model, conditions=parts)
    model.save(tmp_path / "m")
    again = fm.FieldModel.load(tmp_path / "m")
    assert list(again) == ["t", "ü/\n"]
    assert again["t"].unit == "°C"
    assert again["t"].quantity == about
    new = grid_of({"t": X[:50], "ü/\n": X[:50] * 2 + 1}, nodes="abcde\n", start="2024-03-01T07:00")
    out, want = again.apply(new), model.apply(new)
    for name in model:
        assert_same(out[name], want[name])


def test_four_conditions_of_fifty_nodes_take_less_than_200_kilobytes(tmp_path):
    part = fm.FieldModel.fit(network(600, 50, seed=2).readings)["value"]
    assert part.rank == 12
    nodes = tuple(f"n{k}" for k in range(50))
    model = fm.FieldModel(dict.fromkeys("abcd", part), nodes, slot=300_000_000)
    model.save(tmp_path / "m.npz")
    # 173 569 bytes for the four of IntelLab; these four are alike, which zip sees only in part.
    assert (tmp_path / "m.npz").stat().st_size < 200_000


def test_a_file_of_format_1_is_read_as_ever(old, saved, net):
    assert_same(
        fm.FieldModel.load(old).apply(net.readings[200:]),
        fm.FieldModel.load(saved).apply(net.readings[200:]),
    )
    assert old.stat().st_size > 1.3 * saved.stat().st_size


def test_numpy_opens_it_without_pickle(saved):
    with np.load(saved, allow_pickle=False) as file:
        assert len(file["singles"]) == 4
        assert len(file["doubles"]) == 8
        assert json.loads(file["header.json"])["nodes"][0] == "1"


def test_saving_replaces_whole_files_only(saved, tmp_path, monkeypatch, net):
    target = tmp_path / "m"
    target.write_bytes(b"old")
    model = fm.FieldModel.load(saved)

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(modelfile.np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_no_file_is_refused(tmp_path):
    assert "No such file" in refusal(tmp_path / "nothing")
    assert "directory" in refusal(tmp_path)
    (tmp_path / "text").write_text("node,time,value\n")
    assert "no whole model file" in refusal(tmp_path / "text")
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": 1}))
    assert "no whole model file" in refusal(tmp_path / "pickle")
    rewritten(None, {"a.txt": b"x"}, tmp_path / "zip")
    assert "no header" in refusal(tmp_path / "zip")


def test_a_later_version_is_refused_with_what_to_do(saved, tmp_path):
    later = with_header(saved, tmp_path / "m", lambda h: h.update(format=4, version="9.1"))
    assert "format 4, by fieldmend 9.1; this one reads 3. Update fieldmend" in refusal(later)


def test_damaged_files_are_refused_or_harmless(saved, tmp_path, net):
    """Bytes changed and files cut anywhere: the same model or one line, never anything else."""
    raw, rng = saved.read_bytes(), np.random.default_rng(0)
    want = fm.FieldModel.load(saved).apply(net.readings[200:])
    target, said = tmp_path / "m", []
    places = np.concatenate([rng.integers(len(raw), size=150), len(raw) - 1 - np.arange(80)])
    for k, place in enumerate(places):
        changed = bytearray(raw)
        changed[place] ^= int(rng.integers(1, 256))
        target.write_bytes(bytes(changed) if k % 3 else raw[:place])
        try:
            model = fm.FieldModel.load(target)
        except fm.InputError as error:
            said.append(str(error))
            continue
        assert_same(model.apply(net.readings[200:]), want)
    assert len(said) > 0.8 * len(places)
    assert not any("\n" in line for line in said)


@pytest.mark.parametrize(
    ("entry", "raw"),
    [
        ("0_level.npy", npy(np.array([None] * 8), allow_pickle=True)),
        ("0_level.npy", npy(np.zeros(8, np.float16))),
        ("0_level.npy", npy(np.zeros(8, ">f8"))),
        ("0_level.npy", npy(np.zeros(9))),
        ("0_level.npy", npy(np.full(8, np.nan))),
        ("0_level.npy", npy(np.zeros(8))[:-8]),
        ("0_level.npy", npy(np.zeros(8)).replace(b"(8,)", b"(-8,)"[:4])),
        ("0_level.npy", npy(np.zeros(8)).replace(b"(8,), }  ", b"(1<<60,)}")),
        ("0_level.npy", npy(np.zeros(8)).replace(b"(8,), }" + b" " * 14, b"(8,1000000000000),}  ")),
        ("0_level.npy", b""),
        ("0_level.npy", b"\x93NUMPY\x02\x00aaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("0_scale.npy", npy(np.zeros(8))),
        ("0_order.npy", npy(np.zeros(8))),
        ("0_own_noise.npy", npy(-np.ones(8))),
        ("0_own_phi.npy", npy(np.ones(8))),
        ("0_here_to_line.npy", npy(np.full(5, 2.0))),
        ("0_later_calibration_centres.npy", npy(np.array([1.0, 0.0]))),
        ("0_later_calibration_centres.npy", npy(np.zeros(0))),
        ("0_jumps_0_0_rise.npy", npy(np.zeros((0,)))),
        ("0_jumps_0_0_rise.npy", npy(np.float64(1.0))),
        ("0_loadings.npy", None),
        ("header.json", b"{"),
        ("header.json", b"[" * 100_000),
        ("header.json", b"\xff\xfe"),
        ("header.json", b'{"kind": NaN}'),
        ("header.json", b'{"kind": "something else"}'),
    ],
)
def test_hostile_entries_are_refused(old, tmp_path, entry, raw):
    contents = entries(old)
    assert contents.pop(entry) != raw
    if raw is not None:
        contents[entry] = raw
    assert "no whole model file" in refusal(rewritten(old, contents, tmp_path / "m"))


@pytest.mark.parametrize(
    ("entry", "raw"),
    [
        ("singles.npy", None),
        ("doubles.npy", npy(np.zeros((8, 0), np.uint8))),
        ("doubles.npy", npy(np.zeros((4, 1000), np.uint8))),
        ("doubles.npy", npy(np.zeros(8000, np.uint8))),
        ("doubles.npy", npy(np.zeros((8, 1000)))),
        ("doubles.npy", npy(np.array([None] * 8), allow_pickle=True)),
        ("more.npy", npy(np.zeros((8, 1), np.uint8))),
    ],
)
def test_hostile_numbers_are_refused(saved, tmp_path, entry, raw):
    contents = entries(saved)
    contents.pop(entry, None)
    if raw is not None:
        contents[entry] = raw
    assert "no whole model file" in refusal(rewritten(saved, contents, tmp_path / "m"))


def first_array(change):
    return lambda h: h["arrays"].__setitem__(0, change(h["arrays"][0]))


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.pop("arrays"),
        lambda h: h.update(arrays={}),
        lambda h: h["arrays"].pop(),
        lambda h: h["arrays"].append(h["arrays"][0]),
        lambda h: h["arrays"].append(["more", 8, [1]]),
        lambda h: h["arrays"].append(["more", 8, [2**30, 2**30]]),
        first_array(lambda one: [one[0], 2, one[2]]),
        first_array(lambda one: [one[0], True, one[2]]),
        first_array(lambda one: [one[0], one[1], [-8]]),
        first_array(lambda one: [one[0], one[1], "8"]),
        first_array(lambda one: [7, *one[1:]]),
        first_array(lambda one: one[:2]),
        first_array(lambda one: [one[0], one[1], [1] * 9]),
    ],
)
def test_headers_that_lie_about_arrays_are_refused(saved, tmp_path, change):
    assert "no whole model file" in refusal(with_header(saved, tmp_path / "m", change))


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(format="1"),
        lambda h: h.update(format=True),
        lambda h: h.update(nodes=[]),
        lambda h: h.update(nodes=["a"] * 8),
        lambda h: h.update(nodes=[f"{k}" for k in range(9)]),
        lambda h: h.update(nodes=[1] * 8),
        lambda h: h.update(nodes=["\ud800", *"abcdefg"]),
        lambda h: h.update(slot=-5),
        lambda h: h.update(slot=True),
        lambda h: h.update(slot=10**30),
        lambda h: h.update(version=None),
        lambda h: h.update(conditions=[]),
        lambda h: h.update(conditions=[3]),
        lambda h: h["conditions"].append(h["conditions"][0]),
        lambda h: h["conditions"][0].update(rank=10**9),
        lambda h: h["conditions"][0].update(rank=1.0),
        lambda h: h["conditions"][0].update(level=10**400),
        lambda h: h["conditions"][0].update(level=0),
        lambda h: h["conditions"][0].update(sign=0),
        lambda h: h["conditions"][0].update(screen={"kind": "magic"}),
        lambda h: h["conditions"][0].update(screen=[]),
        lambda h: h["conditions"][0]["screen"].update(rules=[1, 2]),
        lambda h: h["conditions"][0]["screen"]["rules"][0].update(rates=[0.1, 2]),
        lambda h: h["conditions"][0]["screen"]["rules"][0].update(laws=[]),
        lambda h: h["conditions"][0]["screen"]["rules"][1]["laws"][0].update(freedom=-1),
        lambda h: h["conditions"][0]["screen"]["rules"][1]["laws"][0].update(width=float(10**300)),
        lambda h: h["conditions"][0]["fitted_on"].update(rows=-1),
        lambda h: h["conditions"][0].pop("choice"),
        lambda h: h["conditions"][0].update(quantity="x"),
    ],
)
def test_hostile_headers_are_refused(saved, tmp_path, change):
    assert "no whole model file" in refusal(with_header(saved, tmp_path / "m", change))


def test_zip_bombs_are_refused(saved, tmp_path):
    contents = entries(saved)
    contents["0_extra.npy"] = bytes(50_000_000)
    bomb = rewritten(saved, contents, tmp_path / "m", zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 200_000
    assert "far longer than the file" in refusal(bomb)
    with zipfile.ZipFile(tmp_path / "long", "w") as file:
        file.writestr("header.json", b"{}")
        file.filelist[0].file_size = 10**12
    assert "overlap" in refusal(tmp_path / "long")
    contents = entries(saved) | {"doubles.npy": bytes(50_000_000)}
    with zipfile.ZipFile(tmp_path / "lies", "w", zipfile.ZIP_DEFLATED) as file:
        for name, raw in contents.items():
            file.writestr(name, raw)
        file.filelist[-1].file_size = 1000  # what it unpacks to is fifty thousand times as long
    assert "no whole model file" in refusal(tmp_path / "lies")
    many = {f"{k}": b"" for k in range(10_001)} | entries(saved)
    assert "too many" in refusal(rewritten(saved, many, tmp_path / "n"))
    with zipfile.ZipFile(tmp_path / "twice", "w") as file:
        file.writestr("header.json", b"{}")
        file.filelist.append(file.filelist[0])
    assert "twice" in refusal(tmp_path / "twice")


# New data against the model.


@pytest.fixture(scope="module")
def named(net):
    grid = fm.Grid.of(net.readings[:200], nodes="abcdefgh", unit="degC")
    return fm.FieldModel.fit(grid)


def later(net, columns, names, **options):
    return fm.Grid.of(net.readings[200:][:, columns], nodes=names, **options)


def test_nodes_are_matched_by_name(net, named):
    plain = named.apply(later(net, range(8), "abcdefgh"))["value"]
    turned = named.apply(later(net, range(7, -1, -1), "hgfedcba"))["value"]
    assert_same(plain, turned)


def test_missing_nodes_are_estimated_with_honest_intervals():
    """Over several networks: nodes that are not in the new file at all."""
    inside, width, spread = [], [], []
    for seed in range(4):
        net = network(500, 15, seed=10 + seed)
        model = fm.FieldModel.fit(net.readings[:350])
        X = net.readings[350:].copy()
        X[:, :3] = np.nan
        out = model.apply(X)
        truth = net.truth[350:, :3]
        inside.append((out.lower[:, :3] <= truth) & (truth <= out.upper[:, :3]))
        width.append(np.median(out.upper[:, :3] - out.lower[:, :3]))
        spread.append(np.ptp(net.truth[:, :3], axis=0).mean())
    assert np.mean(inside) > 0.8
    assert np.mean(width) < np.mean(spread)


def test_a_grid_without_some_nodes_gets_them_back(net, named):
    out = named.apply(later(net, [0, 2, 3, 4, 5, 6, 7], "acdefgh"))["value"]
    X = net.readings[200:].copy()
    X[:, 1] = np.nan
    assert_same(out, named.apply(fm.Grid.of(X, nodes="abcdefgh"))["value"])
    assert out.estimate.shape == (100, 8)


def test_unknown_nodes_are_refused_by_name_or_followed_alone(net, named):
    grid = later(net, range(8), "abcdxfgy")
    with pytest.raises(fm.InputError, match=r"does not know nodes x and y.*new_nodes='own'"):
        named.apply(grid)
    out = named.apply(grid, new_nodes="own")["value"]
    assert named.align(grid, new_nodes="own").nodes == tuple("abcdefghxy")
    assert out.estimate.shape == (100, 10)
    alone = fm.decompose(net.readings[200:, [4]], method="auto")
    np.testing.assert_array_equal(out.estimate[:, 8], alone.estimate[:, 0])
    np.testing.assert_array_equal(out.lower[:, 8], alone.lower[:, 0])
    # They leave the others alone.
    known = named.apply(later(net, [0, 1, 2, 3, 5, 6], "abcdfg"))["value"]
    np.testing.assert_array_equal(out.estimate[:, :8], known.estimate)
    assert (out.factors.right[8:] == 0).all()


def test_an_unknown_node_without_readings_stays_unknown(net, named):
    grid = later(net, range(8), "abcdefgz")
    grid.values["value"][:, 7] = np.nan
    out = named.apply(grid, new_nodes="own")["value"]
    assert np.isnan(out.estimate[:, 8]).all()
    alone = followed_alone(grid.values["value"][:, [7]], 0.9)
    assert alone.factors.left.shape == (100, 1)
    assert alone.factors.right.shape == (1, 1)
    assert (out.sparse[:, 8] == 0).all()
    assert np.isfinite(out.estimate[:, :8]).all()


def test_other_slots_units_and_names_are_refused(net, named):
    with pytest.raises(fm.InputError, match=r"slots of 10 min.*of 5 min. Take --slot 5min"):
        named.apply(later(net, range(8), "abcdefgh", slot_seconds=600))
    with pytest.raises(fm.InputError, match="value is in degF, the model's in degC"):
        named.apply(later(net, range(8), "abcdefgh", unit="degF"))
    with pytest.raises(fm.InputError, match="none of the nodes is the model's"):
        named.apply(later(net, range(8), "ijklmnop"), new_nodes="own")
    with pytest.raises(fm.InputError, match="'refuse' or 'own'"):
        named.apply(later(net, range(8), "abcdefgh"), new_nodes="yes")
    with pytest.raises(fm.InputError, match="knows nothing of 'light'"):
        named.apply(later(net, range(8), "abcdefgh", condition="light"))
