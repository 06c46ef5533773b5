"""The description of a release's tables that other tools read."""

import json
import re

import numpy as np
import pytest

from shoal import KP, Microaggregation, Panel, Reposition, load_release, publish, simulate, verify
from shoal.engines import Memory, in_shards
from shoal.release.certificate import Certificate, digest_file
from shoal.release.datapackage import PACKAGE_FILE

frictionless = pytest.importorskip("frictionless", reason="the package frictionless is not installed")


def meters(n=8, **more):
    hours = np.datetime64("2024-10-26T22:00", "us") + np.arange(6) * np.timedelta64(1, "h")
    values = np.random.default_rng(1).lognormal(size=(n, 6))
    values[0, 2] = np.nan
    return Panel(values, ids=[f"secret-{i}" for i in range(n)], times=hours, timezone="Europe/Dublin", **more)


TARIFFS = {"tariff": ["a", "b"] * 4, "value": [1, 2] * 4, "solar": [True, False] * 4}
CANDIDATES = {
    "values": lambda: Microaggregation(k=2).anonymize(meters()),
    "channels": lambda: Microaggregation(k=2).anonymize(Panel(np.random.default_rng(2).random((6, 3, 2)))),
    "attributes": lambda: Microaggregation(k=2, attributes=tuple(TARIFFS)).anonymize(meters(attributes=TARIFFS)),
    "profiles": lambda: Microaggregation(k=2, form="profiles").anonymize(meters()),
    "envelopes": lambda: KP(k=4, p=2).anonymize(simulate.meters(12, days=1, seed=1)),
    "bucketised": lambda: Reposition(l=2, window=2).anonymize(EVENTS),
    "generalised": lambda: Reposition(l=2, window=2, publish="generalised").anonymize(EVENTS),
}
EVENTS = simulate.events(days=3, per_day=30, seed=2)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("what", CANDIDATES)
def test_frictionless_reads_every_form_by_it(tmp_path, monkeypatch, what, kind):
    publish(CANDIDATES[what](), tmp_path / "out", format=kind)
    monkeypatch.chdir(tmp_path / "out")
    descriptor = json.loads((tmp_path / "out" / PACKAGE_FILE).read_text())
    certificate = load_release(tmp_path / "out").certificate
    tables = {name for name in certificate["files"] if name.endswith(kind)}
    assert {resource["path"] for resource in descriptor["resources"]} == tables
    report = frictionless.Package.from_descriptor(descriptor).validate()
    assert report.valid, report.flatten(["title", "message"])
    assert "secret" not in (tmp_path / "out" / PACKAGE_FILE).read_text()


def test_a_release_in_parts_lists_them_all(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.release.written_parts.PART_BYTES", 8 * 6 * 12)
    panel = Panel(np.random.default_rng(1).random((60, 6)))
    publish(Microaggregation(k=2).anonymize(in_shards(panel, Memory(), size=8)), tmp_path / "out", format="csv")
    (resource,) = json.loads((tmp_path / "out" / PACKAGE_FILE).read_text())["resources"]
    parts = sorted(path.name for path in (tmp_path / "out").glob("data-*.csv"))
    assert len(parts) > 1
    assert [resource["path"], *resource["extrapaths"]] == parts
    monkeypatch.chdir(tmp_path / "out")
    assert not list(frictionless.Package.metadata_validate({"name": "x", "resources": [resource]}))
    assert verify(tmp_path / "out").holds


def test_another_description_is_found(tmp_path):
    """Sealed anew, so that only the comparison with the certificate can find it."""
    publish(CANDIDATES["values"](), tmp_path / "out")
    path = tmp_path / "out" / PACKAGE_FILE
    path.write_text(re.sub("Anonymized time series", "The Smith family", path.read_text()))
    sealed = Certificate.model_validate_json((tmp_path / "out" / "release.json").read_bytes())
    files = sealed.files | {path.name: digest_file(path)}
    (tmp_path / "out" / "release.json").write_bytes(sealed.model_copy(update={"files": files}).sealed().as_bytes())
    assert verify(tmp_path / "out").findings == (f"{PACKAGE_FILE} does not describe the tables of the release",)
