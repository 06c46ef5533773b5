"""A second and a third set of layouts, written apart from the reader; each with its correct reading."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from read.correct_readings import assert_correct
from read.layouts.make_layouts import main
from read.layouts_more.make_layouts_more import MORE
from read.layouts_third.make_layouts_third import THIRD
from shoal import read_panel


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    main(folder, [*MORE, *THIRD])
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return folder, manifest, pq.read_table(folder / "expected.parquet")


@pytest.mark.parametrize("name", [layout.file for layout in (*MORE, *THIRD)])
def test_layout_is_read_correctly(name, written):
    folder, manifest, expected = written
    entry = manifest[name]
    panel = read_panel(folder / "files" / name, missing="keep", timezone=entry["timezone"], layout=entry["layout"])
    rows = expected.filter(pc.equal(expected["file"], name)).to_pylist()
    assert_correct(panel, rows, basis=entry["basis"], zone=entry["zone"], names=entry["names"])
