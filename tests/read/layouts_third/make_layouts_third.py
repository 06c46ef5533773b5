"""The third set of layouts, invented before the reader was opened again.

Run `PYTHONPATH=tests python -m read.layouts_third.make_layouts_third FOLDER` to see the files.
Every value and every identifier is invented; only the layouts are real.
"""

import sys
from pathlib import Path

from read.layouts.make_layouts import main
from read.layouts_third import clocks, loggers, periods, programs, suppliers, systems
from read.layouts_third.third import THIRD

__all__ = ["THIRD", "clocks", "loggers", "periods", "programs", "suppliers", "systems"]

if __name__ == "__main__":
    main(Path(sys.argv[1]), THIRD)
