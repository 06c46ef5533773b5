"""KAPRA, Naive and TGA on every set in experiments/kp_paper.py: who loses less, and why; all of it computed."""

from collections.abc import Sequence

from answers import share_word, yes_no
from kp_paper_measures import KAPRA, NAIVE, NAIVE_MEANS, PAIRS, RELEASES, TGA, Figures
from kp_paper_results import Results

EXACT = 1e-12
STANDINGS = ("below", "below or equal", "equal", "below at some and above at others", "above or equal", "above")


def must_show(results: Results) -> str:
    """The lines that every set has to answer: KAPRA and Naive under the same words, either against TGA."""
    lines = [
        "| set | pattern loss with words of means: KAPRA's below Naive's? | below TGA's? | with the paper's words: "
        "KAPRA's below Naive's? | below TGA's? | breach at most 1/P? |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in results.losses.items():
        cells = [_below(results, name, ours, other) for ours, naive in PAIRS for other in (naive, TGA)]
        worst = max(_breaches(results, name))
        word = yes_no(worst <= 1.0 + EXACT)
        count = len(_breaches(results, name))
        lines.append(
            f"| {name} ({found.panel.n_series:,} × {found.panel.n_instants}) | {' | '.join(cells)} | "
            f"**{word}**, at most {worst:.3g} / P over {count} releases |"
        )
    return "\n".join(lines)


def _below(results: Results, name: str, own: str, other: str) -> str:
    plan = results.plan
    pairs = _pairs(results, name, own, other)
    made, same = sum(ours < theirs for ours, theirs in pairs), sum(ours == theirs for ours, theirs in pairs)
    ours, theirs = pairs[plan.equal.index(plan.middle)]
    equal = f" and equal at {same}" if same else ""
    return (
        f"**{share_word(made, len(pairs))}**, below at {made} of {len(pairs)}{equal}; {ours:.3f} against {theirs:.3f} "
        f"at k = P = {plan.middle}"
    )


def _pairs(results: Results, name: str, own: str, other: str, loss: str = "pattern") -> list[tuple[float, float]]:
    """Losses of one and of another; two that publish the same are equal, however they round."""
    equal = results.losses[name].equal
    pairs = [(getattr(equal[own, k], loss), getattr(equal[other, k], loss)) for k in results.plan.equal]
    return [(ours, ours) if abs(ours - theirs) < EXACT else (ours, theirs) for ours, theirs in pairs]


def _breaches(results: Results, name: str) -> list[float]:
    """Probabilities of breach times P of every release of a set."""
    found, plan = results.losses[name], results.plan
    parts: list[tuple[Figures, int]] = [(f, p) for (_, p), f in found.by_p.items()]
    parts += [(f, plan.tuning_p) for f in found.by_k.values()]
    parts += [(f, k) for (name_of, k), f in found.equal.items() if name_of in RELEASES]
    return [f.breach * p for f, p in parts if f.breach is not None]


def short(results: Results) -> str:
    """Two sentences on KAPRA against Naive."""
    parts = []
    for words, (kapra, naive) in zip(("words of means, KP's default,", "the paper's words"), PAIRS, strict=True):
        wins, losses = (_named(results, *pair) for pair in ((kapra, naive), (naive, kapra)))
        parts.append(f"with {words} on {wins}, and Naive less than KAPRA on {losses}")
    values = _standings(results, KAPRA, NAIVE, "value")
    return f"KAPRA loses less pattern than Naive {'; '.join(parts)}. KAPRA's value loss, against Naive's, is {values}."


def _named(results: Results, own: str, other: str) -> str:
    """How many sets one is ahead on, and which, where it is some of them."""
    won = [name for name in results.losses if _ahead(results, name, own, other)]
    return f"{len(won)} of {len(results.losses)} sets{f' ({_and(won)})' if 0 < len(won) < len(results.losses) else ''}"


def verdict(results: Results) -> str:
    """The lines of every set in a few sentences, and what either algorithm pays in values."""
    names = list(results.losses)
    unsafe = [name for name in names if max(_breaches(results, name)) > 1.0 + EXACT]
    lines = [f"Over k = P = {', '.join(map(str, results.plan.equal))}:"]
    for words, (kapra, naive) in zip(("Words of means, KP's default", "The paper's words"), PAIRS, strict=True):
        won, lost = (sum(_ahead(results, n, *pair) for n in names) for pair in ((kapra, naive), (naive, kapra)))
        lines += [
            f"- {words}: KAPRA's pattern loss is, against Naive's, {_standings(results, kapra, naive)}. Ahead, that is "
            f"below somewhere and above nowhere: KAPRA on {won} of {len(names)} sets, Naive on {lost}.",
            f"- {words}, against TGA: KAPRA's is {_standings(results, kapra, TGA)}; Naive's is "
            f"{_standings(results, naive, TGA)}.",
        ]
    lines += [
        f"- Value loss, which words do not change: KAPRA's is, against Naive's, "
        f"{_standings(results, KAPRA, NAIVE, 'value')}.",
        f"- The breach probability is {f'**above 1/P on {_and(unsafe)}**' if unsafe else 'at most 1/P on every set'}.",
    ]
    return "\n".join([f"{lines[0]}\n", *lines[1:]])


def _ahead(results: Results, name: str, own: str, other: str) -> bool:
    return _standing(_pairs(results, name, own, other)) in ("below", "below or equal")


def _standings(results: Results, own: str, other: str, loss: str = "pattern") -> str:
    """On which sets one is below another at every k = P, on which above, and what lies between."""
    found = {name: _standing(_pairs(results, name, own, other, loss)) for name in results.losses}
    parts = [(word, [name for name, standing in found.items() if standing == word]) for word in STANDINGS]
    return ", ".join(f"{word} on {_and(names)}" for word, names in parts if names)


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _standing(pairs: Sequence[tuple[float, float]]) -> str:
    """One word for how one is to the other over all k = P."""
    below, above = (any(sign * a < sign * b for a, b in pairs) for sign in (1.0, -1.0))
    equal = any(a == b for a, b in pairs)
    if below and above:
        return "below at some and above at others"
    if not (below or above):
        return "equal"
    return ("below" if below else "above") + (" or equal" if equal else "")


def why(results: Results) -> str:
    """What decides between KAPRA and TGA, set by set."""
    k = results.plan.middle
    lines = [
        "| set | series | instants | variance between means of series | words of one letter | KAPRA | without those | "
        "TGA | TGA, finest unit |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in results.losses.items():
        x, ours = found.panel.rows, found.equal[KAPRA, k]
        between = float(x.mean(axis=1).var() / x.var())
        shapeless = ours.shapeless or 0.0
        lines.append(
            f"| {name} | {len(x):,} | {x.shape[1]} | {between:.0%} | {shapeless:.0%} | {ours.pattern:.3f} | "
            f"{_dash(ours.pattern_with_shape)} | {found.equal[TGA, k].pattern:.3f} | {found.fine.pattern:.3f} |"
        )
    return "\n".join(lines)


def without_levels(results: Results, each: Results) -> str:
    """Whether what is said of levels shows where there are none."""
    k, parts = results.plan.middle, []
    for method in (TGA, NAIVE_MEANS):
        pairs = {name: [r.losses[name].equal[method, k].pattern for r in (results, each)] for name in results.losses}
        fallen = sum(after < before for before, after in pairs.values())
        listed = ", ".join(f"{name} {before:.3f} to {after:.3f}" for name, (before, after) in pairs.items())
        parts.append(f"{method} loses less pattern on {fallen} of {len(pairs)} sets ({listed})")
    return f"Scaled by itself, no series stands out by its level or amplitude: there {'; '.join(parts)}."


def _dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
