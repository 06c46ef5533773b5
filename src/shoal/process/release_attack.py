"""Attacks on an existing release, scored with the publisher's map."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Attack, Envelopes, EventTables, Method, Panel, Release, Risk
from shoal.model.watcher import Watcher, silent, tell
from shoal.process.catalogue import build, find_method, parse_options
from shoal.process.hold_out import attack_whole, behind
from shoal.process.private_map import match
from shoal.process.remembered import Reading
from shoal.process.search.task import build_attacks
from shoal.read import read_panel
from shoal.release import load_release

USUAL = {"points": 5, "totals": "day"}
"""What an adversary is assumed to know by default."""


def attack_release(
    source: Any,
    settings: Mapping[str, Any],
    folder: Path,
    private: Path,
    knows: Mapping[str, Any] | None = None,
    *,
    n_targets: int | None = None,
    shadows: int = 0,
    seed: int = 0,
    steps: Watcher = silent,
) -> dict[str, tuple[Attack[Risk], Risk]]:
    """Each attack by name with what it achieved. Targets may be drawn; every published series is a candidate.

    If subjects were kept out of the release, attacks on the whole are compared with what they find about those
    subjects; with `shadows`, membership is learned from that many releases of other selections of people. The originals
    are read with the options that the private folder remembers; `settings` override them.
    """
    attacks = build_attacks(knows or USUAL)
    steps.start("reading")
    release = load_release(folder)
    published = release.published
    if isinstance(published, EventTables):
        raise ParameterError(
            "shoal attack is about series, and this is a release of events. These are attacked while a release is "
            "made: shoal anonymize prints what homogeneity finds, and in Python a candidate has attack()."
        )
    if not isinstance(published, Panel):
        why = "one record per group, so nobody has a row of their own to link"
        if isinstance(published, Envelopes):
            why = "ranges that several series share, and words, but no values to compare with known ones"
        raise ParameterError(
            f"shoal attack follows single published series, and this release holds {release.certificate['form']}: "
            f"{why}. Such releases are attacked before they are published: shoal run reports what its attacks find, "
            "and in Python a candidate has attack()."
        )
    reading = Reading.of(release, private, settings)
    with reading.explained():
        whole = read_panel(source, **reading.settings)
        tell(steps, whole)
        original, control = behind(whole, release, private)
        rows = match(original, release, private)
    for note in reading.notes(original, release, private):
        steps.say(note)
    targets = None
    if n_targets is not None:
        if n_targets < 2:
            raise ParameterError("targets must be at least 2.")
        order = np.random.default_rng(np.random.SeedSequence([seed, 1])).permutation(original.n_subjects)
        published_too = np.intersect1d(order[:n_targets], original.subject_codes[rows[rows >= 0]])
        targets = np.flatnonzero(np.isin(original.subject_codes, published_too))
    risks: dict[str, tuple[Attack[Risk], Risk]] = {}
    for name, attack in attacks.items():
        steps.start(name)
        further = {"targets": attack.draw(targets)} if attack.draws_targets and targets is not None else {}
        risks[name] = (attack, attack.attack(original, published, rows=rows, **further))
    if control is not None:
        steps.start("comparing with those kept out")
        method = method_of(release) if shadows else None
        risks |= attack_whole(original, published, control, seed, shadows, method)
    elif shadows:
        raise ParameterError(
            "shadows: membership is judged by people who are not in the release, and nobody was kept out of this one. "
            "Anonymize with --hold-out 10%, or give people like these to shoal judge with --control."
        )
    return risks


def method_of(source: Release | str) -> Method:
    """The method that made a release, or one from `name:parameter=value,…`."""
    if isinstance(source, Release):
        name, options = str(source.certificate["method"]["name"]), dict(source.certificate["method"]["parameters"])
    else:
        name, _, listed = source.partition(":")
        options = parse_options(listed, "The method is given as NAME:parameter=value,parameter=value.")
    try:
        method: Method = build(find_method(name.strip()), options)
    except ParameterError as error:
        raise ParameterError(f"Shadow releases need the method: {error}") from None
    return method
