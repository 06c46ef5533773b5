"""Synthetic generators from PyPI, called in environments of their own: no part of Shoal depends on them.

    python rivals_generators.py jobs.json

Each job has the name of a generator, its settings, `train`, an npz with `days`, (households, days, times of day), and
`weekend`, a truth value for each day, and `made`, the npy that gets as many households of the same days; of PAR at most
16, which takes half a second of the processor for each. The json beside it says how many epochs were trained and how
long that took, or the error. Each generator is called as its own guide does; days are rows or steps, because none of
them takes hundreds of readings in a reasonable time.

Networks train for as many epochs as fit into `seconds` of the processor on one thread: an epoch is timed first, on
models that are thrown away.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Days = Any
"""(households, days, times of day)."""

MOST_OF_PAR = 16


def main() -> None:
    """Make all tables that are not there yet."""
    warnings.filterwarnings("ignore")
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        made = Path(job["made"])
        told = made.with_suffix(".json")
        if told.exists():
            continue
        try:
            table, said = make(job["name"], job["train"], dict(job["settings"]))
            np.save(made, table)
        except Exception as error:  # whatever a generator raises goes to the page
            said = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        told.write_text(json.dumps(said), encoding="utf-8")


def make(name: str, train: str, settings: dict[str, Any]) -> tuple[Days, dict[str, Any]]:
    """A table, and what it took."""
    with np.load(train) as file:
        days, weekend = file["days"], file["weekend"]
    budget = Budget(settings.pop("seconds"), settings.pop("seed"))
    begun = time.process_time()
    table = np.asarray(GENERATORS[name](days, weekend, budget, **settings), dtype=np.float64)
    if not np.isfinite(table).all():
        raise ValueError("it made readings that are no numbers")
    return table, {"epochs": budget.epochs, "trained": budget.trained, "whole": time.process_time() - begun}


class Budget:
    """Seconds of the processor that a model may train, and how many epochs they were enough for."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.seconds, self.seed = seconds, seed
        self.epochs: int | None = None
        self.trained = 0.0

    def spend(self, train: Callable[[int], Any]) -> Any:
        """The model that `train(epochs)` makes, with as many epochs as there is time for."""
        first = self._time(train, 1)[1]  # with imports and first calls
        n_timed = 2 if first > 5.0 else 10
        each = self._time(train, n_timed)[1] / n_timed
        self.epochs = max(1, int(self.seconds / each))
        model, self.trained = self._time(train, self.epochs)
        return model

    def fit(self, train: Callable[[], Any]) -> Any:
        """What has no epochs, and takes as long as it takes."""
        model, self.trained = self._time(lambda _: train(), 0)
        return model

    def _time(self, train: Callable[[int], Any], epochs: int) -> tuple[Any, float]:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        np.random.seed(self.seed)  # noqa: NPY002 - the generators draw from it
        begun = time.process_time()
        return train(epochs), time.process_time() - begun


def copula(days: Days, weekend: Days, budget: Budget, *, distribution: str) -> Days:
    """SDV's Gaussian copula over single days, one for weekdays and one for weekends, put together by chance."""
    from sdv.metadata import Metadata
    from sdv.single_table import GaussianCopulaSynthesizer

    n, _, width = days.shape
    hours = [f"at {slot}" for slot in range(width)]
    metadata = Metadata.load_from_dict({"tables": {"days": {"columns": {h: {"sdtype": "numerical"} for h in hours}}}})
    made = np.empty_like(days)

    def train() -> dict[bool, Any]:
        models = {
            kind: GaussianCopulaSynthesizer(metadata, default_distribution=distribution) for kind in (False, True)
        }
        for kind, model in models.items():
            model.fit({"days": _frame(days[:, weekend == kind].reshape(-1, width), hours)})
        return models

    for kind, model in budget.fit(train).items():
        some = weekend == kind
        drawn = model.sample(n * int(some.sum()))["days"][hours].to_numpy()
        made[:, some] = drawn.reshape(n, -1, width)
    return made


