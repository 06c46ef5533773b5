"""The objectives of linear metrics: one function for each objective and form.

All take differences z = x - y of the labelled pairs, S the similar and D the dissimilar ones, and return a matrix L
with d(x, y) = ‖L z‖, that is A = LᵀL. Sums over S and over D are means, so that rare labels count as much as common
ones. All start from the data and use no randomness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.features.labelled import Booleans, Floats, Pairs

RANK = 8
"""Rows of L in the full forms that are solved for L itself: the largest number of directions."""

STEPS = 200
_TINY = 1e-12


def logistic_diagonal(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Minimise Σ log(1 + exp(∓(b - Σ a_t z_t²))) + penalty Σ a_t over a ≥ 0 and b; convex."""
    weights = logistic_weights(_squares(x, pairs), pairs.similar, penalty)
    return np.diag(np.sqrt(np.maximum(weights[:-1], 0.0)))


def logistic_weights(squares: Floats, similar: Booleans, penalty: float, steps: int = STEPS) -> Floats:
    """The weights a_t of that minimum and, last, b, from the squared differences z_t² of each pair."""
    signs, weights = _signs(similar), _balanced(similar)

    def loss(p: Floats) -> tuple[float, Floats]:
        margin = signs * (p[-1] - squares @ p[:-1])
        pull = -weights * signs * _falling(margin)
        value = weights @ np.logaddexp(0.0, -margin) + penalty * p[:-1].sum()
        return float(value), np.append(penalty - pull @ squares, pull.sum())

    n = squares.shape[1]
    start = np.append(np.full(n, 1.0 / max(float(squares.sum(axis=1).mean()), _TINY)), 1.0)
    return _minimize(loss, start, [(0.0, None)] * n + [(None, None)], steps)


