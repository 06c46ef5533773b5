"""Synthetic generators from PyPI, each called in an environment of its own: no part of Shoal depends on them.

    python rivals_generators.py NAME train.npz made.npy '{"epochs": 100}'

train.npz has `days`, (households, days, times of day), and `weekend`, a truth value for each day; made.npy gets as many
households of the same days, of PAR at most 60, which takes a second of the processor for each. Each generator is called
as its own guide does; days are rows or steps, because none of them takes 672 readings in a reasonable time.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Days = Any
"""(households, days, times of day)."""

MOST_OF_PAR = 60


def main() -> None:
    """Make a table."""
    name, train, made, settings = sys.argv[1:5]
    warnings.filterwarnings("ignore")
    with np.load(train) as file:
        days, weekend = file["days"], file["weekend"]
    given = json.loads(settings)
    seed = int(given.pop("seed", 0))
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the generators draw from it
    np.save(made, np.asarray(GENERATORS[name](days, weekend, **given), dtype=np.float64))


def copula(days: Days, weekend: Days, *, distribution: str) -> Days:
    """SDV's Gaussian copula over single days, one for weekdays and one for weekends, put together by chance."""
    from sdv.metadata import Metadata
    from sdv.single_table import GaussianCopulaSynthesizer

    n, _, width = days.shape
    hours = [f"at {slot}" for slot in range(width)]
    metadata = Metadata.load_from_dict({"tables": {"days": {"columns": {h: {"sdtype": "numerical"} for h in hours}}}})
    made = np.empty_like(days)
    for kind in (False, True):
        some = weekend == kind
        model = GaussianCopulaSynthesizer(metadata, default_distribution=distribution)
        model.fit({"days": _frame(days[:, some].reshape(-1, width), hours)})
        drawn = model.sample(n * int(some.sum()))["days"][hours].to_numpy()
        made[:, some] = drawn.reshape(n, -1, width)
    return made


def par(days: Days, weekend: Days, *, epochs: int) -> Days:
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
    model = PARSynthesizer(Metadata.load_from_dict({"tables": {"days": table}}), epochs=epochs, cuda=False)
    model.fit({"days": frame})
    drawn = model.sample_sequences(min(n, MOST_OF_PAR), n_days)["days"]
    return drawn[hours].to_numpy().reshape(-1, n_days, width)


def doppelganger(days: Days, weekend: Days, *, epochs: int) -> Days:
    """The DoppelGANger of gretel-synthetics: a sequence of days for each household."""
    from gretel_synthetics.timeseries_dgan.config import DGANConfig
    from gretel_synthetics.timeseries_dgan.dgan import DGAN

    n, n_days, _ = days.shape
    config = DGANConfig(max_sequence_len=n_days, sample_len=7, batch_size=min(100, n), epochs=epochs, cuda=False)
    model = DGAN(config)
    model.train_numpy(features=days.astype(np.float32))
    return model.generate_numpy(n)[1]


def faraday(days: Days, weekend: Days, *, epochs: int, components: int) -> Days:
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
    coder = FaradayVAE(class_dim=1, input_dim=width, latent_dim=16)
    lightning.Trainer(max_epochs=epochs, **quiet).fit(coder, loader)
    model = FaradayModel(coder, n_components=components, max_epochs=10, covariance_reg=1e-3)
    model.train_gmm(SimpleNamespace(train_dataloader=lambda: loader))
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
