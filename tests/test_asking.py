"""Time in parts, counts since an origin, files without a header, queries, and a stretch of time."""

import sqlite3

import numpy as np
import pytest

import fieldmend as fm

GOOD = (
    "node,time,temperature\na,2024-01-01 00:00,20.5\nb,2024-01-01 00:00,21.5\n"
    "a,2024-01-01 00:10,20.6\nb,2024-01-01 00:10,ERR\nx\n"
)


def read(tmp_path, text, name="x.csv", **options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return fm.read(path, **options)


def hours(header, row, rows=5):
    return header + "\n" + "".join(row.format(h=h, v=h + 0.5) + "\n" for h in range(rows))


# Time


@pytest.mark.parametrize(
    ("header", "row", "time", "first"),
    [
        ("No,year,month,day,hour,pm10,station", "{h},2013,3,1,{h},{v},A", None, "2013-03-01T00"),
        ("station,a,b,c,d,t", "A,2013,3,1,{h},{v}", "a,b,c,d", "2013-03-01T00"),
        ("station,a,b,c,d,t", "A,2013,3,1,{h},{v}", ["a", "b", "c", "d"], "2013-03-01T00"),
        ("station,dd,mon,yr,hr,t", "A,1,3,2013,{h},{v}", "dd,mon,yr,hr", "2013-03-01T00"),
        ("station,jahr,monat,tag,t", "A,2013,3,{h}1,{v}", None, "2013-03-01T00"),
        ("station,year,doy,hhmm,t", "A,2013,60,{h}00,{v}", None, "2013-03-01T00"),
        ("station,y,m,d,h,mi,s,t", "A,13,3,1,{h},30,15.5,{v}", "y,m,d,h,mi,s", "2013-03-01T00:30"),
        ("station,d,t,v", "A,2013-03-01,0{h}:00,{v}", "d,t", "2013-03-01T00"),
    ],
)
def test_time_in_parts(header, row, time, first, tmp_path):
    rows = 9 if header.startswith("No") else 3
    records = read(tmp_path, hours(header, row, rows), time=time)
    assert (records.origin.used, records.origin.set_aside) == (rows, 0)
    assert len(records.conditions) == 1
    got = records.con.execute("SELECT min(t) FROM used").fetchall()[0][0]
    assert str(np.datetime64(got, "us")).startswith(first)


def test_parts_that_are_no_time(tmp_path):
    text = (
        "node,year,month,day,hour,t\na,2024,1,1,23,1\na,2024,1,1,24,2\n"
        "a,2024,2,30,0,3\na,2024,1,1,25,4\n"
    )
    records = read(tmp_path, text)
    assert (records.origin.used, records.origin.set_aside) == (2, 2)
    assert [r.line for r in records.origin.rejects.listed] == [4, 5]
    assert records.grid(slot="1h").shape == (2, 1)


def test_parts_are_local_time_with_a_zone(tmp_path):
    text = hours("node,year,month,day,hour,t", "a,2024,7,1,{h},{v}")
    grid = read(tmp_path, text, tz="Europe/Berlin").grid()
    assert np.datetime64(int(grid.times[0]), "us") == np.datetime64("2024-06-30T22:00")


@pytest.mark.parametrize(
    ("unit", "cells", "second"),
    [
        ("h", "0 1 2.5", "2018-03-01T01:00"), ("d", "0 0.5 1", "2018-03-01T12:00"),
        ("s", "0 30 60", "2018-03-01T00:00:30"), ("min", "0 90 180", "2018-03-01T01:30"),
        ("ms", "0 250 500", "2018-03-01T00:00:00.25"), ("w", "0 1 2", "2018-03-08"),
    ],
)  # fmt: skip
def test_counts_since_an_origin(unit, cells, second, tmp_path):
    text = "node,t0,t\n" + "".join(f"a,{cell},1.5\n" for cell in cells.split())
    records = read(tmp_path, text, time="t0", time_unit=unit, origin="2018-03-01")
    got = records.con.execute("SELECT t FROM used ORDER BY t").fetchall()[1][0]
    assert np.datetime64(got, "us") == np.datetime64(second)


def test_days_of_excel(tmp_path):
    text = "node,time,t\na,45292.5,1\na,45293.5,2\n"
    grid = read(tmp_path, text, time_unit="d", origin="1899-12-30").grid(slot="12h")
    assert np.datetime64(int(grid.times[0]), "us") == np.datetime64("2024-01-01T12:00")


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"origin": "2024-01-01"}, "no unit of time"),
        ({"time_unit": "fortnight"}, "time_unit='fortnight'"),
        ({"time_unit": "h", "origin": "soon"}, "is no moment"),
        ({"start": "soon"}, "start='soon' is no moment"),
        ({"time": "a,b,c,d,e,f,g"}, "no column 'a'"),
        ({"columns": ["node", "time", "t", "u", "v"]}, "columns= names 5 columns"),
        ({"query": "DELETE FROM input"}, "one SELECT"),
        ({"query": "SELECT 1; SELECT 2"}, "one SELECT"),
        ({"query": "SELEC * FROM input"}, "no SQL"),
        ({"query": "SELECT * FROM other"}, "cannot be run"),
        ({"query": "COPY input TO 'x.csv'"}, "one SELECT"),
        ({"query": "SELECT node FROM input"}, "no column holds the time"),
        ({"query": "SELECT * FROM input WHERE false"}, "gives no rows"),
        ({"where": "zzz > 1"}, "zzz"),
        ({"where": "1) OR (SELECT"}, "SQL"),
        ({"start": "2030-01-01"}, "no row lies between start and end"),
    ],
)
def test_what_is_refused(options, refused, tmp_path):
    with pytest.raises(fm.InputError, match=refused.replace("(", r"\(")):
        read(tmp_path, GOOD, **options)


