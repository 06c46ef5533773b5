"""The lowest loss of any partition of one column into groups of at least k values, by trying all partitions.

    squared loss of a group     Σ (v − mean)²
    absolute loss of a group    Σ |v − median|
    loss of a partition         the sum over its groups

`lowest_loss_of_all` tries every partition into groups of at least k, of any size and any members: it shows that sorting
the values first and sizes of k to 2k − 1 lose nothing. `lowest_loss_sorted` tries every cut of the sorted values into
runs of k to 2k − 1, which is feasible for a few values more. Arithmetic is that of fractions, so there is no rounding.
"""

from fractions import Fraction


def group_loss(values, loss):
    if loss == "squared":
        mean = sum(values) / len(values)
        return sum((v - mean) ** 2 for v in values)
    median = sorted(values)[len(values) // 2]  # any point between the two middle values has the same absolute loss
    return sum(abs(v - median) for v in values)


def partitions(rows, k):
    """Every partition into groups of at least k: the first row with each choice of companions, then the others."""
    if not rows:
        yield []
    if len(rows) < k:
        return
    first, *others = rows
    for chosen in range(2 ** len(others)):
        group = [first] + [row for bit, row in enumerate(others) if chosen >> bit & 1]
        if len(group) >= k:
            for rest in partitions([row for row in others if row not in group], k):
                yield [group, *rest]


def cuts(n, k):
    """Every way to write n as a sum of sizes of k to 2k - 1, in order."""
    if n == 0:
        yield []
    for size in range(k, min(2 * k - 1, n) + 1):
        for rest in cuts(n - size, k):
            yield [size, *rest]


def exact(values):
    return [Fraction(float(v)) for v in values]


def lowest_loss_of_all(values, k, loss):
    v = exact(values)
    return min(
        sum(group_loss([v[i] for i in group], loss) for group in partition)
        for partition in partitions(list(range(len(v))), k)
    )


def lowest_loss_sorted(values, k, loss):
    v = sorted(exact(values))
    losses = []
    for sizes in cuts(len(v), k):
        total, start = Fraction(0), 0
        for size in sizes:
            total += group_loss(v[start : start + size], loss)
            start += size
        losses.append(total)
    return min(losses)


def loss_of_labels(values, labels, loss):
    v = exact(values)
    groups = [[v[i] for i in range(len(v)) if labels[i] == label] for label in sorted(set(labels.tolist()))]
    return sum(group_loss(group, loss) for group in groups)
