"""Run the notebooks of the tutorials and write down what their cells show.

No kernel is needed: cells run in one namespace, one after another, and the last expression of a cell is shown. Figures
become pictures, so that they are seen where no script runs. Run: python docs/notebooks.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).resolve().parent / "tutorials"


def main() -> None:
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell, outputs in zip(code_cells(notebook), run(notebook, pictures=True), strict=True):
            cell["outputs"] = outputs
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any], *, pictures: bool = False) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell. An error ends it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [_run_cell("".join(cell["source"]), namespace, pictures) for cell in code_cells(notebook)]


def _run_cell(source: str, namespace: dict[str, Any], pictures: bool) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        shown = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if shown is not None:
        content = {
            "output_type": "execute_result",
            "execution_count": None,
            "metadata": {},
            "data": _data(shown, pictures),
        }
        outputs.append(content)
    return outputs


def _data(shown: Any, pictures: bool) -> dict[str, Any]:
    if hasattr(shown, "to_image"):
        data: dict[str, Any] = {"text/plain": ["a figure"]}
        if pictures:
            data["image/png"] = b64encode(shown.to_image("png", width=1000, height=380)).decode()
        return data
    data = {"text/plain": _lines(repr(shown))}
    if hasattr(shown, "_repr_html_"):
        data["text/html"] = _lines(shown._repr_html_())
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()
