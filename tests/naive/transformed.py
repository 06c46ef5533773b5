"""Oracles of the plain techniques: series by series, reading by reading, in pure Python."""

import math
from fractions import Fraction

NAN = float("nan")


def naive_standardised(series):
    """(x - mean) / standard deviation of the observed readings, in exact arithmetic until the root."""
    seen = [Fraction(v) for v in series if v == v]
    if not seen:
        return [NAN] * len(series)
    mean = sum(seen) / len(seen)
    variance = sum((v - mean) ** 2 for v in seen) / len(seen)
    spread = math.sqrt(variance)
    return [NAN if v != v else float(Fraction(v) - mean) / spread if variance > 0 else 0.0 for v in series]


def naive_smoothed(series, window):
    """The mean of the observed readings in a window around each observed instant."""
    reach, result = window // 2, []
    for t, value in enumerate(series):
        near = [v for v in series[max(0, t - reach) : t + reach + 1] if v == v]
        result.append(NAN if value != value else sum(near) / len(near))
    return result


def naive_steps(series, times, step, by):
    """Mean or sum of the readings whose time lies in [m step, (m + 1) step), for every m that has an instant."""
    starts = sorted({time // step for time in times})
    result = []
    for start in starts:
        own = [v for v, time in zip(series, times, strict=True) if time // step == start]
        seen = [v for v in own if v == v]
        if by == "sum":
            result.append(sum(own) if len(seen) == len(own) else NAN)
        else:
            result.append(sum(seen) / len(seen) if seen else NAN)
    return [start * step for start in starts], result


def naive_keeps_rule(rows, subjects, size, share):
    """Whether these rows, one channel and no gaps, keep the rule of a least number of subjects and a largest share."""
    amounts = {}
    for row, subject in zip(rows, subjects, strict=True):
        amounts[subject] = amounts.get(subject, Fraction(0)) + sum(abs(Fraction(v)) for v in row)
    total = sum(amounts.values())
    return len(amounts) >= size and max(amounts.values()) <= Fraction(share) * total
