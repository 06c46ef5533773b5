"""Which of many series belongs to the same household as one from another week: learned from other people's series.

Every series has a vector e of what lasts. For windows w of household h,

    e(h, w) = b(h) + r(h, w),    b ~ N(0, diag(between)),  r ~ N(0, 1) in each direction

and the vectors of m windows are averaged, so that r shrinks to variance 1/m. Two vectors are compared by how much
likelier they are to come from one household than from two, log p(e, f | same) - log p(e, f | different). For a given e
this decreases with a distance from f, so the likeliest series is the nearest one (`comparable`).

The directions are Fisher's: fingerprints are whitened within households, with the covariance drawn to its diagonal by
SHRINK, and those in which households differ most are kept (linear discriminant analysis; the comparison is that of
Ioffe 2006).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features.fingerprint import DAYS, Calendar, WindowShape, fingerprint, scale_of, windows
from shoal.features.labelled import one_thread
from shoal.features.learned import map_inputs
from shoal.features.metric_file import BROKEN, read_arrays, write_arrays

Floats = NDArray[np.float64]
Encoder = Literal["linear", "deep"]
Layers = tuple[tuple[Floats, Floats], ...]

FORMAT = 1
SHRINK = 0.3
N_DIRECTIONS = 60
FEWEST = 20
"""The fewest households to learn from."""
MOST_HOUSEHOLDS, MOST_WINDOWS = 3_000, 12
"""The most households to learn from; with more, a sample is drawn. A few thousand are enough."""


class TooFewWindowsError(ParameterError):
    """There is too little to learn from; gaps may have left too few whole windows."""


@dataclass(frozen=True, eq=False, repr=False)
class Linker:
    """A map from stretches of readings to vectors in which a household is close to itself at any time.

    Learned by `learn_linker`, used by `shoal.attacks.Relink`, and saved like a metric. It contains no series, but was
    learned from some: keep the file where those may be kept.
    """

    encoder: Encoder
    shape: WindowShape
    scale: Floats
    centre: Floats
    spread: Floats
    layers: Layers
    between: Floats
    """The variance between households along each direction, relative to 1 between windows of one household."""

    def embed(self, values: Floats, calendar: Calendar) -> tuple[Floats, int]:
        """The mean vector of (series, instants, channels) over their windows, and how many windows that were."""
        if calendar.shape(self.shape.n_days, values.shape[2]) != self.shape:
            raise ParameterError(
                f"The linker was trained on {self.shape.per_day} readings a day of {self.shape.n_channels} channels; "
                f"these have {calendar.per_day} of {values.shape[2]}. Train one on series like these."
            )
        total, n_windows = np.zeros((len(values), len(self.between))), 0
        for grid, weekend in windows(values, calendar, self.shape):
            total += self._map(fingerprint(grid, weekend, self.scale))
            n_windows += 1
        return total / max(n_windows, 1), n_windows

    def comparable(self, known: tuple[Floats, int], shown: tuple[Floats, int]) -> tuple[Floats, Floats]:
        """Both sides transformed so that, for each known series, the likeliest published one is the nearest.

        With A = between + 1/m and B = between + 1/m' of the two sides and D = A B - between², the log likelihood ratio
        is, up to what depends on e alone, -w (f - e B / between)² with w = between² / (2 B D).
        """
        (e, m), (f, m_shown) = known, shown
        a, b = self.between + 1.0 / m, self.between + 1.0 / m_shown
        weight = np.sqrt(self.between**2 / (2.0 * b * (a * b - self.between**2)))
        return e * (weight * b / self.between), f * weight

    def _map(self, numbers: Floats) -> Floats:
        # A row's vector must not depend on other rows: published series that are equal stay equal.
        return map_inputs((numbers - self.centre) / self.spread, self.layers)

    def digest(self) -> str:
        """SHA-256 of everything the vectors depend on."""
        whole = hashlib.sha256(json.dumps(self._header(), sort_keys=True).encode())
        for name, array in sorted(self._arrays().items()):
            whole.update(name.encode() + array.astype("<f8").tobytes())
        return whole.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write it as .npz: arrays of numbers and a header in JSON, nothing that runs when it is read."""
        header = json.dumps(self._header() | {"sha256": self.digest()}, sort_keys=True).encode()
        return write_arrays(Path(path), {"header": np.frombuffer(header, dtype=np.uint8), **self._arrays()})

    @classmethod
    def load(cls, path: str | Path) -> Linker:
        """Read what `save` wrote; refused if it is something else or was changed."""
        source = Path(path)
        try:
            arrays = read_arrays(source)
            header = json.loads(arrays.pop("header").tobytes())
            if header["format"] != FORMAT or header["encoder"] not in ("linear", "deep"):
                raise ValueError("format")
            layers = tuple((arrays[f"weights_{at}"], arrays[f"bias_{at}"]) for at in range(int(header["layers"])))
            linker = cls(
                encoder=header["encoder"],
                shape=WindowShape(**header["shape"]),
                layers=layers,
                **{name: arrays[name] for name in ("scale", "centre", "spread", "between")},
            )
            whole = header["sha256"] == linker.digest() and linker._fits()
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror}.") from None
        except (ParameterError, *BROKEN):
            raise InputError(f"{source} is not a linker. Give a file written by Linker.save.") from None
        if not whole:
            raise InputError(f"{source} was changed after it was saved: its SHA-256 differs. Train it again.")
        return linker

    def _fits(self) -> bool:
        widths = [len(self.centre), *(len(bias) for _, bias in self.layers)]
        inner = all(
            weights.shape == (after, before)
            for (weights, _), before, after in zip(self.layers, widths, widths[1:], strict=False)
        )
        finite = all(np.isfinite(array).all() for array in self._arrays().values())
        ends = len(self.spread) == widths[0] and len(self.between) == widths[-1] and len(self.scale) >= 1
        return inner and finite and ends and bool((self.spread > 0).all() and (self.between > 0).all())

    def _header(self) -> dict[str, Any]:
        return {"format": FORMAT, "encoder": self.encoder, "shape": asdict(self.shape), "layers": len(self.layers)}

    def _arrays(self) -> dict[str, Floats]:
        arrays = {"scale": self.scale, "centre": self.centre, "spread": self.spread, "between": self.between}
        for at, (weights, bias) in enumerate(self.layers):
            arrays |= {f"weights_{at}": weights, f"bias_{at}": bias}
        return arrays

    def __repr__(self) -> str:
        return f"Linker({self.encoder}, windows of {self.shape.n_days} days, {len(self.between)} directions)"


