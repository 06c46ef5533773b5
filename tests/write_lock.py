"""`make lock`: the versions of everything in this environment, as constraints for the next one.

Without hashes: pip asks for all of them or none, and torch may come from a file of the machine's own (a build for the
processor alone), which has another hash than the one on PyPI.
"""

import importlib.metadata
import re
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
NOT_OURS = {"pip", "setuptools", "wheel", "shoal"}


def main():
    found = {}
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        if name not in NOT_OURS:
            found[name] = distribution.version.partition("+")[0]  # a local build satisfies the public version
    version = ".".join(map(str, sys.version_info[:2]))
    head = f"# Tested together, on Python {version}; written by: make lock\n"
    head += "# Constraints, not requirements: pip install -c requirements.lock '.[dev]'\n"
    LOCK.write_text(head + "".join(f"{name}=={found[name]}\n" for name in sorted(found)))


if __name__ == "__main__":
    main()
