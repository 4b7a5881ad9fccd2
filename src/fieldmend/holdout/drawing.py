"""Which readings to hide: copies of the real gaps, together with who else was silent in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fieldmend.holdout.canvas import Canvas
from fieldmend.holdout.places import alone, places, together
from fieldmend.holdout.strata import COUNT, Index, Mask, strata

SHARE = 0.1  # of the readings are hidden,
UP_TO = 0.2  # or more, where gaps are long:
GAPS = 24  # of every kind that matters,
MATTERS = 0.05  # of what was lost;
MOST = 60_000  # but never more: they are witnesses enough
FEWEST = 20  # hidden readings that a score needs
ROUNDS = 8
CLOSE = 0.05  # of what is wanted may be left out
APART = 0x48_4F_4E  # keeps these draws apart from those that calibrate and choose


@dataclass(frozen=True)
class Hidden:
    """Readings to hide, slots × nodes, and where their gaps were copied from.

    ``at`` and ``source`` are flat indices: entry ``at[i]`` is hidden because ``source[i]`` was
    lost. What else was lost there (another condition of the same node) can be hidden along. Both
    are empty where nothing was lost and single readings are hidden.
    """

    mask: Mask
    at: Index
    source: Index

    @property
    def copied(self) -> bool:
        """Whether these are copies of real gaps."""
        return self.at.size > 0

    def along(self, lost: Mask) -> Mask:
        """Of another condition: entries that were lost where these gaps were copied from."""
        out = np.zeros(lost.shape, dtype=np.bool_)
        out.ravel()[self.at[lost.ravel()[self.source]]] = True
        return out


def draw(heard: Mask, lost: Mask, seed: int, share: float = SHARE, day: float = 0.0) -> Hidden:
    """Choose about `share` of the readings, in the pattern of what was lost.

    Real gaps are drawn and laid over readings elsewhere, at the same node or
    another, where it becomes about as long as it was. Where more nodes were silent then than are
    now, so many of those fall silent along. Gaps at the ends of the record are copied at the same
    end of other nodes. Kinds of gaps get readings by the square root of their share of what was
    lost: in between what is best for the mean over all and what is best for each. No node loses
    more than half of its readings. Where gaps are long, up to twice as many readings are hidden: a
    few gaps are few witnesses, however many readings they hold. Where nothing was lost, or nothing
    can be copied, single readings are hidden.

    Parameters
    ----------
    heard
        True where a reading is that may be hidden, slots × nodes.
    lost
        True where an estimate will be wanted.
    seed
        Of the draw.
    share
        Of the readings that are hidden, about.
    day
        Slots of a day: gaps that last are copied to about the same time of other days. 0: anywhere.

    Returns
    -------
    Hidden
        Nothing hidden where there are too few readings.

    Examples
    --------
    >>> heard = np.ones((400, 5), dtype=bool)
    >>> heard[100:110, 2] = False
    >>> out = draw(heard, ~heard, seed=0)
    >>> bool(out.mask[~heard].any()), out.copied
    (False, True)
    """
    rng = np.random.default_rng([seed, APART])
    # Flat indices count along rows: of a mask that lies by columns, ravel() is a copy.
    heard, lost = np.ascontiguousarray(heard), np.ascontiguousarray(lost)
    canvas = Canvas(heard, lost & ~heard, day)
    wanted = min(int(share * canvas.total), MOST)
    if wanted < FEWEST or not canvas.able.size:
        return _result(canvas)
    if canvas.lost.any():
        kind = strata(heard, canvas.expected)[canvas.lost]
        cells = np.flatnonzero(canvas.lost)
        count = np.bincount(kind, minlength=COUNT)
        root = np.sqrt(count)
        matter = [cells[kind == k] for k in np.flatnonzero(count > MATTERS * cells.size)]
        needed = sum(GAPS * _usual_entries(canvas, part, rng) for part in matter)
        more = min(int(needed), int(UP_TO / SHARE * wanted), MOST)
        wanted = max(wanted, more)
        # The hardest kinds first: they need the most room.
        for k in np.flatnonzero(root)[::-1]:
            gaps = np.unique(canvas.starts(cells[kind == k]))
            _copy(canvas, gaps, int(np.ceil(wanted * root[k] / root.sum())), rng)
    if np.count_nonzero(canvas.hidden) < FEWEST:
        _singles(canvas, wanted, rng)
    return _result(canvas)


def _copy(canvas: Canvas, gaps: Index, wanted: int, rng: np.random.Generator) -> None:
    """Copies of gaps, given by their first entries, until about `wanted` more are hidden."""
    goal = canvas.count + wanted
    for _ in range(ROUNDS):
        need = goal - canvas.count
        if need <= CLOSE * wanted:
            return
        # Half at a time: what was hidden in between is seen when the next is placed.
        part = need / 2 if need > FEWEST else need
        found = places(canvas, _gaps(canvas, gaps, part, rng), rng).first(part)
        alone(canvas, found.kept(~found.lonely))
        for i in np.flatnonzero(found.lonely):
            if canvas.count < goal:
                together(canvas, found, int(i), rng)
        canvas.survey()


def _usual_entries(canvas: Canvas, cells: Index, rng: np.random.Generator) -> float:
    """About how many readings a copy of a gap hides, its company included."""
    some = rng.choice(cells, 64)
    slot = some // canvas.nodes
    silent = canvas.real_silent[slot + 1] - canvas.real_silent[slot]
    usual = canvas.real_silent[-1] / canvas.slots
    return float((canvas.length(some) * np.maximum(silent - usual, 1.0)).mean())


def _gaps(canvas: Canvas, gaps: Index, need: float, rng: np.random.Generator) -> Index:
    """So many gaps as might do, each standing as one of its entries.

    Every gap is as likely as another: the long ones bring their many entries along.
    """
    usual = float(canvas.length(rng.choice(gaps, 64)).mean())
    chosen = np.asarray(rng.choice(gaps, max(1, int(2 * need / usual))), dtype=np.intp)
    step = (rng.random(chosen.size) * canvas.length(chosen)).astype(np.intp)
    return np.asarray(chosen + step * canvas.nodes, dtype=np.intp)


def _singles(canvas: Canvas, wanted: int, rng: np.random.Generator) -> None:
    """Readings one by one, of nodes that can spare them."""
    open_ = canvas.heard & (canvas.spare > 0)
    cells = np.flatnonzero(open_)
    chosen = rng.choice(cells, min(wanted, cells.size // 2), replace=False)
    canvas.hidden.ravel()[chosen] = True
    over = np.count_nonzero(canvas.hidden, axis=0) > canvas.spare
    canvas.hidden[:, over] = False


def _result(canvas: Canvas) -> Hidden:
    none = np.zeros(0, dtype=np.intp)
    at = np.concatenate([none, *canvas.at])
    source = np.concatenate([none, *canvas.source])
    at, kept = np.unique(at, return_index=True)
    return Hidden(canvas.hidden, at, source[kept])
