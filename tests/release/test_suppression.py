"""Releases that leave out much: where they stop, what the publisher is told, and what readers are."""

import itertools
import json
import re
import stat
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Events, Panel, Reposition, ScopeAggregation, publish, verify
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import Suppression, ValueSuppression
from shoal.release.suppression import least_suppressed, warning_of

DAYS = {"heart": (71, 6), "cancer": (10, 30), "lung": (5, 20), "fall": (0, 15)}
"""Deaths by cause: on days of a heat wave, and on others."""


def deaths(n_days=40):
    """A register in which the most frequent cause comes in waves, so that hardly any of a wave can be published."""
    rows = [
        {"time": day, "age": 60 + (7 * number + day) % 30, "cause": cause}
        for day in range(n_days)
        for cause, counts in DAYS.items()
        for number in range(counts[day % 2])
    ]
    return Events(pl.DataFrame(rows), sensitive="cause", quasi=["age"])


REGISTER = deaths()


@cache
def candidate_of_register():
    """A candidate that leaves out much; made when a test asks for it, since every process imports this file."""
    return Reposition(l=3, window=1, seed=1).anonymize(REGISTER)


def published_counts(tables):
    counts = tables.counts.group_by("cause").agg(pl.col("count").sum())
    return dict(counts.iter_rows())


def test_the_publisher_learns_the_loss_of_each_value():
    found = candidate_of_register().suppression
    after = published_counts(candidate_of_register().published)
    before = {cause: 20 * (wave + usual) for cause, (wave, usual) in DAYS.items()}
    assert {loss.value: (loss.before, loss.after) for loss in found.values} == {
        cause: (n, after[cause]) for cause, n in before.items()
    }
    assert [loss.value for loss in found.values] == ["heart", "cancer", "lung", "fall"]
    assert (found.kept, found.lost) == (sum(after.values()), len(REGISTER) - sum(after.values()))
    order = sorted(after, key=lambda cause: (-after[cause], list(before).index(cause)))
    assert found.ranks == tuple(order.index(cause) + 1 for cause in before)
    assert found.ranks[0] > 1  # the finding is reversed


def test_above_the_limit_nothing_is_written(tmp_path):
    suppression = candidate_of_register().suppression
    share = suppression.share
    assert share > 0.4
    with pytest.raises(GuaranteeNotMetError) as refused:
        publish(candidate_of_register(), tmp_path / "out")
    said = str(refused.value)
    assert f"events ({100 * share:.3g} %) would be suppressed, more than the limit of 25 %." in said
    assert f"The most frequent value of the originals is number {suppression.ranks[0]} of the release." in said
    assert "At l = 2 " in said
    assert "heart" not in said  # values are never in messages
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(GuaranteeNotMetError):
        publish(candidate_of_register(), tmp_path / "out", suppression_limit=share - 1e-9)
    assert (
        publish(candidate_of_register(), tmp_path / "out", suppression_limit=share).suppression
        == candidate_of_register().suppression
    )
    assert verify(tmp_path / "out").holds


@pytest.mark.parametrize("limit", [-0.1, 1.1, "0.25", True])
def test_a_limit_is_a_share(tmp_path, limit):
    with pytest.raises(ParameterError, match="suppression_limit must be a share from 0 to 1"):
        publish(candidate_of_register(), tmp_path / "out", suppression_limit=limit)


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_readers_learn_what_follows_from_the_release_and_no_more(tmp_path, form):
    candidate = Reposition(l=3, window=1, seed=1, publish=form).anonymize(REGISTER)
    release = publish(candidate, tmp_path / "out", suppression_limit=1.0)
    told = release.certificate["figures"]["suppression"]
    after = sorted(published_counts(candidate_of_register().published).values(), reverse=True)
    lost = release.certificate["counts"]["suppressed"]
    n = sum(after) + lost
    assert told["share"] == pytest.approx(lost / n, rel=1e-2)
    assert [value["published"] for value in told["values"]] == [pytest.approx(a / sum(after), rel=1e-2) for a in after]
    for a, value in zip(after, told["values"], strict=True):
        assert a / n - 1e-3 < value["least"] <= a / n
        assert (a + lost) / n <= value["most"] < (a + lost) / n + 1e-3
    # The truth lies between these ends, but is written nowhere: it would tell what the suppressed had.
    for loss in candidate.suppression.values:
        place = after.index(loss.after)
        assert told["values"][place]["least"] <= loss.before / n <= told["values"][place]["most"]
    assert told["order_open"] is True
    said = json.dumps({name: part for name, part in release.certificate.items() if name not in ("files", "seal")})
    numbers = {int(number) for number in re.findall(r"\b\d+\b", said)}
    assert numbers.isdisjoint(loss.before for loss in candidate.suppression.values if loss.before > loss.after)


