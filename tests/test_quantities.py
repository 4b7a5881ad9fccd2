"""What a condition is: by name, unit, range and behaviour; and that a doubt is said."""

import numpy as np
import pytest

import fieldmend as fm
from fieldmend.errors import InputError
from fieldmend.quantities import Kind, Quantity, check_kinds, identify, identify_all
from fieldmend.quantities.behaviour import behaviour
from fieldmend.quantities.units import at_the_end, spelt

RNG = np.random.default_rng(5)
SLOTS, NODES = 400, 6


def smooth(level: float, spread: float) -> np.ndarray:
    steps = RNG.normal(0, 1, (SLOTS, NODES)).cumsum(axis=0)
    return level + spread * (steps - steps.mean(axis=0)) / steps.std()


TEMPERATURE = smooth(15, 5)
KELVIN = smooth(283, 5)
HUMIDITY = np.clip(smooth(85, 12), 10, 100)
DIRECTION = np.round(np.mod(smooth(330, 60), 360))
SPEED = np.abs(smooth(5, 4))
DUST = np.exp(smooth(2.5, 0.8))
RAIN = np.where(RNG.random((SLOTS, NODES)) < 0.9, 0.0, RNG.gamma(1, 2, (SLOTS, NODES)))
COUNTER = np.cumsum(RNG.gamma(0.5, 2, (SLOTS, NODES)), axis=0)
NUMBER = np.arange(SLOTS, dtype=float)[:, None] + np.zeros((1, NODES))
OWN = np.random.default_rng(6)
FOG = np.where(OWN.random((SLOTS, NODES)) < 0.2, np.round(OWN.uniform(0, 9, (SLOTS, NODES)), 1), 10)
SWITCH = (RNG.random((SLOTS, NODES)) < 0.3).astype(float)


@pytest.mark.parametrize(
    ("name", "readings", "kind"),
    [
        *((n, DIRECTION, "circular") for n in ("dd", "wdir", "wind_direction", "Windrichtung")),
        *((n, DIRECTION, "circular") for n in ("wave_dir_deg", "WindDir", "direction_vent")),
        *((n, RAIN, "intermittent") for n in ("rr1", "precip", "rain", "Niederschlag")),
        *((n, RAIN, "intermittent") for n in ("rainfall_mm", "Pluie", "insolh", "sunshine_min")),
        *((n, FOG, "intermittent") for n in ("visib", "visibility", "Sichtweite")),
        ("humidity", 10 * FOG, "bounded"),
        *((n, HUMIDITY, "bounded") for n in ("u", "rh", "humidity", "Luftfeuchte", "hum_pct")),
        *((n, DUST, "positive") for n in ("pm10", "PM2.5", "no2", "o3", "SO2", "co", "pm25_ugm3")),
        *((n, DUST, "positive") for n in ("ray_glo01", "radiation", "PAR", "lux", "light")),
        *((n, SPEED, "positive") for n in ("ff", "wind_speed_kt", "gust", "Windgeschwindigkeit")),
        *((n, NUMBER, "passed") for n in ("epoch", "seq", "counter_id", "reading", "packet")),
        *((n, SWITCH, "passed") for n in ("label", "indoor", "qc_flag", "is_indoor", "status")),
        *((n, COUNTER, "accumulator") for n in ("rain_total", "energy_kwh", "Zählerstand")),
        *((n, TEMPERATURE, "linear") for n in ("temperature", "battery_voltage", "air_temp_c")),
    ],
)
def test_names(name, readings, kind):
    found = identify(name, "", readings)
    assert found.kind == kind, found.in_words()
    assert not found.guessed, found.in_words()


@pytest.mark.parametrize(
    ("readings", "kind"),
    [
        (DIRECTION, "circular"),
        (RAIN, "intermittent"),
        (FOG, "intermittent"),
        (DUST, "positive"),
        (COUNTER, "accumulator"),
        (NUMBER, "passed"),
        (SWITCH, "passed"),
        (TEMPERATURE, "linear"),
        (KELVIN, "linear"),
    ],
)
def test_behaviour_alone_is_a_guess(readings, kind):
    found = identify("x17", "", readings)
    assert found.kind == kind, found.in_words()
    assert found.guessed


@pytest.mark.parametrize(
    ("name", "readings", "kind"),
    [
        ("dd", DUST * 100, "positive"),  # "dd" of something else: beyond 360
        ("rain", COUNTER, "accumulator"),  # a meter, though it is called rain
        ("energy", TEMPERATURE, "linear"),  # "energy" that falls as often as it rises
        ("humidity", smooth(400, 50), "linear"),  # raw counts of a converter
        ("light", TEMPERATURE - 15, "linear"),  # half of it below zero
        ("reading", TEMPERATURE, "linear"),  # holds the measurement itself
        ("reading", np.round(TEMPERATURE * 40), "linear"),  # so does this, in counts
        ("station_id", TEMPERATURE, "linear"),
        ("label", TEMPERATURE, "linear"),
    ],
)
def test_readings_overrule_a_name(name, readings, kind):
    found = identify(name, "", readings)
    assert found.kind == kind, found.in_words()


