"""(k, P)-anonymity and the paper's two ways to it, row by row from the listings, with every set a list of rows.

    word(i, L)      of series i normalised to mean 0 and deviation 1, 0 if constant: one letter per value z, the number
                    of quantiles 1/L, ..., (L - 1)/L of the normal distribution up to z + 1e-7
    shape(w, L)     letter j, from 0, as the quantile (2j + 1)/(2L)
    similarity      cosine of the vectors of all differences of two shapes, to nine digits; 1 if both vectors are 0, 0
                    if one is
    width(A)        the sum over t of (max - min of A at t)²
    loss(A)         |A| · sqrt(width(A) / T)

Where the listings leave something open the rule is here: ties go to the lowest row or the list it begins. Three
rules are not the listings': a node whose rows all agree at the next level goes there as it is (Algorithm 1 would leave
it where it is); rows of bad leaves are recycled one by one (Algorithm 2 moves leaves, whose rows need not agree at a
lower level); and where suppression would leave fewer than k series, those rows join the most similar leaf instead.
"""

import functools
import itertools
import math
from fractions import Fraction
from statistics import NormalDist


@functools.cache
def normalised(series):
    """Mean 0 and deviation 1, in fractions up to the last square root."""
    exact = [Fraction(v) for v in series]
    mean = sum(exact) / len(exact)
    variance = sum((v - mean) ** 2 for v in exact) / len(exact)
    return [0.0 if v == mean else math.copysign(math.sqrt((v - mean) ** 2 / variance), v - mean) for v in exact]


def naive_word(series, level):
    breaks = [NormalDist().inv_cdf(j / level) for j in range(1, level)]
    return tuple(sum(b <= v + 1e-7 for b in breaks) for v in normalised(tuple(series)))


def naive_shape(word, level):
    return [NormalDist().inv_cdf((2 * j + 1) / (2 * level)) for j in word]


def naive_similarity(a, b):
    pairs = list(itertools.combinations(range(len(a)), 2))
    p, q = ([v[i] - v[j] for i, j in pairs] for v in (a, b))
    norm_p, norm_q = (math.sqrt(math.fsum(d * d for d in v)) for v in (p, q))
    if norm_p < 1e-9 or norm_q < 1e-9:
        return float(norm_p < 1e-9 and norm_q < 1e-9)
    return round(math.fsum(d * e for d, e in zip(p, q, strict=True)) / (norm_p * norm_q), 9)


def by_word(word, rows, level):
    """Rows with the same word, as lists in order of first row."""
    found = {}
    for row in rows:
        found.setdefault(word(row, level), []).append(row)
    return list(found.values())


def leaf(rows, level, first=None):
    return {"rows": rows, "level": level, "first": rows[0] if first is None else first}


def naive_tree(word, rows, p, max_level, level=1):
    """Algorithm 1: (good leaves, bad leaves) below a node. `word` takes a row and a level."""
    if len(rows) < p:
        return [], [leaf(rows, level)]
    if level == max_level:
        return [leaf(rows, level)], []
    if len(rows) < 2 * p:
        highest = max(u for u in range(level, max_level + 1) if len(by_word(word, rows, u)) == 1)
        return [leaf(rows, highest)], []
    children = by_word(word, rows, level + 1)
    if len(children) == 1:
        return naive_tree(word, rows, p, max_level, level + 1)
    tentative_good = [child for child in children if len(child) >= p]
    tentative_bad = [child for child in children if len(child) < p]
    if not tentative_good:
        return [leaf(rows, level)], []
    next_nodes = [(child, level + 1) for child in tentative_good]
    together = sorted(row for child in tentative_bad for row in child)
    if len(together) >= p:
        next_nodes.append((together, level))
    else:
        next_nodes += [(child, level + 1) for child in tentative_bad]
    good, bad = [], []
    for child, child_level in next_nodes:
        more_good, more_bad = naive_tree(word, child, p, max_level, child_level)
        good += more_good
        bad += more_bad
    return good, bad


def naive_post_processing(word, good, bad):
    """The good leaves with the bad ones in them, each in the most similar one."""
    good = [dict(g, rows=list(g["rows"])) for g in sorted(good, key=lambda g: g["first"])]
    shapes = [naive_shape(word(g["first"], g["level"]), g["level"]) for g in good]
    for b in sorted(bad, key=lambda b: (len(b["rows"]), b["rows"][0])):
        shape = naive_shape(word(b["rows"][0], b["level"]), b["level"])
        best = min(
            range(len(good)),
            key=lambda g: (-naive_similarity(shape, shapes[g]), len(good[g]["rows"]), good[g]["first"]),
        )
        good[best]["rows"] = sorted(good[best]["rows"] + b["rows"])
    return good


def naive_recycle(word, bad, p):
    """Algorithm 2: (new good leaves, the bad leaves of the rows that are left, a row each)."""
    level_of = {row: b["level"] for b in bad for row in b["rows"]}
    good, current = [], max(level_of.values(), default=0)
    left = sorted(level_of)
    while len(left) >= p:
        alike = by_word(word, [row for row in left if level_of[row] >= current], current)
        good += [leaf(rows, current) for rows in alike if len(rows) >= p]
        left = [row for row in left if not any(row in g["rows"] for g in good)]
        current -= 1
    return good, [leaf([row], level_of[row]) for row in left]