def logistic_full(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Minimise Σ log(1 + exp(∓(b - ‖L z‖²))) + penalty ‖L‖² over L of at most RANK rows and b."""
    ends, signs, weights = _incidence(pairs), _signs(pairs.similar), _balanced(pairs.similar)
    back = ends.T.tocsr()
    start = _principal(x, pairs)

    def loss(p: Floats) -> tuple[float, Floats]:
        map_ = p[:-1].reshape(start.shape)
        apart = ends @ (x @ map_.T)
        margin = signs * (p[-1] - np.einsum("ij,ij->i", apart, apart))
        pull = -weights * signs * _falling(margin)
        value = weights @ np.logaddexp(0.0, -margin) + penalty * np.sum(map_ * map_)
        slope = 2.0 * (penalty * map_ - (back @ (apart * pull[:, None])).T @ x)
        return float(value), np.append(slope.ravel(), pull.sum())

    solution = _minimize(loss, np.append(start.ravel(), 1.0))
    return solution[:-1].reshape(start.shape)


def contrastive_diagonal(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Minimise the contrastive loss (5) + penalty Σ a_t for weights a_t = w_t² of the instants."""
    squares = _squares(x, pairs)
    similar, apart = squares[pairs.similar].mean(axis=0), squares[~pairs.similar]

    def loss(w: Floats) -> tuple[float, Floats]:
        short = 1.0 - apart @ (w * w)
        near = short > 0.0
        value = 0.5 * similar @ (w * w) + 0.5 * short[near].sum() / len(apart) + penalty * w @ w
        return float(value), 2.0 * w * (0.5 * similar - 0.5 * near @ apart / len(apart) + penalty)

    start = np.full(x.shape[1], 1.0 / np.sqrt(max(float(squares.sum(axis=1).mean()), _TINY)))
    return np.diag(np.abs(_minimize(loss, start)))


def contrastive_full(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Minimise Σ_S ‖Lz‖²/2 + Σ_D max(0, 1 - ‖Lz‖²)/2 + penalty ‖L‖²: the linear network of section 5.2.

    Layers without activation are one matrix, and scaling it sets the margin, so m = 1.
    """
    ends = _incidence(pairs.take(~pairs.similar))
    back, n_apart = ends.T.tocsr(), ends.shape[0]
    scatter = _scatter(x, pairs.take(pairs.similar))
    start = _principal(x, pairs)

    def loss(p: Floats) -> tuple[float, Floats]:
        map_ = p.reshape(start.shape)
        apart = ends @ (x @ map_.T)
        short = 1.0 - np.einsum("ij,ij->i", apart, apart)
        near = short > 0.0
        pulled = map_ @ scatter
        value = 0.5 * np.sum(pulled * map_) + 0.5 * short[near].sum() / n_apart + penalty * np.sum(map_ * map_)
        slope = pulled - (back @ (apart * near[:, None])).T @ x / n_apart + 2.0 * penalty * map_
        return float(value), slope.ravel()

    return _minimize(loss, start.ravel()).reshape(start.shape)


def xing_diagonal(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Xing et al.: minimise Σ_S Σ a_t z_t² - log Σ_D √(Σ a_t z_t²) + penalty Σ a_t over a ≥ 0, by Newton's method.

    Up to scale that maximises the distances of dissimilar pairs while Σ_S d² ≤ 1. Convex; a step that would leave
    a ≥ 0 stops at 0, and is halved while it does not lower the objective.
    """
    squares = _squares(x, pairs)
    similar, apart = squares[pairs.similar].mean(axis=0) + penalty, squares[~pairs.similar]

    def objective(a: Floats) -> float:
        return float(similar @ a - np.log(max(float(np.sqrt(np.maximum(apart @ a, 0.0)).mean()), _TINY)))

    a = np.full(x.shape[1], 1.0 / max(float(similar.sum()), _TINY))
    value = objective(a)
    for _ in range(STEPS):
        lengths = np.sqrt(np.maximum(apart @ a, _TINY))
        mean = lengths.mean()
        first = (0.5 / lengths) @ apart / len(apart)
        slope = similar - first / mean
        free = (a > 0.0) | (slope < 0.0)
        part = apart[:, free]
        bend = (part.T * (0.25 / lengths**3)) @ part / len(apart) / mean + np.outer(first[free], first[free]) / mean**2
        step = np.zeros_like(a)
        step[free] = np.linalg.solve(bend + 1e-9 * max(float(np.trace(bend)), _TINY) * np.eye(len(bend)), slope[free])
        size, lowered = 1.0, False
        while size > 1e-8 and not lowered:
            trial = np.maximum(a - size * step, 0.0)
            lowered = (tried := objective(trial)) < value
            size /= 2.0
        if not lowered:
            break
        done = value - tried < 1e-10 * max(1.0, abs(value))
        a, value = trial, tried
        if done:
            break
    return np.diag(np.sqrt(a))


def xing_full(x: Floats, pairs: Pairs, penalty: float) -> Floats:
    """Xing et al.: maximise Σ_D √(zᵀA z) subject to Σ_S zᵀA z + penalty tr A ≤ 1, A ⪰ 0, by projected gradient.

    With C = Σ_S z zᵀ + penalty I and A = C^(-1/2) B C^(-1/2) the constraint reads tr B ≤ 1, B ⪰ 0, and the projection
    is exact: the eigenvalues of B go to the nearest point of the simplex. (They project onto the two sets in turn.)
    """
    values, vectors = np.linalg.eigh(_scatter(x, pairs.take(pairs.similar)) + penalty * np.eye(x.shape[1]))
    whiten = (vectors / np.sqrt(np.maximum(values, _TINY))) @ vectors.T
    apart = (x @ whiten)[pairs.left] - (x @ whiten)[pairs.right]
    apart = apart[~pairs.similar]

    def total(b: Floats) -> tuple[float, Floats]:
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", apart @ b, apart), _TINY))
        return float(lengths.mean()), lengths

    b = np.eye(x.shape[1]) / x.shape[1]
    value, lengths = total(b)
    size = 1.0
    for _ in range(STEPS):
        slope = (apart.T * (0.5 / lengths)) @ apart / len(apart)
        slope /= max(float(np.linalg.norm(slope)), _TINY)
        raised = False
        while size > 1e-6 and not raised:
            trial = _to_spectraplex(b + size * slope)
            tried, trial_lengths = total(trial)
            raised = tried > value
            size = size * 1.5 if raised else size / 2.0
        if not raised:
            break
        done = tried - value < 1e-7 * value
        b, value, lengths = trial, tried, trial_lengths
        if done:
            break
    values, vectors = np.linalg.eigh(b)
    keep = values > 1e-9 * values[-1]
    directions: Floats = (vectors[:, keep] * np.sqrt(values[keep])).T @ whiten
    return directions


Objective = Callable[[Floats, Pairs, float], Floats]

SOLVERS: dict[tuple[str, str], Objective] = {
    ("logistic", "diagonal"): logistic_diagonal,
    ("logistic", "full"): logistic_full,
    ("contrastive", "diagonal"): contrastive_diagonal,
    ("contrastive", "full"): contrastive_full,
    ("xing", "diagonal"): xing_diagonal,
    ("xing", "full"): xing_full,
}


def _to_spectraplex(b: Floats) -> Floats:
    """The nearest positive semidefinite matrix of trace 1."""
    values, vectors = np.linalg.eigh((b + b.T) / 2.0)
    falling = values[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(falling) + 1)
    level = excess[np.flatnonzero(falling > excess)[-1]]
    nearest: Floats = (vectors * np.maximum(values - level, 0.0)) @ vectors.T
    return nearest


def _minimize(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: list[tuple[float | None, float | None]] | None = None,
    steps: int = STEPS,
) -> Floats:
    from scipy.optimize import minimize

    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    return np.asarray(solved.x, dtype=np.float64)


def _squares(x: Floats, pairs: Pairs) -> Floats:
    apart = x[pairs.left] - x[pairs.right]
    return apart * apart


def _scatter(x: Floats, pairs: Pairs) -> Floats:
    """Mean of z zᵀ."""
    apart = x[pairs.left] - x[pairs.right]
    return apart.T @ apart / len(apart)


def _principal(x: Floats, pairs: Pairs) -> Floats:
    """The starting point: the directions in which series differ most, scaled so that pairs are 1 apart on average."""
    from scipy.linalg import eigh

    apart = _scatter(x, pairs)
    n = len(apart)
    directions = eigh(apart, subset_by_index=(max(0, n - RANK), n - 1))[1][:, ::-1].T
    # The sign of an eigenvector is the library's choice.
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    started: Floats = directions * signs[:, None] / np.sqrt(max(float(np.trace(apart)), _TINY))
    return started


def _incidence(pairs: Pairs) -> Any:
    """Sparse matrix from features of the series to differences of the pairs: each series is mapped once."""
    from scipy.sparse import csr_matrix

    n = pairs.n_pairs
    ones, rows = np.ones(n), np.arange(n)
    return csr_matrix(
        (np.append(ones, -ones), (np.append(rows, rows), np.append(pairs.left, pairs.right))),
        shape=(n, len(pairs.series)),
    )


def _signs(similar: Booleans) -> Floats:
    return np.where(similar, 1.0, -1.0)


def _balanced(similar: Booleans) -> Floats:
    return np.where(similar, 0.5 / max(int(similar.sum()), 1), 0.5 / max(int((~similar).sum()), 1))


def _falling(margin: Floats) -> Floats:
    """1 / (1 + exp(margin)), without overflow."""
    from scipy.special import expit

    falling: Floats = expit(-margin)
    return falling
