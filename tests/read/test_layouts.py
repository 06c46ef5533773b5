"""Layouts that utilities exchange, each with its correct reading; what the files are is in layouts/manifest.json."""

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from read.correct_readings import assert_correct
from read.layouts.make_layouts import main
from shoal import read_panel

HERE = Path(__file__).parent / "layouts"
MANIFEST = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def expected():
    return pq.read_table(HERE / "expected.parquet")


@pytest.mark.parametrize("name", MANIFEST)
def test_layout_is_read_correctly(name, expected):
    entry = MANIFEST[name]
    panel = read_panel(HERE / "files" / name, missing="keep", timezone=entry["timezone"])
    rows = expected.filter(pc.equal(expected["file"], name)).to_pylist()
    assert_correct(panel, rows, basis=entry["basis"], zone=entry["zone"], names=entry["names"])


def test_the_layouts_are_what_the_generator_writes(tmp_path, expected):
    main(tmp_path)
    assert pq.read_table(tmp_path / "expected.parquet").equals(expected)
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8")) == MANIFEST
    written = {path.relative_to(tmp_path): path for path in tmp_path.glob("files/**/*") if path.is_file()}
    kept = {path.relative_to(HERE): path for path in HERE.glob("files/**/*") if path.is_file()}
    assert written.keys() == kept.keys()
    # How well it is compressed depends on the version of zlib.
    for name in (name for name in kept if name.suffix not in {".gz", ".xlsx", ".zip"}):
        assert written[name].read_bytes() == kept[name].read_bytes(), name