def naive_width(x, rows):
    total = 0.0
    for t in range(len(x[0])):
        d = max(x[i][t] for i in rows) - min(x[i][t] for i in rows)
        total += d * d
    return total


def naive_loss(x, rows):
    return len(rows) * math.sqrt(naive_width(x, rows) / len(x[0]))


def farthest(x, rows, seed):
    return min(rows, key=lambda i: (-naive_width(x, [seed, i]), i != seed, i))


def growth(x, part, w):
    return math.sqrt(naive_width(x, [*part, w])) - math.sqrt(naive_width(x, part))


def naive_top_down(x, rows, least, large=2000):
    """Parts of `least` to 2·least - 1 rows, by a cut like that of Xu et al. 2006; sets above `large` by nearer seed."""
    if len(rows) < 2 * least:
        return [rows]
    u = rows[0]
    v = farthest(x, rows, u)
    for _ in range(3):
        w = farthest(x, rows, v)
        if naive_width(x, [v, w]) <= naive_width(x, [u, v]):
            break
        u, v = v, w
    if naive_width(x, [u, v]) == 0.0:
        parts = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    else:
        parts = [[min(u, v)], [max(u, v)]]
        for w in rows:
            if w not in (u, v):
                if len(rows) > large:
                    options = [(naive_width(x, [part[0], w]), len(part)) for part in parts]
                else:
                    options = [(growth(x, part, w), len(part)) for part in parts]
                parts[options[1] < options[0]].append(w)
        for small, other in (parts, parts[::-1]):
            while len(small) < least:
                small.append(min(other, key=lambda w: (naive_width(x, [*small, w]), w)))
                other.remove(small[-1])
                other.sort()
    return [part for rows in parts for part in naive_top_down(x, sorted(rows), least, large)]


def naive_cost(x, rows):
    """What orders sets like their loss does."""
    return float(len(rows)) * float(len(rows)) * naive_width(x, rows)


def naive_form_groups(x, subgroups, k):
    """Algorithm 3 without its preprocessing: lists of subgroups, the closest of all pairs each time."""
    subgroups = sorted(subgroups, key=min)
    done = [[s] for s in subgroups if len(s) >= k]
    left = [s for s in subgroups if len(s) < k]
    while sum(map(len, left)) >= k:
        group = [min(left, key=lambda s: (naive_cost(x, s), min(s)))]
        left.remove(group[0])
        while len(rows_of(group)) < k:
            rows = rows_of(group)
            group.append(min(left, key=lambda s: (naive_cost(x, rows + s), min(s))))
            left.remove(group[-1])
        done.append(group)
    for s in left:
        growth = [naive_loss(x, rows_of(group) + s) - naive_loss(x, rows_of(group)) for group in done]
        done[growth.index(min(growth))].append(s)
    return done


def rows_of(group):
    return [row for s in group for row in s]


def words_of_table(x):
    table = {}

    def word(row, level):
        if (row, level) not in table:
            table[row, level] = naive_word(x[row], level)
        return table[row, level]

    return word


def published(x, word, groups, leaves):
    """Per row None or (low, high, level, word, group); groups are lists of rows."""
    found = [None] * len(x)
    leaf_of = {row: g for g in leaves for row in g["rows"]}
    for number, rows in enumerate(sorted(map(sorted, groups))):
        low, high = (tuple(end(x[i][t] for i in rows) for t in range(len(x[0]))) for end in (min, max))
        for row in rows:
            g = leaf_of[row]
            found[row] = low, high, g["level"], word(g["first"], g["level"]), number
    return found


def naive_naive(x, k, p, max_level=20):
    """The Naive algorithm, section 5.2."""
    word = words_of_table(x)
    groups = naive_top_down(x, list(range(len(x))), k)
    leaves = [g for rows in groups for g in naive_post_processing(word, *naive_tree(word, rows, p, max_level))]
    return published(x, word, groups, leaves)


def naive_kapra(x, k, p, max_level=20):
    """KAPRA, section 5.3."""
    word = words_of_table(x)
    good, bad = naive_tree(word, list(range(len(x))), p, max_level)
    more, left = naive_recycle(word, bad, p)
    good += more
    if len(x) - len(left) < k:
        good, left = naive_post_processing(word, good, left), []
    subgroups = [part for g in good for part in naive_top_down(x, g["rows"], p)]
    groups = [rows_of(group) for group in naive_form_groups(x, subgroups, k)]
    return published(x, word, groups, good)


def naive_kp_anonymous(low, high, levels, patterns, k, p):
    """Definition 5, by comparing every series with every other."""
    n = len(low)
    for i in range(n):
        same = [j for j in range(n) if list(low[i]) == list(low[j]) and list(high[i]) == list(high[j])]
        if len(same) < k or sum(levels[i] == levels[j] and patterns[i] == patterns[j] for j in same) < p:
            return False
    return True
