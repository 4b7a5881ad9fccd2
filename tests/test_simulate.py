"""The simulated networks: reproducible, of the promised rank, rates and kinds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmend.simulate import (
    CLIMATES,
    DEPLOYMENTS,
    FAULTS,
    LOSSES,
    Climate,
    climate_field,
    corrupt,
    deployment,
    low_rank,
    network,
    observe,
)
from fieldmend.simulate.patterns import runs, share, stretches


def run_lengths(marks):
    """Lengths of the runs of True, by the obvious loop."""
    lengths, current = [], 0
    for mark in [*marks, False]:
        if mark:
            current += 1
        elif current:
            lengths.append(current)
            current = 0
    return lengths


# Fields


@given(
    shape=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    rank=st.integers(1, 5),
    low=st.sampled_from([-50.0, -3.0, 0.0, 2.0]),
    span=st.sampled_from([1.0, 100.0]),
    seed=st.integers(0, 99),
)
def test_low_rank_has_exactly_that_rank_and_spans_the_bounds(shape, rank, low, span, seed):
    rank = min(rank, *shape)
    field = low_rank(*shape, rank=rank, bounds=(low, low + span), seed=seed)
    assert field.shape == shape
    assert np.linalg.matrix_rank(field) == rank
    if field.size > 1:
        np.testing.assert_allclose([field.min(), field.max()], [low, low + span], atol=1e-12)
    else:
        assert field[0, 0] in (low, low + span)


@pytest.mark.parametrize("rank", [0, 4])
def test_low_rank_refuses_an_impossible_rank(rank):
    with pytest.raises(ValueError, match="rank"):
        low_rank(3, 5, rank=rank)


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_low_rank_refuses_bounds_that_do_not_increase(bounds):
    with pytest.raises(ValueError, match="bounds"):
        low_rank(3, 5, rank=2, bounds=bounds)


@pytest.mark.parametrize("name", CLIMATES)
def test_climates_are_approximately_low_rank_but_not_exactly(name):
    field = climate_field(500, 54, climate=CLIMATES[name], seed=3)
    values = np.linalg.svd(field - field.mean(axis=0), compute_uv=False)
    energy = np.cumsum(values**2) / (values**2).sum()
    assert energy[9] > 0.95
    assert np.linalg.matrix_rank(field) == 54


def test_temperature_has_a_day_in_it():
    field = climate_field(288 * 8, 20, slots_per_day=288, seed=0)
    spectrum = np.abs(np.fft.rfft(field.mean(axis=1) - field.mean()))
    assert np.argmax(spectrum) == 8


def test_wandering_starts_in_its_stationary_law():
    # Many nodes at one slot: the variance at the start equals that later on, and is `local`².
    still = Climate(0.0, 0.0, 0.0, 0.0, 2.0)
    field = climate_field(200, 20_000, climate=still, slots_per_day=100, seed=1)
    np.testing.assert_allclose(field[[0, 1, 50, 199]].std(axis=1), 2.0, rtol=0.03)


def test_light_is_dark_at_night_and_never_negative():
    field = climate_field(288, 10, climate=CLIMATES["light"], seed=0)
    assert field.min() >= 0
    assert field[:20].max() < 20 < field[144].mean()


def test_climates_stay_within_their_bounds():
    damp = Climate(99.0, -6.0, 3.0, 2.0, 0.5, bounds=(95.0, 100.0))
    field = climate_field(300, 10, climate=damp, seed=0)
    assert (field.min(), field.max()) == (95.0, 100.0)


@pytest.mark.parametrize("options", [{"slots": 0}, {"nodes": 0}, {"slots_per_day": 0}])
def test_climate_field_refuses_nonsense(options):
    with pytest.raises(ValueError, match="must be"):
        climate_field(**{"slots": 5, "nodes": 5, **options})


@pytest.mark.parametrize(
    ("name", "conditions", "shape"),
    [
        ("IntelLab", ("temperature", "humidity", "light"), (500, 54)),
        ("GreenOrbs", ("temperature", "light", "humidity"), (750, 326)),
        ("NDBC", ("air_temperature", "water_temperature", "pressure"), (300, 216)),
    ],
)
def test_deployments_have_the_shapes_of_table_1(name, conditions, shape):
    assert set(DEPLOYMENTS[name.lower()].conditions) == set(conditions)
    for condition in conditions:
        field = deployment(name, condition, seed=1)
        assert field.shape == shape
        assert np.isfinite(field).all()
        assert np.ptp(field) > 1


def test_deployment_names_what_it_knows():
    with pytest.raises(ValueError, match="intellab, greenorbs, ndbc"):
        deployment("mars", "temperature")
    with pytest.raises(ValueError, match="air_temperature"):
        deployment("ndbc", "light")


# Loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("shape", [(500, 54), (40, 7), (1, 9), (9, 1)])
def test_loss_rate_is_honoured_to_the_reading(loss, rate, shape):
    observed = observe(*shape, loss=loss, rate=rate, seed=4)
    assert observed.shape == shape
    assert (~observed).sum() == round(rate * observed.size)


@given(
    slots=st.integers(1, 40),
    nodes=st.integers(1, 12),
    rate=st.floats(0, 1),
    loss=st.sampled_from(list(LOSSES)),
    length=st.one_of(st.none(), st.floats(1, 60)),
)
def test_loss_rate_is_honoured_for_any_shape(slots, nodes, rate, loss, length):
    observed = observe(slots, nodes, loss=loss, rate=rate, mean_length=length, seed=1)
    # 0.7 of 45 lies on either side of 31.5, by the order of the factors.
    assert abs((~observed).sum() - rate * slots * nodes) <= 0.5 + 1e-9


def test_per_node_rates_spread_from_5_to_95_percent():
    rates = 1 - observe(1000, 200, loss="per_node", rate=0.5, seed=2).mean(axis=0)
    assert rates.min() < 0.06
    assert rates.max() > 0.94
    np.testing.assert_allclose(np.median(rates), 0.5, atol=0.02)


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_per_node_rates_stay_between_5_and_95_percent(rate):
    rates = 1 - observe(1000, 100, loss="per_node", rate=rate, seed=2).mean(axis=0)
    assert 0.045 < rates.min() < rates.max() < 0.955
    assert np.ptp(rates) > 0.7


def test_uniform_loss_does_not_favour_nodes():
    rates = 1 - observe(2000, 50, rate=0.5, seed=0).mean(axis=0)
    assert rates.std() < 0.02  # binomial: 0.011


@pytest.mark.parametrize(("rate", "length"), [(0.3, 5), (0.5, 20), (0.7, 10)])
def test_bursts_have_the_mean_length_asked_for_and_geometric_spread(rate, length):
    observed = observe(20_000, 5, loss="bursts", rate=rate, mean_length=length, seed=5)
    lengths = np.concatenate([run_lengths(~observed[:, n]) for n in range(5)])
    np.testing.assert_allclose(lengths.mean(), length, rtol=0.02)
    # The standard deviation of a geometric law with mean b is √(b(b−1)).
    np.testing.assert_allclose(lengths.std(), np.sqrt(length * (length - 1)), rtol=0.1)


def test_bursts_lengthen_when_the_rate_asks_for_it():
    observed = observe(1000, 1, loss="bursts", rate=0.95, mean_length=2, seed=0)
    assert set(run_lengths(observed[:, 0])) == {1}  # no healthy run can be shorter


def test_blocks_are_one_stretch_per_node_and_leave_others_alone():
    observed = observe(500, 50, loss="blocks", rate=0.1, seed=3)
    stretched = [run_lengths(~observed[:, n]) for n in range(50)]
    assert max(len(lengths) for lengths in stretched) == 1
    struck = [lengths[0] for lengths in stretched if lengths]
    assert len(struck) == 25  # 0.1·500·50 / (500/5)
    assert min(struck) > 25
    assert max(struck) < 225


def test_observe_refuses_nonsense():
    with pytest.raises(ValueError, match="uniform, per_node, bursts, blocks"):
        observe(5, 5, loss="sometimes")
    with pytest.raises(ValueError, match="loss rate"):
        observe(5, 5, rate=1.5)
    with pytest.raises(ValueError, match="mean_length"):
        observe(5, 5, loss="bursts", mean_length=0.5)
    with pytest.raises(ValueError, match="at least 1"):
        observe(0, 5)


# Patterns


@given(
    weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=8),
    caps=st.lists(st.integers(0, 20), min_size=8, max_size=8),
    part=st.floats(0, 1),
)
def test_share_is_exact_and_within_the_caps(weights, caps, part):
    limits = np.array(caps[: len(weights)])
    total = int(part * limits.sum())
    parts = share(total, np.array(weights), limits)
    assert parts.sum() == total
    assert (parts >= 0).all()
    assert (parts <= limits).all()


def test_share_is_proportional():
    np.testing.assert_array_equal(
        share(60, np.array([1.0, 2.0, 3.0]), np.full(3, 100)), [10, 20, 30]
    )


@pytest.mark.parametrize("pattern", [runs, stretches])
def test_patterns_mark_allowed_entries_only(pattern):
    allowed = observe(60, 8, rate=0.6, seed=1)
    marks = pattern(allowed, 50, np.random.default_rng(0), mean_length=9)
    assert marks.sum() == 50
    assert not (marks & ~allowed).any()


def test_stretches_spare_the_lead_of_each_node():
    allowed = observe(12, 40, rate=0.3, seed=2)
    room = np.maximum(allowed.sum(axis=0) - 3, 0).sum()
    for count in (40, 100, room):
        marks = stretches(allowed, count, np.random.default_rng(0), mean_length=2, lead=3)
        nth = np.cumsum(allowed, axis=0)
        assert nth[marks].min() == 4


def test_patterns_say_when_there_is_no_room():
    everything = np.ones((4, 2), dtype=bool)
    with pytest.raises(ValueError, match="9 of 8"):
        runs(everything, 9, np.random.default_rng(0), mean_length=2)
    with pytest.raises(ValueError, match="room for 6"):
        stretches(everything, 7, np.random.default_rng(0), mean_length=2, lead=1)


# Faults


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("sampling", [0.2, 1.0])
def test_faults_hit_the_number_asked_for_and_only_readings(kind, sampling):
    sound = np.where(observe(300, 30, rate=1 - sampling, seed=1), low_rank(300, 30, seed=2), np.nan)
    before = sound.copy()
    out = corrupt(sound, kind=kind, rate=0.05, seed=3)
    assert out.support.sum() == round(0.05 * (~np.isnan(sound)).sum())
    assert not out.support[np.isnan(sound)].any()
    np.testing.assert_array_equal(sound, before)
    np.testing.assert_array_equal(np.isnan(out.readings), np.isnan(sound))
    np.testing.assert_allclose(out.readings - out.deviation, sound, atol=1e-10)
    assert corrupt(sound, kind=kind, count=17, seed=3).support.sum() == 17
    assert not corrupt(sound, kind=kind, count=0).support.any()


def test_spikes_are_between_a_fifth_and_all_of_the_range_on_both_sides():
    out = corrupt(low_rank(200, 50, seed=0), kind="spikes", rate=0.1, seed=0)
    spikes = out.deviation[out.support]
    assert 20 <= np.abs(spikes).min() < 22
    assert 98 < np.abs(spikes).max() <= 100
    np.testing.assert_allclose((spikes > 0).mean(), 0.5, atol=0.07)


def test_constant_adds_the_range_everywhere():
    out = corrupt(low_rank(50, 50, seed=0), kind="constant", rate=0.03, seed=0)
    np.testing.assert_allclose(out.deviation[out.support], 100)


def test_bursts_share_their_deviation():
    out = corrupt(np.tile(np.arange(400.0), (5, 1)).T, kind="bursts", rate=0.2, seed=1)
    for n in range(5):
        column = np.round(out.deviation[:, n], 6)
        changes = np.flatnonzero(np.diff(column))
        assert all(column[i] == 0 or column[i + 1] == 0 for i in changes)
    lengths = np.concatenate([run_lengths(out.support[:, n]) for n in range(5)])
    assert 7 < lengths.mean() < 12


def test_a_burst_ends_with_its_node():
    out = corrupt(np.arange(20.0)[None, :], kind="bursts", count=10, seed=0)
    assert np.unique(np.round(out.deviation[out.support], 9)).size == 10


def test_stuck_repeats_the_last_good_reading_to_the_last_bit():
    net = network(400, 20, field="temperature", anomaly="stuck", anomaly_rate=0.1, seed=2)
    struck = np.flatnonzero(net.support.any(axis=0))
    for n in struck:
        arrived = np.flatnonzero(net.observed[:, n])
        false = np.flatnonzero(net.support[arrived, n])
        assert np.ptp(false) == false.size - 1  # one stretch of successive readings
        values = net.readings[arrived, n]
        assert set(values[false]) == {values[false[0] - 1]}
    assert 0 < struck.size < 20


def test_drift_grows_in_a_straight_line_from_the_truth():
    out = corrupt(low_rank(300, 10, seed=1), kind="drift", count=40, mean_length=40, seed=0)
    (node,) = np.flatnonzero(out.support.any(axis=0))
    ramp = out.deviation[out.support[:, node], node]
    np.testing.assert_allclose(ramp, ramp[-1] * np.arange(1, 41) / 40, atol=1e-9)
    assert 20 <= abs(ramp[-1]) <= 100


def test_dead_nodes_send_one_value_beyond_the_range_to_the_end():
    sound = low_rank(300, 10, seed=1)
    out = corrupt(sound, kind="dead", rate=0.1, seed=0)
    assert set(out.readings[out.support]) == {sound.max() + np.ptp(sound) / 2}
    for n in np.flatnonzero(out.support.any(axis=0)):
        first = np.argmax(out.support[:, n])
        assert out.support[first:, n].all()


def test_faults_on_a_constant_field_are_still_faults():
    out = corrupt(np.full((20, 3), 7.0), kind="spikes", count=5, seed=0)
    assert out.support.sum() == 5
    assert np.abs(out.deviation).max() > 1.4  # a fifth of 7
    assert not corrupt(np.full((20, 3), 7.0), kind="stuck", count=5).support.any()


def test_corrupt_refuses_nonsense():
    sound = np.zeros((5, 2))
    with pytest.raises(ValueError, match="spikes, constant, bursts, stuck, drift, dead"):
        corrupt(sound, kind="gremlins")
    with pytest.raises(ValueError, match="anomaly rate"):
        corrupt(sound, rate=-0.1)
    with pytest.raises(ValueError, match="11 of 10"):
        corrupt(sound, count=11)
    with pytest.raises(ValueError, match="-1 of 10"):
        corrupt(sound, count=-1)
    with pytest.raises(ValueError, match="room"):
        corrupt(sound, kind="stuck", count=9)
    with pytest.raises(ValueError, match="mean_length"):
        corrupt(sound, kind="bursts", mean_length=0)
    with pytest.raises(ValueError, match="infinite"):
        corrupt(np.array([[np.inf]]))
    with pytest.raises(ValueError, match="slots × nodes"):
        corrupt(np.zeros(5))


def test_nothing_delivered_means_nothing_false():
    out = corrupt(np.full((4, 3), np.nan))
    assert not out.support.any()
    assert np.isnan(out.readings).all()


# The whole network


def test_network_is_truth_plus_noise_plus_anomalies():
    net = network(500, 54, seed=7)
    assert net.truth.shape == net.readings.shape == (500, 54)
    assert np.linalg.matrix_rank(net.truth) == 4
    assert 40 < net.truth.mean() < 60
    assert net.observed.sum() == 13_500
    assert net.support.sum() == 540
    np.testing.assert_array_equal(np.isnan(net.readings), net.lost)
    assert not net.support[net.lost].any()
    noise = (net.readings - net.truth - net.anomalies)[net.observed]
    np.testing.assert_allclose([noise.mean(), noise.std()], [0, 0.5], atol=0.02)
    assert np.abs(net.anomalies[net.support]).min() > 1.4 * net.truth.std()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("anomaly", FAULTS)
@pytest.mark.parametrize("field", ["low_rank", "temperature"])
def test_network_same_seed_same_bytes_other_seed_other_bytes(loss, anomaly, field):
    options = {"loss": loss, "anomaly": anomaly, "field": field}
    one, two, other = (network(60, 12, seed=s, **options) for s in (5, 5, 6))
    for name in ("truth", "readings", "observed", "anomalies"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        assert getattr(one, name).tobytes() != getattr(other, name).tobytes()


def test_network_options_are_independent_streams():
    base = network(80, 10, seed=1)
    np.testing.assert_array_equal(base.truth, network(80, 10, seed=1, loss="bursts").truth)
    np.testing.assert_array_equal(base.observed, network(80, 10, seed=1, noise=0.0).observed)


def test_network_takes_a_field_and_its_shape():
    field = np.arange(12.0).reshape(4, 3)
    net = network(field=field, sampling=1.0, anomaly_rate=0.0, noise=0.0)
    np.testing.assert_array_equal(net.readings, field)
    field[0, 0] = 99
    assert net.truth[0, 0] == 0  # a copy


def test_network_of_one_entry():
    net = network(1, 1, rank=1, sampling=1.0, anomaly_rate=1.0)
    assert net.support.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": 0.0}, "sampling"),
        ({"sampling": 1.1}, "sampling"),
        ({"noise": -1.0}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"field": "sea"}, "unknown field"),
        ({"field": np.array([[1.0, np.nan]])}, "without NaN"),
        ({"field": np.zeros(3)}, "slots × nodes"),
        ({"rank": 99}, "rank"),
        ({"anomaly": "x"}, "unknown anomaly"),
        ({"loss": "x"}, "unknown loss"),
        ({"anomaly_rate": 2.0}, "anomaly rate"),
    ],
)
def test_network_refuses_nonsense(options, message):
    with pytest.raises(ValueError, match=message):
        network(20, 10, **options)
