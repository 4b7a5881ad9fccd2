"""Codes for "no reading" are suggested; values that are usual for a quantity never are."""

import json

import numpy as np
import pandas as pd
import pytest

import fieldmend as fm
from fieldmend.cli import main
from fieldmend.quantities import Kind, identify
from fieldmend.quantities.standing import standing, usual_value
from fieldmend.records.table import missing_codes

SLOTS, NODES = 500, 6


def frame(name, values):
    slots, nodes = values.shape
    times = np.datetime64("2024-01-01") + np.arange(slots) * np.timedelta64(1, "h")
    return pd.DataFrame(
        {
            "node": np.tile([f"n{i}" for i in range(nodes)], slots),
            "time": np.repeat(times, nodes),
            name: values.ravel(),
        }
    )


def suspects(name, values):
    return fm.read(frame(name, values)).origin.suspects


def temperature(seed=1):
    rng = np.random.default_rng(seed)
    return np.round(fm.simulate.climate_field(SLOTS, NODES, slots_per_day=24, seed=seed)
                    + rng.normal(0, 0.1, (SLOTS, NODES)) - 15, 1)  # fmt: skip


def coded(values, code, runs):
    out = values.copy()
    for start, stop, node in runs:
        out[start:stop, node] = code
    return out


RUNS = [(40, 140, 0), (200, 230, 0), (300, 400, 2), (420, 450, 3), (10, 30, 4)]


@pytest.mark.parametrize("code", [-1.0, -9999.0, 85.0, -40.5, 12.3])
def test_a_code_is_suggested_with_the_option_that_declares_it(code):
    values = coded(temperature(), code, RUNS)
    (sentence,) = suspects("temperature", values)
    there = values == code  # some readings are so by chance
    owners = np.count_nonzero(there.any(axis=0))
    many = f"{there.sum()} readings of {owners} nodes"
    assert sentence.startswith(f"temperature: exactly {code} in {many}")
    assert f"(--missing {code:g})" in sentence
    assert "100 times in a row" in sentence


def test_declared_codes_are_not_suggested():
    path = frame("temperature", coded(temperature(), -1.0, RUNS))
    assert fm.read(path, missing=[-1]).origin.suspects == ()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("intermittent", "rr1"),
        ("intermittent", "x17"),  # no name to go by
        ("bounded", "humidity"),
        ("circular", "dd"),
        ("accumulator", "rain_total"),
        ("positive", "pm10"),
    ],
)
def test_what_is_usual_is_no_code(kind, name):
    values = np.round(fm.simulate.QUANTITIES[kind](SLOTS, NODES, seed=4), 1)
    assert suspects(name, values) == ()


def test_night_and_calm_and_labels_are_no_codes():
    light = np.maximum(fm.simulate.climate_field(SLOTS, NODES, slots_per_day=24, seed=1) - 20, 0)
    for name in ("light", "lux", "x17", "ray_glo01", "ff"):
        assert suspects(name, np.round(100 * light, 1)) == ()
    label = (temperature() > 6).astype(float)
    assert suspects("label", label) == ()


def test_a_sensor_that_sticks_once_is_no_code():
    values = coded(temperature(), temperature()[100, 2], [(100, 300, 2)])
    assert suspects("temperature", values) == ()


def test_saturation_is_no_code():
    values = np.minimum(temperature(), np.quantile(temperature(), 0.9).round(1))
    assert suspects("temperature", values) == ()


def test_a_code_of_single_precision_is_named_as_it_is_typed_and_found_so(tmp_path):
    import pandas as pd

    rain = fm.simulate.rain_field(SLOTS, NODES, seed=4).astype(np.float32)
    rain[np.random.default_rng(0).random(rain.shape) < 0.05] = -0.1
    many = int((rain < 0).sum())
    times = pd.date_range("2024-01-01", periods=SLOTS, freq="h")
    frame = pd.concat(
        [pd.DataFrame({"node": f"n{n}", "time": times, "rr1": rain[:, n]}) for n in range(NODES)]
    )
    path = tmp_path / "rain.parquet"
    frame.to_parquet(path)
    (sentence,) = fm.read(path).grid().origin.suspects
    assert sentence.startswith("rr1: exactly -0.1 in ")
    assert sentence.endswith("(--missing -0.1)")
    found = fm.read(path, missing=[-0.1]).grid()
    assert not found.origin.suspects
    assert int(np.isnan(found.values["rr1"]).sum()) == many


def test_the_one_negative_value_of_rain():
    rain = fm.simulate.rain_field(SLOTS, NODES, seed=4)
    rain[np.random.default_rng(0).random(rain.shape) < 0.05] = -0.1
    (sentence,) = suspects("rr1", rain)
    assert sentence.startswith("rr1: exactly -0.1 in ")
    noisy = fm.simulate.skewed_field(SLOTS, NODES, seed=4) - 8  # an analyser's noise has no value
    assert suspects("no2", np.round(noisy, 1)) == ()


def test_long_and_matrix():
    values = coded(temperature(), -9999.0, RUNS)
    long = frame("value", values).assign(variable="temperature")
    (sentence,) = fm.read(long).origin.suspects
    assert sentence.startswith("temperature: exactly -9999.0 in 280 readings of 4 nodes")
    wide = pd.DataFrame(values, columns=[f"n{i}" for i in range(NODES)])
    wide.insert(0, "time", pd.date_range("2024-01-01", periods=SLOTS, freq="h"))
    (sentence,) = fm.read(wide).origin.suspects
    assert sentence.startswith("exactly -9999.0 in 280 readings of 4 nodes")


