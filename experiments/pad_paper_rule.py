"""When to use a learned metric: what rules cost and save in experiments/pad_paper.py."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from answers import Answer, share_word, yes_no
from pad_paper_learning import DEFAULT, GENERIC, LEARNED, PRESANITISED, PUBLIC, TRAININGS, Judgement, shares
from pad_paper_results import Results

ALWAYS, SHOALS, VETO = "always use what was learned", "expected gain above 0", "gain above 2 standard errors"
RULES = {ALWAYS: float("-inf"), SHOALS: 0.0, VETO: 2.0}
FEW_CURVES = 10


class Decision(NamedTuple):
    """One release: what held-out labels said of a metric, and its loss over that of the generic metric."""

    metric: str
    n_curves: int
    """Shown to the analyst; 0 where public days are."""
    judged: Judgement
    share: float

    def uses(self, rule: str) -> bool:
        """Whether the metric is used by a rule."""
        return self.judged.gain > RULES[rule] * max(self.judged.error, 1e-12)

    def outcome(self, rule: str) -> float:
        """The loss over that of the generic metric that a rule leads to."""
        return self.share if self.uses(rule) else 1.0


def on_rule(results: Results) -> list[Answer]:
    """Whether expected gain chooses well, and better than a margin."""
    found = []
    for training in TRAININGS:
        made = decisions(results, training)
        used, kept = _split(made, SHOALS)
        worse_used, worse_kept = sum(s > 1.0 for s in used), sum(s < 1.0 for s in kept)
        found.append(
            Answer(
                f"Is the choice by expected gain right, from {training} days?",
                share_word(len(made) - worse_used - worse_kept, len(made)),
                f"Of {len(made)} releases, {worse_used + worse_kept} would have lost less by the other choice: "
                f"{worse_used} that used the learned metric, {worse_kept} that did not.",
                paper=False,
            )
        )
        changed = [d.share for d in made if d.uses(SHOALS) and not d.uses(VETO)]
        if changed:
            better, worse = sum(s < 1.0 for s in changed), sum(s > 1.0 for s in changed)
            found.append(
                Answer(
                    f"Does it do better than a margin of two standard errors, from {training} days?",
                    yes_no(round(_mean(made, SHOALS), 2) < round(_mean(made, VETO), 2)),
                    f"Mean share of the loss {_mean(made, SHOALS):.2f} against {_mean(made, VETO):.2f}. It uses the "
                    f"metric in {len(changed)} releases where the margin would not: {better} lose less by it, {worse} "
                    f"more, {np.mean(changed):.2f} of the generic loss on average.",
                    paper=False,
                )
            )
    return found


def rule_table(results: Results) -> str:
    """What each rule does."""
    lines = [
        "| learned from | rule | releases | used | of these worse | not used | of these worse | mean share of loss |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for training in TRAININGS:
        made = decisions(results, training)
        for rule in RULES if made else ():
            used, kept = _split(made, rule)
            lines.append(
                f"| {training} | {rule} | {len(made)} | {len(used)} | {sum(s > 1.0 for s in used)} | {len(kept)} "
                f"| {sum(s < 1.0 for s in kept)} | {_mean(made, rule):.3f} |"
            )
    return "\n".join(lines)


def parts_table(results: Results) -> str:
    """The mean share of loss by metric, and by how many curves there were to learn from."""
    lines = [f"| learned from | which | releases | {' | '.join(RULES)} |", "|---|---|---:|" + "---:|" * len(RULES)]
    for training in TRAININGS:
        made = decisions(results, training)
        parts = {metric: [d for d in made if d.metric == metric] for metric in LEARNED}
        if training == PRESANITISED:
            parts[f"fewer than {FEW_CURVES} curves"] = [d for d in made if d.n_curves < FEW_CURVES]
            parts[f"{FEW_CURVES} curves or more"] = [d for d in made if d.n_curves >= FEW_CURVES]
        lines += [
            f"| {training} | {name} | {len(part)} | {' | '.join(f'{_mean(part, rule):.2f}' for rule in RULES)} |"
            for name, part in parts.items()
            if part
        ]
        default = [share for *_, share in _places(results, training, DEFAULT)]
        lines += [f"| {training} | {DEFAULT} | {len(default)} | | {np.mean(default):.2f} | |"] if default else []
    return "\n".join(lines)


def decisions(results: Results, training: str) -> list[Decision]:
    """Every release by a metric of its own inputs, where there was enough to learn from."""
    return [
        Decision(metric, n_curves, judged, share)
        for metric in LEARNED
        for n_curves, judged, share in _places(results, training, metric)
    ]


def _places(results: Results, training: str, metric: str) -> list[tuple[int, Judgement, float]]:
    found = []
    for task in results.tasks.values():
        for k in results.plan.ks:
            # What Shoal does by default has a judgement of its own; where it could learn, so could the others.
            judged = task.judged[training, LEARNED[0] if metric == DEFAULT else metric, 0 if training == PUBLIC else k]
            ratios = shares(task.loss[training, metric, k], task.loss[training, GENERIC, k])
            n_curves = [0] * len(ratios) if training == PUBLIC else task.n_curves[k]
            together = zip(n_curves, judged, ratios, strict=True)
            found += [(n, j, share) for n, j, share in together if j is not None]
    return found


def _split(made: Sequence[Decision], rule: str) -> tuple[list[float], list[float]]:
    """Learned loss over generic loss where a rule uses the metric, and where it does not."""
    return [d.share for d in made if d.uses(rule)], [d.share for d in made if not d.uses(rule)]


def _mean(made: Sequence[Decision], rule: str) -> float:
    return float(np.mean([d.outcome(rule) for d in made]))
