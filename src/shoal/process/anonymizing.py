"""From a source to a release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.model import Release
from shoal.process.publishing import publish
from shoal.process.steps import Steps, silent
from shoal.read import read_panel
from shoal.release import check_target


def anonymize_source(
    source: Any, method: Any, to: Path, settings: Mapping[str, Any], *, steps: Steps = silent, **publishing: Any
) -> Release:
    """Read, anonymize, check and publish. `settings` are those of `read_panel`, the rest those of `publish`."""
    # Asked first: nobody wants to learn after an hour that the folder exists.
    check_target(to, overwrite=publishing.get("overwrite", False))
    steps.start("reading")
    panel = read_panel(source, **settings)
    steps.start("grouping")
    candidate = method.anonymize(panel, progress=steps.advance)
    steps.start("checking and writing")
    return publish(candidate, to, **publishing)