def par(days: Days, weekend: Days, budget: Budget, *, sample_size: int, segment: int | None) -> Days:
    """SDV's PAR: a sequence of days for each household."""
    from sdv.metadata import Metadata
    from sdv.sequential import PARSynthesizer

    n, n_days, width = days.shape
    hours = [f"at {slot}" for slot in range(width)]
    columns = {h: {"sdtype": "numerical"} for h in hours}
    columns |= {"home": {"sdtype": "id"}, "day": {"sdtype": "numerical"}}
    table = {"columns": columns, "sequence_key": "home", "sequence_index": "day"}
    frame = _frame(days.reshape(-1, width), hours)
    frame["home"] = np.repeat(np.arange(n), n_days).astype(str)
    frame["day"] = np.tile(np.arange(n_days), n)

    def train(epochs: int) -> Any:
        metadata = Metadata.load_from_dict({"tables": {"days": table}})
        model = PARSynthesizer(metadata, epochs=epochs, sample_size=sample_size, segment_size=segment, cuda=False)
        model.fit({"days": frame})
        return model

    drawn = budget.spend(train).sample_sequences(min(n, MOST_OF_PAR), n_days)["days"]
    return drawn[hours].to_numpy().reshape(-1, n_days, width)


def doppelganger(days: Days, weekend: Days, budget: Budget, *, steps: int, rate: float) -> Days:
    """The DoppelGANger of gretel-synthetics: a sequence of days for each household."""
    from gretel_synthetics.timeseries_dgan.config import DGANConfig
    from gretel_synthetics.timeseries_dgan.dgan import DGAN

    n, n_days, _ = days.shape

    def train(epochs: int) -> Any:
        config = DGANConfig(
            max_sequence_len=n_days,
            sample_len=steps,
            batch_size=min(100, n),
            generator_learning_rate=rate,
            discriminator_learning_rate=rate,
            epochs=epochs,
            cuda=False,
        )
        model = DGAN(config)
        model.train_numpy(features=days.astype(np.float32))
        return model

    return budget.spend(train).generate_numpy(n)[1]


def faraday(days: Days, weekend: Days, budget: Budget, *, latent: int, components: int) -> Days:
    """OpenSynth's Faraday: an autoencoder of days and a mixture over its codes; days are put together by chance."""
    import logging
    from types import SimpleNamespace

    import pytorch_lightning as lightning
    import torch
    from opensynth.models.faraday import FaradayModel, FaradayVAE
    from torch.utils.data import DataLoader

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    n, n_days, width = days.shape
    level, spread = days.mean(), days.std()
    rows = torch.tensor((days.reshape(-1, width) - level) / spread, dtype=torch.float32)
    kinds = torch.tensor(np.tile(weekend, n).astype(np.int64))
    samples = [{"kwh": row, "features": {"weekend": kind}} for row, kind in zip(rows, kinds, strict=True)]
    loader = DataLoader(samples, batch_size=500, shuffle=True)
    quiet = {"accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False}

    def train(epochs: int) -> Any:
        coder = FaradayVAE(class_dim=1, input_dim=width, latent_dim=latent)
        lightning.Trainer(max_epochs=epochs, **quiet).fit(coder, loader)
        model = FaradayModel(coder, n_components=components, max_epochs=10, covariance_reg=1e-3)
        model.train_gmm(SimpleNamespace(train_dataloader=lambda: loader))
        return model

    model = budget.spend(train)
    made = np.empty_like(days)
    for kind in (0, 1):
        some = weekend == bool(kind)
        wanted, drawn = n * int(some.sum()), []
        while sum(map(len, drawn)) < wanted:
            sample = model.sample_gmm(4 * n * n_days)
            here = sample["features"]["weekend"].reshape(-1) == kind
            drawn.append(sample["kwh"][here].detach().numpy() * spread + level)
        made[:, some] = np.maximum(np.concatenate(drawn)[:wanted], 0.0).reshape(n, -1, width)
    return made


def _frame(rows: Days, columns: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, columns=columns)


GENERATORS: dict[str, Callable[..., Days]] = {
    "copula": copula,
    "par": par,
    "doppelganger": doppelganger,
    "faraday": faraday,
}

if __name__ == "__main__":
    main()
