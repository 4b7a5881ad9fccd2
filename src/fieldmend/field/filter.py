"""The field model slot by slot: what is known now, from the past alone.

The state is Gaussian: factors b ~ N(β, P), and each node's own part hangs on them,

    r_n = ρ_n + c_nᵀ(b − β) + ε_n,   ε_n ~ N(0, v_n) independent:

r² + N(r + 2) numbers instead of the (N + r)² of a full covariance. The update by a slot's readings
is exact. The prediction of the next slot keeps Cov(b, r_n) and Var(r_n) and drops what nodes share
beyond b: with one node nothing is dropped. O(N·r²) a slot.

Scaled values here, nodes in the model's order; :class:`fieldmend.FieldModel` has the units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldmend.core.prox import Array, Mask
from fieldmend.field.model import Field

GATE = 6.0  # scores beyond this move nothing, where no replay has said better
_PASSES = 3  # of reweighting, where a slot has a reading beyond the gate
_HUBER = 2.0  # scores from which on a reading counts less while the false ones are looked for
_STEP, _FAR_STEP = 2, 6  # readings in a row, off by the same, that are a step and no error
_FAR = 4.0  # times the gate: from there on a step has to last for longer to be one


@dataclass(frozen=True)
class Belief:
    """What is known of one slot: r² + N(r + 2) numbers, and who was not believed lately."""

    factors: Array  # β
    covariance: Array  # P
    own: Array  # ρ, nodes
    tie: Array  # c, nodes × r
    spread: Array  # v, nodes
    since: Array  # slots since the node's last reading that was believed
    doubted: NDArray[np.intp]  # readings in a row that were not, off by the same
    off: Array  # by how much the last of them was
    shift: Array  # of the node's level: steps that were believed

    @classmethod
    def start(cls, field: Field) -> Belief:
        """What is known of a slot without any past."""
        nodes, r = field.loadings.shape
        return cls(
            factors=np.zeros(r),
            covariance=np.eye(r),
            own=np.zeros(nodes),
            tie=np.zeros((nodes, r)),
            spread=field.nodes.spread,
            since=np.full(nodes, np.inf),
            doubted=np.zeros(nodes, np.intp),
            off=np.zeros(nodes),
            shift=np.zeros(nodes),
        )

    def expected(self, field: Field) -> Array:
        """The field as it is believed to be."""
        out: Array = field.level + self.shift + field.loadings @ self.factors + self.own
        return out


@dataclass(frozen=True)
class Heard:
    """A slot after its readings: the field, the variance of a reading, and how odd each one is."""

    mean: Array
    variance: Array
    expected: Array  # of a reading, without itself
    score: Array  # distance of a reading from that, in standard deviations; NaN without one
    believed: Mask


def predict(field: Field, now: Belief) -> Belief:
    """The slot after this one."""
    phi, own = field.phi, field.nodes
    P = np.outer(phi, phi) * now.covariance
    P[np.diag_indices_from(P)] += 1.0 - phi**2
    before = phi[:, None] * now.covariance  # Cov(b', b)
    gain = np.linalg.solve(P, before)
    # What of c_nᵀ(b − β) the next factors do not tell: it goes into v_n.
    left = now.covariance - before.T @ gain
    lost = _forms(now.tie, left)
    return replace(
        now,
        factors=phi * now.factors,
        covariance=P,
        own=own.phi * now.own,
        tie=own.phi[:, None] * (now.tie @ gain.T),
        spread=own.innovation + own.phi**2 * (now.spread + np.maximum(lost, 0.0)),
        since=now.since + 1.0,
        # A step is forgotten as slowly as the slowest of what nodes do on their own.
        shift=own.phi.max(initial=0.0) * now.shift,
    )


def hear(
    field: Field, now: Belief, y: Array, seen: Mask, gate: float | Array
) -> tuple[Belief, Heard]:
    """The readings of the slot: exact, but for readings whose score is beyond the gate.

    Those move nothing. A false reading is followed by true ones: a node whose next reading is off
    by the same is believed, something has changed for good, and its level with it. Where it is off
    by far, that takes six of them. One gate for all nodes, or one each.
    """
    now = _stepped(field, now, y, seen, gate)
    off = np.where(seen, y - now.expected(field), 0.0)
    slot = _Slot(now.covariance, field.loadings + now.tie, now.spread + field.nodes.noise, off)
    believed = seen
    usual = slot.summed(seen / slot.noise)
    found = slot.updated(usual)
    score = slot.scores(found, believed)
    if (np.where(seen, score, 0.0) > gate).any():
        believed = slot.consensus(usual, seen, gate)
        for _ in range(_PASSES):
            found = slot.updated(slot.changed(usual, believed / slot.noise))
            score = slot.scores(found, believed)
            worse = believed & (score > gate)
            if not worse.any():
                break
            believed = believed & ~worse
    which = _Which(seen, believed, np.where(believed, now.spread / slot.noise, 0.0))
    told = _told(field, now, slot, found, which)
    return _after(now, slot, found, which), told


def _stepped(field: Field, now: Belief, y: Array, seen: Mask, gate: float | Array) -> Belief:
    """Nodes that have been off by the same for long get another level, their own part afresh."""
    step = seen & (now.doubted >= _STEP - 1)
    if not step.any():
        return now
    off, noise = y - now.expected(field), now.spread + field.nodes.noise
    far = np.abs(off) > _FAR * gate * np.sqrt(noise)
    step &= _same(now, off, noise) & ((now.doubted >= _FAR_STEP - 1) | ~far)
    return replace(
        now,
        own=np.where(step, 0.0, now.own),
        tie=np.where(step[:, None], 0.0, now.tie),
        spread=np.where(step, field.nodes.spread, now.spread),
        shift=np.where(step, now.shift + off + now.own, now.shift),
    )


@dataclass(frozen=True)
class _Sums:
    weight: Array  # nodes
    information: Array  # Σ weight·h·hᵀ
    toward: Array  # Σ weight·off·h


@dataclass(frozen=True)
class _Update:
    shift: Array  # of the factors
    covariance: Array
    rest: Array  # nodes: what is left of `off`
    reach: Array  # nodes: variance of hᵀb


@dataclass(frozen=True)
class _Slot:
    """off_n = h_nᵀ(b − β) + noise of variance w_n, b − β ~ N(0, P)."""

    covariance: Array
    h: Array
    noise: Array
    off: Array

    def summed(self, weight: Array) -> _Sums:
        """What the readings say of the factors, each with its weight (1/w_n, or less)."""
        weighted = self.h * weight[:, None]
        return _Sums(weight, weighted.T @ self.h, self.off @ weighted)

    def changed(self, usual: _Sums, weight: Array) -> _Sums:
        """The same from the sums of other weights: where few differ, only those are added."""
        which = np.flatnonzero(weight != usual.weight)
        if 2 * len(which) >= len(weight):
            return self.summed(weight)
        h = self.h[which]
        more = h * (weight - usual.weight)[which, None]
        return _Sums(weight, usual.information + more.T @ h, usual.toward + self.off[which] @ more)

    def moved(self, by: _Sums) -> tuple[Array, Array, Array]:
        """The factors' shift and covariance, and what is left of each node's `off`."""
        # (P⁻¹ + S)⁻¹ = (I + PS)⁻¹P: no inverse of P, which may be all but singular.
        P = np.linalg.solve(
            np.eye(len(self.covariance)) + self.covariance @ by.information, self.covariance
        )
        P = (P + P.T) / 2
        shift = P @ by.toward
        return shift, P, self.off - self.h @ shift

    def updated(self, by: _Sums) -> _Update:
        """The same, with how far the factors' doubt reaches at each node."""
        shift, P, rest = self.moved(by)
        return _Update(shift, P, rest, np.maximum(_forms(self.h, P), 0.0))

    def scores(self, found: _Update, believed: Mask) -> Array:
        """|reading − what is expected without it| over its standard deviation.

        Of a reading with a part in the update, the rest and its variance are those of leaving it
        out (Sherman and Morrison): the rest is short by the factor (w − u)/w, u = hᵀPh.
        """
        side = np.where(believed, -1.0, 1.0)
        variance = np.maximum(self.noise + side * found.reach, 1e-9 * self.noise)
        out: Array = np.abs(found.rest) / np.sqrt(variance)
        return out

    def consensus(self, usual: _Sums, seen: Mask, gate: float | Array) -> Mask:
        """The readings that agree: found with less weight for those far off."""
        by, deviation = usual, np.sqrt(self.noise)
        for _ in range(_PASSES):
            z = np.abs(self.moved(by)[2]) / deviation
            by = self.changed(usual, usual.weight * np.minimum(1.0, _HUBER / np.maximum(z, 1e-9)))
        found = self.updated(by)
        z = np.abs(found.rest) / np.sqrt(self.noise + found.reach)
        out: Mask = seen & (z <= gate)
        return out