def learn_linker(
    values: Floats, households: NDArray[np.int64], calendar: Calendar, n_days: int, *, encoder: Encoder, seed: int
) -> Linker:
    """Learn from (series, instants, channels) of some households; a household may have several series."""
    random = np.random.default_rng(np.random.SeedSequence(seed))
    different = np.unique(households)
    if len(different) > MOST_HOUSEHOLDS:
        chosen = np.isin(households, random.permutation(different)[:MOST_HOUSEHOLDS])
        values, households = values[chosen], households[chosen]
    shape = calendar.shape(n_days, values.shape[2])
    scale = scale_of(values)
    cut = [fingerprint(grid, weekend, scale) for grid, weekend in windows(values, calendar, shape)]
    if len(cut) > MOST_WINDOWS:
        cut = [cut[at] for at in np.linspace(0, len(cut) - 1, MOST_WINDOWS).astype(int)]
    if len(cut) < 2 or len(different) < FEWEST:
        raise TooFewWindowsError(
            f"Training a linker needs {FEWEST} subjects with two windows of {n_days} days at least; here are "
            f"{len(different)} subjects and {len(cut)} windows. Use nearest-neighbour, which is not trained."
        )
    numbers = np.stack(cut)  # (windows, series, numbers)
    flat = numbers.reshape(-1, numbers.shape[2])
    centre, spread = flat.mean(axis=0), flat.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    x = (numbers - centre) / spread
    hidden: Layers = ()
    if encoder == "deep":
        from shoal.features.deep_linker import encode

        hidden = encode(x, seed)
        x = np.maximum(map_inputs(x.reshape(-1, x.shape[2]), hidden), 0.0).reshape(len(cut), len(values), -1)
    with one_thread():
        directions, bias, between = _discriminants(x)
    return Linker(encoder, shape, scale, centre, spread, (*hidden, (directions, bias)), between)


def _discriminants(x: Floats) -> tuple[Floats, Floats, Floats]:
    """Directions (kept, inputs) with their bias, and the variance between series along each, relative to 1 within."""
    n_windows, n, d = x.shape
    means = x.mean(axis=0)
    centre = means.mean(axis=0)
    within = (x - means).reshape(-1, d)
    covariance = within.T @ within / ((n_windows - 1) * n)
    own = np.diag(covariance)
    covariance = (1.0 - SHRINK) * covariance + np.diag(SHRINK * own + 1e-6 * max(own.mean(), 1e-9))
    variances, axes = np.linalg.eigh(covariance)
    white = axes / np.sqrt(variances)
    apart = (means - centre) @ white
    spread, turn = np.linalg.eigh(apart.T @ apart / n)
    keep = np.argsort(-spread)[: min(N_DIRECTIONS, n - 1, d)]
    directions = np.ascontiguousarray((white @ turn[:, keep]).T)
    # Means of windows differ by 1 / n_windows within a household as well.
    between = np.maximum(spread[keep] - 1.0 / n_windows, 1e-3)
    return directions, -directions @ centre, between


def window_days(calendars: Sequence[Calendar]) -> int:
    """Days of a window: a week if every stretch has one, else a day."""
    return DAYS if all(calendar.n_full_days >= DAYS for calendar in calendars) else 1
