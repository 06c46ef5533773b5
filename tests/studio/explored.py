"""A search that never ran, for the pages around it: points of several methods, as many as the test lets appear."""

import math
import time

import yaml

from shoal.process.policy import parse_policy
from shoal.studio.drafts import Draft

POLICY = """
title: Half-hourly use of 600 homes, March
data: {path: data/days.csv}
keep: [{window: "17:00-20:00"}]
require: {risk: {at_most: 0.1}, utility: {window-error: {at_most: 0.15}}}
method: {name: microaggregation, k: {search: [4, 6, 8, 10, 12, 16, 20, 24]}}
"""
WINDOW = {"unit": "share", "goal": "lower", "meaning": "error of the load from 17:00 to 20:00, relative to the load"}
LOSS = {"unit": "share", "goal": "lower", "meaning": "squared changes as a share of the variation between series"}
PEAKS = {"unit": "hours", "goal": "lower", "meaning": "how far the highest reading of a day moves"}
REFUSED = "k=700 needs at least 700 subjects, the panel has 600. Lower k or read more series."


class InventedExploration:
    """What `Exploration` gives, with invented figures; `shown` points are there."""

    def __init__(self, n_points=60, shown=None, state="complete"):
        self.policy = parse_policy(POLICY)
        self.all = invented_points(n_points)
        self.shown = n_points if shown is None else shown
        self.state, self.n_points = state, n_points
        self.pause_at = None
        """At how many points a run waits."""

    @property
    def purpose(self):
        return {"measure": "window-error", "limit": 0.15, **WINDOW}

    def points(self):
        return self.all[: self.shown]

    def detail(self, number):
        return invented_detail(self.all[number])

    def policy_at(self, number, *, risk=None, utility=None):
        (name, parameters), *_ = self.all[number]["parameters"]
        require = {"risk": {"at_most": risk}, "utility": {m: {"at_most": limit} for m, limit in utility.items()}}
        fields = self.policy.model_dump(exclude_unset=True) | {
            "method": {"name": name, **parameters},
            "require": require,
        }
        return type(self.policy).model_validate(fields)

    def run(self, *, steps=None, stop=lambda: False):
        self.state = "running?"
        while self.shown < self.n_points and not stop():
            self.shown += 1
            while self.shown == self.pause_at and not stop():
                time.sleep(0.01)
        self.state = "complete" if self.shown == self.n_points else "stopped"


def draft_of(studio, table, exploration, monkeypatch):
    """A draft about a table of the studio whose search is an invented one."""
    fields = yaml.safe_load(POLICY)
    del fields["data"]
    name = studio.drafts.add(table, fields)
    monkeypatch.setattr(Draft, "exploration", property(lambda _: exploration))
    monkeypatch.setattr(Draft, "is_explored", True)
    return studio.drafts.get(name)


def invented_points(n):
    """Four methods, each better and worse in its own way; every thirteenth setting is refused."""
    kinds = [
        ("microaggregation", "k", 1.0, "Every published series equals those of at least {} other subjects."),
        ("kp", "k", 1.25, "Every published range is carried by at least {} subjects."),
        ("slices", "k", 0.86, "On every day, a series equals those of at least {} other subjects."),
        ("nlk", "k", 1.05, "Someone who knows 5 readings infers at most 9 others; groups of {}."),
    ]
    points = []
    for number in range(n):
        method, name, factor, guarantee = kinds[number % 4]
        k = 3 + number // 4 * 2
        base = {"number": number, "method": method, "label": f"{name} = {k}", "parameters": [[method, {name: k}]]}
        if number % 13 == 12:
            points.append(base | {"refused": REFUSED, "on": "all subjects", "risk": None, "risk_interval": None})
            continue
        risk = min(1.0, 0.85 * factor / k + 0.012 * math.sin(7 * number) ** 2)
        loss = 0.034 * math.sqrt(k) * (1 + 0.25 * math.cos(3 * number) ** 2) / factor**0.5
        low, high = max(0.0, risk - 0.012), min(1.0, risk + 0.014)
        found = {"known-points": 0.55 * risk, "nearest-neighbour": risk, "membership": 0.2 * risk}
        risks = {attack: _risk(success, attack) for attack, success in found.items()}
        lights = {
            question: {"attack": attack, "share": found[attack], "upper": found[attack] + 0.013, "guess": 1 / 600}
            for question, attack in zip(("singling out", "linkability", "inference"), found, strict=True)
        }
        scores = {"window-error": loss, "information-loss": min(0.99, 2.4 * loss), "peak-time-error": 4 * loss}
        metas = {"window-error": WINDOW, "information-loss": LOSS, "peak-time-error": PEAKS}
        points.append(
            base
            | {"refused": None, "on": "all subjects", "risk": risk, "risk_interval": [low, high], "risks": risks}
            | {"lights": lights, "n_subjects": 600}
            | {"scores": {m: {"value": value, **metas[m]} for m, value in scores.items()}, "loss": loss}
            | {"guarantee": guarantee.format(k - 1)}
        )
    return points


def _risk(success, attack):
    return {"success": success, "baseline": 1 / 600, "sentence": f"Somebody finds a target by {attack}."}


def invented_detail(point):
    minutes = list(range(0, 1440, 30))
    before = [
        0.2 + 0.5 * math.exp(-(((m - 460) / 90) ** 2)) + 0.9 * math.exp(-(((m - 1150) / 130) ** 2)) for m in minutes
    ]
    blur = 1 - point["scores"]["window-error"]["value"]
    published = [0.35 + (value - 0.35) * blur for value in before]
    share = [i / 20 for i in range(21)]
    high, low = sorted(before, reverse=True), sorted(published, reverse=True)
    at = [1, 2, 5, 10, 20, 40]
    return {
        "day": {"axis": "clock", "minutes": minutes, "before": before, "published": published, "unit": "kWh"},
        "duration": {
            "share": share,
            "before": [high[round(s * 47)] for s in share],
            "published": [low[round(s * 47)] for s in share],
        },
        "peaks": {
            "hours": list(range(24)),
            "before": [None if h == 3 else 0.02 + 0.1 * (h in (7, 8, 18, 19, 20)) for h in range(24)],
            "published": [0.02 + 0.1 * (h in (8, 18, 19)) for h in range(24)],
        },
        "groups": [{"members": 10 + g, "published": [v * (0.7 + 0.15 * g) for v in published]} for g in range(5)],
        "curves": {
            "known-points": {
                "along": "known readings",
                "at": at,
                "success": [point["risk"] * n / (n + 3) for n in at],
            }
        },
        "worst": [
            {"position": 17 + 31 * i, "attack": "nearest-neighbour", "success": point["risk"] * (1.6 - 0.1 * i)}
            for i in range(5)
        ],
        "policy": "title: Half-hourly use of 600 homes, March\nmethod:\n  name: " + point["method"] + "\n",
    }
