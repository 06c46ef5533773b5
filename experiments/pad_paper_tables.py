"""The tables of experiments/pad_paper.py."""

from pad_paper_data import INTERESTS
from pad_paper_findings import MEANT, PAPERS_TABLE, both_shares
from pad_paper_learning import (
    DEEP,
    DEFAULT,
    GENERIC,
    INPUTS,
    LEARNED,
    LINEAR,
    METRICS,
    PUBLIC,
    TRAININGS,
    TRUTH,
    VALUES,
    named,
)
from pad_paper_measures import STATISTICS
from pad_paper_results import Results


def curves_table(results: Results) -> str:
    """How many curves there are to learn from."""
    ks = results.plan.ks
    lines = [f"| set | private days | {' | '.join(f'k = {k}' for k in ks)} |", "|---|---:|" + "---:|" * len(ks)]
    for task in {task.name: task for task in results.tasks.values()}.values():
        cells = " | ".join(f"{sum(task.n_curves[k]) / len(task.n_curves[k]):.0f}" for k in ks)
        lines.append(f"| {task.name} | {task.n_private} | {cells} |")
    return "\n".join(lines)


def errors_table(results: Results) -> str:
    """Relative errors of the means and distances of the histograms."""
    names = {"arrival": "arrival", "departure": "departure", "occupied": "time occupied"}
    head = " | ".join(f"{names[s]}: mean | histogram | deviation" for s in STATISTICS)
    lines = [f"| set | k | {head} |", "|---|---:|" + "---:|" * 3 * len(STATISTICS)]
    for name, found in results.described.items():
        for k in results.plan.shown:
            cells = " | ".join(
                f"{found.error[s, k]:.1%} | {found.apart[s, k]:.2f} | {found.variety[s, k]:.2f}" for s in STATISTICS
            )
            lines.append(f"| {name} | {k} | {cells} |")
    note = (
        "Mean: relative error of it. Histogram: total variation, 24 bins of an hour. Deviation: the standard deviation "
        "of the published statistic as a share of the original one's. In the paper, on days of its building, the means "
        "are off by 8.13 %, 8.37 % and 6.21 % at k = 2 and by 6.80 %, 5.34 % and 0.47 % at k = 7."
    )
    return "\n".join(lines) + "\n\n" + note


def loss_table(results: Results, interest: str) -> str:
    """Losses as means and deviations of the repetitions."""
    ks = results.plan.ks
    lines = ["| set | learned from | metric | " + " | ".join(f"k = {k}" for k in ks) + " |"]
    lines += ["|---|---|---|" + "---:|" * len(ks)]
    for task in results.on(interest):
        for training in TRAININGS:
            for metric in METRICS:
                is_learned = metric not in (GENERIC, TRUTH)
                cells = " | ".join(
                    f"{task.mean(training, metric, k):.3g} ± {task.spread(training, metric, k):.2g}"
                    if task.learned(training, k) or not is_learned
                    else "–"
                    for k in ks
                )
                source = training if is_learned else ("" if training == PUBLIC else "within groups shown")
                lines.append(f"| {task.name} | {source} | {metric} | {cells} |")
    return "\n".join(lines)


def inputs_table(results: Results) -> str:
    """Both metrics, both inputs, beside what Shoal does by default and what nobody has."""
    asked = (*LEARNED, DEFAULT, TRUTH)
    lines = [f"| interest | set | {' | '.join(asked)} |", "|---|---|" + "---:|" * len(asked)]
    k = results.plan.middle
    for interest in INTERESTS:
        for task in results.on(interest):
            cells = [both_shares(task, metric, k) for metric in asked]
            lines.append(f"| {interest} | {task.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plain_inputs(results: Results) -> str:
    """What follows for whoever has to choose."""
    k, tasks = results.plan.middle, results.tasks.values()
    means = {m: sum(task.ratio(PUBLIC, m, k) for task in tasks) / len(tasks) for m in (*LEARNED, DEFAULT)}
    best = min(LEARNED, key=lambda m: means[m])
    listed = ", ".join(f"{m} {share:.2f}" for m, share in means.items())
    return (
        f"In the mean over interests and sets, from public days: {listed}. The least of the four is {best}. Given the "
        "same, "
        + " and ".join(
            f"the {'linear' if means[named(LINEAR, i)] < means[named(DEEP, i)] else 'deep'} metric loses less from "
            f"{MEANT[i]}"
            for i in INPUTS
        )
        + "."
    )


def correlation_table(results: Results) -> str:
    """Table 1, with the paper's figures beside it."""
    head = " | ".join(f"{metric}, {training}" for training in TRAININGS for metric in LEARNED)
    lines = [f"| interest | set | Euclidean | {head} |", "|---|---|---:|" + "---:|" * len(TRAININGS) * len(LEARNED)]
    for interest in INTERESTS:
        for task in results.on(interest):
            cells = [f"{task.correlated(PUBLIC, GENERIC):.2f}"]
            cells += [
                f"{task.correlated(training, metric):.2f}" if task.learned(training, results.plan.middle) else "–"
                for training in TRAININGS
                for metric in LEARNED
            ]
            lines.append(f"| {interest} | {task.name} | {' | '.join(cells)} |")
        papers = PAPERS_TABLE[interest]
        own = {named(kind, VALUES): papers[kind] for kind in (LINEAR, DEEP)}
        cells = [""] * len(LEARNED) + [str(own.get(metric, "")) for metric in LEARNED]
        lines.append(f"| {interest} | *the paper's* | {papers[GENERIC]} | {' | '.join(cells)} |")
    note = (
        f"Pre-sanitised with k = {results.plan.middle}. The paper's figures are at anonymity level 4, which it "
        "does not explain further; they are put where a level has a meaning."
    )
    return "\n".join(lines) + "\n\n" + note
