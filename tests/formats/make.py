"""Small release folders of every form, kept so that later versions are tried on them.

A folder here is never changed. When a format changes, folders of the new one are added under its number, and those of
earlier ones stay. Run: python tests/formats/make.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoal import KP, NLK, Events, Microaggregation, NoisyAggregates, Panel, Reposition
from shoal.engines import Memory, in_shards
from shoal.release import release_candidate, written_parts


def panel(n=24, n_instants=6):
    rng = np.random.default_rng(4)
    times = np.datetime64("2024-03-01T00:00") + np.arange(n_instants) * np.timedelta64(1, "h")
    values = np.round(rng.gamma(2.0, 1.0, (n, n_instants)), 2)
    tariff = np.array(["day", "night"])[np.arange(n) % 2]
    return Panel(values, ids=[f"meter-{i}" for i in range(n)], times=times, attributes={"tariff": tariff})


def events(n=90):
    rng = np.random.default_rng(4)
    frame = {
        "time": np.sort(rng.integers(0, 6, n)),
        "age": rng.integers(20, 80, n),
        "result": rng.choice(["a", "b", "c"], n),
    }
    return Events(pl.DataFrame(frame), sensitive="result", quasi=["age"])


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    secret = folder / "key.pem"
    secret.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))
    public = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    (folder / "publisher.pem").write_bytes(public)
    micro = Microaggregation(k=3)
    made = {
        "values": (micro.anonymize(panel()), {}),
        "values-csv": (micro.anonymize(panel()), {"format": "csv", "shape": "wide"}),
        "signed": (micro.anonymize(panel()), {"sign": secret, "title": "Kept for later versions"}),
        "attributes": (Microaggregation(k=3, attributes="tariff").anonymize(panel()), {}),
        "profiles": (Microaggregation(k=3, form="profiles").anonymize(panel()), {}),
        "scenarios": (Microaggregation(k=6, form="scenarios", levels=3).anonymize(panel()), {}),
        "instants": (NLK(n=1, l=3, k=3).anonymize(panel()), {}),
        "envelopes": (KP(k=4, p=2).anonymize(panel()), {}),
        "noise": (NoisyAggregates(epsilon=8.0, lower=0.0, upper=9.0).anonymize(panel()), {}),
        "bucketised": (Reposition(l=2, window=2, seed=1).anonymize(events()), {}),
        "generalised": (Reposition(l=2, window=2, seed=1, publish="generalised").anonymize(events()), {}),
    }
    whole, written_parts.PART_BYTES = written_parts.PART_BYTES, 256
    try:
        made["parts"] = (micro.anonymize(in_shards(panel(48), Memory(), size=12)), {})
        release_candidate(made["parts"][0], folder / "parts", summary="Test.", **made.pop("parts")[1])
    finally:
        written_parts.PART_BYTES = whole
    for name, (candidate, options) in made.items():
        release_candidate(candidate, folder / name, summary="Test.", suppression_limit=1.0, **options)
    secret.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