def test_two_tips_of_a_gauge_are_no_category():
    tips = np.where(RAIN > 3, 0.4, np.where(RAIN > 0, 0.2, 0.0))
    assert identify("x17", "", tips).kind != Kind.PASSED
    assert identify("x17", "", 20 + np.round(SWITCH * 2)).kind == Kind.LINEAR  # whole degrees


def test_a_meter_set_back_still_rises():
    values = COUNTER.copy()
    values[200:] -= values[200]
    seen = behaviour(values)
    assert seen.rising == 1
    assert seen.resets == NODES
    found = identify("x17", "", values)
    assert found.kind == Kind.ACCUMULATOR
    assert "set back 6 times" in found.reason


@pytest.mark.parametrize(
    ("name", "unit", "readings", "expected", "guessed"),
    [
        ("air_temp_c", "", TEMPERATURE, "°C", False),
        ("water_temp_degc", "", TEMPERATURE, "°C", False),
        ("temp [°C]", "", TEMPERATURE, "°C", False),
        ("T(K)", "", KELVIN, "K", False),
        ("t", "", KELVIN, "K", True),
        ("temperature", "", TEMPERATURE, "", False),  # °C or °F: nobody can tell
        ("pressure_hpa", "", smooth(1010, 8), "hPa", False),
        ("pres", "", smooth(101_000, 800), "Pa", True),
        ("pressure", "", smooth(1010, 8), "hPa", True),
        ("wind_speed_kt", "", SPEED, "kt", False),
        ("hum_pct", "", HUMIDITY, "%", False),
        ("u", "", HUMIDITY, "%", True),
        ("wave_height_m", "", SPEED, "m", False),
        ("model_s", "", TEMPERATURE, "", False),
        ("temperature", "degC", TEMPERATURE, "°C", False),
        ("dd", "", DIRECTION, "°", True),
    ],
)
def test_units(name, unit, readings, expected, guessed):
    found = identify(name, unit, readings)
    assert (found.unit, found.unit_guessed) == (expected, guessed)


def test_every_spelling_is_known_once():
    assert spelt("hPa") == ("pressure", "hPa")
    assert spelt("W m^2") == ("irradiance", "W/m²")
    assert spelt("parsec") == ("", "parsec")
    assert at_the_end(["hpa"], ()) == ("", 0)  # a unit alone names nothing


def test_bounds():
    humidity = identify("humidity", "", HUMIDITY)
    assert (humidity.low, humidity.high) == (0, 100)
    assert identify("humidity", "", HUMIDITY / 100).high == 1
    assert identify("soil_moisture", "", HUMIDITY / 250).high == 1
    wet = np.clip(HUMIDITY + 8, 0, 102)  # a sensor that reads 102 in fog, as a habit
    assert identify("humidity", "%", wet).high == pytest.approx(102, abs=0.5)
    octas = identify("n", "", np.round(np.clip(smooth(5, 3), 0, 8)))
    assert (octas.kind, octas.high) == ("bounded", 8)
    assert identify("pm10", "", DUST).low == 0
    assert identify("temperature", "", TEMPERATURE).low == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_an_analyser_at_zero_may_read_below_it(seed):
    noise = np.random.default_rng(seed).normal(0, 0.8, (SLOTS, NODES))
    noisy = np.abs(smooth(3, 3)) + noise
    found = identify("no2", "", noisy)
    assert found.kind == Kind.POSITIVE
    assert found.low < 0
    assert found.possible[0] <= noisy.min()


@pytest.mark.parametrize(
    ("name", "unit", "readings", "inside", "beyond"),
    [
        ("air_temp", "°C", TEMPERATURE, (-85, 55), (-100, 70)),
        ("air_temp", "K", KELVIN, (190, 330), (20, 400)),
        ("air_temp", "", TEMPERATURE, (-85, 130), (-200, 300)),
        ("temperature", "°C", TEMPERATURE, (-200, 400), (-300, -280)),
        ("humidity", "%", HUMIDITY, (0, 104), (-8983, 130)),
        ("dd", "", DIRECTION, (0, 360), (-20, 400)),
        ("ff", "m/s", SPEED, (0, 100), (-60, 400)),
        ("pm10", "", DUST, (0, 5000), (-9999, -500)),
        ("pressure_hpa", "", smooth(1010, 8), (400, 1080), (0, 2000)),
    ],
)
def test_what_is_possible(name, unit, readings, inside, beyond):
    low, high = identify(name, unit, readings).possible
    assert all(low <= one <= high for one in inside)
    assert all(one < low or one > high for one in beyond)


def test_what_a_hundredth_of_the_readings_does_is_not_impossible():
    hot = np.where(RNG.random((SLOTS, NODES)) < 0.05, 75.0, TEMPERATURE)
    assert identify("air_temp", "°C", hot).possible[1] >= 75


