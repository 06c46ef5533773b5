"""What several rooms' tests share."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Seeded, and without a deadline: the first call of a kernel compiles it.
settings.register_profile("shoal", deadline=None, derandomize=True)
settings.load_profile("shoal")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    """The folder with real data beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data with real data is not beside the repository")
    return SHARED_DATA


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)
