"""Run work on a limited number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

from shoal.errors import ParameterError

T = TypeVar("T")


def n_threads(threads: int | None) -> int:
    """The number requested, or all the machine has; never more than it has."""
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    return most if threads is None else min(threads, most)


def on_threads(threads: int | None, work: Callable[[], T]) -> T:
    """Run the work with this many threads for parallel kernels, and restore the setting."""
    before = numba.get_num_threads()
    numba.set_num_threads(n_threads(threads))
    try:
        return work()
    finally:
        numba.set_num_threads(before)


def check_threads(threads: int | None) -> None:
    """Refuse an invalid number of threads."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError("threads must be a whole number of at least 1, or omitted to use all cores.")
