"""Run the Python code of other tools that docs/coming-from.md shows, as it stands there.

    python -m venv other && other/bin/pip install anonypy sdv . && other/bin/python experiments/coming_from.py

SDV asks for an older pandas than Shoal's tests use, so it gets an environment of its own. Prints what each tool made of
the table of the page; what the page says about it comes from here.
"""

from __future__ import annotations

import re
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming-from.md"


def blocks(kind: str) -> list[str]:
    """The code blocks of a kind, in the order of the page."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def main() -> None:
    """Run the page and print what came out."""
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    exec("\n".join(blocks("python")), found)
    print(f"shoal: {found['released']!r}")
    anonypy, sdv = blocks("py")
    exec(anonypy, found)
    groups = found["groups"]
    print(f"anonypy {version('anonypy')}: {len(groups)} groups of at least {groups['count'].min()} meters")
    print(f"  a cell holds {groups['t0'].iloc[0]!r}")
    exec(sdv, found)
    synthetic = found["synthetic"]
    table = synthetic["readings"] if isinstance(synthetic, dict) else synthetic
    print(
        f"SDV {version('sdv')}: {len(table)} rows of {table['id'].nunique()} sequences, columns {list(table.columns)}"
    )


if __name__ == "__main__":
    main()
