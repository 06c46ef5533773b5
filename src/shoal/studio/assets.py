"""The few files browsers fetch: ours, and plotly's own script from its package. A fixed list, no paths."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_HOMES = {
    "studio.css": ("shoal.studio", "static/studio.css", _STYLE),
    "report.css": ("shoal.report", "templates/page.css", _STYLE),
    "label.js": ("shoal.studio", "static/label.js", _SCRIPT),
    "explore.css": ("shoal.studio", "static/explore.css", _STYLE),
    "explore-points.js": ("shoal.studio", "static/explore-points.js", _SCRIPT),
    "explore-plot.js": ("shoal.studio", "static/explore-plot.js", _SCRIPT),
    "explore-curves.js": ("shoal.studio", "static/explore-curves.js", _SCRIPT),
    "explore.js": ("shoal.studio", "static/explore.js", _SCRIPT),
    "plotly.min.js": ("plotly", "package_data/plotly.min.js", _SCRIPT),
}

router = APIRouter()


@cache
def _content(name: str) -> tuple[bytes, bytes, str]:
    """A file, the same compressed, and a short hash."""
    package, path, _ = _HOMES[name]
    content = (files(package) / path).read_bytes()
    if name == "report.css":
        # The style of a report, for a sheet inside one of our pages: it must not affect the rest.
        content = b".report {\n" + content + b"\n}\n"
    return content, gzip.compress(content, 6, mtime=0), hashlib.sha256(content).hexdigest()[:16]


def address_of(name: str) -> str:
    """The address of a file, with its hash, so that browsers may cache it forever."""
    return f"/static/{_content(name)[2]}/{name}"


@router.get("/static/{version}/{name}", include_in_schema=False)
def static(version: str, name: str, request: Request) -> Response:
    """One of our files."""
    if name not in _HOMES or version != _content(name)[2]:
        raise HTTPException(404, "There is no such page.")
    content, compressed, _ = _content(name)
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = compressed
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=_HOMES[name][2])
