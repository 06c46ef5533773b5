"""The tables of experiments/reposition_paper.py."""

import numpy as np
from reposition_paper_data import MEANINGS, Stream
from reposition_paper_measures import (
    ENDLESS,
    GENERALISED,
    LIMITED,
    RELEASES,
    REPOSITIONED,
    SIZE_CLASSES,
    SUPPRESSED,
    Results,
)
from reposition_yardsticks import eligible


def far_run(results: Results) -> int:
    """Snapshots of a long stretch."""
    return min(30, *(len(stream.counts) // 2 for stream in results.sets.streams.values()))


def by_size(stream: Stream) -> list[tuple[str, float, int]]:
    """Classes of size that have snapshots: name, share of eligible ones, how many there are."""
    sizes, found = stream.counts.sum(axis=1), eligible(stream.counts, stream.l)
    classes = []
    for low, high in SIZE_CLASSES:
        inside = (sizes >= low) & (sizes <= high)
        if inside.any():
            name = f"{low}–{high}" if high < 10_000 else f"over {low - 1}"
            classes.append((name, float(found[inside].mean()), int(inside.sum())))
    return classes


def data_table(results: Results) -> str:
    """Which streams there are."""
    lines = ["| stream | events | snapshots | a snapshot | values | what |", "|---|---:|---:|---:|---:|---|"]
    for stream in results.sets.streams.values():
        n, values = stream.counts.shape
        mean = stream.counts.sum() / n
        lines.append(
            f"| {stream.name} | {len(stream.events):,} | {n} | {mean:.0f} | {values} | {MEANINGS[stream.name]} |"
        )
    return "\n".join(lines)


def why_table(results: Results) -> str:
    """What decides whether moving helps."""
    plan = results.plan
    far = far_run(results)
    lines = [
        "| stream | l | most frequent value | of what 1/l allows | eligible snapshots | "
        f"eligible stretches of {plan.window} | of {far} |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for stream in results.sets.streams.values():
        own = float(eligible(stream.counts, stream.l).mean())
        lines.append(
            f"| {stream.name} | {stream.l} | {stream.most:.1%} | {stream.most * stream.l:.0%} | {own:.1%} | "
            f"{stream.runs(plan.window):.1%} | {stream.runs(far):.1%} |"
        )
    return "\n".join(lines)


def sizes_table(results: Results) -> str:
    """Simulated snapshots by mean size and l."""
    plan = results.plan
    lines = [
        "| l | " + " | ".join(f"{size} a day" for size in plan.sizes) + " |",
        "|---:|" + "---:|" * len(plan.sizes),
    ]
    lines += [f"| {l} | " + " | ".join(f"{results.sizes[size, l]:.0%}" for size in plan.sizes) + " |" for l in plan.ls]
    return "\n".join(lines)


def classes_table(results: Results) -> str:
    """Snapshots of the streams by their size."""
    names = [f"{low}–{high}" if high < 10_000 else f"over {low - 1}" for low, high in SIZE_CLASSES]
    lines = ["| stream | l | " + " | ".join(f"{name} events" for name in names) + " |"]
    lines.append("|---|---:|" + "---:|" * len(names))
    for stream in results.sets.streams.values():
        found = {name: f"{share:.0%} of {n}" for name, share, n in by_size(stream)}
        lines.append(f"| {stream.name} | {stream.l} | " + " | ".join(found.get(name, "–") for name in names) + " |")
    return "\n".join(lines)


def distances_table(results: Results) -> str:
    """How late events are published, in the window of the plan and in an endless one."""
    plan = results.plan
    lines = [
        "| stream | window | cost | suppressed | on time | 1 late | 2 | 3 | more | mean | furthest |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in results.sets.streams:
        for window, cost in ((plan.window, "linear"), (plan.window, "quadratic"), (ENDLESS, "linear")):
            placed = results.place(name, window, cost)
            other = results.place(name, window, "quadratic" if cost == "linear" else "linear")
            same = bool((placed.late == other.late).all())
            if same and cost == "quadratic":
                continue
            late = np.zeros(5)
            late[: min(4, len(placed.late))] = placed.late[:4]
            late[4] = placed.late[4:].sum()
            shares = " | ".join(f"{share:.1%}" for share in late / late.sum())
            lines.append(
                f"| {name} | {_window(window)} | {'either' if same else cost} | {placed.lost:.1%} | {shares} | "
                f"{placed.mean:.2f} | {placed.furthest} |"
            )
    return "\n".join(lines)


def windows_table(results: Results) -> str:
    """Loss per event and share suppressed by window."""
    plan = results.plan
    windows = (*plan.windows, ENDLESS)
    lines = ["| stream | cost | " + " | ".join(f"w = {_window(window)}" for window in windows) + " |"]
    lines.append("|---|---|" + "---:|" * len(windows))
    for name in results.sets.streams:
        for cost in ("linear", "quadratic"):
            cells = [results.place(name, window, cost) for window in windows]
            lines.append(
                f"| {name} | {cost} | " + " | ".join(f"{cell.loss:.3g} ({cell.lost:.1%})" for cell in cells) + " |"
            )
    return "\n".join(lines)


def prices_table(results: Results) -> str:
    """Whether the answer depends on what suppression costs."""
    plan = results.plan
    lines = [
        "| stream | " + " | ".join(f"like {like} late" for like in plan.lost_likes) + " |",
        "|---|" + "---:|" * len(plan.lost_likes),
    ]
    for name in results.sets.streams:
        ratios = [
            ratio(results.place(name, plan.window, "linear", n).loss, results.place(name, ENDLESS, "linear", n).loss)
            for n in plan.lost_likes
        ]
        lines.append(f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
    return "\n".join(lines)


def gaps_table(results: Results) -> str:
    """The method against integer programs over the whole stream."""
    plan = results.plan
    lines = [
        f"| stream | steps, w = {plan.window} | steps, endless | program, w = {plan.window} | its lower bound | "
        f"program, w = {plan.lost_like} | program, both directions | gap of the stream |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in results.sets.streams:
        own, endless = (results.place(name, window).loss for window in (plan.window, ENDLESS))
        best, far, both = (results.offline[name, kind] for kind in ("window", "far", "both"))
        gap = f"{ratio(own, best.loss) - 1:.0%}"
        lines.append(
            f"| {name} | {own:.4f} | {endless:.4f} | {best.loss:.4f} | {best.bound:.4f} | {far.loss:.4f} | "
            f"{both.loss:.4f} | {gap} |"
        )
    return "\n".join(lines)


def queries_table(results: Results, *, conditions: bool) -> str:
    """Errors of all releases, by stream and longest window."""
    plan = results.plan
    kinds = [kind for kind in RELEASES if conditions or kind != GENERALISED]
    lines = ["| stream | windows of up to | " + " | ".join(kinds) + " |", "|---|---:|" + "---:|" * len(kinds)]
    for name, released in results.released.items():
        for n in plan.longest:
            cells = []
            for kind in kinds:
                found = released.get(kind)
                values = None if found is None else found.by_all if conditions else found.by_value
                cells.append("–" if values is None else f"{values[n]:.1%}")
            lines.append(f"| {name} | {n} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def releases_table(results: Results) -> str:
    """What each way to publish costs before anybody asks."""
    lines = ["| stream | " + " | ".join(RELEASES) + " |", "|---|" + "---|" * len(RELEASES)]
    for name, released in results.released.items():
        cells = []
        for kind in RELEASES:
            found = released.get(kind)
            length = "" if found is None or found.length == 1.0 else f", intervals of {found.length:.1f}"
            cells.append("impossible" if found is None else f"{found.suppressed:.1%}{length}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def risk_table(results: Results) -> str:
    """The attack before and after, and who is seen to be missing."""
    lines = [
        "| stream | published | mean chance, of all | before | guessing | highest, of the published | 1/l | "
        "suppressed | of one value | seen to be missing | their chance |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, released in results.released.items():
        n, before = len(results.sets.streams[name].events), released[REPOSITIONED].risk.before
        for kind in (REPOSITIONED, GENERALISED, SUPPRESSED, LIMITED):
            found = released[kind]
            risk = found.risk
            missing = f"{risk.unmatched:.0%}" if risk.n_unmatched else "–"
            alike = f"{found.alike:.0%}" if found.suppressed else "–"
            lines.append(
                f"| {name} | {kind} | {risk.success:.3f} | {before:.3f} | {risk.baseline:.3f} | {risk.highest:.3f} | "
                f"{1 / results.sets.streams[name].l:.3f} | {found.suppressed * n:,.0f} | {alike} | "
                f"{risk.n_unmatched:,} | {missing} |"
            )
    return "\n".join(lines)


def ratio(a: float, b: float) -> float:
    """1 where there is nothing to lose on either side."""
    return a / b if b > 0.0 else 1.0 if a <= 0.0 else float("inf")


def _window(window: int) -> str:
    return "endless" if window == ENDLESS else str(window)
