"""What several rooms' tests share."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Seeded, and without a deadline: the first call of a kernel compiles it.
settings.register_profile("shoal", deadline=None, derandomize=True)
settings.load_profile("shoal")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Where tests run in several processes, those of a file stay together, and those on one engine."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        on = "callspec" in vars(item) and item.callspec.params.get("engine")
        group = f"on-{on}" if on and file.startswith("tests/engines/") else file
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture
def shared_data():
    """The folder with real data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data with real data is not beside the repository")
    return SHARED_DATA


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)
