"""What somebody can make of the groups of several releases: every set there is, made one from another."""


def every_set(groups):
    """All sets that "and", "or" and "but not" make of some sets."""
    found = {frozenset(group) for group in groups}
    while True:
        further = {made for a in found for b in found for made in (a & b, a | b, a - b)} - found
        if not further:
            return found - {frozenset()}
        found |= further


def promised(releases, subject):
    """The smallest k of the releases a subject is in; a release is (groups, k)."""
    return min(k for groups, k in releases if any(subject in group for group in groups))


def fine_together(releases):
    """No set that can be made is smaller than what any of its members was promised."""
    groups = [group for found, _ in releases for group in found]
    return all(len(made) >= promised(releases, s) for made in every_set(groups) for s in made)


def smallest_set_with(releases, subject):
    """The size of the smallest set with a subject."""
    groups = [group for found, _ in releases for group in found]
    return min(len(made) for made in every_set(groups) if subject in made)
