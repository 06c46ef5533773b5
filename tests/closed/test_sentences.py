"""What a closed service says about its answers, of each kind of folder, and what it must not say."""

import numpy as np
import pytest

from closed.places import MINIMUM, closed, raw_panel, recipient
from shoal import KP, Microaggregation, NoiseAddition, NoisyAggregates, Panel
from shoal.closed import Count, Range
from shoal.closed.sentences import ANSWERS, Answering

PLAIN = {"cells", "one series each", "minimum"}
NOISY = {"noise", "minimum by chance"}
SAID = {
    "plain": PLAIN,
    "profiles": PLAIN,
    "scenarios": PLAIN,
    "envelopes": PLAIN,
    "nothing promised": PLAIN,
    "several series": PLAIN - {"one series each"} | {"several series"},
    "several series in several groups": PLAIN - {"one series each"} | {"several series"},
    "profiles of several series": PLAIN - {"one series each"} | {"several series"},
    "noisy counts": PLAIN - {"one series each"} | {"several series"},
    "gaps": PLAIN | {"gaps"},
    "noise": NOISY,
    "noise over several series": NOISY,
}


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    folder = tmp_path_factory.mktemp("closed")
    panel, micro = raw_panel(), Microaggregation(k=MINIMUM)
    twice = raw_panel(subjects=[f"home-{i // 2}" for i in range(60)])
    # A quiet and a busy series each: no group has two series of a subject.
    two_kinds = Panel(
        panel.values + 100.0 * (np.arange(60)[:, None] // 30), subjects=[f"home-{i % 30}" for i in range(60)]
    )
    areas = Panel(panel.values, attributes={"area": ["north", "south"] * 30})
    bounds = {"lower": 0.0, "upper": 20.0}
    by_area = NoisyAggregates(epsilon=1.0, **bounds, within="area", entries="north,south", insecure_seed=1)
    values = panel.values.copy()
    values[:58, 3] = np.nan
    noise = {"epsilon": 0.5} | bounds
    made = {
        "plain": (micro.anonymize(panel), {}),
        "profiles": (Microaggregation(k=MINIMUM, form="profiles").anonymize(panel), {}),
        "scenarios": (Microaggregation(k=6, form="scenarios").anonymize(panel), {}),
        "envelopes": (KP(k=6, p=3).anonymize(panel), {}),
        "nothing promised": (NoiseAddition(snr=1.0).anonymize(panel), {}),
        "several series": (micro.anonymize(twice), {}),
        "several series in several groups": (micro.anonymize(two_kinds), {}),
        "profiles of several series": (Microaggregation(k=MINIMUM, form="profiles").anonymize(two_kinds), {}),
        "noisy counts": (by_area.anonymize(areas), {}),
        "gaps": (micro.anonymize(Panel(values)), {}),
        "noise": (micro.anonymize(panel), noise),
        "noise over several series": (micro.anonymize(twice), noise),
    }
    return {kind: closed(folder / kind, candidate, **settings) for kind, (candidate, settings) in made.items()}


def test_of_each_kind_of_folder_only_what_is_true_is_said(services):
    answering = {kind: Answering(service.settings, service._table) for kind, service in services.items()}
    said = {kind: {s.name for s in ANSWERS if s.when(about)} for kind, about in answering.items()}
    assert said == SAID
    assert set.union(*said.values()) == {s.name for s in ANSWERS}
    assert not set.intersection(*said.values())
    for kind, service in services.items():
        assert service.about()["answers"] == [s.says(answering[kind]) for s in ANSWERS if s.name in SAID[kind]]


def test_a_count_is_of_groups_as_is_said(services):
    # By the readings as measured another number of series is in this range.
    service, panel = services["plain"], raw_panel()
    low = float(np.quantile(panel.values[:, 0], 0.8))
    answer = service.ask(recipient(service), Count(where=(Range(at=0, low=low),)))
    assert answer.value != (panel.values[:, 0] >= low).sum()


def test_under_noise_nothing_said_depends_on_the_data(services):
    assert services["noise"].about()["answers"] == services["noise over several series"].about()["answers"]


def test_one_series_each_is_said_only_if_no_subject_has_another_in_another_group(services):
    service = services["several series in several groups"]
    assert (service._table.weights == service._table.subjects).all()
    assert service.ask(recipient(service), Count()).value == 60  # of 30 subjects