# Without a header


def test_a_file_without_a_header(tmp_path):
    text = "A,2024-01-01 00:00,5,7\nA,2024-01-01 01:00,6,x\nB,2024-01-01 01:00,ERR,9\n"
    records = read(tmp_path, text, columns=["node", "time", "temperature", "-"])
    assert records.conditions == ("temperature",)
    assert records.origin.read == 3
    assert [r.line for r in records.origin.rejects.listed] == [3]


def test_columns_beside_a_header_take_its_place(tmp_path):
    records = read(tmp_path, GOOD, columns=["node", "time", "t"])
    assert records.conditions == ("t",)
    assert records.origin.read == 5


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_fewer_columns_than_the_header_has_choose_from_it(tmp_path, mark):
    text = 'node,time,t,"u",v\na,2024-01-01 00:00,1,x,3\nb,2024-01-01 00:00,4,5,6\n'.replace(
        ",", mark
    )
    records = read(tmp_path, text, columns=["v", "node", "time"])
    assert records.conditions == ("v",)
    assert not records.origin.rejects.listed
    assert read(tmp_path, text, columns=["node", "time", "u"]).conditions == ("u",)
    with pytest.raises(fm.InputError, match="names 3 columns"):
        read(tmp_path, text, columns=["node", "time", "w"])


def test_a_header_of_unknown_names_is_known_by_the_columns_chosen_from_it(tmp_path):
    text = "k7,w7,q7,r7\na,2024-01-01 00:00,1,2\nb,2024-01-01 00:00,4,5\n"
    records = read(tmp_path, text, columns=["k7", "w7", "r7"], node="k7", time="w7")
    assert (records.conditions, records.origin.read) == (("r7",), 2)


def test_columns_of_a_frame():
    import pandas as pd

    frame = pd.DataFrame([["a", "2024-01-01", 1.5], ["b", "2024-01-01", 2.5]])
    assert fm.read(frame, columns=["node", "time", "t"]).nodes == ("a", "b")
    with pytest.raises(fm.InputError, match="names 2 columns, it has 3"):
        fm.read(frame, columns=["node", "time"])
    more = frame.set_axis(["node", "time", "t"], axis=1).assign(u=3.5)
    assert fm.read(more, columns=["node", "time", "u"]).conditions == ("u",)


# Queries


