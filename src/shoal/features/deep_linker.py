"""A network that pulls windows of one household together and pushes those of others apart.

    L = mean over windows i of  -log( exp(s(i, i') / TEMPERATURE) / sum over j of exp(s(i, j') / TEMPERATURE) )

where i' is another window of the household of i, j' that of every household in the batch, and s the cosine of the
network's outputs for both (van den Oord 2018; Chen 2020). It learns the layers before the linear discriminants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.features.deep_metric import deterministic, find_torch

Floats = NDArray[np.float64]

WIDTHS = (256, 128)
TEMPERATURE = 0.1
PASSES = 60
BATCH = 256
RATE, DECAY, DROPOUT = 1e-3, 1e-3, 0.3


def encode(x: Floats, seed: int) -> tuple[tuple[Floats, Floats], ...]:
    """Layers learned from fingerprints (windows, series, numbers), in units of their spread."""
    torch = find_torch("cpu", "Relink(encoder='deep')", "encoder='linear'")
    n_windows, n, d = x.shape
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    with deterministic(torch, "cpu"):
        data = torch.tensor(x, dtype=torch.float32)
        weights = []
        for before, after in zip((d, *WIDTHS), WIDTHS, strict=False):
            bound = float(np.sqrt(6.0 / before))
            layer = random.uniform(-bound, bound, (after, before)), np.zeros(after)
            weights.append([torch.tensor(part, dtype=torch.float32, requires_grad=True) for part in layer])
        optimizer = torch.optim.Adam([part for layer in weights for part in layer], lr=RATE, weight_decay=DECAY)
        for _ in range(PASSES):
            order = random.permutation(n)
            for first in range(0, n, BATCH):
                chosen = order[first : first + BATCH]
                if len(chosen) < 2:
                    continue
                pairs = np.stack([random.permutation(n_windows)[:2] for _ in chosen], axis=1)
                kept = (random.random((2, len(chosen), d)) >= DROPOUT) / (1.0 - DROPOUT)
                kept = torch.tensor(kept, dtype=torch.float32)
                sides = [_through(torch, weights, data[pairs[side], chosen] * kept[side]) for side in (0, 1)]
                alike = sides[0] @ sides[1].T / TEMPERATURE
                own = torch.arange(len(chosen))
                loss = torch.nn.functional.cross_entropy(alike, own) + torch.nn.functional.cross_entropy(alike.T, own)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return tuple((_plain(weight), _plain(bias)) for weight, bias in weights)


def _through(torch: Any, weights: Any, x: Any) -> Any:
    for at, (weight, bias) in enumerate(weights):
        x = torch.nn.functional.linear(torch.relu(x) if at else x, weight, bias)
    return torch.nn.functional.normalize(x, dim=1)


def _plain(part: Any) -> Floats:
    return np.array(part.detach().numpy(), dtype=np.float64, order="C")
