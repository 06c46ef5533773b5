"""One group by itself: python -m abuse GROUP SIZE prints what it came to as JSON."""

import importlib
import json
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # disks that are busy would be what is measured
    with tempfile.TemporaryDirectory(prefix="soak-", dir=memory) as folder:
        found = importlib.import_module(f"abuse.{sys.argv[1]}").run(int(sys.argv[2]), Path(folder))
    print(json.dumps(found.as_dict()))
