"""Digests of the originals are in a certificate only where nobody can find the originals by trying."""

import hashlib
import itertools

import numpy as np
import pytest

from parts_examples import repeated_candidate
from shoal import NLK, Microaggregation, Panel, publish, read_panel
from shoal.engines import Local
from shoal.release import parts_openness
from shoal.release.openness import ENOUGH_BITS, enough_is_open


def test_a_small_file_cannot_be_found_by_its_digest(tmp_path):
    text = "id,time,value\n" + "".join(f"m{i},0,{v}\n" for i, v in enumerate([17, 23, 410, 390]))
    (tmp_path / "t.csv").write_text(text)
    release = publish(Microaggregation(k=2).anonymize(read_panel(tmp_path / "t.csv")), tmp_path / "out")
    assert release.certificate["input"]["sha256"] == []
    assert release.certificate["input"]["panel_sha256"] is None
    assert hashlib.sha256(text.encode()).hexdigest() not in (tmp_path / "out" / "release.json").read_text()


@pytest.mark.parametrize("method", [Microaggregation(k=2), NLK(n=5, l=8, k=2)])
def test_many_cells_of_few_values_leave_little_open(method):
    rng = np.random.default_rng(0)
    occupied = np.repeat(rng.integers(0, 2, size=(3, 200)), 2, axis=0).astype(float)
    occupied[0, :4] = 1.0 - occupied[0, :4]
    candidate = method.anonymize(Panel(occupied))
    assert not enough_is_open(candidate.originals, candidate.curves)


def test_measured_readings_keep_their_digest(tmp_path, rng):
    panel = Panel(rng.gamma(2.0, size=(20, 24)))
    release = publish(Microaggregation(k=5).anonymize(panel), tmp_path / "out")
    assert release.certificate["input"]["panel_sha256"] == panel.digest()


def test_what_is_open_is_never_more_than_what_could_be_tried():
    # All panels of 0 and 1 with the published means: the bits counted must not exceed their number.
    for values in itertools.product([0.0, 1.0], repeat=4):
        original = Panel(np.array(values)[:, None])
        published = Panel(np.full((4, 1), np.mean(values)))
        possible = sum(sum(other) == sum(values) for other in itertools.product([0.0, 1.0], repeat=4))
        counted = _bits(original, published)
        assert counted <= np.log2(possible) + 1e-9


def _bits(original, published):
    """By asking how many copies side by side it takes until enough is open."""
    for copies in range(1, 200):
        if enough_is_open(*(Panel(np.repeat(p.values, copies, axis=1)) for p in (original, published))):
            return ENOUGH_BITS / copies
    return 0.0


def test_gaps_and_other_shapes_count_for_nothing():
    gap = np.full((300, 4), np.nan)
    assert not enough_is_open(Panel(gap), Panel(gap))
    assert not enough_is_open(Panel(np.ones((300, 4))), Panel(np.zeros((300, 2))))


def test_of_long_series_in_parts_few_are_drawn(monkeypatch):
    seen = []
    monkeypatch.setattr(parts_openness, "_SAMPLE_BYTES", 16 * 6 * 60)
    monkeypatch.setattr(parts_openness, "enough_is_open", lambda before, after: seen.append(before.n_series) or True)
    with Local() as engine:
        assert parts_openness.enough_is_open_in(repeated_candidate(engine, n=600))
    assert 0 < seen[0] < 200
