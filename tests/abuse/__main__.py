"""Some tries of a group: python -m abuse GROUP SIZE PART PARTS prints what every PARTS-th came to as JSON.

Terminated, it prints what it came to until then.
"""

import contextlib
import importlib
import json
import signal
import sys
import tempfile
from pathlib import Path


def stop(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from abuse.outcome import Outcome
    from stream_processes import stop_server

    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # disks that are busy would be what is measured
    group, (size, part, parts) = sys.argv[1], map(int, sys.argv[2:])
    outcome = Outcome()
    signal.signal(signal.SIGTERM, stop)
    place = tempfile.TemporaryDirectory(prefix="soak-", dir=memory, ignore_cleanup_errors=True)
    with place as folder, contextlib.suppress(KeyboardInterrupt):
        importlib.import_module(f"abuse.{group}").run(range(part, size, parts), size, Path(folder), outcome)
    stop_server()
    print(json.dumps(outcome.as_dict()))
