"""What the site adds to the pages under docs/: those made from the code, notebooks, and those next to the README."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter
from reference_pages import pages

ROOT = Path(__file__).resolve().parents[1]

BESIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.md",
}
"""Pages at the top of the repository, and what they are called in the site."""

_LINK = re.compile(r"(\]\(|src=\")([^)\s\"#]+)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are no files under docs/."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    for source, path in BESIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        page = _LINK.sub(_from_top, text) if source.endswith(".md") else f"# Licence\n\n```text\n{text}```\n"
        files.append(File.generated(config, path, content=page))
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        for path, content in _notebook_pages(Path(notebook.src_uri)).items():
            files.append(File.generated(config, path, content=content))
    return files


def _notebook_pages(notebook: Path) -> dict[str, str | bytes]:
    """A notebook with its outputs as Markdown, and its pictures. Viewers of notebooks load scripts from elsewhere."""
    text, resources = MarkdownExporter().from_filename(str(ROOT / "docs" / notebook))
    found: dict[str, str | bytes] = {}
    for name, picture in resources["outputs"].items():
        text = text.replace(f"({name})", f"({notebook.stem}-{name})")
        found[notebook.with_name(f"{notebook.stem}-{name}").as_posix()] = picture
    return found | {notebook.with_suffix(".md").as_posix(): text}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links to pages next to the README lead to their places in the site; the search finds results after guides."""
    if page.file.src_uri.startswith("results/") or page.file.src_uri == BESIDE["CHANGELOG.md"]:
        page.meta["search"] = {"boost": 0.1}
    up = "../" * page.file.src_uri.count("/")

    def moved(found: re.Match[str]) -> str:
        target = found[2].removeprefix(up).removeprefix("../")
        if found[2].endswith(".ipynb"):
            return f"{found[1]}{found[2].removesuffix('.ipynb')}.md"
        if found[2].startswith("../") and target in BESIDE:
            return f"{found[1]}{up}{BESIDE[target]}"
        return found[0]

    return _LINK.sub(moved, markdown)


def _from_top(found: re.Match[str]) -> str:
    """A link of a page at the top of the repository, as seen from docs/."""
    target = found[2].removeprefix("docs/")
    return f"{found[1]}{BESIDE.get(target, target)}"
