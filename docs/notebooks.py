"""Run the notebooks of the tutorials in a kernel, as a reader would, and write down what their cells show.

Figures become pictures, so that they are seen where no script runs. Progress bars are left out once they are gone.
Run: python docs/notebooks.py
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
FIGURE = "application/vnd.plotly.v1+json"


def main() -> None:
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell, outputs in zip(code_cells(notebook), run(notebook), strict=True):
            cell["outputs"] = [_drawn(output) for output in outputs]
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell. An error ends it."""
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(node, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute()
    return [_tidied(cell["outputs"]) for cell in code_cells(node)]


def _tidied(outputs: list[Any]) -> list[dict[str, Any]]:
    """What is printed in one piece; what is shown without the number of the cell."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] == "stream":
            if found and found[-1]["output_type"] == "stream":
                output["text"] = "".join(found.pop()["text"]) + output["text"]
            found.append({"output_type": "stream", "name": "stdout", "text": _lines(output["text"])})
        elif FIGURE in output["data"]:
            data = {"text/plain": ["a figure"], FIGURE: output["data"][FIGURE]}
            found.append({"output_type": "display_data", "metadata": {}, "data": data})
        elif any(output["data"].get(kind) for kind in ("text/html", "text/markdown")) or "execution_count" in output:
            data = {kind: _lines(text) for kind, text in output["data"].items() if kind in ("text/plain", "text/html")}
            kind = output["output_type"]
            number = {"execution_count": None} if kind == "execute_result" else {}
            found.append({"output_type": kind, **number, "metadata": {}, "data": data})
    return found


def _drawn(output: dict[str, Any]) -> dict[str, Any]:
    """A figure as a picture."""
    if FIGURE not in output.get("data", {}):
        return output
    from plotly.io import from_json

    image = from_json(json.dumps(output["data"].pop(FIGURE))).to_image("png", width=1000, height=380)
    output["data"]["image/png"] = b64encode(image).decode()
    return output


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()
