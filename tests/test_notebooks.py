"""The notebooks of the tutorials run in a kernel, and show what is written in them."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="nbclient and ipykernel are in the extra dev")
DOCS = Path(__file__).resolve().parents[1] / "docs"
_spec = importlib.util.spec_from_file_location("notebooks", DOCS / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


def texts(outputs):
    return ["".join(output.get("text") or output["data"]["text/plain"]) for output in outputs]


@pytest.mark.parametrize("path", sorted(DOCS.glob("tutorials/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_happens(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    kept = [texts(cell["outputs"]) for cell in notebooks.code_cells(notebook)]
    for cell, old, new in zip(notebooks.code_cells(notebook), kept, notebooks.run(notebook), strict=True):
        assert texts(new) == old, "".join(cell["source"])
    assert any("a figure" in outputs for outputs in kept) or path.stem.startswith("judging")