def test_one_node_that_failed_does_not_say_what_is_possible():
    rain = np.where(np.random.default_rng(1).random((400, 12)) < 0.1, 2.0, 0.0)
    rain[250:, 3] = -999.0  # three in a hundred of all readings
    assert -1 < identify("rain_mm", "", rain).possible[0] <= 0
    damp = np.random.default_rng(2).uniform(60, 100, (400, 12))
    damp[250:, 3] *= 10
    found = identify("humidity", "%", damp)
    assert found.possible[1] <= 105
    assert found.high == pytest.approx(100, abs=1)


def test_a_tide_may_turn_at_one_gauge():
    flow = np.random.default_rng(3).gamma(2, 3, (400, 12))
    flow[200:, 0] *= -1
    assert identify("flow", "m³/s", flow).possible[0] < np.quantile(flow[:, 0], 0.05)


def test_periods():
    assert identify("dd", "", DIRECTION).period == 360
    assert identify("wind_dir", "rad", np.deg2rad(DIRECTION)).period == pytest.approx(2 * np.pi)
    assert identify("x", "", DIRECTION / 15, kind="circular:24").period == 24
    half = identify("wind_dir", "", DIRECTION - 180)
    assert half.possible[0] == pytest.approx(-180, abs=1)


def test_the_user_decides():
    assert identify("dd", "", DIRECTION, kind="linear") == Quantity(
        Kind.LINEAR, unit="°", unit_guessed=True, reason="as you said", what="wind direction"
    )
    assert identify("x", "", DUST, kind="bounded:0:500").high == 500
    assert identify("x", "", HUMIDITY, kind="bounded").high == 100
    assert identify("x", "", HUMIDITY / 100, kind="bounded").high == 1
    octas = np.round(np.clip(smooth(5, 3), 0, 8))
    assert identify("n", "", octas, kind="bounded").high == 8
    assert identify("temperature", "", TEMPERATURE, kind="passed").kind == Kind.PASSED


@pytest.mark.parametrize(
    "kind", ["round", "", "circular:x", "circular:-1", "bounded:5", "linear:2"]
)
def test_kinds_that_are_none(kind):
    with pytest.raises(InputError, match="is not known"):
        check_kinds({"dd": kind})
    with pytest.raises(InputError, match="is not known"):
        fm.recover(fm.Grid.of(TEMPERATURE), kinds={"value": kind})


def test_a_kind_of_nothing():
    with pytest.raises(InputError, match="which is not there"):
        identify_all({"t": TEMPERATURE}, {}, kinds={"dd": "circular"})


def test_nothing_to_see():
    for readings in (np.full((30, 3), np.nan), np.ones((2, 1)), np.full((30, 3), 1e308)):
        found = identify("x17", "", readings)
        assert found.kind == Kind.LINEAR
    assert identify("label", "", np.full((30, 3), np.nan)).kind in Kind


def test_rain_that_is_hardly_ever_zero_is_a_positive_quantity():
    """A month's rain: the name alone would take every test from it."""
    monthly = np.where(RNG.random(DUST.shape) < 0.1, 0.0, DUST)
    for name in ("precip", "rain", "sunshine_min"):
        found = identify(name, "", monthly)
        assert found.kind == Kind.POSITIVE
        assert "% of its readings are 0" in found.reason
        assert found.low == 0
        assert not found.guessed
    wet = np.where(RNG.random(DUST.shape) < 0.35, 0.0, DUST)
    assert identify("rain", "", wet).kind == Kind.INTERMITTENT
    assert identify("rain", "", DUST[:2, :3]).kind == Kind.INTERMITTENT  # too few to deny it


def test_large_records_are_sampled():
    readings = np.tile(RAIN, (400, 2))
    assert behaviour(readings).count <= 500_000
    assert identify("x17", "", readings).kind == Kind.INTERMITTENT


def test_labels_are_passed_through():
    lost = RNG.random((SLOTS, NODES)) < 0.1
    grid = fm.Grid.of(np.where(lost, np.nan, SWITCH), condition="label")
    grid.values["temperature"] = np.where(lost, np.nan, TEMPERATURE)
    rec = fm.recover(grid)
    label = rec["label"]
    np.testing.assert_array_equal(label.flag, np.where(lost, 9, 2))
    np.testing.assert_array_equal(label.filled, grid.values["label"])
    assert np.isnan(label.estimate).all()
    assert label.holdout is None
    assert "not recovered" in label.notes[0]
    assert any("passed through: label" in note for note in rec.notes)
    assert not np.isnan(rec["temperature"].filled).any()
    assert rec.summary()["conditions"]["label"]["kind"] == "passed"
    rec = fm.recover(grid, kinds={"temperature": "passed"})
    assert (rec["temperature"].flag != 1).all()


def test_what_never_changes_at_a_node_is_no_reading_if_readings_are_beside_it():
    heights = np.tile([512.0, 640.0, 88.0], (60, 1))
    found = identify_all({"where": heights, "t": TEMPERATURE}, {})
    assert found["where"].kind is Kind.PASSED
    assert "never changes at a node" in found["where"].reason
    assert identify_all({"where": heights}, {})["where"].kind is Kind.LINEAR
    moved = heights.copy()
    moved[30, 1] += 1
    assert identify_all({"where": moved, "t": TEMPERATURE}, {})["where"].kind is not Kind.PASSED
