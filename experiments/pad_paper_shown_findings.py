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
    return [
        Answer(
            "Formed within the groups shown, does the release leave crowds of at least k together with the task?",
            share_word(sum(within), len(within)),
            f"In {sum(within)} of {len(within)} releases.",
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
        Answer(
            "Do held-out subjects do better, a third of all, shown in groups of k and not released?",
            yes_no(held_out < means[plan.multiple]),
            f"{held_out:.2f} of the generic loss on the others, whose groups are free, against "
            f"{means[plan.multiple]:.2f} within.",
            paper=False,
        ),
    ]


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
