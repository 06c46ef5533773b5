"""A twin network that learns from pairs what makes two series similar, however it depends on their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.features.inputs import Inputs, inputs_of
from shoal.features.labelled import Floats, Fold, HeldOut, Pairs, as_pairs, conclude, refuse_seed
from shoal.features.learned import Learned, map_inputs
from shoal.model.parameters import check_choice, is_number, is_whole

Layers = tuple[tuple[Floats, Floats], ...]

BATCH = 128
RATE = 2e-3
DECAY = 1e-4
"""Adam's weight decay."""

_START, _ORDER = 1, 2  # children of the seed; 0 is for the hold-out


@dataclass(frozen=True, kw_only=True)
class DeepMetric:
    """Learn a nonlinear metric from pairs labelled similar or dissimilar.

    d(x, y) = ‖f(x) - f(y)‖₂ for a network f of linear layers with max(0, ·) between them, the same for both series of
    a pair, that minimises by Adam the contrastive loss (5)

        L = ½ d² for a similar pair, ½ max(0, margin - d²) for a dissimilar one,

    where similar and dissimilar pairs have the same total weight. `LinearMetric` takes the same inputs and is quicker:
    try it first.

    The pairs of a third of the series are held out, three times. Learning stops when the loss on them has not fallen
    for `patience` passes, and is then repeated on all pairs for the best number of passes. The metric is used if there
    are at least ten different series and its expected gain is positive: the mean over the three parts of its score on
    the held-out pairs, minus that of Euclidean distance, each part scored by a network that has not seen its series.
    Otherwise the result says so and returns the values themselves (`Learned.used`). The score is the chance that a
    dissimilar pair is farther apart than a similar one. Missing values are refused.

    Needs torch, the extra `deep`: pip install 'shoal[deep]'. What it returns does not.

    Parameters
    ----------
    inputs
        "time": next to the values, their running total and the highest value, rise and fall so far and still to come
        (`shoal.features.inputs.time_inputs`), whose sums give times of arrival and departure. "sums": these sums.
        "haar": Haar coefficients. "values": the values alone.
    hidden
        Widths of the hidden layers.
    n_features
        Width of the last layer: the number of features of a series.
    margin
        How far apart, squared, dissimilar pairs are pushed.
    passes
        The largest number of passes through the pairs.
    patience
        Passes without a lower loss on the held-out pairs before learning stops.
    seed
        Decides which series are held out, the initial weights, and the order of the pairs. The same pairs and seed give
        the same bytes on the same machine.
    device
        "cpu", or "cuda" if available: worthwhile from some hundred thousand pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = (rng.random((80, 24)) < 0.2).astype(float)
    >>> from shoal.features import interests
    >>> learned = DeepMetric().learn(*interests.label_pairs(days, interests.Arrival()))
    >>> learned.used, learned.transform(days).shape
    (True, (80, 8))

    References
    ----------
    "PAD: learned metric", section 5.2, loss (5). R. Hadsell, S. Chopra and Y. LeCun, "Dimensionality reduction by
    learning an invariant mapping", 2006.
    """

    inputs: Inputs = "time"
    hidden: tuple[int, ...] = (64, 32)
    n_features: int = 8
    margin: float = 1.0
    passes: int = 60
    patience: int = 10
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choice("inputs", self.inputs, Inputs)
        if not isinstance(self.hidden, tuple | list):
            raise ParameterError("hidden must list the widths of the layers, such as (64, 64).")
        counts = {"n_features": self.n_features, "passes": self.passes, "patience": self.patience}
        for name, count in (*counts.items(), *(("hidden", width) for width in self.hidden)):
            if not is_whole(count, 1):
                raise ParameterError(f"{name} must be a whole number, at least 1.")
        if not (is_number(self.margin) and 0.0 < self.margin < float("inf")):
            raise ParameterError("margin must be a finite number above 0.")
        if self.device != "cpu" and not str(self.device).startswith("cuda"):
            raise ParameterError("device must be 'cpu' or 'cuda'.")
        refuse_seed(self.seed)

    def learn(self, left: Any, right: Any, similar: Any) -> Learned:
        """Learn from two arrays of series and a boolean for each pair of rows."""
        torch = find_torch(self.device, "DeepMetric", "LinearMetric")
        pairs = as_pairs(left, right, similar)
        inputs = inputs_of(pairs.series.reshape(-1, *pairs.shape), self.inputs)
        centre = inputs.mean(axis=0)
        scale = float(np.sqrt(np.mean((inputs - centre) ** 2))) or 1.0
        x = (inputs - centre) / scale
        folds = pairs.folds(int(self.seed))
        with deterministic(torch, self.device):
            tried = [self._stop(torch, x, fold) for fold in folds]
            stops = [stop for stop, _ in tried]
            n_passes = int(np.median(stops))
            layers = self._fit(torch, x, pairs, n_passes)
        # A fold is judged after the number of passes that was best on the others: its own best would be biased.
        honest = [min(int(np.median(np.delete(stops, at))), len(seen)) for at, (_, seen) in enumerate(tried)]
        judged = [HeldOut(fold.held, seen[at - 1]) for fold, (_, seen), at in zip(folds, tried, honest, strict=True)]
        settings = {
            "hidden": [int(width) for width in self.hidden],
            "margin": float(self.margin),
            "passes": n_passes,
            "seed": int(self.seed),
        }
        return Learned(
            kind="deep",
            inputs=self.inputs,
            shape=pairs.shape,
            centre=centre,
            scale=scale,
            layers=layers,
            figures=conclude(pairs, judged) | settings,
        )

    def _stop(self, torch: Any, x: Floats, fold: Fold) -> tuple[int, list[Floats]]:
        """The pass after which the loss on the held-out pairs was least, and their distances after each pass."""
        best, at, seen = np.inf, 0, []
        for number, weights in enumerate(self._passes(torch, x, fold.train, int(self.passes)), start=1):
            seen.append(fold.held.distances(map_inputs(x, _numpy(weights))))
            judged = _contrastive(seen[-1], fold.held, float(self.margin))
            # The first passes only find the scale of the distances; a low loss there is luck.
            if judged < best and (number >= self.patience or number == self.passes):
                best, at = judged, number
            elif at and number - at >= self.patience:
                break
        return at, seen

    def _fit(self, torch: Any, x: Floats, pairs: Pairs, n_passes: int) -> Layers:
        """The layers after this many passes."""
        *_, last = self._passes(torch, x, pairs, n_passes)
        return _numpy(last)

    def _passes(self, torch: Any, x: Floats, pairs: Pairs, n_passes: int) -> Iterator[Any]:
        """The weights after each pass."""
        weights = self._start(torch, x.shape[1])
        optimizer = torch.optim.Adam([part for layer in weights for part in layer], lr=RATE, weight_decay=DECAY)
        data = torch.tensor(x, dtype=torch.float32, device=self.device)
        order = np.random.default_rng(np.random.SeedSequence(int(self.seed), spawn_key=(_ORDER,)))
        for _ in range(n_passes):
            shuffled = order.permutation(pairs.n_pairs)
            for first in range(0, pairs.n_pairs, BATCH):
                loss = self._loss(torch, weights, data, pairs, shuffled[first : first + BATCH])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            yield weights

    def _loss(self, torch: Any, weights: Any, data: Any, pairs: Pairs, chosen: Any) -> Any:
        """Mean contrastive loss of some pairs, each label with half of the total weight."""
        share = float(pairs.similar.mean())
        ends = torch.as_tensor(np.concatenate([pairs.left[chosen], pairs.right[chosen]]), device=self.device)
        mapped = data[ends]
        for at, (weight, bias) in enumerate(weights):
            mapped = torch.nn.functional.linear(torch.relu(mapped) if at else mapped, weight, bias)
        apart = mapped[: len(chosen)] - mapped[len(chosen) :]
        squared = (apart * apart).sum(dim=1)
        similar = torch.as_tensor(pairs.similar[chosen], device=self.device)
        each = torch.where(similar, squared / share, torch.relu(self.margin - squared) / (1.0 - share))
        return each.mean() / 4.0

    def _start(self, torch: Any, n_inputs: int) -> Any:
        """Random weights from numpy's generator: torch's own state is left alone."""
        random = np.random.default_rng(np.random.SeedSequence(int(self.seed), spawn_key=(_START,)))
        widths = [n_inputs, *(int(width) for width in self.hidden), int(self.n_features)]
        layers = []
        for before, after in pairwise(widths):
            bound = 1.0 / np.sqrt(before)
            layer = random.uniform(-bound, bound, (after, before)), random.uniform(-bound, bound, after)
            layers.append(
                tuple(torch.tensor(part, dtype=torch.float32, device=self.device, requires_grad=True) for part in layer)
            )
        return layers


