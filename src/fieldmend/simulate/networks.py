"""A whole simulated network: field, noise, faults, loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.simulate.faults import corrupt
from fieldmend.simulate.fields import climate_field, low_rank
from fieldmend.simulate.loss import observe
from fieldmend.simulate.patterns import BoolArray, FloatArray
from fieldmend.text import percent


@dataclass(frozen=True)
class Network:
    """What a simulated network measured, and what was there.

    Attributes
    ----------
    truth
        L: the clean field, slots × nodes.
    readings
        What arrived: truth + noise + anomalies, NaN where lost.
    observed
        O: True where a reading arrived.
    anomalies
        S: deviations of the false readings, zero elsewhere and, as in the paper's Section IV
        ("Partial Observation"), where nothing was observed.
    """

    truth: FloatArray
    readings: FloatArray
    observed: BoolArray
    anomalies: FloatArray

    def __repr__(self) -> str:
        slots, nodes = self.truth.shape
        heard, false = percent(self.observed.mean()), np.count_nonzero(self.support)
        return f"<Network: {slots} slots × {nodes} nodes, {heard} observed, {false} of them false>"

    @property
    def support(self) -> BoolArray:
        """Ω: True where the reading is false."""
        return np.not_equal(self.anomalies, 0)

    @property
    def lost(self) -> BoolArray:
        """True where no reading arrived."""
        return ~self.observed


def network(  # noqa: PLR0913 (the one place where all choices meet)
    slots: int = 500,
    nodes: int = 54,
    *,
    field: str | FloatArray = "low_rank",
    rank: int = 4,
    sampling: float = 0.5,
    loss: str = "uniform",
    anomaly: str = "spikes",
    anomaly_rate: float = 0.04,
    noise: float = 0.5,
    seed: int = 0,
) -> Network:
    """Simulate a network: M = P_O(L + S + Z), the paper's Section III, with all parts known.

    Parameters
    ----------
    slots, nodes
        Shape; an array given as `field` has its own.
    field
        ``"low_rank"``: exactly of rank `rank`, values in [0, 100]. ``"temperature"``: approximately
        low rank, like five-minute temperatures. Or a clean field, slots × nodes.
    rank
        Rank of a ``"low_rank"`` field.
    sampling
        Share p of readings that arrive, 0 < p <= 1; exact to the nearest reading.
    loss
        Loss pattern, see `observe`.
    anomaly
        Kind of fault, see `corrupt`.
    anomaly_rate
        Share of the *arrived* readings that are false.
    noise
        Standard deviation of the noise Z, in the field's units.
    seed
        Seed. Field, loss, noise and faults draw from separate streams of it: changing the loss
        leaves field and noise as they were, and so on.

    Returns
    -------
    Network

    Raises
    ------
    ValueError
        For sampling outside (0, 1], negative noise, or an unknown field.

    Notes
    -----
    Faults act on the noisy reading: a stuck node repeats its value to the last bit. Time and
    memory O(TN).

    Examples
    --------
    >>> net = network(200, 20, sampling=0.4, seed=3)
    >>> float(net.observed.mean()), int(net.support.sum())
    (0.4, 64)
    >>> bool(np.isnan(net.readings[net.lost]).all())
    True
    """
    if not 0 < sampling <= 1:
        raise ValueError(f"sampling must lie in (0, 1], got {sampling}")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a standard deviation, 0 or more, got {noise}")
    for_field, for_loss, for_noise, for_faults = np.random.default_rng(seed).spawn(4)
    truth = _field(field, (slots, nodes), rank, for_field)
    observed = observe(*truth.shape, loss=loss, rate=1 - sampling, seed=for_loss)
    measured = truth + noise * for_noise.normal(size=truth.shape)
    arrived = np.where(observed, measured, np.nan)
    out = corrupt(arrived, kind=anomaly, rate=anomaly_rate, seed=for_faults)
    return Network(truth, out.readings, observed, out.deviation)


def _field(
    field: str | FloatArray, shape: tuple[int, int], rank: int, rng: np.random.Generator
) -> FloatArray:
    if isinstance(field, str):
        if field == "low_rank":
            return low_rank(*shape, rank=rank, seed=rng)
        if field == "temperature":
            return climate_field(*shape, seed=rng)
        raise ValueError(f"unknown field {field!r}, choose low_rank, temperature or give an array")
    given = np.array(field, dtype=np.float64)
    if given.ndim != 2 or given.size == 0 or not np.isfinite(given).all():
        raise ValueError("a field must be a slots × nodes array without NaN or infinite values")
    return given
