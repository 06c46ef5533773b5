"""Noise on an engine: its strength from sums over everything, its numbers from the readings of each series.

Equal series get equal noise, as in memory. The numbers themselves are others than in memory, and the same on every
engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from shoal.engines.blocks import BlockCandidate, BlockPanel, Clock
from shoal.engines.contract import Blocks
from shoal.engines.reading.tally import Tally, tally
from shoal.engines.rows import ROW, pack, unpack
from shoal.engines.techniques.random import as_shares, random_bits, secret_key
from shoal.engines.techniques.sums import Steps
from shoal.engines.techniques.table import candidate_of, with_published
from shoal.methods.noise_addition import MOST_MEMORY, NoiseAddition, deviation_of

Floats = NDArray[np.float64]


def add_noise(method: NoiseAddition, panel: BlockPanel) -> BlockCandidate:
    """Draw the noise and add it, where the series are."""
    key = secret_key(panel, int(method.seed), method.name)
    deviation, memory = _signal(method, panel)
    return candidate_of(method, panel, _Noisy(method, panel.clock, key, deviation, memory), clock=panel.clock)


@dataclass(frozen=True)
class _Noisy:
    method: NoiseAddition
    clock: Clock
    key: bytes = field(repr=False)
    deviation: Floats
    memory: Floats

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            if not block.num_rows:
                continue
            own = _cube(block, self.clock)
            deviation = np.broadcast_to(self.deviation, (len(own), 1, own.shape[2]))
            if self.method.per == "series":
                alone = deviation_of(own, (1,))
                deviation = np.where(alone > 0.0, alone, deviation)
            bits = random_bits(self.key, block.column(ROW).to_pylist(), own.shape[1] * own.shape[2])
            changed = own + self._shape(as_shares(bits).reshape(own.shape)) * (deviation / np.sqrt(self.method.snr))
            yield with_published(block, pack(changed.reshape(len(own), -1)))

    def _shape(self, shares: Floats) -> Floats:
        """Noise of mean 0 and variance 1."""
        drawn: Floats
        if self.method.kind == "laplace":
            drawn = np.sqrt(0.5) * np.where(shares < 0.5, np.log(2.0 * shares), -np.log(2.0 * (1.0 - shares)))
        elif self.method.kind == "uniform":
            drawn = np.sqrt(3.0) * (2.0 * shares - 1.0)
        else:
            drawn = ndtri(shares)
        if self.method.kind == "coloured":
            # e[t] = m e[t-1] + sqrt(1 - m^2) z[t] keeps the variance at 1 from the first instant on.
            fresh = np.sqrt(1.0 - self.memory**2)
            for t in range(1, shares.shape[1]):
                drawn[:, t] = self.memory * drawn[:, t - 1] + fresh * drawn[:, t]
        return drawn


def _cube(block: pa.RecordBatch, clock: Clock) -> Floats:
    return unpack(block.column(ROW)).reshape(block.num_rows, clock.n_instants, clock.n_channels)


def _signal(method: NoiseAddition, panel: BlockPanel) -> tuple[Floats, Floats]:
    """For each channel the standard deviation of all readings, and the correlation one instant apart."""
    clock, channels = panel.clock, range(panel.clock.n_channels)
    first = tally(panel.engine, panel.table, _Largest(clock))
    largest = float(np.array([max(first["largest"])], dtype=np.int64).view(np.float64)[0])
    counts = [max(1, first.get("observed", {}).get(c, 0)) for c in channels]
    steps = Steps.of(largest * clock.n_instants, panel.n_series)
    sums = _added_up(panel, _Sums(clock, steps))
    mean = np.array([float(sums["sum"][c] / counts[c]) for c in channels])
    steps = Steps.of(4.0 * largest * largest * clock.n_instants, panel.n_series)
    squares = _added_up(panel, _Squares(clock, steps, mean))
    deviation = np.sqrt([float(squares["square"][c] / counts[c]) for c in channels])
    if method.memory is not None:
        return deviation, np.full(clock.n_channels, float(method.memory))
    own, after = squares["own"], squares["after"]
    memory = np.array([float(after[c] / own[c]) if own[c] else 0.0 for c in channels])
    return deviation, np.clip(memory, 0.0, MOST_MEMORY)


@dataclass(frozen=True)
class _Largest:
    """The largest reading in size, by its bits, and how many there are in each channel."""

    clock: Clock

    def __call__(self, blocks: Blocks) -> Blocks:
        found = Tally()
        largest = 0.0
        for block in blocks:
            own = _cube(block, self.clock)
            observed = ~np.isnan(own)
            largest = float(np.max(np.abs(own), where=observed, initial=largest))
            for channel, n in enumerate(observed.sum(axis=(0, 1))):
                found.add("observed", n, channel)
        found.add("largest", 1, int(np.array([largest]).view(np.int64)[0]))
        yield from found.blocks()


@dataclass(frozen=True)
class _Sums:
    clock: Clock
    steps: Steps

    def __call__(self, blocks: Blocks) -> Blocks:
        found = Tally()
        for block in blocks:
            own = _cube(block, self.clock)
            _add(found, "sum", np.where(np.isnan(own), 0.0, own).sum(axis=1), self.steps)
        yield from found.blocks()


@dataclass(frozen=True)
class _Squares:
    """Around the mean of all readings; and around the mean of each series, with the same an instant later."""

    clock: Clock
    steps: Steps
    mean: Floats

    def __call__(self, blocks: Blocks) -> Blocks:
        found = Tally()
        for block in blocks:
            own = _cube(block, self.clock)
            observed = ~np.isnan(own)
            _add(found, "square", np.where(observed, (own - self.mean) ** 2, 0.0).sum(axis=1), self.steps)
            counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
            mean = np.where(observed, own, 0.0).sum(axis=1, keepdims=True) / counts
            centred = np.where(observed, own - mean, 0.0)
            _add(found, "own", (centred**2).sum(axis=1), self.steps)
            _add(found, "after", (centred[:, 1:] * centred[:, :-1]).sum(axis=1), self.steps)
        yield from found.blocks()


def _add(found: Tally, what: str, of_series: Floats, steps: Steps) -> None:
    """Numbers of each series and channel, added up over the series."""
    coarse, fine = steps.split(of_series)
    for channel in range(of_series.shape[1]):
        found.add(what, int(coarse[:, channel].sum()), channel)
        found.add(f"{what} fine", int(fine[:, channel].sum()), channel)


def _added_up(panel: BlockPanel, work: _Sums | _Squares) -> dict[str, list[Fraction]]:
    """For each sum and channel what it amounts to."""
    found = tally(panel.engine, panel.table, work)
    return {
        what: [
            work.steps.exact(found.get(what, {}).get(c, 0), found.get(f"{what} fine", {}).get(c, 0))
            for c in range(panel.clock.n_channels)
        ]
        for what in ("sum", "square", "own", "after")
    }
