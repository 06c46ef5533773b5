"""The schemes for local reports on the streams of LDP-IDS (2022), and whether its statements come out."""

import argparse

import numpy as np

from shoal.edge import SCHEMES, Grid
from shoal.edge.response import RandomizedResponse, units

SHORT = dict(zip(SCHEMES, ("LBU", "LBD", "LBA", "LPU", "LPD", "LPA"), strict=True))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def paper_streams(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """The two simulated streams of LDP-IDS, section 7.1: the share of ones among 200,000 users."""
    rng, t = np.random.default_rng(given.seed), np.arange(given.instants)
    walk = np.clip(0.05 + np.cumsum(rng.normal(0, 0.0025, given.instants)), 0.0, 1.0)
    return {"LNS": walk, "Sin": 0.05 * np.sin(0.01 * t) + 0.075}


def run_binary(scheme: str, shares: np.ndarray, n: int, epsilon: float, w: int, rng) -> np.ndarray:
    """As `run_local`, with users who are ones or zeros, counted and not kept one by one."""

    if scheme == "population-uniform":
        scheme, n, w = "budget-uniform", n // w, 1  # one part in w, each for everything
    asking = SCHEMES[scheme](units(epsilon), w, range(n), Grid(0.0, 1.0, 2), seed=int(rng.integers(2**31)))
    if hasattr(asking, "_draw"):
        free = {"left": [0] * (w - 1), "now": 0}

        def draw(number, f=free):
            number = min(number, n - sum(f["left"]) - f["now"])
            f["now"] += number
            return range(number)

        def turn(f=free):
            f["left"] = [*f["left"][1:], f["now"]] if w > 1 else []
            f["now"] = 0

        asking._draw, asking._next_instant = draw, turn
    found = []
    for t, share in enumerate(shares):
        questions = asking.instant(t)
        try:
            question = next(questions)
            while True:
                number = len(question.whom)
                ones = rng.binomial(number, share)
                true = float(RandomizedResponse.costing(question.cost, 2).probabilities(0)[0])
                said = rng.binomial(ones, true) + rng.binomial(number - ones, 1 - true)
                question = questions.send(np.array([number - said, said]))
        except StopIteration as done:
            found.append(np.nan if done.value.shares is None else done.value.shares[1])
    return np.array(found)


def orderings(given: argparse.Namespace) -> str:
    """Mean squared errors on the paper's streams, with its settings, and what they say about its statements."""
    repeats = max(1, given.repeats // 4)
    errors: dict[tuple[str, float, int], dict[str, float]] = {}
    for stream, shares in paper_streams(given).items():
        for epsilon, w in ((1.0, 20), (2.0, 20), (1.0, 40)):
            errors[stream, epsilon, w] = {
                SHORT[scheme]: float(
                    np.mean(
                        [
                            np.nanmean(
                                (
                                    run_binary(
                                        scheme, shares, 20_000, epsilon, w, np.random.default_rng([given.seed, r])
                                    )
                                    - shares
                                )
                                ** 2
                            )
                            for r in range(repeats)
                        ]
                    )
                )
                for scheme in SCHEMES
            }
    rows = [
        [stream, f"{e:g}", str(w), *(f"{one[s]:.2g}" for s in SHORT.values())] for (stream, e, w), one in errors.items()
    ]
    every = list(errors.values())

    def verdict(holds: list[bool]) -> str:
        return "yes" if all(holds) else "no" if not any(holds) else f"in {sum(holds)} of {len(holds)} cases"

    pairs = {"LPU": "LBU", "LPD": "LBD", "LPA": "LBA"}
    statements = [
        [
            "dividing the population beats dividing the budget, scheme by scheme",
            verdict([one[p] < one[b] for one in every for p, b in pairs.items()]),
        ],
        ["LBD and LBA are better than LBU", verdict([one[s] < one["LBU"] for one in every for s in ("LBD", "LBA")])],
        ["LPD and LPA are better than LPU", verdict([one[s] < one["LPU"] for one in every for s in ("LPD", "LPA")])],
        [
            "absorption is better than distribution",
            verdict([one[a] < one[d] for one in every for a, d in (("LBA", "LBD"), ("LPA", "LPD"))]),
        ],
        [
            "a larger ε has a smaller error",
            verdict([errors[s, 2.0, 20][k] < errors[s, 1.0, 20][k] for s in ("LNS", "Sin") for k in SHORT.values()]),
        ],
        [
            "a longer window has a larger error",
            verdict([errors[s, 1.0, 40][k] > errors[s, 1.0, 20][k] for s in ("LNS", "Sin") for k in SHORT.values()]),
        ],
    ]
    return table(["stream", "ε", "w", *SHORT.values()], rows) + "\n\n" + table(["statement", "holds here?"], statements)
