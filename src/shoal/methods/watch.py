"""Watch a kernel at work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.model import Progress


def watched(
    kernel: Callable[[NDArray[np.int64]], Any], total: int, progress: Progress | None, every: float = 0.1
) -> Any:
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
