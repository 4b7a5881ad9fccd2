"""Inputs for the fuzz run: small good files of every kind, broken in seeded ways."""

import gzip
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import layout_cases
import layout_cases_archives
from fieldmend.records.sources.text import zstd_module

WIDE = (
    "node,time,lat,lon,temperature,humidity\n"
    + "".join(
        f"n{i % 3},2024-01-01T00:{i:02d}:00Z,48.{i},9.{i},{20 + i / 7:.3f},{40 + i}\n"
        for i in range(12)
    )
)  # fmt: skip
SEEDS = [
    ("x.csv", WIDE),
    ("x.csv", WIDE.replace(",", ";").replace(".", ",")),
    ("x.csv", WIDE.replace(",", "\t").replace("T", " ").replace("Z", "")),
    ("x.csv", "node,date,time,t\na,31/01/2024,10:00,1\na,01/02/2024,10:10,\"2\"\n'b',1/2/2024,9:5,NA\n"),
    ("x.csv", "time,n1,n2,10\n2024-01-01 00:00,1,2,\n2024-01-01 00:10,,4,5\n1704067200,1,1,1\n"),
    ("x.csv", "node,time,variable,value,unit\na,1704067200,t,1,C\na,1704067260000,h,2,%\nb,1e9,t,x,C\n"),
    ("data.txt", "2004-03-04 00:00:26.983691 14285 1 20.5666 35.8876 46.92 2.65143\n"
     "2004-03-04 00:00:57.05 14286 1 20.5666 35.853  2.65143\n"),
    ("46042h2013.txt", "#YY  MM DD hh mm WDIR WSPD PRES\n#yr  mo dy hr mn degT m/s  hPa\n"
     "2013 05 01 00 50  99  5.1 1013.5\n2013 05 01 01 50 999 99.0 9999.0\n"),
    ("x.csv", "time,station,wtmp\nUTC,,degree_C\n2013-05-01T00:00:00Z,46042,12.5\n2013-05-01T01:00:00Z,46042,NaN\n"),
    ("x.dat", '"TOA5","Mast7","CR1000"\n"TIMESTAMP","RECORD","AirTC_Avg"\n"TS","RN","Deg C"\n"","","Avg"\n'
     '"2024-01-01 00:00:00",1,20.5\n"2024-01-01 00:10:00",2,"NAN"\n'),
    ("x.csv", "#group,false,false,true\n#datatype,string,long,dateTime:RFC3339,double,string,string\n"
     "#default,_result,,,,,\n,result,table,_time,_value,host,_field\n,,1,2024-01-01T00:00:00Z,40,a,humidity\n"),
    ("x.csv", "entity_id,state,last_changed\nsensor.hall,20.5,2024-01-01T00:00:00.000Z\nlight.hall,on,\n"),
    ("x.ndjson", '{"node": "a", "time": "2024-01-01", "t": 1}\n{"node": "b", "time": "2024-01-01", "t": null}\n'),
    ("m.txt", "1 21.5 23\n12 3 4\n"),
    ("x.json", '[{"node": "a", "time": "2024-01-01", "t": 1}, {"node": "b", "time": "2024-01-01", "t": 2.5}]'),
    ("x.json", '{"end_device_ids": {"device_id": "a"}, "received_at": "2024-01-01T00:00:00Z", "uplink_message": '
     '{"decoded_payload": {"t": 20.5}}}\n' * 2),
    ("x.lp", "air,sensor=a t=20.5,n=4i 1704067200000000000\nair,sensor=b t=3.5 1704067200000000000\n"),
    ("x.csv", '"Plot Title: A"\n"#","Date Time, GMT-05:00","Temp, °C (LGR S/N: 2)"\n1,06/05/23 11:50:00 AM,24.5\n'),
    ("x.csv", "numer_sta;date;pmer;t;\n07005;20240101000000;100910;mq;\n07015;20240101000000;mq;280.15;\n"),
    ("x.csv", "No,year,month,day,hour,pm10,station\n1,2013,3,1,0,4.5,A\n2,2013,3,1,1,NA,A\n"),
    ("x.txt", "Location: 0N 140W\n YYYYMMDD HHMM AIRT Q\n 20000105 1200 26.52 2\n 20000106 1200 -9.99 0\n"),
]  # fmt: skip
# And every layout that is known.
SEEDS += [
    (case.file, case.text) for one in (layout_cases, layout_cases_archives) for case in one.CASES
]
WORDS = [
    b",", b";", b"\t", b"|", b" ", b"\n", b"\r", b"\r\n", b"\0", b'"', b'""', b"'", b"\xff", b"\xef\xbb\xbf",
    b"\xc3", "é".encode(), "🌲".encode(), b"\xe2\x80\xa8", b"NaN", b"inf", b"-inf", b"1e308", b"5e-324", b"1e999",
    b"9007199254740993", b"0x1F", b"1_000", b"1,234.5", b"20.5\xc2\xb0C", b"-", b"--5", b"null", b"node", b"time",
    b"date", b"lat", b"value", b"variable", b"2023-02-29", b"2024-01-01 24:00", b"9999-12-31", b"0000-00-00",
    b"1970-01-01", b"+02:00", b"Z", b" UTC", b"epoch", b"infinity", b"99999999999999999999", b"-62135596800", b"1e18",
    b"31/12/2024", b"20240101", b"{", b"}", b'{"a":', b"[1]", b"#", b"\\", b"$path", b"%s", b"{{7*7}}", b"<script>",
    b"; DROP TABLE r;--", b"../../etc/passwd", b"x" * 300, b"\x1b[31m", b"sep=;", b"#group", b"TOA5", b"\x1a",
]  # fmt: skip
CODECS = ["utf-8"] * 12 + ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "latin-1"]


def made(seed: int) -> tuple[str, bytes]:
    """A file name and its bytes; the same for the same seed."""
    rng = random.Random(seed)
    name, text = rng.choice(SEEDS)
    data = text.encode(rng.choice(CODECS), "replace")
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 8, 20))):
        data = rng.choice(BREAKS)(data, rng)
    packed = rng.random()
    if packed < 0.01:
        name, data = name + ".gz", gzip.compress(data, 1, mtime=0)
    elif packed < 0.02:
        name, data = name + ".zst", zstd_module().compress(data)
    if packed < 0.02 and rng.random() < 0.6:
        data = rng.choice(BREAKS)(data, rng)
    return name, data


def insert(data, rng):
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(WORDS) + data[at:]


def overwrite(data, rng):
    at, word = rng.randint(0, len(data)), rng.choice(WORDS)
    return data[:at] + word + data[at + len(word) :]


def flip(data, rng):
    out = bytearray(data)
    if out:
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data, rng):
    return data[: rng.randint(0, len(data))]


def drop(data, rng):
    a = rng.randint(0, len(data))
    return data[:a] + data[a + rng.randint(0, 9) :]


def cell(data, rng):
    """One cell of one line replaced by a word."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    mark = rng.choice((b",", b";", b"\t", b" "))
    cells = lines[i].split(mark)
    cells[rng.randrange(len(cells))] = rng.choice(WORDS)
    lines[i] = mark.join(cells)
    return b"\n".join(lines)


def again(data, rng):
    """A line repeated, moved or taken out."""
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 2, 30))):
        lines.insert(rng.randint(0, len(lines)), line)
    return b"\n".join(lines)


BREAKS = [insert, insert, overwrite, flip, cut, drop, cell, cell, cell, again]