def _contrastive(distances: Floats, pairs: Pairs, margin: float) -> float:
    """The contrastive loss (5), each label with half of the weight."""
    squared = distances * distances
    return float(squared[pairs.similar].mean() + np.maximum(margin - squared[~pairs.similar], 0.0).mean()) / 4.0


def _numpy(weights: Any) -> Layers:
    def plain(part: Any) -> Floats:
        return np.array(part.detach().cpu().numpy(), dtype=np.float64, order="C")

    return tuple((plain(weight), plain(bias)) for weight, bias in weights)


def find_torch(device: str, asked_by: str, instead: str) -> Any:
    """Import torch, if it is installed and finds the device."""
    try:
        import torch
    except ImportError:
        raise ParameterError(
            f"{asked_by} needs torch, which is not installed. Install the extra: pip install 'shoal[deep]'; or use "
            f"{instead}."
        ) from None
    if device != "cpu" and not torch.cuda.is_available():
        raise ParameterError(f"device={device!r} was requested, but torch finds no such device. Use device='cpu'.")
    return torch


@contextmanager
def deterministic(torch: Any, device: str) -> Iterator[None]:
    """One thread and deterministic operations only; restored afterwards."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)  # with layers this small, threads only wait for each other
    # On a GPU, some operations are deterministic only with an environment variable: there they only warn.
    torch.use_deterministic_algorithms(True, warn_only=device != "cpu")
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict, warn_only=lenient)
