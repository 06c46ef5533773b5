"""Shadow releases: how the signs of membership are distributed if a person is in, and if not.

The adversary knows the method with its parameters, and holds series of many people, including targets; it knows
nobody's membership. It publishes random selections of these people as the publisher would. Over these *shadow*
releases, each person i has signs z: with mean a_i if they are in, with mean b_i if they are not. S is the covariance of
signs within a person and side. With Gaussian signs, the logarithm of the likelihood ratio is

    ratio_i(z) = (a_i - b_i)' S^-1 (z - (a_i + b_i) / 2)

and the answer is "in" if it is above 0. A few shadows say little about a single person, so each a_i - b_i is shrunk
towards everyone's mean by the share of its spread that is chance.

Reference: N. Carlini et al., "Membership inference attacks from first principles", 2022; there of one sign, the loss.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, need_panel
from shoal.errors import ParameterError
from shoal.model import Method, Panel

FEWEST_SHADOWS = 4
MOST_DRAWN = 0.75
"""The largest share of the people that a shadow release contains: some must be left out for comparison."""
LEAST_SIGN, HIGHEST_SIGN = 1e-9, 1e9  # signs go into logarithms


def pool_people(original: Panel, outside: Panel | None) -> Panel:
    """Everyone whose series the adversary holds, originals first, at common instants."""
    if outside is None:
        return original
    common = np.intersect1d(original.times, outside.times)
    if not len(common) or original.n_channels != outside.n_channels:
        raise ParameterError("Shadow releases need `outside` with the instants and channels of the original.")
    sides = [side.values[:, np.isin(side.times, common)] for side in (original, outside)]
    subjects = np.concatenate([original.subject_codes, outside.subject_codes + original.n_subjects])
    return original.like(np.concatenate(sides), times=common, subjects=subjects)


def rehearse(
    people: Panel,
    method: Method | None,
    n_inside: int,
    looks: Callable[[Panel, Panel], Floats],
    n_shadows: int,
    seed: int,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Signs of everyone in each shadow release, (shadows, series, signs), and who was in it."""
    if not isinstance(method, Method):
        raise ParameterError(
            "Shadow releases are made by the method of the release. Give it: method=Microaggregation(k=10)."
        )
    codes = people.subject_codes
    n_drawn = max(1, min(n_inside, int(MOST_DRAWN * people.n_subjects)))
    signs, inside = [], []
    for number in range(n_shadows):
        dice = np.random.default_rng(np.random.SeedSequence([seed, 11, number]))
        rows = np.flatnonzero(np.isin(codes, dice.permutation(people.n_subjects)[:n_drawn]))
        own = method.set_params(seed=int(dice.integers(2**31))) if "seed" in method.get_params() else method
        candidate = own.anonymize(people.take(rows))
        signs.append(looks(people, need_panel("Membership with shadows", candidate.published)))
        shown = candidate.stands_for[candidate.stands_for >= 0]
        inside.append(np.isin(codes, codes[rows[shown]]))
    return np.array(signs), np.array(inside)


def likelihood_ratios(signs: Floats, inside: NDArray[np.bool_], seen: Floats) -> Floats:
    """For each person, the logarithm of how much likelier the observation is with them in the release than without.

    Examples
    --------
    >>> signs = np.array([[[0.1], [0.9]], [[0.8], [0.2]], [[0.2], [0.8]], [[0.9], [0.1]]])
    >>> inside = np.array([[True, False], [False, True], [True, False], [False, True]])
    >>> likelihood_ratios(signs, inside, np.array([[0.15], [0.85]])) > 0
    array([ True, False])
    """
    z, now = _scaled(signs), _scaled(seen)
    n_in, n_out = inside.sum(axis=0), (~inside).sum(axis=0)
    both = (n_in > 0) & (n_out > 0)
    if not both.any():
        raise ParameterError("Nobody is in one shadow release and out of another. Make more of them.")
    means = [
        np.where(here[:, :, None], z, 0.0).sum(axis=0) / np.maximum(here.sum(axis=0), 1)[:, None]
        for here in (inside, ~inside)
    ]
    apart = means[0] - means[1]
    usual = apart[both].mean(axis=0)
    rest = z - np.where(inside[:, :, None], means[0], means[1])
    n_free = max(int(inside.size - (n_in > 0).sum() - (n_out > 0).sum()), 1)
    flat = rest.reshape(-1, z.shape[2])
    covariance = flat.T @ flat / n_free
    covariance += 1e-9 * max(float(np.trace(covariance)), 1e-9) * np.eye(len(covariance))
    chance = np.diag(covariance) * (1.0 / np.maximum(n_in, 1) + 1.0 / np.maximum(n_out, 1))[:, None]
    spread = np.maximum(apart[both].var(axis=0) - chance[both].mean(axis=0), 0.0)
    own = np.where(both[:, None], spread / np.maximum(spread + chance, 1e-300), 0.0)
    apart = np.where(both[:, None], own * apart + (1.0 - own) * usual, usual)
    middle = np.where(
        both[:, None],
        (means[0] + means[1]) / 2.0,
        np.where((n_in > 0)[:, None], means[0] - usual / 2.0, means[1] + usual / 2.0),
    )
    ratios: Floats = np.einsum("is,st,it->i", apart, np.linalg.inv(covariance), now - middle)
    return ratios


def _scaled(signs: Floats) -> Floats:
    """Logarithms, which are closer to normally distributed than distances."""
    logarithms: Floats = np.log(np.clip(signs, LEAST_SIGN, HIGHEST_SIGN))
    return logarithms
