"""Where the layouts of this folder are gathered, and what several of them share."""

from datetime import timedelta
from functools import partial
from itertools import accumulate

from read.layouts.readings import Layout
from read.layouts.readings import layout as add_layout

MORE: list[Layout] = []
layout = partial(add_layout, to=MORE)


def as_registers(book, first=1000):
    """Turn what was used into what a register showed: numbers that only grow."""
    for n, (name, channel) in enumerate(sorted({key[:2] for key in book.values})):
        keys = [key for key in book.values if key[:2] == (name, channel)]
        start = float(first * (1 + n % 7) + 13 * n)
        for key, total in zip(keys, accumulate([start, *(book.values[k] for k in keys[1:])]), strict=True):
            book.values[key] = round(total, book.decimals)
    return book


def at_odd_times(book, every=1, seconds=4000):
    """Move each reading by some seconds of its own, and keep every n-th, as readings by hand or by radio come."""
    keys = list(book.values)[::every]
    moved = {}
    for n, (name, channel, start) in enumerate(keys):
        moved[name, channel, start + timedelta(seconds=(n * 7919 + 31) % seconds)] = book.values[name, channel, start]
    book.values = moved
    return book


def epoch(start):
    return int(start.timestamp())
