"""Some tries of a group: python -m abuse GROUP SIZE PART PARTS prints what every PARTS-th came to as JSON."""

import importlib
import json
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # disks that are busy would be what is measured
    group, (size, part, parts) = sys.argv[1], map(int, sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="soak-", dir=memory) as folder:
        found = importlib.import_module(f"abuse.{group}").run(range(part, size, parts), size, Path(folder))
    print(json.dumps(found.as_dict()))
