"""What stays with the publisher of a release in parts: the map of pseudonyms and groups, in parts as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.release.private import SECRETS_FILE, write_privately
from shoal.streams.durable import sync


def finish_map(partial: Path, kept: Mapping[str, Any]) -> None:
    """Write what is kept with a map in parts, and wait until all of it is on disk."""
    for path in partial.glob(".*"):
        path.unlink()  # of a task that was given up
    write_privately(partial / SECRETS_FILE, json.dumps(dict(kept)).encode())
    for path in partial.iterdir():
        sync(path)
    sync(partial)
