"""What experiments/pad_paper.py says about label tasks: groups of m·k shown, and a release within them."""

import numpy as np
from answers import Answer, share_word, yes_no
from pad_paper_results import Results
from pad_paper_shown import FREE, GENERIC_WITHIN, HELD_OUT, WANTED_WITHIN, WITHIN


def on_shown(results: Results) -> list[Answer]:
    """Whether crowds hold, and which m to take."""
    plan, every = results.plan, results.shown.values()
    places = [(m, k) for k in plan.shown_ks for m in plan.multiples]
    within = [n >= k for s in every for m, k in places for n in s.smallest[WITHIN, m, k]]
    small = {m: [x for s in every for k in plan.shown_ks for x in s.small[FREE, m, k]] for m in plan.multiples}
    alone = min(n for s in every for m, k in places for n in s.smallest[FREE, m, k])
    means = {m: _mean(results, WITHIN, m) for m in plan.multiples}
    free = {m: _mean(results, FREE, m) for m in plan.multiples}
    held_out = float(np.mean([x for s in every for k in plan.shown_ks for x in s.share[HELD_OUT, 1, k]]))
    best = min(means, key=lambda m: means[m])
    listed = ", ".join(f"{share:.2f} with m = {m}" for m, share in means.items())
    if enough := [(s, k) for s in every for k in plan.shown_ks if not any(s.few[m, k] for m in plan.multiples)]:
        there = (f"{np.mean([x for s, k in enough for x in s.share[WITHIN, m, k]]):.2f}" for m in plan.multiples)
        of = len(every) * len(plan.shown_ks)
        listed += f" ({', '.join(there)} at the {len(enough)} of {of} places where every m left enough to learn from)"
    crowds = ", ".join(
        f"{min(n for s in every for m in plan.multiples for n in s.smallest[WITHIN, m, k])} at k = {k}"
        for k in plan.shown_ks
    )
    return [
        Answer(
            "Formed within the groups shown, does the release leave crowds of at least k together with the task?",
            share_word(sum(within), len(within)),
            f"In {sum(within)} of {len(within)} releases; the smallest is {crowds}.",
            paper=False,
        ),
        Answer(
            "Does it when groups are free to cross those shown?",
            "no" if alone < min(plan.shown_ks) else "yes",
            f"{', '.join(f'{np.mean(x):.0%} of the days with m = {m}' for m, x in small.items())} are left in crowds "
            f"below k, the smallest of {alone}.",
            paper=False,
        ),
        Answer(
            f"Is the default, m = {plan.multiple}, the best of those tried?",
            yes_no(best == plan.multiple),
            f"Mean share of the loss of a generic release without a task: {listed}; free and unsafe "
            f"{', '.join(f'{share:.2f} (m = {m})' for m, share in free.items())}.",
            paper=False,
        ),
        *_against(results),
        _by_labels(results),
        Answer(
            "Do held-out subjects do better, a third of all, shown in groups of k and not released?",
            yes_no(held_out < means[plan.multiple]),
            f"{held_out:.2f} of the generic loss on the others, whose groups are free, against "
            f"{means[plan.multiple]:.2f} within.",
            paper=False,
        ),
    ]


def _against(results: Results) -> list[Answer]:
    """The default m against each of the others, release by release."""
    plan, found = results.plan, []
    for m in plan.multiples:
        if m == plan.multiple:
            continue
        pairs = [
            pair
            for s in results.shown.values()
            for k in plan.shown_ks
            for pair in zip(s.share[WITHIN, plan.multiple, k], s.share[WITHIN, m, k], strict=True)
        ]
        less, more = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        found.append(
            Answer(
                f"Does m = {plan.multiple} lose less than m = {m}?",
                share_word(less, less + more),
                f"In {less} of {len(pairs)} releases, more in {more}.",
                paper=False,
            )
        )
    return found


def _by_labels(results: Results) -> Answer:
    """What labels change within the groups shown, at the default m and where there was something to learn from."""
    plan, m = results.plan, results.plan.multiple
    places = [(s, k) for s in results.shown.values() for k in plan.shown_ks if not s.few[m, k]]
    learned, generic = ([x for s, k in places for x in s.share[what, m, k]] for what in (WITHIN, GENERIC_WITHIN))
    less = sum(a < b for a, b in zip(learned, generic, strict=True))
    more = sum(a > b for a, b in zip(learned, generic, strict=True))
    wanted = [x for s, k in places for x in s.share[WANTED_WITHIN, m, k]]
    return Answer(
        f"Within groups of {m}·k, do labels lower the loss?",
        share_word(less, less + more),
        f"In {less} of {len(learned)} releases, and they raise it in {more}; in the others nothing changes. "
        f"Mean share {np.mean(learned):.2f}, with the generic metric in the same groups {np.mean(generic):.2f}, with "
        f"the wanted one {np.mean(wanted):.2f}. Places with too few curves to learn from are left out.",
        paper=False,
    )


def shown_table(results: Results) -> str:
    """Every place."""
    lines = [
        "| interest | set | k | m | curves shown | within, generic | within, learned | within, wanted | smallest crowd "
        "| free, learned | smallest crowd | days below k | held out, learned |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    plan = results.plan
    for found in sorted(results.shown.values(), key=lambda s: list(results.shown).index((s.name, s.interest))):
        for k in plan.shown_ks:
            for m in plan.multiples:
                share = {
                    what: np.mean(found.share[what, m, k]) for what in (WITHIN, GENERIC_WITHIN, WANTED_WITHIN, FREE)
                }
                few = f" ({found.few[m, k]} too few)" if found.few[m, k] else ""
                beside = f"{np.mean(found.share[HELD_OUT, 1, k]):.2f}" if m == 1 else ""
                lines.append(
                    f"| {found.interest} | {found.name} | {k} | {m} | {np.mean(found.n_curves[m, k]):.0f}{few} "
                    f"| {share[GENERIC_WITHIN]:.2f} | {share[WITHIN]:.2f} | {share[WANTED_WITHIN]:.2f} "
                    f"| {min(found.smallest[WITHIN, m, k])} | {share[FREE]:.2f} | {min(found.smallest[FREE, m, k])} "
                    f"| {np.mean(found.small[FREE, m, k]):.0%} | {beside} |"
                )
    return "\n".join(lines)


def _mean(results: Results, what: str, m: int) -> float:
    return float(
        np.mean([x for s in results.shown.values() for k in results.plan.shown_ks for x in s.share[what, m, k]])
    )
