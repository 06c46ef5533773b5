"""The notebooks of the tutorials run, and show what is written in them."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
_spec = importlib.util.spec_from_file_location("notebooks", DOCS / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


def texts(outputs):
    return ["".join(output.get("text") or output["data"]["text/plain"]) for output in outputs]


@pytest.mark.parametrize("path", sorted(DOCS.glob("tutorials/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_happens(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell, outputs in zip(notebooks.code_cells(notebook), notebooks.run(notebook), strict=True):
        assert texts(outputs) == texts(cell["outputs"]), "".join(cell["source"])


def test_the_last_expression_and_what_is_printed_are_shown():
    cell = {"cell_type": "code", "source": ["print('a')\n", "x = 1\n", "x + 1"]}
    assert texts(notebooks.run({"cells": [cell]})[0]) == ["a\n", "2"]
