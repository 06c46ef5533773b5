"""Secret sharing: a given number of holders can open a secret, and fewer learn nothing.

A secret is the value at 0 of a random polynomial of degree `threshold` - 1 over a prime field; a share is its value
at the holder's own place. Fewer shares fit every secret equally well. Shares of several secrets add up to shares of
their sum, so holders can open a sum without anyone seeing what it is made of.

A. Shamir, "How to share a secret", 1979.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from shoal.edge.chance import Chance

PRIME = 2**89 - 1
"""Large enough for sums of more than a million 64-bit words."""
SHARE_BYTES = 12


def share(secret: int, holders: int, threshold: int, chance: Chance) -> list[int]:
    """One share for each holder; any `threshold` of them open the secret."""
    coefficients = [chance.below(PRIME) for _ in range(threshold - 1)]
    shares = []
    for place in range(1, holders + 1):
        value = 0
        for coefficient in coefficients:
            value = (value + coefficient) * place % PRIME
        shares.append((value + secret) % PRIME)
    return shares


def open_secret(shares: Mapping[int, int]) -> int:
    """The secret, from shares by holder (counted from 0); the representative nearest to 0."""
    weights = _weights(tuple(sorted(shares)))
    secret = sum(weight * shares[holder] for holder, weight in weights.items()) % PRIME
    return secret if secret <= PRIME // 2 else secret - PRIME


@lru_cache(maxsize=1024)
def _weights(holders: tuple[int, ...]) -> dict[int, int]:
    """Lagrange coefficients: the weight of each share at 0."""
    weights = {}
    for one in holders:
        up = down = 1
        for other in holders:
            if other != one:
                up = up * (other + 1) % PRIME
                down = down * (other - one) % PRIME
        weights[one] = up * pow(down, -1, PRIME) % PRIME
    return weights
