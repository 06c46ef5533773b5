"""l-diverse Mondrian, part by part, on lists of values with None for missing.

The widest attribute that has a cut which leaves no sensitive value too frequent on either side; of its cuts between
different values the one nearest to the middle, of two the lower; of numbers some of which are missing, the cut between
missing and known before.
"""

import numpy as np


def naive_mondrian(columns, is_number, codes, l):
    n = len(codes)
    groups = np.full(n, -1)
    spans = [_width(column, number, range(n)) for column, number in zip(columns, is_number, strict=True)]
    label = 0
    parts = [list(range(n))]
    while parts:
        part = parts.pop(0)
        halves = _split(part, columns, is_number, codes, l, spans)
        if halves is None:
            groups[part] = label
            label += 1
        else:
            parts[:0] = halves
    return groups


def _split(part, columns, is_number, codes, l, spans):
    widths = []
    for column, number, span in zip(columns, is_number, spans, strict=True):
        width = _width(column, number, part)
        mixed = number and len({column[i] is None for i in part}) == 2
        widths.append(1.0 if mixed else width / span if width > 0 else 0.0)
    for a in sorted(range(len(columns)), key=lambda a: -widths[a]):
        if widths[a] <= 0:
            return None
        for below in _cuts(part, columns[a], is_number[a]):
            above = [i for i in part if i not in below]
            if below and above and _eligible(below, codes, l) and _eligible(above, codes, l):
                return [sorted(below), above]
    return None


def _cuts(part, column, number):
    missing = [i for i in part if column[i] is None]
    if number and missing and len(missing) < len(part):
        yield missing
    values = sorted({column[i] for i in part if column[i] is not None})
    sides = [missing] if missing and values else []
    sides += [[i for i in part if column[i] is None or column[i] <= value] for value in values[:-1]]
    yield from sorted(sides, key=lambda side: abs(2 * len(side) - len(part)))


def _eligible(part, codes, l):
    return all(sum(codes[i] == v for i in part) * l <= len(part) for v in codes)


def _width(column, number, part):
    known = [column[i] for i in part if column[i] is not None]
    if number:
        return float(max(known) - min(known)) if known else 0.0
    return len({column[i] for i in part}) - 1
