"""What could be wrong without a word: who is the node, stray stamps, bad cells, zones.

Each guess has evidence and is said, or the file is refused with the option to give.
"""

import numpy as np
import pandas as pd
import pytest

import fieldmend as fm


def network(nodes=12, times=40, *, ids=None, step=600, apart=False, jitter=0.0, loss=0.1, seed=0):
    """A small network: time, id, a reading with fractions, and one of whole numbers."""
    rng = np.random.default_rng(seed)
    rows = []
    for k, name in enumerate(ids or range(1, nodes + 1)):
        for t in range(times):
            if rng.random() < loss:
                continue
            second = t * step + apart * step * k // nodes + rng.normal() * jitter * step
            stamp = pd.Timestamp("2024-01-01") + pd.Timedelta(seconds=int(second))
            level = 20 + k * 0.7 + np.sin(t / 9) + rng.normal() * 0.1
            rows.append((str(stamp), name, round(level, 2), int(rng.integers(40, 60))))
    return pd.DataFrame(rows, columns=["timestamp", "id", "temp", "hum"])


def read(frame, tmp_path, **options):
    path = tmp_path / "net.csv"
    frame.to_csv(path, index=False)
    return fm.read(path, **options)


def taken(records):
    return [note for note in records.origin.notes if "taken for the node" in note]


# Which column is the node


@pytest.mark.parametrize("order", ["timestamp", "id"])
@pytest.mark.parametrize("apart", [False, True], ids=["at once", "in turns"])
@pytest.mark.parametrize("name", ["sensor", "numer_sta", "site", "Sensor No", "id", "tag", "probe"])
def test_a_node_with_an_odd_name_is_found_and_said(name, apart, order, tmp_path):
    frame = network(apart=apart).sort_values(order).rename(columns={"id": name})
    records = read(frame, tmp_path)
    assert len(records.nodes) == 12
    assert records.conditions == ("temp", "hum")
    assert records.origin.duplicates == 0
    (note,) = taken(records)
    assert f"{name} is taken for the node: 12 values" in note


@pytest.mark.parametrize("name", ["nodeid", "mote_id", "Node-ID", "STATION ID", "DeviceId"])
def test_names_that_are_spelled_otherwise_are_known(name, tmp_path):
    records = read(network().rename(columns={"id": name}), tmp_path)
    assert len(records.nodes) == 12
    assert not taken(records)


@pytest.mark.parametrize("ids", [None, [f"n{i}" for i in range(12)]], ids=["numbers", "words"])
def test_a_name_that_says_nothing_is_found_where_times_repeat(ids, tmp_path):
    records = read(network(ids=ids).rename(columns={"id": "k"}), tmp_path)
    assert len(records.nodes) == 12
    assert taken(records)


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_a_name_that_says_nothing_is_asked_for_where_nodes_take_turns(jitter, tmp_path):
    frame = network(apart=True, jitter=jitter).rename(columns={"id": "k"})
    with pytest.raises(fm.InputError, match=r"perhaps with node='k' \(--node k\)"):
        read(frame, tmp_path)
    assert len(read(frame, tmp_path, node="k").nodes) == 12


def test_a_kind_or_state_is_asked_for(tmp_path):
    with pytest.raises(fm.InputError, match="perhaps with node='type'"):
        read(network().rename(columns={"id": "type"}), tmp_path)


def test_two_columns_that_are_the_node_together(tmp_path):
    frame = network(6)
    frame["site"], frame["no"] = (frame.id - 1) // 3, (frame.id - 1) % 3
    frame = frame.drop(columns="id")
    with pytest.raises(fm.InputError, match=r"--node site,no"):
        read(frame, tmp_path)
    assert read(frame, tmp_path, node="site,no").nodes[0] == "0/0"
    assert len(read(frame, tmp_path, node=["site", "no"]).nodes) == 6