def test_too_few_to_say():
    assert list(standing("t", np.ones(50), np.zeros(50))) == []
    assert list(standing("t", np.ones(500), np.zeros(500))) == []
    assert not usual_value("t", 0.0, np.empty(0))


@pytest.mark.parametrize("sample", [300_000, 200])
def test_columns_looked_at_together_say_what_each_says_by_itself(tmp_path, monkeypatch, sample):
    rng = np.random.default_rng(1)
    lines = ["node,time,temperature,humidity,rain"]
    for n in range(4):
        for t in range(150):
            values = [f"{20 + rng.normal():.2f}", f"{50 + 5 * rng.normal():.1f}", "0.0"]
            if t % 30 == n:
                values[n % 2] = "-9999" if n % 2 else "85"
            if t % 11 == 0:
                values[1] = ""
            lines.append(f"n{n},2024-01-01T{t // 60:02d}:{t % 60:02d}:00Z," + ",".join(values))
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(missing_codes, "SAMPLE", sample)
    together = fm.read(path).origin.suspects
    monkeypatch.setattr(missing_codes, "CELLS", 1)
    assert fm.read(path).origin.suspects == together
    monkeypatch.setattr(missing_codes, "AT_ONCE", -1)
    assert fm.read(path).origin.suspects == together
    assert len(together) >= 2


def table(**columns):
    """One station's conditions, an hour between readings."""
    first = next(iter(columns.values()))
    times = np.datetime64("2024-01-01") + np.arange(len(first)) * np.timedelta64(1, "h")
    return pd.DataFrame({"node": "a", "time": times, **columns})


def several(code, *, seed=3):
    """Gas, temperature and humidity of one station, each lost now and then on its own."""
    rng = np.random.default_rng(seed)
    gas = np.exp(rng.normal(2, 0.5, 600)).round(1)
    t = (12 + rng.normal(0, 4, 600)).round(1)
    rh = np.clip(60 - 2 * (t - 12) + rng.normal(0, 3, 600), 5, 100).round(1)
    for column, rate in ((gas, 0.08), (t, 0.01), (rh, 0.01)):
        column[rng.random(600) < rate] = code
    return {"no2": gas, "t": t, "rh": rh}


@pytest.mark.parametrize("code", [-200.0, -77.7, 9999.0])
def test_a_code_of_one_condition_is_one_of_all_that_cannot_read_it(code):
    columns = several(code)
    count = sum(np.count_nonzero(column == code) for column in columns.values())
    (sentence,) = fm.read(table(**columns)).origin.suspects
    assert sentence.startswith(f"no2, t, rh: exactly {code} in {count} readings of 1 node")
    assert sentence.endswith(f"(--missing {code:g})")


def test_a_code_that_another_condition_reads_is_declared_by_its_name(tmp_path, capsys):
    columns = several(999.9) | {
        "pressure": (1000 + np.sin(np.arange(600) / 40) + 0.05).round(1),
    }
    (sentence,) = fm.read(table(**columns)).origin.suspects
    option = "--missing no2=999.9 --missing t=999.9 --missing rh=999.9"
    assert sentence.endswith(f"({option})")
    path = tmp_path / "station.csv"
    table(**columns).to_csv(path, index=False)
    assert main(["inspect", str(path), *option.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["conditions"]
    assert found["pressure"]["cells"]["missing"] == 0
    assert found["no2"]["cells"]["missing"] == np.count_nonzero(columns["no2"] == 999.9)
    both = {"": [999.9], "t": ["ERR"]}
    assert fm.read(path, missing=both).origin.cells["pressure"].missing > 0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dd", np.arange(2000) * 35 % 360.0),  # in fives: 85 and 255 are like all others
        ("q", np.where(np.arange(2000) % 40 == 0, 9.0, 0.0)),  # a flag
        ("rain_10min", np.array([0.0, 0.0, 0.0, 0.2, 0.2, 0.4])[np.arange(2000) * 7 % 6]),
        ("x", np.where(np.arange(2000) % 17 == 0, 0.4, 0.0)),  # rain under another name
        ("sub_metering", np.zeros(2000)),
    ],
)
def test_classes_and_steps_of_a_scale_are_no_codes(name, values):
    other = np.round(np.random.default_rng(0).normal(12, 4, 2000), 1)
    assert fm.read(table(**{name: values, "t": other})).origin.suspects == ()


def test_a_code_is_written_as_it_is_typed():
    pressure = np.round(1001 + np.sin(np.arange(600) / 9), 1)
    pressure[[40, 90, 91, 200, 333, 410]] = 1008371
    (sentence,) = suspects("pressure", np.c_[pressure, pressure])
    assert "exactly 1008371 in 12 readings" in sentence
    assert sentence.endswith("(--missing 1008371)")


@pytest.mark.parametrize("often", [5, 12])
def test_what_is_far_off_needs_to_come_five_times_only(often):
    values = temperature()
    values[np.arange(often) * 37 + 11, np.arange(often) % NODES] = -200.0
    (sentence,) = suspects("temperature", values)
    assert sentence.startswith(f"temperature: exactly -200.0 in {often} readings")
    values[values == -200.0] = -200.0 - np.arange(often)  # noise never repeats itself exactly
    assert suspects("temperature", values) == ()


def test_a_code_that_comes_most_of_the_time_does_not_make_the_quantity():
    rng = np.random.default_rng(1)
    gust = np.where(rng.random((300, 5)) < 0.62, 999.9, np.round(rng.uniform(18, 23, (300, 5)), 1))
    assert identify("gust", "", gust).kind is Kind.POSITIVE
    far = np.where(rng.random((300, 5)) < 0.62, 10.0, np.round(rng.uniform(0, 9.9, (300, 5)), 1))
    assert identify("visibility", "", far).kind is Kind.INTERMITTENT
