"""What protection at the meter costs: local reports and secure sums beside central noise and central groups.

Writes edge.md, by default to docs/results. Answers of meters are drawn with the probabilities of `shoal.edge` by numpy,
many at a time; that the devices draw with these probabilities is what tests are for. Sets that are not at hand are left
out, and the page says so.
"""

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
from edge_orderings import SHORT, orderings, table

from shoal import Microaggregation, Panel, read_panel, simulate
from shoal.edge import SCHEMES, Budget, Grid
from shoal.edge.aggregation import Member, SumRules
from shoal.edge.device import Device
from shoal.edge.fleet import STEPS, Fleet, Plan, enrolled
from shoal.edge.keys import Keys
from shoal.edge.response import RandomizedResponse, units
from shoal.edge.smoothing import smooth

ROOT = Path(__file__).resolve().parents[1]
DAYS_OF_ATTACK = (7, 30, 365, 3650)


def main() -> None:
    """Measure and write."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    written = given.out / "edge.md"
    written.write_text(page(given), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--meters", type=int, default=1000, help="simulated households")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=20, help="draws of the noise")
    parser.add_argument("--instants", type=int, default=800, help="of the streams of the LDP-IDS paper")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load(given: argparse.Namespace) -> tuple[dict[str, tuple[np.ndarray, float, int]], list[str]]:
    """Readings, the upper bound and the instants of a day, by name; and what is absent."""
    households = simulate.meters(given.meters, days=given.days, step="30min", seed=given.seed)
    found = {"simulated households, kWh in half hours": (households.values.reshape(given.meters, -1) / 1000.0, 2.5, 48)}
    absent = []
    sets = {
        "Australian households, kWh in half hours": ("sgsc_households/sgsc_halfhourly_8weeks_2013.parquet", 2.5, 48),
        "Slovak meters, kWh in hours": ("energyhack_sk_meters/energyhack_hourly_4weeks.parquet", 25.0, 24),
    }
    for name, (file, upper, day) in sets.items():
        if not (given.data / file).exists():
            absent.append(name)
            continue
        panel = read_panel(given.data / file, missing="drop-series")
        length = panel.n_instants // day * day
        found[name] = (panel.values.reshape(panel.n_series, -1)[:, : min(length, 7 * day)], upper, day)
    return found, absent


def run_local(scheme: str, x: np.ndarray, upper: float, epsilon: float, w: int, rng: np.random.Generator) -> np.ndarray:
    """The estimated mean at every instant; NaN before the first answer."""
    return np.array([mean for mean, _ in local_estimates(scheme, x, upper, epsilon, w, rng)])


def local_estimates(scheme, x, upper, epsilon, w, rng, points=2):
    """Mean and shares at every instant."""
    grid = Grid(0.0, upper, points)
    asking = SCHEMES[scheme](units(epsilon), w, range(len(x)), grid, seed=int(rng.integers(2**31)))
    steps = np.clip(x / upper, 0.0, 1.0) * (points - 1)
    for t in range(x.shape[1]):
        questions = asking.instant(t)
        try:
            question = next(questions)
            while True:
                whom = np.array(question.whom, dtype=np.int64)
                at = steps[whom, t]
                placed = np.floor(at).astype(int)
                placed += rng.random(len(at)) < at - placed
                response = RandomizedResponse.costing(question.cost, points)
                truth = rng.random(len(at)) < float(response.probabilities(0)[0])
                other = rng.integers(points - 1, size=len(at))
                said = np.where(truth, placed, other + (other >= placed))
                question = questions.send(np.bincount(said, minlength=points))
        except StopIteration as done:
            shares = done.value.shares
            yield (np.nan, None) if shares is None else (float(shares @ grid.values), shares)


def run_sums(x: np.ndarray, upper: float, epsilon: float, w: int, rng, size: int | None = None, gone: float = 0.0):
    """The mean at every instant from sums of neighbourhoods; missing meters are drawn at each instant."""
    n = len(x)
    size = size or n
    step = upper / STEPS
    found = []
    for t in range(x.shape[1]):
        total, there = 0.0, 0
        for first in range(0, n - n % size if n >= size else n, size):
            at = np.clip(x[first : first + size, t] / upper, 0, 1) * STEPS
            kept = at[rng.random(len(at)) >= gone]
            rules = SumRules(len(at), int(np.ceil(0.6 * len(at))), 0, units(epsilon) // w, STEPS, 3, w)
            if len(kept) < rules.fewest:
                continue
            shape = float(rules.shape_of_sum(len(kept)))
            p = float(1 - rules.ratio)
            noise = rng.negative_binomial(shape, p) - rng.negative_binomial(shape, p)
            total += np.rint(kept).sum() + noise
            there += len(kept)
        found.append(step * total / there if there else np.nan)
    return np.array(found)


def run_central(x: np.ndarray, upper: float, epsilon: float, w: int, rng) -> np.ndarray:
    """The mean at every instant with discrete Laplace noise of one trusted party, for the same budget."""
    steps = 2**20
    p = -np.expm1(-epsilon / w / steps)
    noise = rng.geometric(p, x.shape[1]) - rng.geometric(p, x.shape[1])
    return (np.clip(x, 0, upper).sum(axis=0) + noise * upper / steps) / len(x)


def figures(found: np.ndarray, x: np.ndarray, day: int) -> dict[str, float]:
    """Errors relative to the true mean reading: mean day, daily totals, and the peak of the mean day."""
    truth = x.mean(axis=0)
    found = np.where(np.isfinite(found), found, np.nanmean(found))
    days, true_days = found.reshape(-1, day), truth.reshape(-1, day)
    scale = truth.mean()
    mean_day, true_day = days.mean(axis=0), true_days.mean(axis=0)
    return {
        "instant": float(np.sqrt(np.mean((found - truth) ** 2)) / scale),
        "mean day": float(np.sqrt(np.mean((mean_day - true_day) ** 2)) / scale),
        "daily total": float(np.mean(np.abs(days.sum(axis=1) / true_days.sum(axis=1) - 1.0))),
        "peak": float(abs(mean_day.max() / true_day.max() - 1.0)),
    }


def median(run, x, day, repeats, seed, after=None) -> dict[str, float]:
    """Medians over draws of the noise."""
    every = []
    for repeat in range(repeats):
        found = run(np.random.default_rng([seed, repeat]))
        every.append(figures(found if after is None else after(found), x, day))
    return {name: float(np.median([one[name] for one in every])) for name in every[0]}


def percent(value: float) -> str:
    """Three digits."""
    if value < 1e-9:
        return "0 %"
    return f"{100 * value:.3g} %" if value < 9.995 else f"{value:.3g} times"


def noise_of_sums(n: int) -> str:
    """The standard deviation of the noise in a mean, by its formula, beside that of the central mechanism."""
    cost, steps = units(1.0) // 48, 2**20
    a = np.exp(-1.0 / 48 / steps)
    central = np.sqrt(2 * a) / (1 - a) / steps / n
    rows = []
    for levels in (3, 0):
        rules = SumRules(n, int(np.ceil(0.7 * n)), 0, cost, STEPS, levels)
        there = [n, round(0.9 * n), round(0.7 * n)]
        ratios = [np.sqrt(rules.variance(s)) / STEPS / s / central for s in there]
        words = "taken back, 3 levels" if levels else "left in"
        rows.append([words, *(f"{ratio:.3f}" for ratio in ratios)])
    return table(["noise that is too much", "nobody missing", "10 % missing", "30 % missing"], rows)


def smoothed(found: np.ndarray) -> np.ndarray:
    """As a collector smooths, with the noise taken from the differences themselves."""
    kept = np.isfinite(found)
    return smooth(found, np.where(kept, np.nanvar(np.diff(found[kept])) / 2 + 1e-12, np.inf))


def at_one_per_day(name, x, upper, day, given) -> str:
    """Every way beside the central one."""
    seed, repeats = given.seed, given.repeats
    ways = {
        "central noise": lambda rng: run_central(x, upper, 1.0, day, rng),
        "secure sum of all, nobody missing": lambda rng: run_sums(x, upper, 1.0, day, rng),
        "secure sum of all, 10 % missing": lambda rng: run_sums(x, upper, 1.0, day, rng, gone=0.1),
        "secure sum of all, 30 % missing": lambda rng: run_sums(x, upper, 1.0, day, rng, gone=0.3),
        "secure sums of 50": lambda rng: run_sums(x, upper, 1.0, day, rng, size=50),
        **{
            f"local, {scheme} ({SHORT[scheme]})": lambda rng, s=scheme: run_local(s, x, upper, 1.0, day, rng)
            for scheme in SCHEMES
        },
    }
    found = {way: median(run, x, day, repeats, seed) for way, run in ways.items()}
    best = min((way for way in found if way.startswith("local")), key=lambda way: found[way]["mean day"])
    found[f"{best}, smoothed"] = median(ways[best], x, day, repeats, seed, after=smoothed)
    groups = Microaggregation(k=10).anonymize(Panel(x)).values
    found["central microaggregation, k = 10"] = figures(groups.mean(axis=0), x, day)
    rows = [
        [way, *(percent(one[figure]) for figure in ("instant", "mean day", "daily total", "peak"))]
        for way, one in found.items()
    ]
    text = f"### {name}: {len(x):,} meters, {x.shape[1] // day} days, readings cut off at {upper:g}\n\n"
    return text + table(["way", "one instant", "mean day", "daily totals", "peak of the mean day"], rows)


def by_setting(x, upper, day, given) -> str:
    """By epsilon, window and number of meters."""
    rows = []
    for n in sorted({max(2, len(x) // 10), max(2, len(x) // 3), len(x)}):
        for epsilon in (0.5, 1.0, 4.0):
            for w in (day, 7 * day):
                some, repeats = x[:n], max(1, given.repeats // 4)
                ways = (
                    lambda rng, s=some, e=epsilon, v=w: run_central(s, upper, e, v, rng),
                    lambda rng, s=some, e=epsilon, v=w: run_sums(s, upper, e, v, rng),
                    lambda rng, s=some, e=epsilon, v=w: run_local("population-uniform", s, upper, e, v, rng),
                    lambda rng, s=some, e=epsilon, v=w: run_local("budget-uniform", s, upper, e, v, rng),
                )
                errors = [percent(median(run, some, day, repeats, given.seed)["mean day"]) for run in ways]
                rows.append([f"{n:,}", f"{epsilon:g}", f"{w // day} day{'s' * (w > day)}", *errors])
    return table(["meters", "ε", "window", "central", "secure sum", "local, LPU", "local, LBU"], rows)


def histograms(x, upper, day, given) -> str:
    """How far the estimated distribution of readings over 8 points is from the true one, on average over a day."""
    points, rows = 8, []
    truth = np.zeros((day, points))
    steps = np.clip(x[:, :day] / upper, 0, 1) * (points - 1)
    for t in range(day):
        low = np.floor(steps[:, t]).astype(int)
        np.add.at(truth[t], low, 1 - (steps[:, t] - low))
        np.add.at(truth[t], np.minimum(low + 1, points - 1), steps[:, t] - low)
    truth /= len(x)
    for epsilon in (1.0, 4.0):
        rng = np.random.default_rng(given.seed)
        shares = [s for _, s in local_estimates("population-uniform", x[:, :day], upper, epsilon, day, rng, points)]
        seen = [t for t in range(day) if shares[t] is not None]
        local = np.mean([np.abs(shares[t] - truth[t]).sum() / 2 for t in seen])
        whole = np.mean([shares[t] for t in seen], axis=0)
        p = -np.expm1(-epsilon / day / 2)  # one reading moves from one point to another
        noise = rng.geometric(p, truth.shape) - rng.geometric(p, truth.shape)
        central = np.abs(noise / len(x)).sum(axis=1).mean() / 2
        rows.append(
            [
                f"{epsilon:g}",
                percent(central),
                percent(local),
                percent(np.abs(noise.mean(axis=0) / len(x)).sum() / 2),
                percent(np.abs(whole - truth.mean(axis=0)).sum() / 2),
            ]
        )
    groups = Microaggregation(k=10).anonymize(Panel(x[:, :day])).values
    placed = np.clip(groups / upper, 0, 1) * (points - 1)
    off = []
    for t in range(day):
        low = np.floor(placed[:, t]).astype(int)
        found = np.bincount(low, weights=1 - (placed[:, t] - low), minlength=points)
        found += np.bincount(np.minimum(low + 1, points - 1), weights=placed[:, t] - low, minlength=points)
        off.append(np.abs(found / len(x) - truth[t]).sum() / 2)
    text = table(["ε", "central, an instant", "local, an instant", "central, the day", "local, the day"], rows)
    return f"{text}\n\nCentral microaggregation with k = 10 is off by {percent(float(np.mean(off)))} at an instant.\n"


def filtering(x, upper, day, given) -> str:
    """How often an adversary who averages what a meter sent tells on which side of the median its level is."""
    rng = np.random.default_rng(given.seed)
    levels = np.clip(x, 0, upper).mean(axis=1)
    above = levels > np.median(levels)
    rows = []
    for name, cost, answers in (
        ("LPU, one answer a day", units(1.0), 1),
        ("LBU, an answer an instant", units(1.0) // day, day),
    ):
        true = float(RandomizedResponse.costing(cost, 2).probabilities(0)[0])
        row = [name]
        for days in DAYS_OF_ATTACK:
            ones = rng.binomial(days * answers, 1 - true + (2 * true - 1) * levels / upper)
            found = (ones / (days * answers) - (1 - true)) / (2 * true - 1) * upper
            row.append(percent(float(np.mean((found > np.median(found)) == above))))
        rows.append(row)
    return table(["what each meter sent", *(f"{days:,} days" for days in DAYS_OF_ATTACK)], rows)


def device_costs() -> str:
    """Processor time and bytes of one meter for one reading; no disk."""
    rows = []
    for scheme in ("budget-uniform", "population-uniform"):
        keys, own = Keys.draw(), Keys.draw()
        plan = Plan(lower=0.0, upper=4.0, scheme=scheme)
        fleet = Fleet(plan=plan, collector=enrolled(own.public), meters=(enrolled(keys.public),))
        device = Device(fleet, keys, Budget(units(1.0), 48))
        start, sent = time.process_time(), 0
        for t in range(960):
            sent += sum(len(content) for content in device.measure(t, 1.0))
        rows.append(
            [f"local, {SHORT[scheme]}", f"{(time.process_time() - start) / 960 * 1e6:.0f} µs", f"{sent / 960:.0f}"]
        )
    for n, levels in ((25, 3), (50, 0), (50, 3), (100, 3)):
        keys = [Keys.draw() for _ in range(n)]
        rules = SumRules(n, int(np.ceil(0.7 * n)), 0, units(1.0) // 48, STEPS, levels)
        grid = Grid(0.0, 4.0, STEPS + 1)
        roster = [one.public for one in keys]
        members = [Member(v, keys[v], roster, b"f" * 32, grid, rules, Budget(units(1.0), 48)) for v in range(2)]
        members[1].begin(0)
        start = time.process_time()
        dealt = members[0].begin(0)
        masked = [members[0].submit(0, t, 1.0) for t in range(48)]
        spent = time.process_time() - start
        if dealt is None or None in masked:
            raise RuntimeError("a meter refused")
        # Shares of a day in one message; a masked reading and an answer, each with a head and a signature.
        sent = (99 + sum(len(part) + 8 for part in dealt.values())) / 48 + (99 + 8) + (99 + 12 + n / 8)
        rows.append([f"sum of {n}, {levels} levels of noise", f"{spent / 48 * 1e6:.0f} µs", f"{sent:.0f}"])
    return table(["way", "processor time", "bytes sent"], rows)


def page(given: argparse.Namespace) -> str:
    """The whole page."""
    sets, absent = load(given)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    options = " ".join(f"--{name} {getattr(given, name)}" for name in ("meters", "days", "repeats", "instants", "seed"))
    parts = [
        "# Protection at the meter, and what it costs",
        "See how large the error is when meters add the noise themselves, compared with a trusted party, so that "
        "you can choose a scheme and an ε.",
        f"Made by `python experiments/edge.py {options}`; do not edit.",
    ]
    if absent:
        only = "**All data here are simulated**; not at hand: " if len(sets) == 1 else "Not at hand: "
        parts.append(f"{only}{', '.join(absent)}.")
    parts.append(
        "ε = 1 for each day of a meter. Errors are relative to the true mean reading, or for totals and peaks to "
        f"themselves; medians over {given.repeats} draws of the noise. Cutting off high readings counts as error. "
        "*Local* trusts nobody; nor do *secure sums*, as long as no more meters collude than allowed; *central* "
        "trusts one party with all readings. Microaggregation promises something else, k-anonymity; it is there for "
        "scale. Sums of all are drawn with the noise of one neighbourhood; a real one of this size would take seconds "
        "per meter and day to deal its shares."
    )
    parts.append("## Every way at ε = 1 per day")
    for name, (x, upper, day) in sets.items():
        text = at_one_per_day(name, x, upper, day, given)
        parts.append(text)
    parts += [
        "### What secure sums cost, exactly",
        f"Standard deviation of the noise in the mean of {given.meters:,} meters at an instant, in multiples of that "
        "of the central mechanism with every meter present; at least 70 % must be present.",
        noise_of_sums(given.meters),
    ]
    x, upper, day = next(iter(sets.values()))
    parts += [
        "## Mean day by ε, window and number of meters",
        "Simulated households; median error of the mean day.",
        by_setting(x, upper, day, given),
        "## Histograms",
        "Half of the summed differences between the estimated and the true shares of 8 points, simulated households: 0 "
        "is equal, 100 % is disjoint, and noisy shares, of which some are negative, may be farther off. LPU for local.",
        histograms(x, upper, day, given),
        "## The published orderings of the schemes",
        "The streams of LDP-IDS (share of ones; LNS is a random walk, Sin a slow wave), 20,000 users where the paper "
        f"has 200,000, {given.instants} instants, mean squared error.",
        orderings(given),
        "## Filtering what each meter sent",
        "An adversary averages all answers of a meter to guess whether its level is above or below the median; pure "
        "chance is right 50 % of the time. ε = 1 holds for each day; over many days the level becomes visible, as "
        "the guarantee says it may.",
        filtering(x, upper, day, given),
        "## Cost on the device",
        "For one reading. Local: everything but the durable write, which is one fsync. Sums: noise, masks and shares "
        "of a day, divided by its instants; two signatures, of about 50 µs each, come on top. "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}.",
        device_costs(),
        f"Processor time of this page: {resource.getrusage(resource.RUSAGE_SELF).ru_utime - began:.0f} s.",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
