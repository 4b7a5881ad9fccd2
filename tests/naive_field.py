"""The field model by dense Gaussian conditioning: slow, obvious, imports nothing of the package."""

from __future__ import annotations

import numpy as np


def ar1_covariance(phi, innovation, links):
    """Covariance of a stationary AR(1) chain that starts afresh where a link is missing."""
    size = len(links) + 1
    out = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if all(links[min(i, j) : max(i, j)]):
                out[i, j] = innovation / (1 - phi**2) * phi ** abs(i - j)
    return out


def sample(phi, links, white):
    """AR(1) chains of unit innovations driven by standard normal numbers, chains × slots."""
    out = white.copy()
    out[:, 0] /= np.sqrt(1 - phi**2)
    for t, linked in enumerate(links, start=1):
        if linked:
            out[:, t] += phi * out[:, t - 1]
        else:
            out[:, t] /= np.sqrt(1 - phi**2)
    return out


def condition(params, observed, links, values):
    """K⁻¹v, posterior mean and variance of r, log likelihood of r + e = v where observed."""
    phi, innovation, noise = params
    C = ar1_covariance(phi, innovation, links)
    K = C[np.ix_(observed, observed)] + noise * np.eye(observed.sum())
    white = np.zeros(len(observed))
    white[observed] = np.linalg.solve(K, values[observed])
    cross = C[:, observed]
    mean = cross @ np.linalg.solve(K, values[observed])
    variance = np.diag(C - cross @ np.linalg.solve(K, cross.T))
    v = values[observed]
    log_likelihood = -0.5 * (
        v @ np.linalg.solve(K, v) + np.linalg.slogdet(K)[1] + len(v) * np.log(2 * np.pi)
    )
    return white, mean, variance, log_likelihood


def factor_mean(loadings, factor_phi, node_params, *, observed, links, values):
    """Posterior mean of the factors, everything as one dense Gaussian; nodes × slots in."""
    nodes, slots = observed.shape
    r = loadings.shape[1]
    prior = [ar1_covariance(p, 1 - p**2, links) for p in factor_phi]
    P = np.zeros((r * slots, r * slots))
    for k in range(r):
        P[k * slots : (k + 1) * slots, k * slots : (k + 1) * slots] = prior[k]
    H = np.hstack([np.kron(loadings[:, [k]], np.eye(slots)) for k in range(r)])
    R = np.zeros((nodes * slots, nodes * slots))
    for n, (phi, innovation, noise) in enumerate(node_params):
        block = slice(n * slots, (n + 1) * slots)
        R[block, block] = ar1_covariance(phi, innovation, links) + noise * np.eye(slots)
    seen = observed.ravel()
    S = (H @ P @ H.T + R)[np.ix_(seen, seen)]
    return (P @ H.T[:, seen] @ np.linalg.solve(S, values.ravel()[seen])).reshape(r, slots)


def lean(error, towards, run):
    """The weight with the least product of mean and root mean square error; how sure it is."""
    tried = np.arange(21) / 20
    left = [error - w * towards for w in tried]
    best = tried[np.argmin([np.abs(e).mean() * np.sqrt((e**2).mean()) for e in left])]
    rest = error - best * towards
    gain = (np.abs(error) - np.abs(rest)) / np.abs(error).sum()
    gain += (error**2 - rest**2) / (2 * (error**2).sum())
    gains = np.bincount(run, gain)
    return best, gains.sum() / max(np.sqrt(((gains - gains.mean()) ** 2).sum()), 1e-300)
