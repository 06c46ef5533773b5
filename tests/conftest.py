"""What several rooms' tests share."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Seeded, and without a deadline: the first call of a kernel compiles it.
settings.register_profile("shoal", deadline=None, derandomize=True)
settings.load_profile("shoal")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


class ByEngine(LoadScopeScheduling):
    """Where tests run in several processes, those of a file stay together, and of all files those on one engine.

    Pages of the documentation have nothing in common, and take long: each goes where there is room.
    """

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        on = re.search(r"\[(?:.*-)?(spark|cluster)(?:-.*)?\]$", test) if "engines" in file else None
        if file.endswith("test_docs.py"):
            return nodeid
        return f"on {on[1]}" if on else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByEngine(config, log)


@pytest.fixture
def shared_data():
    """The folder with real data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data with real data is not beside the repository")
    return SHARED_DATA


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)
