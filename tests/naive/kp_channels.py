"""(k, P)-anonymity with several channels, from the one-channel listings; x[series][instant][channel].

words(i, L)     the words of the channels of series i at level L, a tuple of tuples
similarity      the mean over the channels
values          each channel divided by the standard deviation (divisor n) of all its readings, 1 if all are equal
"""

import itertools
import math

from naive.kp import (
    naive_form_groups,
    naive_recycle,
    naive_shape,
    naive_similarity,
    naive_top_down,
    naive_tree,
    naive_word,
    rows_of,
)


def channel(series, c):
    return [reading[c] for reading in series]


def scaled_rows(x):
    """Every series as one row of numbers without unit."""
    n_channels = len(x[0][0])
    scales = []
    for c in range(n_channels):
        readings = [reading[c] for series in x for reading in series]
        mean = math.fsum(readings) / len(readings)
        scales.append(math.sqrt(math.fsum((r - mean) ** 2 for r in readings) / len(readings)) or 1.0)
    return [[value / scales[c] for c in range(n_channels) for value in channel(series, c)] for series in x]


def words_of_table(x):
    table = {}

    def words(row, level):
        if (row, level) not in table:
            table[row, level] = tuple(naive_word(channel(x[row], c), level) for c in range(len(x[0][0])))
        return table[row, level]

    return words


def similarity(words, level, others, other_level):
    found = [
        naive_similarity(naive_shape(a, level), naive_shape(b, other_level)) for a, b in zip(words, others, strict=True)
    ]
    return round(math.fsum(found) / len(found), 9)


def post_processing(word, good, bad):
    """The good leaves with the bad ones in them, each in the most similar one."""
    good = [dict(g, rows=list(g["rows"])) for g in sorted(good, key=lambda g: g["first"])]
    for b in sorted(bad, key=lambda b: (len(b["rows"]), b["rows"][0])):
        own = word(b["rows"][0], b["level"])
        best = min(
            good,
            key=lambda g: (
                -similarity(own, b["level"], word(g["first"], g["level"]), g["level"]),
                len(g["rows"]),
                g["first"],
            ),
        )
        best["rows"] = sorted(best["rows"] + b["rows"])
    return good


def published(x, word, groups, leaves):
    """Per series None or (low, high, level, words); ends are [instant][channel]."""
    found = [None] * len(x)
    leaf_of = {row: leaf for leaf in leaves for row in leaf["rows"]}
    for rows in groups:
        low, high = (
            [[end(x[i][t][c] for i in rows) for c in range(len(x[0][0]))] for t in range(len(x[0]))]
            for end in (min, max)
        )
        for row in rows:
            leaf = leaf_of[row]
            found[row] = low, high, leaf["level"], word(leaf["first"], leaf["level"])
    return found


def naive_naive_channels(x, k, p, max_level=20):
    """Groups of near values in all channels, then words inside each."""
    word = words_of_table(x)
    groups = naive_top_down(scaled_rows(x), list(range(len(x))), k)
    leaves = [g for rows in groups for g in post_processing(word, *naive_tree(word, rows, p, max_level))]
    return published(x, word, groups, leaves)


def naive_kapra_channels(x, k, p, max_level=20):
    """Subgroups of equal words in all channels, then groups of near values."""
    word, near = words_of_table(x), scaled_rows(x)
    good, bad = naive_tree(word, list(range(len(x))), p, max_level)
    more, left = naive_recycle(word, bad, p)
    good += more
    if len(x) - len(left) < k:
        good, left = post_processing(word, good, left), []
    subgroups = [part for g in good for part in naive_top_down(near, g["rows"], p)]
    groups = [rows_of(group) for group in naive_form_groups(near, subgroups, k)]
    return published(x, word, groups, good)


def naive_kp_channels_anonymous(low, high, levels, words, subjects, k, p):
    """Every series shares all ranges with k subjects, and with p of these its level and its words."""
    for i in range(len(low)):
        same = [
            j
            for j in range(len(low))
            if all(
                low[i][t][c] == low[j][t][c] and high[i][t][c] == high[j][t][c]
                for t, c in itertools.product(range(len(low[0])), range(len(low[0][0])))
            )
        ]
        alike = [
            j for j in same if levels[i] == levels[j] and all(a == b for a, b in zip(words[i], words[j], strict=True))
        ]
        if len({subjects[j] for j in same}) < k or len({subjects[j] for j in alike}) < p:
            return False
    return True


def naive_linkage_channels(x, low, high, levels, words):
    """How many published series each original could be: its values inside, and its own words at that level."""
    word = words_of_table(x)
    return [
        sum(
            all(
                low[j][t][c] <= x[i][t][c] <= high[j][t][c]
                for t, c in itertools.product(range(len(x[0])), range(len(x[0][0])))
            )
            and word(i, levels[j]) == words[j]
            for j in range(len(low))
        )
        for i in range(len(x))
    ]