def test_a_known_name_that_leaves_most_rows_contradicting_is_refused(tmp_path):
    frame = network().rename(columns={"id": "probe"}).assign(station="X")
    with pytest.raises(fm.InputError, match=r"contradict .* perhaps with node='probe'"):
        read(frame, tmp_path)
    assert len(read(frame, tmp_path, node="probe").nodes) == 12
    assert read(frame, tmp_path, on_duplicate="mean").nodes == ("X",)


def test_twenty_sensors_are_never_one_series(tmp_path):
    frame = network(20)[["timestamp", "temp"]]
    with pytest.raises(fm.InputError, match="contradict others of their node and time"):
        read(frame, tmp_path)


@pytest.mark.parametrize("source", ["frame", "sqlite", "ndjson", "parquet"])
def test_nodes_are_found_in_every_source(source, tmp_path):
    frame = network().rename(columns={"id": "sensor"})
    given = frame
    if source == "sqlite":
        import sqlite3

        given = tmp_path / "x.db"
        con = sqlite3.connect(given)
        frame.to_sql("t", con, index=False)
        con.close()
    elif source == "ndjson":
        given = tmp_path / "x.ndjson"
        frame.to_json(given, orient="records", lines=True)
    elif source == "parquet":
        given = tmp_path / "x.parquet"
        frame.to_parquet(given)
    records = fm.read(given)
    assert len(records.nodes) == 12
    assert records.origin.used == records.origin.read == len(frame)


def station(times=300, **more):
    rng = np.random.default_rng(1)
    time = pd.date_range("2024-01-01", periods=times, freq="h")
    columns = {
        "time": time,
        "temperature": np.round(20 + np.cumsum(rng.normal(size=times)) / 9, 2),
        "wdir": rng.integers(0, 360, times),
        "battery": 100 - np.arange(times) // 50,
    }
    return pd.DataFrame(columns | {name: make(rng, time) for name, make in more.items()})