@pytest.mark.parametrize("source", ["csv", "ndjson", "parquet", "frame", "sqlite", "influx"])
def test_a_query_over_any_source(source, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(
        {"node": list("abab"), "time": ["2024-01-01 00:00"] * 2 + ["2024-01-01 00:10"] * 2,
         "temperature": [20.5, 21.5, 20.6, 99.0]}
    )  # fmt: skip
    given = tmp_path / f"x.{source}"
    if source == "csv":
        frame.to_csv(given, index=False)
    elif source == "ndjson":
        frame.to_json(given, orient="records", lines=True)
    elif source == "parquet":
        frame.to_parquet(given)
    elif source == "sqlite":
        con = sqlite3.connect(given)
        frame.to_sql("input", con, index=False)
        con.close()
    elif source == "influx":
        rows = "".join(f",,0,{r.time.replace(' ', 'T')}:00Z,{r.temperature},temperature,{r.node}\n"
                       for r in frame.itertuples())  # fmt: skip
        given.write_text(
            "#datatype,string,long,dateTime:RFC3339,double,string,string\n#group,false\n"
            f"#default,_result\n,result,table,_time,_value,_field,host\n{rows}"
        )
    else:
        given = frame
    value, node = ("_value", "host") if source == "influx" else ("temperature", "node")
    for options in (
        {"query": f"SELECT * FROM input WHERE {value} < 60 AND {node} <> 'a'"},
        {"where": f"{value} < 60 AND {node} <> 'a'"},
        {"query": "SELECT * FROM input", "where": f"{value} < 60 AND {node} <> 'a'"},
    ):
        records = fm.read(given, **options)
        assert records.nodes == ("b",)
        assert records.origin.read == 1


def test_a_query_counts_what_it_cannot_see(tmp_path):
    records = read(tmp_path, GOOD, where="temperature > 20.55 OR node = 'b'")
    o = records.origin
    assert (o.read, o.used, o.set_aside) == (4, 3, 1)
    assert dict(o.rejects.totals) == {"ragged": 1}
    assert [r.line for r in o.rejects.listed] == [6]
    assert any("1 cells are no numbers" in w for w in o.warnings)
    assert "a query" in o.dialect


def test_a_query_of_ndbc_keeps_its_station(tmp_path):
    text = "#YY  MM DD hh mm WDIR WSPD\n#yr  mo dy hr mn degT m/s\n2013 05 01 00 50  99  5.1\n"
    records = read(tmp_path, text, "46042h2013.txt", where="WSPD < 9")
    assert records.nodes == ("46042",)


# A stretch of time


def test_start_and_end(tmp_path):
    o = read(tmp_path, GOOD, start="2024-01-01 00:05").origin
    assert (o.read, o.used, dict(o.rejects.totals)) == (
        5,
        1,
        {"number": 1, "outside": 2, "ragged": 1},
    )
    assert o.cells["temperature"].why == {"row": 3, "number": 1}
    o = read(tmp_path, GOOD, end="2024-01-01T00:10Z").origin
    assert (o.used, o.rejects.totals["outside"]) == (2, 1)
    o = read(tmp_path, GOOD, start="2024-01-01 00:10", tz="+01:00").origin
    assert (o.used, o.rejects.totals["outside"]) == (1, 2)
    assert not any("were set aside" in w for w in o.warnings)


# Exports as they are


def stamped(rows=6):
    return [f"2024-01-01 0{h}:00:00" for h in range(rows)]


def test_a_data_frame_saved_with_its_index_is_a_matrix_of_nodes_named_by_numbers(tmp_path):
    rows = "".join(f"{t},{h}.5,{h}.25\n" for h, t in enumerate(stamped()))
    grid = read(tmp_path, ",773869,767541\n" + rows).grid()
    assert sorted(grid.nodes) == ["767541", "773869"]
    assert grid.shape == (6, 2)


def test_an_index_that_counts_is_no_reading(tmp_path):
    rows = "".join(f"{h},{t},a,{h}.5\n" for h, t in enumerate(stamped()))
    records = read(tmp_path, ",time,node,temperature\n" + rows)
    assert list(records.grid().values) == ["temperature"]


@pytest.mark.parametrize("first", ["x", "1.5"])
def test_a_first_column_without_a_name_that_is_no_index_is_refused(tmp_path, first):
    with pytest.raises(fm.InputError, match=r"header|no name"):
        read(tmp_path, ",773869,767541\n" + f"{first},1,2\n" * 5)


def paired(header):
    return (
        header + ",node,pm25\n"
        + "".join(f"2024-01-01,0{h}:00,2024-01-01,0{h + 5}:00,a,{h}.5\n" for h in range(4))
    )  # fmt: skip


@pytest.mark.parametrize(
    "header",
    ["Date Local,Time Local,Date GMT,Time GMT", "date,time,date_utc,time_utc"],
)
def test_of_two_pairs_of_date_and_time_the_universal_one_counts(tmp_path, header):
    grid = read(tmp_path, paired(header)).grid()
    assert str(np.asarray(grid.times[0], "datetime64[us]")).startswith("2024-01-01T05:00")


def test_of_two_pairs_none_of_which_is_universal_the_user_names_one(tmp_path):
    text = paired("Date Local,Time Local,Sent Date,Sent Time")
    with pytest.raises(fm.InputError, match='"Date Local,Time Local" or "Sent Date,Sent Time"'):
        read(tmp_path, text)
    grid = read(tmp_path, text, time="Sent Date,Sent Time").grid()
    assert str(np.asarray(grid.times[0], "datetime64[us]")).startswith("2024-01-01T05:00")
