"""Measures by purpose, one number at a time. `None` stands for a missing value; a panel is a list of lists.

Days are given as a list with (day number, time of the day) for each instant.
"""

import itertools
import math

import numpy as np


def both(before, after):
    """Curves in which what either lacks both lack."""
    lacking = [[x is None or y is None for x, y in zip(*rows, strict=True)] for rows in zip(before, after, strict=True)]
    return [
        [[None if gone else x for x, gone in zip(*pair, strict=True)] for pair in zip(side, lacking, strict=True)]
        for side in (before, after)
    ]


def mean(numbers):
    numbers = [x for x in numbers if x is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def mean_curve(rows):
    return [[mean(column) for column in zip(*rows, strict=True)]]


def curves(before, after, of):
    return both(before, after) if of == "series" else both(mean_curve(before), mean_curve(after))


def share(pairs):
    """Sum of |x - y| over the sum of |x|."""
    pairs = [(x, y) for x, y in pairs if x is not None]
    changed, total = math.fsum(abs(x - y) for x, y in pairs), math.fsum(abs(x) for x, _ in pairs)
    return changed / total if total else float(changed > 0)


def mean_day_error(before, after, days, of):
    pairs = []
    for x, y in zip(*curves(before, after, of), strict=True):
        for slot in sorted({slot for _, slot in days}):
            at = [t for t, (_, s) in enumerate(days) if s == slot]
            pairs.append((mean(x[t] for t in at), mean(y[t] for t in at)))
    return share(pairs)


def daily_peaks(curve, days):
    """Of each day with a value its peak and the first time of the day at which it is reached."""
    found = {}
    for value, (day, slot) in zip(curve, days, strict=True):
        if value is not None and (day not in found or value > found[day][0]):
            found[day] = (value, slot)
    return found


def peak_height_error(before, after, days, of):
    pairs = []
    for x, y in zip(*curves(before, after, of), strict=True):
        one, other = daily_peaks(x, days), daily_peaks(y, days)
        pairs += [(one[day][0], other[day][0]) for day in one]
    return share(pairs)


def peak_time_error(before, after, days, of, hours_per_slot):
    apart = []
    for x, y in zip(*curves(before, after, of), strict=True):
        one, other = daily_peaks(x, days), daily_peaks(y, days)
        apart += [abs(one[day][1] - other[day][1]) * hours_per_slot for day in one]
    return mean(apart) or 0.0


def sorted_pairs(x, y):
    return zip(sorted(v for v in x if v is not None), sorted(v for v in y if v is not None), strict=True)


def load_duration_error(before, after, of):
    pairs = [pair for x, y in zip(*curves(before, after, of), strict=True) for pair in sorted_pairs(x, y)]
    return share(pairs)


def ramps(curve):
    return [None if x is None or y is None else y - x for x, y in itertools.pairwise(curve)]


def ramp_error(before, after, of):
    pairs = [pair for x, y in zip(*curves(before, after, of), strict=True) for pair in sorted_pairs(ramps(x), ramps(y))]
    return share(pairs)


def seasonality(curve, labels):
    seen = [(x, label) for x, label in zip(curve, labels, strict=True) if x is not None]
    if not seen:
        return 0.0
    centre = mean(x for x, _ in seen)
    total = math.fsum((x - centre) ** 2 for x, _ in seen)
    left = math.fsum((x - mean(y for y, other in seen if other == label)) ** 2 for x, label in seen)
    return 1 - left / total if total > 1e-20 else 0.0


def seasonality_shift(before, after, labels, of):
    pairs = zip(*curves(before, after, of), strict=True)
    return mean([abs(seasonality(x, labels) - seasonality(y, labels)) for x, y in pairs])


def correlation(x, y):
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if len(pairs) < 2:
        return 0.0
    one, other = mean(a for a, _ in pairs), mean(b for _, b in pairs)
    together = math.fsum((a - one) * (b - other) for a, b in pairs)
    spread = math.sqrt(math.fsum((a - one) ** 2 for a, _ in pairs) * math.fsum((b - other) ** 2 for _, b in pairs))
    return together / spread if spread > 1e-12 else 0.0


def correlations(rows, between, lags):
    if between == "series":
        return [correlation(rows[i], rows[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))]
    if between == "mean":
        (middle,) = mean_curve(rows)
        return [correlation(row, middle) for row in rows]
    return [correlation(row[:-lag], row[lag:]) for row in rows for lag in range(1, lags + 1)]


def correlation_loss(before, after, between, lags=1):
    one, other = (correlations(rows, between, lags) for rows in both(before, after))
    return mean([abs(x - y) for x, y in zip(one, other, strict=True)]) or 0.0


def signal_to_noise(before, after):
    pairs = [
        (x, y)
        for one, other in zip(before, after, strict=True)
        for x, y in zip(one, other, strict=True)
        if x is not None and y is not None
    ]
    centre = mean(x for x, _ in pairs)
    signal, noise = math.fsum((x - centre) ** 2 for x, _ in pairs), math.fsum((x - y) ** 2 for x, y in pairs)
    return 10 * math.log10(signal / noise)


def forecast_rows(rows, days, targets, slot, *, weeks):
    """Features and value of every series and day of which all is known; features are those of `ForecastError`."""
    found = []
    for row in rows:
        table = {}
        for value, place in zip(row, days, strict=True):
            table.setdefault(place, []).append(value)
        at = {place: mean(values) for place, values in table.items()}
        for day in targets:
            yesterday = mean(value for (d, _), value in at.items() if d == day - 1)
            seen = [at.get((day - 1, slot)), yesterday, at.get((day - 7, slot)) if weeks else 0.0]
            weekend = float((day + 3) % 7 >= 5)
            if None not in (*seen, at.get((day, slot))):
                found.append((*seen, weekend, at[day, slot]))
    return found


def forecast_errors(before, after, days, test, ridge):
    """Root mean squared errors of the models learned after and before, one channel; day 0 is a Thursday."""
    numbers = sorted({day for day, _ in days})
    first = len(numbers) - max(1, int(test * len(numbers)))
    weeks = first >= 14
    taught, tested = numbers[:first], numbers[first:]
    squares = [[], []]
    for slot in sorted({slot for _, slot in days}):
        asked = np.array(forecast_rows(before, days, tested, slot, weeks=weeks)).reshape(-1, 5)
        for place, rows in enumerate((after, before)):
            known = np.array(forecast_rows(rows, days, taught, slot, weeks=weeks)).reshape(-1, 5)
            x, y = known[:, :4] - known[:, :4].mean(axis=0), known[:, 4] - known[:, 4].mean()
            # A ridge is a further row for each feature, in which its coefficient alone is to be 0.
            extra = np.diag(np.sqrt(ridge * (x**2).sum(axis=0)))
            slopes = np.linalg.lstsq(np.vstack([x, extra]), np.concatenate([y, np.zeros(4)]), rcond=1e-10)[0]
            guess = known[:, 4].mean() + (asked[:, :4] - known[:, :4].mean(axis=0)) @ slopes
            squares[place] += ((guess - asked[:, 4]) ** 2).tolist()
    return [math.sqrt(mean(listed)) for listed in squares]
