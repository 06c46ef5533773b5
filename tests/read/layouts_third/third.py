"""Where the layouts of this folder are gathered."""

from functools import partial

from read.layouts.readings import Layout
from read.layouts.readings import layout as add_layout

THIRD: list[Layout] = []
layout = partial(add_layout, to=THIRD)
