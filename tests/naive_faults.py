"""The search for faults, slow and obvious: one reading, one node, one stretch at a time."""

import numpy as np

MAD = 1.4826


def runs(marks):
    """First and one past the last of each run of True."""
    out, start = [], None
    for i, mark in enumerate([*marks, False]):
        if mark and start is None:
            start = i
        if not mark and start is not None:
            out.append((start, i))
            start = None
    return out


def joined(marks, gap):
    out = list(marks)
    inner = [(a, b) for a, b in runs([not m for m in marks]) if a > 0 and b < len(marks)]
    for a, b in inner:
        if b - a <= gap:
            out[a:b] = [True] * (b - a)
    return np.array(out, dtype=bool)


def grown(core, hull):
    out = np.zeros(len(core), dtype=bool)
    for a, b in runs([c or h for c, h in zip(core, hull, strict=True)]):
        out[a:b] = any(core[a:b])
    return out


def median(values):
    """Of what was heard; NaN where nothing was."""
    heard = [v for v in np.ravel(values) if not np.isnan(v)]
    return np.median(heard) if heard else np.nan


def medians(values):
    """Of each column."""
    return np.array([median(column) for column in np.asarray(values).T])


def rolling(values, width):
    half = width // 2
    return np.array([np.mean(values[max(i - half, 0) : i + half + 1]) for i in range(len(values))])


def left_out(Z, trusted, A, noise, *, ridge, tukey):
    """Residuals of each node when the factors are found without it.

    Weights by repeated fits of all: three soft, then Tukey's, then the last fit, made again for
    every node with the node itself away.
    """
    out = np.full(Z.shape, np.nan)
    rank = A.shape[1]
    for t, row in enumerate(Z):
        ours = np.flatnonzero(trusted[t])
        precision = 1 / np.maximum(noise, 1e-3) ** 2
        weight = {n: precision[n] for n in ours}

        def factors(members, weight=weight, row=row):
            G = ridge * np.eye(rank) + sum(
                (weight[n] * np.outer(A[n], A[n]) for n in members), np.zeros((rank, rank))
            )
            return np.linalg.solve(
                G, sum((weight[n] * row[n] * A[n] for n in members), np.zeros(rank))
            )

        for turn in range(5):
            b = factors(ours)
            size = {n: abs(row[n] - A[n] @ b) / noise[n] for n in ours}
            wide = max(1.0, MAD * median(list(size.values()))) if ours.size else 1.0
            for n in ours:
                s = size[n] / wide
                part = 1.5 / max(s, 1.5) if turn < 3 else (1 - min(s / tukey, 1.0) ** 2) ** 2
                weight[n] = precision[n] * part
        for n in np.flatnonzero(~np.isnan(row)):
            others = [m for m in ours if m != n]
            if len(others) >= 2:
                out[t, n] = row[n] - A[n] @ factors(others)
    return out


def side_medians(values, sound, at, side):
    """Medians of the `side` sound readings before and after a place; None where there are fewer."""
    before = [values[i] for i in range(at) if sound[i]][-side:]
    after = [values[i] for i in range(at + 1, len(values)) if sound[i]][:side]
    return (np.median(part) if len(part) == side else None for part in (before, after))


def beyond_both(values, sound, side):
    """How far each reading lies beyond both sides' medians, and off their middle."""
    beyond, off = np.zeros(len(values)), np.zeros(len(values))
    for i, value in enumerate(values):
        before, after = side_medians(values, sound, i, side)
        before, after = (
            after if before is None else before,
            before if after is None else after,
        )
        high, low = max(before, after), min(before, after)
        beyond[i] = value - high if value > high else value - low if value < low else 0.0
        off[i] = abs(value - (high + low) / 2)
    return beyond, off


