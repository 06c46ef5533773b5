"""The second set of layouts: other utilities, portals, archives and offices.

Run `PYTHONPATH=tests python -m read.layouts_more.make_layouts_more FOLDER` to see the files.
Every value and every identifier is invented; only the layouts are real.
"""

import sys
from pathlib import Path

from read.layouts.make_layouts import main
from read.layouts_more import america, archives, buildings, desks, operators
from read.layouts_more.more import MORE

__all__ = ["MORE", "america", "archives", "buildings", "desks", "operators"]

if __name__ == "__main__":
    main(Path(sys.argv[1]), MORE)
