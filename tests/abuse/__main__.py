"""One group by itself: python -m abuse GROUP SIZE prints what it came to as JSON."""

import importlib
import json
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        found = importlib.import_module(f"abuse.{sys.argv[1]}").run(int(sys.argv[2]), Path(folder))
    print(json.dumps(found.as_dict()))