@pytest.mark.parametrize(
    "more",
    [
        {"flag": lambda rng, t: rng.integers(0, 4, len(t))},
        {"heater": lambda rng, t: rng.integers(0, 2, len(t))},
        {"hour": lambda rng, t: t.hour},
        {"occupied": lambda rng, t: np.arange(len(t)) // 7 % 2},
        {"status": lambda rng, t: rng.choice(["ok", "fault"], len(t), p=[0.9, 0.1])},
        {"remark": lambda rng, t: [""] * (len(t) - 1) + ["new battery"]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_the_whole_numbers_of_one_station_are_no_nodes(more, tmp_path):
    records = read(station(**more), tmp_path)
    assert records.nodes == ("net",)
    assert records.conditions[:3] == ("temperature", "wdir", "battery")
    assert not taken(records)


def test_a_matrix_has_no_counters_and_stamps_among_its_nodes(tmp_path):
    time = pd.date_range("2024-01-01", periods=50, freq="h")
    rng = np.random.default_rng(0)
    nodes = {f"n{i}": rng.normal(size=50).round(2) for i in range(4)}
    frame = pd.DataFrame({"time": time, "nr": np.arange(50), **nodes})
    records = read(frame, tmp_path)
    assert records.nodes == ("n0", "n1", "n2", "n3")
    assert any("passed over: nr" in note for note in records.origin.notes)
    frame = pd.DataFrame({"time": time, "a": np.arange(50), "b": 1_704_067_200 + np.arange(50)})
    with pytest.raises(fm.InputError, match="cannot be nodes: a holds a counter"):
        read(frame, tmp_path)


def test_a_matrix_does_not_call_its_nodes_temperature(tmp_path):
    time = pd.date_range("2024-01-01", periods=50, freq="h")
    frame = pd.DataFrame({"time": time, "temperature": 1.5, "alpha": 2.5, "beta": 3.5})
    with pytest.raises(fm.InputError, match="temperature is a condition"):
        read(frame, tmp_path)
    assert read(frame, tmp_path, conditions=["temperature", "alpha"]).nodes == ("net",)


def test_columns_of_several_units_are_one_station(tmp_path):
    time = pd.date_range("2024-01-01", periods=9, freq="h")
    frame = pd.DataFrame({"time": time, "Ta [C]": 1.5, "Ub [V]": 2.5, "Xc [m/s]": 3.5})
    assert read(frame, tmp_path).conditions == ("Ta", "Ub", "Xc")


# Stray stamps


def hourly(node="a", start="2024-03-01", rows=336):
    stamps = pd.date_range(start, periods=rows, freq="h")
    return pd.DataFrame({"node": node, "time": stamps.astype(str), "t": np.arange(rows) / 7})


@pytest.mark.parametrize("year", ["2034-03-05 10:00", "2010-03-05 10:00", "2024-08-05 10:00"])
def test_one_stray_stamp_does_not_stretch_the_grid(year, tmp_path):
    frame = pd.concat([hourly("a"), hourly("b")], ignore_index=True)
    frame.loc[100, "time"] = year
    records = read(frame, tmp_path)
    assert records.grid().shape == (336, 2)
    assert dict(records.origin.rejects.totals) == {"clock": 1}
    assert [r.line for r in records.origin.rejects.listed] == [102]
    assert any("far from all others" in w for w in records.origin.warnings)


def test_a_stray_stamp_in_every_node(tmp_path):
    parts = []
    for node in "abcdef":
        part = hourly(node)
        part.loc[0, "time"] = "2010-01-17 00:00:00"
        parts.append(part)
    records = read(pd.concat(parts), tmp_path)
    assert len(records.grid().times) == 335
    assert records.origin.rejects.totals == {"clock": 6}


def test_strays_on_both_sides(tmp_path):
    frame = hourly()
    frame.loc[3, "time"], frame.loc[9, "time"] = "2034-01-01 00:00", "2010-01-01 00:00"
    records = read(frame, tmp_path)
    assert len(records.grid().times) == 336
    assert records.origin.rejects.totals == {"clock": 2}


def test_a_stray_beyond_years_of_record(tmp_path):
    stamps = pd.date_range("2019-01-01", "2024-01-01", freq="6h")
    frame = pd.DataFrame({"node": "a", "time": stamps.astype(str), "t": 1.5})
    frame.loc[50, "time"] = "2026-06-01 00:00"
    assert read(frame, tmp_path).origin.rejects.totals == {"clock": 1}


def test_campaigns_and_long_silences_stay(tmp_path):
    frame = pd.concat([hourly(start="2022-03-01", rows=48), hourly(rows=4000)])
    assert read(frame, tmp_path).origin.set_aside == 0
    frame = pd.concat([hourly(), hourly(start="2024-06-01", rows=4)])
    assert read(frame, tmp_path).origin.set_aside == 0
    few = pd.DataFrame({"node": "a", "time": ["2020-01-01", "2021-01-01", "2024-01-01"], "t": 1.5})
    assert read(few, tmp_path).origin.set_aside == 0


# Bad cells


def cells(records):
    return {
        name: (c.read, c.used, c.missing, c.duplicates, c.set_aside, dict(c.why))
        for name, c in records.origin.cells.items()
    }


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("<0.1", "censored"), ("< 0,1", "censored"), (">100", "censored"), ("<LOD", "censored"),
        ("≤5", "censored"), (">= 3", "censored"), ("ERR", "number"), ("#DIV/0!", "number"),
        ("sensor wet", "number"), ("20.5°C", "number"), ("1.2.3", "number"), ("***", "number"),
        ("9007199254740993", "number"), ("0x1F", "number"), ("on", "number"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_bad_cell_costs_itself(cell, why, mark, tmp_path):
    rows = [["node", "time", "t", "rh"]]
    rows += [[n, f"2024-01-01 0{h}:00", f"{20 + h}.5", "40"] for n in "ab" for h in range(5)]
    rows[4][2] = f'"{cell}"' if mark in cell else cell
    path = tmp_path / "x.csv"
    path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8")
    records = fm.read(path)
    o = records.origin
    assert (o.read, o.used, o.duplicates, o.set_aside) == (10, 10, 0, 0)
    assert cells(records) == {"t": (10, 9, 0, 0, 1, {why: 1}), "rh": (10, 10, 0, 0, 0, {})}
    (reject,) = o.rejects.listed
    assert (reject.line, reject.reason.split(":")[0], reject.text) == (5, why, cell)
    assert any(w.startswith("t: 1 of 10 cells set aside") for w in o.warnings)
    assert np.isnan(records.grid().values["t"]).sum() == 1


def test_cells_add_up_by_condition(tmp_path):
    text = (
        "node,time,t,rh\n"
        "a,2024-01-01 00:00,1.5,40\n"  # both used
        "a,2024-01-01 00:00,1.5,40\n"  # both duplicates
        "a,2024-01-01 01:00,,<5\n"  # missing, censored: nothing left, the row goes
        "a,never,3.5,\n"  # the row goes; missing stays missing
        "a,2024-01-01 02:00,ERR,41\n"
        "a,2024-01-01 03:00\n"  # cannot be cut into cells
        "a,2024-01-01 04:00,2.5,NA\n"
    )
    path = tmp_path / "x.csv"
    path.write_text(text)
    records = fm.read(path)
    o = records.origin
    assert (o.read, o.used, o.duplicates, o.set_aside) == (7, 3, 1, 3)
    assert cells(records) == {
        "t": (7, 2, 1, 1, 3, {"row": 2, "number": 1}),
        "rh": (7, 2, 2, 1, 2, {"row": 1, "censored": 1}),
    }
    assert [r.line for r in o.rejects.listed] == [4, 5, 6, 7]


def test_cells_of_long_records_and_matrices(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "node,time,variable,value\na,2024-01-01 00:00,t,1\na,2024-01-01 00:00,t,1\n"
        "a,2024-01-01 00:00,rh,<5\na,2024-01-01 01:00,rh,\na,2024-01-01 01:00,t,x\n"
    )
    assert cells(fm.read(path)) == {
        "t": (3, 1, 0, 1, 1, {"number": 1}),
    } | {"rh": (2, 0, 1, 0, 1, {"censored": 1})}
    path.write_text("time,n1,n2\n2024-01-01 00:00,1,ERR\n2024-01-01 01:00,,3\n")
    assert cells(fm.read(path)) == {"value": (4, 2, 1, 0, 1, {"number": 1})}


def test_words_for_missing_reach_the_types(tmp_path):
    """mq in most cells, as Météo-France writes it, is no reason to pass a column over."""
    rows = "".join(f"a,2024-01-{d:02d},{'mq' if d % 4 else d},5\n" for d in range(1, 29))
    path = tmp_path / "x.csv"
    path.write_text("node,time,t,rh\n" + rows)
    assert fm.read(path).conditions == ("rh",)
    records = fm.read(path, missing=["mq"])
    assert records.conditions == ("t", "rh")
    assert cells(records)["t"] == (28, 7, 21, 0, 0, {})
    assert fm.read(path, missing={"t": ["MQ"]}).conditions == ("t", "rh")


def test_parquet_columns_of_bytes(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "node": [b"a", b"b"] * 4,
            "time": [f"2024-01-01 0{h}:00".encode() for h in range(4) for _ in "ab"],
            "t": [b"1.5", b"2.5", b"ERR", b"3.5", None, b"\xff\xfe", b"4", b"5"],
            "rh": [40.0] * 8,
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    records = fm.read(tmp_path / "x.parquet")
    assert records.nodes == ("a", "b")
    assert cells(records)["t"] == (8, 5, 1, 0, 2, {"number": 2})


# Zones and months


def instant(stamp, tmp_path, **options):
    path = tmp_path / "x.csv"
    path.write_text(f'node,time,t\na,"{stamp}",1\n', encoding="utf-8")
    records = fm.read(path, **options)
    return str(np.datetime64(records.con.execute("SELECT t FROM used").fetchall()[0][0], "us"))[:16]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2024-07-01 12:00 CST", "2024-07-01T18:00"),
        ("2024-01-01 12:00 CST", "2024-01-01T18:00"),
        ("2024-07-01 12:00:00 EDT", "2024-07-01T16:00"),
        ("2024-07-01 12:00 MESZ", "2024-07-01T10:00"),
        ("2024-07-01T12:00:00 AEST", "2024-07-01T02:00"),
        ("2024-07-01 12:00:00 +05:30", "2024-07-01T06:30"),
        ("2024-07-01 12:00:00 -0330", "2024-07-01T15:30"),
        ("2024-07-01 12:00 UTC+2", "2024-07-01T10:00"),
        ("2024-07-01 12:00:00.250 +05:45", "2024-07-01T06:15"),
        ("31.01.2024 12:00 CET", "2024-01-31T11:00"),
        ("31.01.2024 12:00:00+01:00", "2024-01-31T11:00"),
        ("31.01.2024 12:00:00 +0100", "2024-01-31T11:00"),
        ("1/31/2024 10:00 PM EST", "2024-02-01T03:00"),
        ("2024-01-31 10:00 PM", "2024-01-31T22:00"),
        ("31-Jan-2024 12:00", "2024-01-31T12:00"),
        ("31 January 2024 12:00", "2024-01-31T12:00"),
        ("January 31, 2024 10:00 PM", "2024-01-31T22:00"),
        ("2024-Jan-31 12:00", "2024-01-31T12:00"),
        ("31. Dezember 2024 12:00", "2024-12-31T12:00"),
        ("1. März 2024 12:00", "2024-03-01T12:00"),
        ("1. Mrz. 2024 12:00", "2024-03-01T12:00"),
        ("31 janvier 2024 12:00", "2024-01-31T12:00"),
        ("1er août 2024 08:00", "2024-08-01T08:00"),
        ("mar. 31 déc. 2024 12:00", "2024-12-31T12:00"),
        ("29 févr. 2024 12:00", "2024-02-29T12:00"),
        ("31 de enero de 2024 12:00", "2024-01-31T12:00"),
        ("15-ago-2024 12:00", "2024-08-15T12:00"),
        ("31/Jan/2024 12:00:00 +0100", "2024-01-31T11:00"),
    ],
)
def test_zones_and_months(stamp, expected, tmp_path):
    assert instant(stamp, tmp_path) == expected


@pytest.mark.parametrize("name", ["BST", "AST", "IST", "NST", "SST", "ADT", "GST"])
def test_an_abbreviation_of_several_zones_is_refused_with_the_choice(name, tmp_path):
    with pytest.raises(fm.InputError, match=rf"{name} means several zones.*--tz {name}=[+-]"):
        instant(f"2024-07-01 12:00 {name}", tmp_path)
    given = instant(f"2024-07-01 12:00 {name}", tmp_path, tz=f"{name}=+01:00")
    assert given == "2024-07-01T11:00"


def test_an_abbreviation_far_down_is_refused_too(tmp_path):
    path = tmp_path / "x.csv"
    rows = [f"a,2024-01-01 00:{i // 60:02d}:{i % 60:02d} GMT,1\n" for i in range(2000)]
    path.write_text("node,time,t\n" + "".join(rows) + "a,2024-07-01 12:00:00 BST,1\n")
    with pytest.raises(fm.InputError, match=r"BST means several zones.*line 2002"):
        fm.read(path)


def test_an_offset_is_a_zone(tmp_path):
    assert instant("2024-07-01 12:00", tmp_path, tz="+05:30") == "2024-07-01T06:30"
    with pytest.raises(fm.InputError, match="no offset"):
        instant("2024-07-01 12:00", tmp_path, tz="BST=London")
