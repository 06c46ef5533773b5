"""Several shards as one, and a part of a candidate."""

import numpy as np
import pytest

from shard_examples import hours, small_panel
from shoal import KP, Microaggregation, NoiseAddition, Panel, SamplingWithFictives, ScopeAggregation, TimeSlicing
from shoal.model.joined import draw_from, join_candidates, join_panels, join_published, take_from


def halves(panel):
    half = panel.n_series // 2
    return [panel.take(np.arange(half)), panel.take(np.arange(half, panel.n_series))]


def homes(**further):
    return small_panel(40, subjects=[f"home {i // 2}" for i in range(40)], **further)


def odd_ones(n):
    """In each half, the last series is like no other."""
    values = np.tile(np.array([[1.0, 2.0, 3.0, 4.0]] * (n - 1) + [[4.0, 1.0, 3.5, 0.0]]), (2, 1))
    return Panel(values + np.arange(2 * n)[:, None] / 8)


def towering():
    """In each half, one series that is nearly all there is."""
    values = np.random.default_rng(2).gamma(2.0, size=(42, 6))
    values[[7, 28]] *= 1000.0
    return Panel(values, times=hours(6), attributes={"area": [f"a{i % 3}" for i in range(42)]})


METHODS = {
    "values": (Microaggregation(k=3), homes()),
    "channels": (Microaggregation(k=3), small_panel(40, channels=("a", "b"), gaps=2)),
    "profiles": (Microaggregation(k=3, form="profiles"), homes()),
    "scenarios": (Microaggregation(k=6, form="scenarios", levels=3), small_panel(40)),
    "envelopes": (KP(k=4, p=2), small_panel(40)),
    "suppressed": (KP(words="own", k=4, p=2), odd_ones(5)),
    "sensitive": (KP(k=6, p=3, l=2), small_panel(40, sensitive={"ill": list("abcd") * 10})),
    "withheld": (ScopeAggregation(size=4, share=0.5, within="area"), towering()),
    "slices": (TimeSlicing(length=3), small_panel(40)),
    "fictives": (SamplingWithFictives(share=0.8), small_panel(40)),
}


@pytest.mark.parametrize("kind", METHODS)
def test_candidates_of_different_people_are_one_candidate(kind):
    method, panel = METHODS[kind]
    several = [method.anonymize(own) for own in halves(panel)]
    joined = join_candidates(several)
    first, second = several
    n, m = (one.private.original.n_series for one in several)
    assert len(joined.published) == len(first.published) + len(second.published)
    np.testing.assert_array_equal(joined.curves.values, np.concatenate([one.curves.values for one in several]))
    np.testing.assert_array_equal(joined.originals.values, np.concatenate([one.originals.values for one in several]))
    moved = np.where(second.stands_for < 0, -1, second.stands_for + n)
    np.testing.assert_array_equal(joined.stands_for, np.concatenate([first.stands_for, moved]))
    assert joined.private.original.n_series == n + m
    assert joined.private.original.n_subjects == sum(one.private.original.n_subjects for one in several)
    assert joined.shows_everybody == (first.shows_everybody and second.shows_everybody)
    # Groups stay what they were, and no two of them become one.
    old = [one.private.groups for one in several]
    new = np.split(joined.private.groups, [n])
    for before, after in zip(old, new, strict=True):
        np.testing.assert_array_equal(before < 0, after < 0)
        assert len(np.unique(np.stack([before, after]).reshape(2, -1), axis=1).T) == len(np.unique(before))
    assert not set(new[0][new[0] >= 0].ravel()) & set(new[1][new[1] >= 0].ravel())
    assert joined.check().holds == all(one.check().holds for one in several)


def test_the_examples_are_what_they_are_called():
    made = {kind: [method.anonymize(own) for own in halves(panel)] for kind, (method, panel) in METHODS.items()}
    assert [one.private.rows.tolist() for one in made["suppressed"]] == [[0, 1, 2, 3]] * 2
    assert all((one.private.groups < 0).any() for one in made["withheld"])
    assert all((one.stands_for < 0).any() for one in made["fictives"])
    assert all(len(one.published) > one.private.original.n_series for one in made["slices"])


def test_names_go_along_only_where_asked_for():
    panels = halves(homes(attributes={"area": list("abcd") * 10}, sensitive={"ill": [True, False] * 20}))
    bare, named = join_panels(panels), join_panels(panels, names=True)
    assert bare.ids.tolist() == list(range(40))
    assert sorted(set(bare.subjects.tolist())) == list(range(20))
    whole = homes()
    assert named.ids.tolist() == whole.ids.tolist()
    assert named.subjects.tolist() == whole.subjects.tolist()
    for joined in (bare, named):
        np.testing.assert_array_equal(joined.values, whole.values)
        np.testing.assert_array_equal(joined.times, hours(6))
        assert joined.attributes["area"].tolist() == list("abcd") * 10
        assert joined.sensitive["ill"].tolist() == [True, False] * 20
    several = [Microaggregation(k=3).anonymize(own) for own in panels]
    assert "meter-003" not in join_candidates(several).private.original.ids
    assert join_candidates(several, names=True).private.original.ids.tolist() == whole.ids.tolist()


def test_one_is_itself():
    candidate = Microaggregation(k=3).anonymize(homes())
    assert join_candidates([candidate]) is candidate
    assert join_published([candidate.published]) is candidate.published


@pytest.mark.parametrize("kind", METHODS)
def test_some_of_the_series_are_a_candidate_of_their_own(kind):
    method, panel = METHODS[kind]
    candidate = method.anonymize(panel)
    kept = np.arange(0, panel.n_series, 3)
    if kind in ("profiles", "scenarios"):  # groups are whole or not there
        kept = np.flatnonzero(candidate.private.groups % 2 == 0)
    taken = take_from(candidate, kept)
    np.testing.assert_array_equal(taken.private.original.values, panel.values[kept])
    rows = np.arange(panel.n_series) if candidate.private.rows is None else candidate.private.rows
    shown = np.isin(rows, kept)
    np.testing.assert_array_equal(taken.originals.values, candidate.originals.values[shown])
    np.testing.assert_array_equal(taken.curves.values, candidate.curves.values[shown])
    real = candidate.stands_for
    expected = real[np.isin(real, kept)]
    np.testing.assert_array_equal(kept[taken.stands_for], expected)
    assert (taken.stands_for >= 0).all()


@pytest.mark.parametrize("kind", ["values", "profiles", "envelopes"])
def test_what_is_drawn_are_whole_groups(kind):
    method, panel = METHODS[kind]
    candidate = method.anonymize(panel)
    drawn = [draw_from(candidate, 0.5, seed) for seed in range(20)]
    sizes = [0 if one is None else one.private.original.n_series for one in drawn]
    assert len(set(sizes)) > 2
    assert 0.3 < np.mean(sizes) / panel.n_series < 0.7
    crowd = {
        row.tobytes(): n for row, n in zip(*np.unique(candidate.curves.rows, axis=0, return_counts=True), strict=True)
    }
    for one in drawn:
        if one is not None:
            for row, n in zip(*np.unique(one.curves.rows, axis=0, return_counts=True), strict=True):
                assert crowd[row.tobytes()] == n
            assert one.check().holds


def test_all_and_nothing_can_be_drawn():
    candidate = NoiseAddition(snr=1.0).anonymize(Panel(np.arange(12.0).reshape(4, 3)))
    assert draw_from(candidate, 1.0, 0) is candidate
    assert draw_from(candidate, 0.0, 0) is None
