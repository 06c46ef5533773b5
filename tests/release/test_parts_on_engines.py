"""The same release from every engine, byte for byte, and the same findings about it."""

import shutil
from pathlib import Path

import pytest

from engines.conftest import engine
from parts_examples import repeated_candidate
from shoal import verify
from shoal.engines import Local
from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.guarantees import KAnonymity
from shoal.release import parts_writing
from shoal.release.parts import release_blocks

__all__ = ["engine"]

SETTINGS = {"summary": "Test.", "part_bytes": 1024, "insecure_seed": 2}


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """What one process on one machine writes."""
    out = tmp_path_factory.mktemp("usual") / "out"
    with Local() as local:
        release_blocks(repeated_candidate(local), out, **SETTINGS)
    return out


@pytest.fixture(scope="module")
def made(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    release_blocks(repeated_candidate(engine), folder / "out", private=folder / "private", **SETTINGS)
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def test_the_same_key_gives_the_same_bytes(made, usual):
    found = contents(made / "out")
    assert found == contents(usual)
    assert len(found) == 5
    assert len(contents(made / "private")) == 5
    assert not list(made.glob(".*"))


def test_it_verifies_here_and_there(engine, made):
    assert verify(made / "out", engine=engine) == verify(made / "out")
    assert verify(made / "out").holds


def test_a_part_that_was_changed_is_found(engine, made, tmp_path):
    shutil.copytree(made / "out", tmp_path / "out")
    parts = sorted((tmp_path / "out" / "data.parquet").iterdir())
    parts[0].write_bytes(parts[1].read_bytes())
    findings = verify(tmp_path / "out", engine=engine).findings
    assert findings == verify(tmp_path / "out").findings
    assert any("part-00000.parquet was changed after the release" in finding for finding in findings)
    assert any("have a series in common" in finding for finding in findings)


def test_what_does_not_check_is_not_written(engine, tmp_path):
    with pytest.raises(GuaranteeNotMetError, match="k-anonymity does not hold: measured 3, required 4"):
        release_blocks(repeated_candidate(engine), tmp_path / "out", require=[KAnonymity(4)], **SETTINGS)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_a_worker_cannot_write_to_is_told(engine, tmp_path, monkeypatch):
    real = parts_writing.WriteParts
    monkeypatch.setattr(parts_writing, "WriteParts", lambda layout, folder, *_: real(layout, folder, "/nowhere"))
    with pytest.raises(ReleaseError, match="A part of the release cannot be written: No such file or directory"):
        release_blocks(repeated_candidate(engine), tmp_path / "out", **SETTINGS)
    assert not list(tmp_path.iterdir())
