"""A learned metric: features in which close means similar to the people who labelled the pairs."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.features.figures import are_figures, is_count
from shoal.features.inputs import Inputs, count_inputs, inputs_of
from shoal.features.labelled import FEWEST_CURVES, Floats, as_series, row_norms
from shoal.features.metric_file import BROKEN, read_arrays, write_arrays
from shoal.features.shown_groups import ShownGroups
from shoal.model import Panel

Kind = Literal["linear", "deep"]

MEANINGS: dict[Inputs, str] = {
    "values": "the values",
    "time": "the values and what time adds to them",
    "haar": "Haar coefficients",
    "sums": "sums of what time adds to the values",
}
FORMAT = 1
_CELLS = 1_000_000  # of inputs processed at a time, about 8 MB


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """A map from series to features, learned from pairs by `LinearMetric` or `DeepMetric`.

    d(x, y) = ‖f(x) - f(y)‖₂, f(x) = W_N g(… g(W_1 (u(x) - centre) / scale + b_1) …) + b_N, g(z) = max(0, z)

    where u gives the values themselves, or transforms of them (`shoal.features.inputs`); a linear metric has one layer.
    If Euclidean distance is mixed in, the values times `values_weight` are features as well. Otherwise it is a
    pseudometric: two different series may have distance 0, and are then alike in everything that mattered to the people
    who labelled.

    If the learned distance did no better than the Euclidean one on the held-out pairs, it is not used: `used` is False,
    `statement` says so, and the features are the values as they are. Either way, aggregates of the originals are
    published, so the guarantee does not depend on what was learned.

    Features of a series do not depend on the other series nor on their order, to the last bit. Series with missing
    values are refused. Nothing here needs torch.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = rng.normal(size=(60, 8))
    >>> left, right = days[rng.integers(60, size=500)], days[rng.integers(60, size=500)]
    >>> from shoal.features import LinearMetric
    >>> learned = LinearMetric().learn(left, right, abs(left[:, 3] - right[:, 3]) < 0.5)
    >>> learned.used, learned.transform(days).shape
    (True, (60, 8))
    """

    kind: Kind
    inputs: Inputs
    shape: tuple[int, ...]
    """Instants, and channels if there are any, of the series it takes."""
    centre: Floats
    scale: float
    layers: tuple[tuple[Floats, Floats], ...]
    """Weights (outputs, inputs) and bias of each layer."""
    figures: dict[str, Any] = field(default_factory=dict)
    """`used`, `n_curves`, `n_pairs`, `n_similar`, `n_held_out`, `held_out_learned`, `held_out_euclidean`,
    `held_out_error`, `seed` and the settings: counts and scores, no values. A score is the chance that a dissimilar
    pair is farther apart than a similar one."""
    shown: ShownGroups | None = None
    """The groups of the released people that analysts were shown: groups by this metric are formed within them. None if
    it was learned from public or released series."""
    values_weight: float = 0.0
    """d(x, y)² = ‖f(x) - f(y)‖² + values_weight² ‖x - y‖²: how much of Euclidean distance is mixed in."""

    def __post_init__(self) -> None:
        finite = True
        for array in (self.centre, *(part for layer in self.layers for part in layer)):
            array.setflags(write=False)
            finite &= bool(np.isfinite(array).all())
        object.__setattr__(self, "scale", float(self.scale))
        finite &= 0.0 <= self.values_weight < math.inf
        if not finite or not sys.float_info.min <= self.scale < math.inf:
            raise ParameterError(
                "A learned metric needs finite weights and centre and a scale above 0. Learn it from other pairs, or "
                "from values in a larger or smaller unit."
            )
        self._refuse_other_figures()

    def _refuse_other_figures(self) -> None:
        widths = [len(weights) for weights, _ in self.layers[:-1]]
        if not are_figures(self.figures) or self.figures.get("hidden", widths) != widths:
            raise ParameterError(
                "This is not a learned metric: its figures are not the counts, scores and settings that learning "
                "writes. Give what LinearMetric or DeepMetric learned."
            )

    @property
    def name(self) -> str:
        """The name of the features."""
        return f"learned-{self.kind}"

    @property
    def used(self) -> bool:
        """Whether the learned distance is used; otherwise the features are the values."""
        return bool(self.figures.get("used", True))

    @property
    def statement(self) -> str:
        """In one sentence, whether it is used and why."""
        f = self.figures
        scores = (
            f"on {f.get('n_held_out')} held-out pairs, the chance that a dissimilar pair is farther apart than a "
            f"similar one is {f.get('held_out_learned', float('nan')):.3f} by the learned distance and "
            f"{f.get('held_out_euclidean', float('nan')):.3f} by the Euclidean one"
        )
        if self.used:
            return f"The learned metric is used: {scores}; {self.choice}."
        few = int(f.get("n_curves", FEWEST_CURVES)) < FEWEST_CURVES
        why = (
            f"it was learned from {f.get('n_curves')} curves, and with fewer than {FEWEST_CURVES}, held-out pairs "
            f"are not a reliable guide ({scores})"
            if few
            else f"{scores}, which is not better"
        )
        return f"The learned metric is not used; series are compared by Euclidean distance: {why}."

    @property
    def choice(self) -> str:
        """In a few words: its inputs, its form, and the share of Euclidean distance."""
        form = {"linear": f"a linear metric, {self.figures.get('form', 'full')}", "deep": "a network"}[self.kind]
        share = float(self.figures.get("euclidean_share", 0.0))
        mixed = f", with {share:.0%} of Euclidean distance mixed in" if share else ""
        return f"it is {form}, given {MEANINGS[self.inputs]}{mixed}"

    @property
    def entry(self) -> dict[str, Any]:
        """What the recipe records: enough to tell whether a saved metric is the one that was used."""
        self._refuse_other_figures()  # a dict is mutable, and this goes into the certificate
        told = (
            "form",
            "euclidean_share",
            "n_curves",
            "n_pairs",
            "n_held_out",
            "held_out_learned",
            "held_out_euclidean",
            "seed",
        )
        plain = {key: self.figures[key] for key in told if key in self.figures}
        return {"learned": self.kind, "inputs": self.inputs, "used": self.used, "sha256": self.digest(), **plain}

    def transform(self, values: Any) -> Floats:
        """Features (series, features) of an array (series, instants) or (series, instants, channels)."""
        x = as_series(values)
        if x.shape[1:] != self.shape:
            raise ParameterError(
                f"The metric was learned from series of shape {self.shape}, these have shape {x.shape[1:]}. "
                "Learn it from pairs like the series to be grouped, or resample them."
            )
        if not self.used:
            return x.reshape(len(x), -1)
        height = max(1, _CELLS // len(self.centre))
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is refused below
            blocks = [self._forward(x[first : first + height]) for first in range(0, len(x), height)]
        features = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        bad = ~np.isfinite(features).all(axis=1)
        if n_bad := int(bad.sum()):
            raise ParameterError(
                f"The learned features of {n_bad} of {len(x)} series are not finite, the first at position "
                f"{int(bad.argmax())}. Learn the metric from pairs like the series to be grouped, in the same unit."
            )
        return features

    def __call__(self, panel: Panel) -> Floats:
        """Features of a panel's series."""
        values = panel.values
        if values.ndim == 3 and values.shape[2] == 1 and len(self.shape) == 1:
            values = values[:, :, 0]
        return self.transform(values)

    def distances(self, left: Any, right: Any) -> Floats:
        """Distance of each pair of series, row by row."""
        return row_norms(self.transform(left) - self.transform(right))

    def digest(self) -> str:
        """SHA-256 of everything the features depend on and of the figures."""
        whole = hashlib.sha256(json.dumps(self._header(), sort_keys=True).encode())
        for name, array in sorted(self._arrays().items()):
            whole.update(name.encode() + array.astype("<f8").tobytes())
        return whole.hexdigest()

    def save(self, path: str | Path) -> Path:
        """Write it as .npz: arrays of numbers and a header in JSON, nothing that runs when it is read.

        The weights are learned from the labelled series, and `shown` reveals who was shown with whom: keep the file
        where those may be kept.
        """
        self._refuse_other_figures()
        header = json.dumps(self._header() | {"sha256": self.digest()}, sort_keys=True)
        texts = {"header": header.encode()} | ({} if self.shown is None else {"shown": self.shown.as_bytes()})
        plain = {name: np.frombuffer(text, dtype=np.uint8) for name, text in texts.items()}
        return write_arrays(Path(path), {**plain, **self._arrays()})

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """Read what `save` wrote; refused if it is something else or was changed.

        The hash in the file detects accidents only: anyone who can write a metric can write a matching hash.
        """
        source = Path(path)
        try:
            arrays = read_arrays(source)
            header = json.loads(arrays.pop("header").tobytes())
            learned = cls._from_parts(header, arrays)
            whole = header["sha256"] == learned.digest()
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror}.") from None
        except (ParameterError, *BROKEN):
            raise InputError(f"{source} is not a learned metric. Give a file written by Learned.save.") from None
        if not whole:
            raise InputError(f"{source} was changed after it was saved: its SHA-256 differs. Learn the metric again.")
        return learned

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learned:
        known = header["kind"] in get_args(Kind) and header["inputs"] in get_args(Inputs)
        if header["format"] != FORMAT or not known or not isinstance(header["scale"], float):
            raise ValueError("format")
        if not isinstance(header.get("values_weight", 0.0), float):
            raise ValueError("weight")
        shape, n_layers = tuple(header["shape"]), header["layers"]
        if not is_count(n_layers) or not all(is_count(n) for n in shape) or len(shape) not in (1, 2):
            raise ValueError("shapes")
        numbers = range(min(n_layers, len(arrays)))  # the header may say anything
        shown = None
        if header.get("shown") is not None:
            shown = ShownGroups.from_bytes(arrays.pop("shown").tobytes())
        names = {"centre", *(f"{part}_{at}" for at in numbers for part in ("weights", "bias"))}
        if set(arrays) != names or any(array.dtype != np.float64 for array in arrays.values()):
            raise ValueError("arrays")
        layers = tuple((arrays[f"weights_{at}"], arrays[f"bias_{at}"]) for at in range(n_layers))
        widths = [len(arrays["centre"]), *(len(weights) for weights, _ in layers)]
        for (weights, bias), before, after in zip(layers, widths, widths[1:], strict=False):
            if weights.shape != (after, before) or bias.shape != (after,):
                raise ValueError("shapes")
        n_inputs = count_inputs(shape, header["inputs"])
        if arrays["centre"].shape != (n_inputs,) or not n_inputs or not layers:
            raise ValueError("shapes")
        return cls(
            kind=header["kind"],
            inputs=header["inputs"],
            shape=shape,
            centre=arrays["centre"],
            scale=header["scale"],
            layers=layers,
            figures=header["figures"],
            shown=shown,
            values_weight=header.get("values_weight", 0.0),
        )

    def _header(self) -> dict[str, Any]:
        shown = {} if self.shown is None else {"shown": hashlib.sha256(self.shown.as_bytes()).hexdigest()}
        mixed = {"values_weight": self.values_weight} if self.values_weight else {}
        return {
            **shown,
            **mixed,
            "format": FORMAT,
            "kind": self.kind,
            "inputs": self.inputs,
            "shape": list(self.shape),
            "scale": self.scale,
            "layers": len(self.layers),
            "figures": self.figures,
        }

    def _arrays(self) -> dict[str, Floats]:
        arrays = {"centre": self.centre}
        for at, (weights, bias) in enumerate(self.layers):
            arrays |= {f"weights_{at}": weights, f"bias_{at}": bias}
        return arrays

    def _forward(self, x: Floats) -> Floats:
        mapped = map_inputs((inputs_of(x, self.inputs) - self.centre) / self.scale, self.layers)
        if not self.values_weight:
            return mapped
        return np.concatenate([mapped, self.values_weight * x.reshape(len(x), -1)], axis=1)

    def __repr__(self) -> str:
        return f"Learned({self.kind}, {'used' if self.used else 'not used'}, {self.layers[-1][0].shape[0]} features)"


def map_inputs(x: Floats, layers: tuple[tuple[Floats, Floats], ...]) -> Floats:
    """Apply the layers to rows of inputs, each row independently."""
    for at, (weights, bias) in enumerate(layers):
        # Not as a matrix product: the order in which BLAS sums a row depends on its position in the array.
        x = np.einsum("ij,kj->ik", np.maximum(x, 0.0) if at else x, weights, optimize=False) + bias
    return x
