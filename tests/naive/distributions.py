"""How badly readings fit a normal distribution at each instant: minus twice the log likelihood, up to a constant."""

import math


def naive_widths(spread, levels):
    """For each instant the spread times the root mean square of its levels."""
    return [spread * math.sqrt(math.fsum(z * z for z in own) / len(own)) for own in levels]


def naive_misfit(x, means, widths):
    known = [t for t, value in enumerate(x) if not math.isnan(value)]
    terms = [((x[t] - means[t]) / widths[t]) ** 2 + 2.0 * math.log(widths[t]) for t in known]
    return math.fsum(terms) / max(len(known), 1)
