"""How kernels are run: on a limited number of threads, and watched at work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Ints
from shoal.model import Progress
from shoal.model.parameters import is_whole

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
    if threads is not None and not is_whole(threads, 1):
        raise ParameterError("threads must be a whole number of at least 1, or omitted to use all cores.")


def watched(kernel: Callable[[Ints], Any], total: int, progress: Progress | None, every: float = 0.1) -> Any:
    """Run `kernel(done)`, which counts in `done[0]`, and report on the way.

    The kernel runs in a daemon thread (it releases the interpreter's lock), so that an interrupt ends the program at
    once.
    """
    done = np.zeros(1, dtype=np.int64)
    if progress is None:
        return kernel(done)
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["result"] = kernel(done)
        except BaseException as error:  # handed to the caller below
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(every)
        progress(int(done[0]), total)
    if "error" in outcome:
        raise outcome["error"]
    progress(total, total)
    return outcome["result"]
