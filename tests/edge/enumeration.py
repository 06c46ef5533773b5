"""Every path that chance can take through a piece of code, with its exact probability."""

from collections import defaultdict
from fractions import Fraction


class Enumerated:
    """Stands in for `Chance`: replays the outcomes of a path, then takes the first outcome of everything new."""

    def __init__(self, path):
        self.path, self.taken, self.probability = path, [], Fraction(1)

    def below(self, n):
        at = len(self.taken)
        outcome = self.path[at] if at < len(self.path) else 0
        self.taken.append((outcome, n))
        self.probability /= n
        return outcome

    def hit(self, numerator, denominator):
        chances = Fraction(numerator, denominator)
        if chances in (0, 1):
            return chances == 1
        at = len(self.taken)
        outcome = self.path[at] if at < len(self.path) else 0
        self.taken.append((outcome, 2))
        self.probability *= chances if outcome else 1 - chances
        return bool(outcome)


def distribution(run):
    """The exact probability of each result of `run(chance)`."""
    found, path = defaultdict(Fraction), []
    while path is not None:
        chance = Enumerated(path)
        found[run(chance)] += chance.probability
        taken = chance.taken
        while taken and taken[-1][0] == taken[-1][1] - 1:
            taken.pop()
        path = [outcome for outcome, _ in taken[:-1]] + [taken[-1][0] + 1] if taken else None
    return dict(found)


def e_to(x, terms=80):
    """A fraction just below e^x: a partial sum of its series."""
    total = term = Fraction(1)
    for order in range(1, terms):
        term = term * x / order
        total += term
    return total