def test_the_report_says_what_is_missing_only_where_something_is(tmp_path):
    publish(candidate_of_register(), tmp_path / "out", suppression_limit=1.0)
    page = (tmp_path / "out" / "report.html").read_text()
    lost, n = candidate_of_register().suppression.lost, len(REGISTER)
    for words in (
        f"{lost:,} of {n:,} events ({100 * lost / n:.3g} %) found no place and were suppressed.",
        "What is missing",
        "Number 1 by frequency has ",
        "This release does not show which value was the most frequent among the originals.",
        "Do not compare how frequent values are",
    ):
        assert words in page
    table = pl.DataFrame({"time": [0] * 6, "age": [30, 40, 50] * 2, "cause": ["a", "b", "c"] * 2})
    whole = Reposition(l=3, window=1, seed=1).anonymize(Events(table, sensitive="cause", quasi=["age"]))
    assert whole.suppression.lost == 0
    assert set(publish(whole, tmp_path / "whole").certificate["figures"]) == {"left_out"}
    page = (tmp_path / "whole" / "report.html").read_text()
    assert "What is missing" not in page
    assert "found no place" not in page


def test_a_small_loss_is_told_without_a_warning(tmp_path):
    counts = {"a": 34, "b": 33, "c": 32}  # one of the first must go, and the others stay in order
    rows = [{"time": 0, "age": n, "cause": cause} for cause, many in counts.items() for n in range(many)]
    candidate = Reposition(l=3, window=1, seed=1).anonymize(
        Events(pl.DataFrame(rows), sensitive="cause", quasi=["age"])
    )
    assert 0 < candidate.suppression.share < 0.1
    assert warning_of(candidate.suppression, candidate.recipe) is None
    publish(candidate, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What is missing" in page
    assert "Do not compare how frequent values are" not in page


def test_the_private_folder_names_the_values(tmp_path):
    publish(candidate_of_register(), tmp_path / "out", suppression_limit=1.0, private=tmp_path / "keep")
    (table,) = (tmp_path / "keep").glob("suppression-*.csv")
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    rows = table.read_text().splitlines()
    assert rows[0] == "value,before,after"
    assert rows[1] == f"heart,1540,{candidate_of_register().suppression.values[0].after}"
    assert len(rows) == 5
    assert not list((tmp_path / "out").glob("suppression*"))


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any), l=st.integers(2, 4))
def test_the_least_that_must_be_suppressed_equals_enumeration(counts, l):
    found = Suppression(0, sum(counts), values=tuple(ValueSuppression(i, n, 0) for i, n in enumerate(counts)))
    most = max(sum(kept) for kept in itertools.product(*(range(n + 1) for n in counts)) if max(kept) * l <= sum(kept))
    assert least_suppressed(found, l) == sum(counts) - most


@given(counts=st.lists(st.integers(1, 50), min_size=2, max_size=6), l=st.integers(2, 4))
def test_coarser_values_never_suppress_less(counts, l):
    def least(of):
        return least_suppressed(
            Suppression(0, sum(of), values=tuple(ValueSuppression(i, n, 0) for i, n in enumerate(of))), l
        )

    assert least([counts[0] + counts[1], *counts[2:]]) >= least(counts)


def test_what_would_help_is_said_only_where_it_would():
    hopeless = Suppression(
        30, 70, values=(ValueSuppression("x", 80, 10), ValueSuppression("y", 10, 10), ValueSuppression("z", 10, 10))
    )
    told = warning_of(hopeless, candidate_of_register().recipe)
    assert "No window suppresses less at l = 3: one value is that frequent. At l = 2 at least 60 % are" in told
    assert "The most frequent value" not in told
    told = warning_of(candidate_of_register().suppression, candidate_of_register().recipe)
    assert "A wider window or longer snapshots may suppress less: at l = 3 all events in one window need" in told
    wide = Reposition(l=3, window=40, seed=1).anonymize(REGISTER)
    assert wide.suppression.lost < candidate_of_register().suppression.lost


def test_series_that_are_left_out_count_as_well(tmp_path):
    panel = Panel(np.random.default_rng(1).gamma(2.0, size=(40, 6)), attributes={"area": ["a"] * 12 + ["b"] * 28})
    candidate = ScopeAggregation(within="area", otherwise="withhold").anonymize(panel)
    with pytest.raises(
        GuaranteeNotMetError, match=r"12 of 40 series \(30 %\) would be suppressed, more than the limit"
    ):
        publish(candidate, tmp_path / "out")
    assert publish(candidate, tmp_path / "out", suppression_limit=0.3).suppression == Suppression(28, 12, "series")
