"""The slow and obvious reference: loops, full SVD, no tricks, nothing imported from the package.

Arrays are slots × nodes; ``O`` is the boolean mask of observed entries. Readings off O are ignored.
"""

import numpy as np


def only(O, X):
    """P_O(X): X where observed, 0 elsewhere."""
    out = np.zeros(X.shape)
    for t in range(X.shape[0]):
        for n in range(X.shape[1]):
            if O[t, n]:
                out[t, n] = X[t, n]
    return out


def nuclear_norm(L):
    return np.linalg.svd(L, compute_uv=False).sum()


def shrink(x, d):
    """The paper's S_d[x], branch by branch."""
    if x > d:
        return x - d
    if x < -d:
        return x + d
    return 0.0


def shrink_all(X, d):
    out = np.zeros(X.shape)
    for index in np.ndindex(X.shape):
        out[index] = shrink(X[index], d)
    return out


def shrink_singular_values(X, threshold):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return U @ np.diag([max(value - threshold, 0.0) for value in s]) @ Vt


def argmin_on_grid(function, grid):
    """The point of the grid where a function of one number is least, and its value there."""
    best, least = None, np.inf
    for point in grid:
        value = function(point)
        if value < least:
            best, least = point, value
    return best, least


def objective(R, O, pair, lam, mu):
    """F at the pair (L, S): μ‖L‖_* + μλ‖S‖₁ + ½‖P_O(R − L − S)‖_F²; λ = ∞ forbids anomalies."""
    L, S = pair
    total = mu * nuclear_norm(L)
    for t in range(R.shape[0]):
        for n in range(R.shape[1]):
            if S[t, n] != 0:
                total += mu * lam * abs(S[t, n])
            if O[t, n]:
                total += 0.5 * (R[t, n] - L[t, n] - S[t, n]) ** 2
    return total


def best_anomalies(R, O, L, lam, mu):
    """The S that minimises F for a given L."""
    return shrink_all(only(O, R) - only(O, L), lam * mu)


def dual_gap(R, O, L, lam, mu):
    """F(L) minus the dual value of the feasible point made from L: at least 0, 0 at the optimum."""
    S = best_anomalies(R, O, L, lam, mu)
    Y = only(O, R) - only(O, L) - S
    norm = np.linalg.norm(Y, 2)
    if norm > mu:
        Y = Y * (mu / norm)
    dual = (Y * only(O, R)).sum() - 0.5 * (Y**2).sum()
    return objective(R, O, (L, S), lam, mu) - dual


def solve(R, O, lam, mu, *, iterations=20_000, enough=1e-10):
    """The LS problem by the textbook: ISTA with momentum (FISTA) on L, a full SVD each time.

    Ends when the duality gap is ``enough`` of the objective; returns L, S and the objective.
    """
    R = only(O, R)
    L = before = np.zeros(R.shape)
    t = 1.0
    for k in range(iterations):
        t_next = (1 + np.sqrt(1 + 4 * t**2)) / 2
        Y = L + (t - 1) / t_next * (L - before)
        residual = np.where(O, R - Y, 0.0)
        step = np.minimum(np.maximum(residual, -lam * mu), lam * mu)
        before, L = L, shrink_singular_values(Y + step, mu)
        t = t_next
        if ((Y - L) * (L - before)).sum() > 0:  # uphill: forget the momentum
            t = 1.0
        if k % 50 == 49:
            S = best_anomalies(R, O, L, lam, mu)
            value = objective(R, O, (L, S), lam, mu)
            if dual_gap(R, O, L, lam, mu) <= enough * value:
                return L, S, value
    raise AssertionError("the reference did not converge")


def smoothness(L):
    """Squared differences between neighbouring slots and neighbouring nodes."""
    total = 0.0
    for t in range(L.shape[0]):
        for n in range(L.shape[1]):
            if t > 0:
                total += (L[t, n] - L[t - 1, n]) ** 2
            if n > 0:
                total += (L[t, n] - L[t, n - 1]) ** 2
    return total


def misfit(R, O, L):
    """‖P_O(R − L)‖_F²."""
    return ((only(O, R) - only(O, L)) ** 2).sum()


def smooth_objective(R, O, L, lam, mu):
    """SRMF as the paper writes it, penalised: μ‖L‖_* + μλS(L) + ½‖P_O(R − L)‖_F²."""
    return mu * nuclear_norm(L) + mu * lam * smoothness(L) + 0.5 * misfit(R, O, L)


def factored_smooth_objective(R, O, A, B, lam):
    """SRMF as Kong et al. write it: ‖P_O(R − BAᵀ)‖² + λ(‖A‖² + ‖B‖²) + λS(BAᵀ)."""
    L = B @ A.T
    return misfit(R, O, L) + lam * ((A**2).sum() + (B**2).sum()) + lam * smoothness(L)


def oracle(R, clean, U, V):
    """Least squares over {UQᵀ + PVᵀ} on clean entries, with that space spelt out as a basis."""
    slots, nodes = R.shape
    basis = []
    for k in range(U.shape[1]):
        for n in range(nodes):
            matrix = np.zeros((slots, nodes))
            matrix[:, n] = U[:, k]
            basis.append(matrix)
    for k in range(V.shape[1]):
        for t in range(slots):
            matrix = np.zeros((slots, nodes))
            matrix[t, :] = V[:, k]
            basis.append(matrix)
    design = np.array([matrix[clean] for matrix in basis]).T
    weights = np.linalg.lstsq(design, R[clean], rcond=None)[0]
    out = np.zeros((slots, nodes))
    for weight, matrix in zip(weights, basis, strict=True):
        out += weight * matrix
    return out


def nse(estimate, truth):
    """The paper's normalised square error."""
    return ((estimate - truth) ** 2).sum() / (truth**2).sum()
