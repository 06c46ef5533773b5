"""`shoal report`: rebuild the page of a release from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from shoal.cli.output import print_json, print_table
from shoal.errors import ReleaseError


def report(
    folder: Annotated[Path, typer.Argument(help="The release folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page to write. Default: NAME-report.html")
    ] = None,
    audience: Annotated[
        Literal["public", "publisher"],
        typer.Option(
            "--for", help="public: the page in the folder. publisher: also the points tried to find the parameters."
        ),
    ] = "public",
    private: Annotated[
        Path | None,
        typer.Option(help="With --for publisher: the private folder, for figures that a small release leaves out."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures of the certificate as JSON.")] = False,
) -> None:
    """Write the report of a release as one self-contained HTML page: a decision sheet, then details."""
    from shoal.cli.sentences import release_figures
    from shoal.process import render_report

    page = out if out is not None else Path(f"{folder.resolve().name}-report.html")
    if folder.resolve() in page.resolve().parents:
        raise ReleaseError("A release never changes after it is written. Choose a page outside its folder with --out.")
    certificate, html = render_report(folder, audience, private)
    try:
        page.write_text(html, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"Cannot write {str(page)!r}: {error.strerror}.") from None
    if as_json:
        print_json({"report": str(page), **release_figures(certificate)})
    else:
        print_table([("report", str(page)), ("size", f"{page.stat().st_size / 1e6:.1f} MB")])