@dataclass(frozen=True)
class _Which:
    seen: Mask
    believed: Mask
    gain: Array  # of each node's own part by its reading


def _after(now: Belief, slot: _Slot, found: _Update, which: _Which) -> Belief:
    """The belief after the update: given b, each node's own part is a scalar filter."""
    gain = which.gain
    return replace(
        now,
        factors=now.factors + found.shift,
        covariance=found.covariance,
        own=now.own + now.tie @ found.shift + gain * found.rest,
        tie=now.tie - gain[:, None] * slot.h,
        spread=now.spread * (1.0 - gain),
        since=np.where(which.believed, 0.0, now.since),
        doubted=_doubted(now, slot, which),
        off=np.where(which.seen & ~which.believed, slot.off, now.off),
    )


def _told(field: Field, now: Belief, slot: _Slot, found: _Update, which: _Which) -> Heard:
    """What there is to tell of the slot."""
    gain = which.gain
    before = now.expected(field)
    mean = before + slot.h @ found.shift + gain * found.rest
    # After the update a + c is h(1 − gain), and v is v(1 − gain).
    own = (1.0 - gain) ** 2 * found.reach + (1.0 - gain) * now.spread
    # Left out, a reading's rest is longer than what is left of it now.
    short = np.where(which.believed, 1.0 - found.reach / slot.noise, 1.0)
    alone = before + slot.off - found.rest / np.maximum(short, 1e-9)
    score = slot.scores(found, which.believed)
    return Heard(
        mean=mean,
        variance=own + field.nodes.noise,
        expected=np.where(which.seen, alone, mean),
        score=np.where(which.seen, score, np.nan),
        believed=which.believed,
    )


def _forms(rows: Array, matrix: Array) -> Array:
    """xᵀMx for each row x."""
    out: Array = np.einsum("nr,nr->n", rows @ matrix, rows)
    return out


def _doubted(now: Belief, slot: _Slot, which: _Which) -> NDArray[np.intp]:
    """Readings in a row that were not believed, and were off by the same."""
    again = np.where(_same(now, slot.off, slot.noise), now.doubted, 0) + 1
    out = np.where(which.believed, 0, np.where(which.seen, again, now.doubted))
    return out.astype(np.intp)


def _same(now: Belief, off: Array, noise: Array) -> Mask:
    out: Mask = np.abs(off - now.off) <= GATE * np.sqrt(2.0 * noise)
    return out