def largest_shift(told, shortest, at_home, back):
    """Of one node the stretch of blocks with the clearest difference in level from the rest.

    `told` is blocks × nodes; a node's unrest is no less than the usual step of all. Where little
    is left, both sides of it have to agree, and the stretch tells how restless the node is, too.
    """
    steps = [median(np.abs(np.diff(column))) for column in told.T]
    usual = median(steps)
    found = []
    for column in told.T:
        heard = ~np.isnan(column)
        best = (0.0, 0, 0, 0.0, 0.0, 0.0)
        for a in range(len(column)):
            for b in range(a + shortest, len(column) + 1):
                inside = np.zeros(len(column), dtype=bool)
                inside[a:b] = True
                ours, rest = column[inside & heard], column[~inside & heard]
                if len(ours) < 2 or not len(rest):
                    continue
                size = ours.mean() - rest.mean()
                spread = max(rest.std(), usual)
                if len(rest) < at_home * heard.sum():
                    before, after = column[:a][heard[:a]], column[b:][heard[b:]]
                    if min(len(before), len(after)) < 2 or len(rest) < shortest:
                        continue
                    if abs(before.mean() - after.mean()) >= back * abs(size):
                        continue
                    about = np.r_[ours - ours.mean(), rest - rest.mean()]
                    spread = max(np.sqrt(np.mean(about**2)), usual)
                clear = abs(size) / spread * np.sqrt(len(ours) * len(rest) / heard.sum())
                if clear > best[0] + 1e-12:
                    best = (clear, a, b, rest.mean(), size, spread)
        found.append(best)
    return found


def shared(found, deviation, off, *, nodes, share, together):
    """Stretches that many begin within so many slots, to the same side."""
    slots, width = found.shape
    out = np.zeros_like(found)
    for side in (1, -1):
        on = found & (side * np.nan_to_num(deviation) > 0)
        age = np.zeros(found.shape, dtype=int)  # silence does not end a run
        for n in range(width):
            since = 0
            for t in range(slots):
                if not on[t, n] and not np.isnan(deviation[t, n]):
                    since = t + 1
                age[t, n] = t + 1 - since
        for t in range(slots):
            fresh = [n for n in range(width) if on[t, n] and age[t, n] <= together]
            old = [n for n in range(width) if on[t, n] and age[t, n] > together and not off[t, n]]
            living = [n for n in range(width) if not np.isnan(deviation[t, n]) and not off[t, n]]
            if len(fresh) >= nodes and len(fresh) >= share * (len(living) - len(old)):
                out[t, fresh] = True
    for n in range(width):
        if out[:, n].any():
            out[:, n] = grown(out[:, n], found[:, n])
    return out


def correlation(x, y):
    """Of two nodes' bounded deviations, over slots in which both were heard."""
    x, y = (np.clip(part / (median(np.abs(part)) or 1.0), -5, 5) for part in (x, y))
    both = ~np.isnan(x) & ~np.isnan(y)
    return x[both] @ y[both] / np.sqrt((x[both] @ x[both]) * (y[both] @ y[both]))


def ridge_line(asked, own, weight):
    """A line through slots in which all of it is known; each slope is held back by `weight`."""
    known = ~np.isnan(own) & ~np.isnan(asked).any(axis=1)
    A, y = asked[known], own[known]
    held = np.diag([1e-9] + [weight] * (A.shape[1] - 1)) * known.sum()
    return np.linalg.solve(A.T @ A + held, A.T @ y)


def parted(asked, own, edges, *, shortest, heard, left, ridge):
    """The stretch of blocks that parts a record into two of different spread, most likely so.

    Its first and last edge, the line through the rest, and the spread about it there.
    """
    known = ~np.isnan(own) & ~np.isnan(asked).any(axis=1)
    best = (np.inf, 0, 0, None, 1.0)
    for a in range(len(edges)):
        for b in range(a + shortest, len(edges)):
            inside = np.zeros(len(own), dtype=bool)
            inside[edges[a] : edges[b]] = True
            here, rest = inside & known, ~inside & known
            if here.sum() < heard or rest.sum() < max(left * known.sum(), heard):
                continue
            weights = ridge_line(asked[rest], own[rest], ridge)
            square = (own - asked @ weights) ** 2
            wild, calm = (max(square[part].mean(), 1e-8) for part in (here, rest))
            unlikely = here.sum() * np.log(wild) + rest.sum() * np.log(calm)
            if wild > calm and unlikely < best[0] - 1e-9:
                best = (unlikely, a, b, weights, np.sqrt(calm))
    return best[1:]
