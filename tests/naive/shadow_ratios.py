"""Likelihood ratios of shadow releases, person by person and sign by sign, as `shoal.attacks.shadows` defines them."""

import numpy as np


def naive_likelihood_ratios(signs, inside, seen):
    """The logarithm of the ratio of each person; everybody must be in one shadow and out of another."""
    n_shadows, n, n_signs = signs.shape
    z, now = np.log(np.clip(signs, 1e-9, 1e9)), np.log(np.clip(seen, 1e-9, 1e9))
    means_in = [np.mean([z[s, i] for s in range(n_shadows) if inside[s, i]], axis=0) for i in range(n)]
    means_out = [np.mean([z[s, i] for s in range(n_shadows) if not inside[s, i]], axis=0) for i in range(n)]
    covariance = np.zeros((n_signs, n_signs))
    for s in range(n_shadows):
        for i in range(n):
            rest = z[s, i] - (means_in[i] if inside[s, i] else means_out[i])
            covariance += np.outer(rest, rest)
    covariance /= n_shadows * n - 2 * n
    covariance += 1e-9 * np.trace(covariance) * np.eye(n_signs)
    apart = [a - b for a, b in zip(means_in, means_out, strict=True)]
    usual = np.mean(apart, axis=0)
    chances = []
    for i in range(n):
        n_in = sum(bool(inside[s, i]) for s in range(n_shadows))
        chances.append([covariance[j, j] * (1 / n_in + 1 / (n_shadows - n_in)) for j in range(n_signs)])
    ratios = []
    for i in range(n):
        drawn = []
        for j in range(n_signs):
            spread = max(np.var([a[j] for a in apart]) - np.mean([c[j] for c in chances]), 0.0)
            own = spread / (spread + chances[i][j])
            drawn.append(own * apart[i][j] + (1 - own) * usual[j])
        middle = (means_in[i] + means_out[i]) / 2
        ratios.append(np.array(drawn) @ np.linalg.inv(covariance) @ (now[i] - middle))
    return np.array(ratios)
