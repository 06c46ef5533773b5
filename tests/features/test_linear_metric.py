"""A linear metric learned from pairs."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shoal.errors import InputError, ParameterError
from shoal.features import LinearMetric
from shoal.features.interests import Arrival, Segment, WindowTotal, label_pairs
from shoal.features.labelled import as_pairs, score
from shoal.features.linear_objectives import (
    SOLVERS,
    _to_spectraplex,
    contrastive_diagonal,
    logistic_diagonal,
    xing_diagonal,
    xing_full,
)

OBJECTIVES = ("logistic", "contrastive", "xing")


@pytest.fixture(scope="module")
def days():
    return np.random.default_rng(1).normal(size=(60, 12))


@pytest.mark.parametrize(("objective", "form"), SOLVERS)
def test_a_planted_segment_is_found(days, objective, form):
    learned = LinearMetric(objective=objective, form=form).learn(*label_pairs(days, Segment(3, 5)))
    weight = np.sqrt((learned.layers[0][0] ** 2).sum(axis=0))
    assert learned.used
    assert set(np.argsort(weight)[-2:]) == {3, 4}
    assert np.delete(weight, [3, 4]).max() < 0.4 * weight[[3, 4]].min()


def test_planted_weights_are_recovered_in_proportion(rng):
    left, right = rng.normal(size=(3000, 6)), rng.normal(size=(3000, 6))
    planted = np.array([4.0, 1.0, 0.0, 0.25, 0.0, 0.0])
    apart = (left - right) ** 2 @ planted
    learned = LinearMetric(form="diagonal").learn(left, right, apart < np.median(apart))
    found = np.diag(learned.layers[0][0]) ** 2
    assert_allclose(found / found[0], planted / planted[0], atol=0.03)


def test_a_total_needs_a_direction_and_gets_one(days):
    learned = LinearMetric().learn(*label_pairs(days, WindowTotal(2, 8)))
    assert learned.figures["form"] == "full"
    truth = abs(WindowTotal(2, 8).of(days) - WindowTotal(2, 8).of(days).T)
    mapped = learned.transform(days)
    found = np.sqrt(((mapped[:, None] - mapped[None]) ** 2).sum(axis=2))
    i, j = np.triu_indices(len(days), 1)
    assert np.corrcoef(truth[i, j], found[i, j])[0, 1] > 0.98


def test_a_segment_needs_weights_only(days):
    assert LinearMetric().learn(*label_pairs(days, Segment(3, 5))).figures["form"] == "diagonal"


@pytest.mark.parametrize(("objective", "form"), SOLVERS)
def test_the_matrix_is_positive_semidefinite_and_the_distance_a_pseudometric(days, objective, form):
    learned = LinearMetric(objective=objective, form=form).learn(*label_pairs(days, Segment(3, 5)))
    map_ = learned.layers[0][0]
    assert np.linalg.eigvalsh(map_.T @ map_).min() > -1e-9
    a, b, c = days[:20], days[20:40], days[40:]
    assert (learned.distances(a, a) == 0).all()
    assert_array_equal(learned.distances(a, b), learned.distances(b, a))
    assert (learned.distances(a, c) <= learned.distances(a, b) + learned.distances(b, c) + 1e-9).all()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_another_unit_and_another_zero_change_nothing(days, objective):
    left, right, similar = label_pairs(days, Segment(3, 5))
    one = LinearMetric(objective=objective).learn(left, right, similar)
    other = LinearMetric(objective=objective).learn(left * 1000 + 7, right * 1000 + 7, similar)
    assert other.figures["form"] == one.figures["form"]
    assert_allclose(
        other.distances(left * 1000 + 7, right * 1000 + 7), one.distances(left, right), rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_seed_gives_the_same_bytes(days, objective, tmp_path):
    pairs = label_pairs(days, Segment(3, 5))
    paths = [LinearMetric(objective=objective, seed=3).learn(*pairs).save(tmp_path / name) for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("seed", range(5))
def test_a_useless_labelling_is_used_only_if_it_gains_on_held_out_pairs_and_that_is_said(days, seed):
    random = np.random.default_rng(seed)
    left, right, _ = label_pairs(days, Segment(0, 1), n_pairs=800)
    learned = LinearMetric().learn(left, right, random.random(800) < 0.5)
    figures = learned.figures
    # The better of two on pairs not learned from, by however little: a margin costs more than it saves.
    assert learned.used == (figures["held_out_learned"] > figures["held_out_euclidean"])
    if learned.used:
        assert learned.statement.startswith("The learned metric is used: on ")
    else:
        assert learned.statement.startswith("The learned metric is not used; series are compared by Euclidean distance")
        assert_array_equal(learned.transform(days), days)


@pytest.mark.parametrize("n_curves", [9, 10])
def test_what_was_learned_from_fewer_than_ten_curves_is_not_used_and_that_is_said(rng, n_curves):
    x = rng.normal(size=(n_curves, 6)) * [1.0, 1.0, 9.0, 9.0, 9.0, 9.0]
    left, right = np.triu_indices(n_curves, k=1)
    matters = np.arange(n_curves) % 2
    x[:, 0] = 5.0 * matters
    learned = LinearMetric().learn(x[left], x[right], matters[left] == matters[right])
    assert learned.figures["n_curves"] == n_curves
    assert learned.figures["held_out_learned"] > learned.figures["held_out_euclidean"]
    assert learned.used == (n_curves == 10)
    said = "it was learned from 9 curves, and with fewer than 10, held-out pairs are not a reliable guide"
    assert (said in learned.statement) == (n_curves == 9)


def test_labels_that_are_euclidean_already_are_left_to_it(days):
    learned = LinearMetric().learn(*label_pairs(days, lambda x: x))
    assert not learned.used
    assert learned.figures["held_out_euclidean"] == 1.0


def test_pairs_that_share_no_series_are_enough(rng):
    left, right = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    learned = LinearMetric().learn(left, right, abs(left[:, 5] - right[:, 5]) < 1.0)
    assert learned.used
    assert learned.figures["n_held_out"] == 200


def test_channels_are_side_by_side(rng):
    x = rng.normal(size=(50, 4, 2))
    learned = LinearMetric().learn(*label_pairs(x, lambda x: x[:, 2, 1]))
    assert learned.shape == (4, 2)
    assert np.abs(learned.layers[0][0]).sum(axis=0).argmax() == 5
    assert learned.transform(x).shape == (50, 8)


def test_held_out_pairs_share_no_series_with_those_learned_from(days):
    for fold in as_pairs(*label_pairs(days, Segment(3, 5))).folds(0):
        ends = [set(np.concatenate([part.left, part.right])) for part in (fold.train, fold.held)]
        assert not ends[0] & ends[1]
        assert all(part.similar.any() and not part.similar.all() for part in (fold.train, fold.held))


def test_a_series_that_many_rows_have_may_be_in_both_parts(rng):
    x = np.concatenate([rng.normal(size=(30, 4)), np.zeros((30, 4))])
    pairs = as_pairs(*label_pairs(x, Segment(0, 2), n_pairs=None))
    zero = int(np.flatnonzero(~pairs.series.any(axis=1))[0])
    for fold in pairs.folds(0):
        shared = set(np.concatenate([fold.train.left, fold.train.right])) & set(
            np.concatenate([fold.held.left, fold.held.right])
        )
        assert shared == {zero}


def test_a_label_that_one_series_has_is_held_out_pair_by_pair(rng):
    x = np.concatenate([rng.normal(size=(6, 4)) + 10, np.zeros((1, 4))])
    pairs = as_pairs(*label_pairs(np.repeat(x, 4, axis=0), lambda x: x.any(axis=1), threshold=0.5, n_pairs=None))
    assert len(pairs.folds(0)) == 3


def test_newton_and_the_general_solver_agree(days):
    """At the optimum no admissible step lowers the objective: gradient 0 where a > 0, not below 0 where a = 0."""
    pairs = as_pairs(*label_pairs(days, Segment(3, 5)))
    a = np.diag(xing_diagonal(pairs.series, pairs, 0.1)) ** 2
    squares = (pairs.series[pairs.left] - pairs.series[pairs.right]) ** 2
    similar, apart = squares[pairs.similar].mean(axis=0) + 0.1, squares[~pairs.similar]
    lengths = np.sqrt(apart @ a)
    slope = similar - (apart / (2 * lengths[:, None])).mean(axis=0) / lengths.mean()
    assert np.abs(slope[a > 1e-6]).max() < 1e-4
    assert slope[a <= 1e-6].min() > -1e-4


def test_xing_in_full_keeps_its_constraint_and_is_no_worse_than_diagonal(days):
    pairs = as_pairs(*label_pairs(days, Segment(3, 5)))
    apart = pairs.series[pairs.left] - pairs.series[pairs.right]

    def value(map_):
        a = map_.T @ map_
        bound = np.einsum("ij,jk,ik->i", apart[pairs.similar], a, apart[pairs.similar]).mean() + 0.1 * np.trace(a)
        return np.sqrt(np.einsum("ij,jk,ik->i", apart[~pairs.similar], a, apart[~pairs.similar])).mean() / np.sqrt(
            bound
        )

    full = xing_full(pairs.series, pairs, 0.1)
    a = full.T @ full
    similar = apart[pairs.similar]
    assert np.einsum("ij,jk,ik->i", similar, a, similar).mean() + 0.1 * np.trace(a) == pytest.approx(1.0)
    assert value(full) >= value(xing_diagonal(pairs.series, pairs, 0.1)) * (1 - 1e-6)


def test_the_projection_finds_the_nearest_matrix(rng):
    b = rng.normal(size=(4, 4))
    b = b + b.T
    nearest = _to_spectraplex(b)
    assert np.trace(nearest) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(nearest).min() > -1e-12
    for _ in range(200):
        other = rng.normal(size=(4, 4))
        other = other @ other.T / np.trace(other @ other.T)
        assert np.linalg.norm(b - nearest) <= np.linalg.norm(b - other) + 1e-12


@pytest.mark.parametrize("solve", [logistic_diagonal, contrastive_diagonal, xing_diagonal])
def test_a_larger_penalty_gives_smaller_weights(days, solve):
    pairs = as_pairs(*label_pairs(days, Segment(3, 5)))
    sizes = [np.trace(solve(pairs.series, pairs, penalty) ** 2) for penalty in (0.001, 0.1, 1.0)]
    assert all(before > after for before, after in itertools.pairwise(sizes))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_instants_without_spread_do_no_harm(days, objective):
    x = days.copy()
    x[:, 7:] = 5.0
    learned = LinearMetric(objective=objective).learn(*label_pairs(x, Segment(3, 5)))
    assert learned.used
    assert np.isfinite(learned.transform(x)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"form": "square"}, "form must be one of: auto, diagonal, full"),
        ({"objective": "luck"}, "objective must be one of: logistic, contrastive, xing"),
        ({"penalty": -1.0}, "penalty must be a number of at least 0"),
        ({"penalty": float("nan")}, "penalty must be"),
        ({"penalty": "a"}, "penalty must be"),
        ({"euclidean_share": "a"}, "euclidean_share must be a number"),
        ({"euclidean_share": 1.0}, "euclidean_share must be a number from 0 to below 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        LinearMetric(**parameters)


@pytest.mark.parametrize(
    ("left", "right", "similar", "error", "message"),
    [
        (np.ones((9, 2)), np.ones((9, 3)), [True] * 9, InputError, r"same shape, found \(9, 2\) and \(9, 3\)"),
        (np.ones((9, 2)), np.ones((9, 2)), [True] * 8, InputError, "one label for each of 9 pairs"),
        (np.ones((9, 2)), np.ones((9, 2)), ["yes"] * 9, InputError, "similar must be booleans"),
        (np.ones((9, 2)), np.ones((9, 2)), [2] * 9, InputError, "similar must be booleans"),
        (np.ones(9), np.ones(9), [True] * 9, InputError, "left must be an array of numbers"),
        (np.full((9, 2), np.nan), np.ones((9, 2)), [True] * 9, InputError, "9 of 9 series of left have missing"),
        (np.ones((9, 2)), np.ones((9, 2)), [True] * 9, ParameterError, "at least 5 similar and 5 dissimilar.* 9 and 0"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(left, right, similar, error, message):
    with pytest.raises(error, match=message):
        LinearMetric().learn(left, right, similar)


def test_numbers_0_and_1_are_labels_too(days):
    left, right, similar = label_pairs(days, Segment(3, 5))
    one, other = (LinearMetric().learn(left, right, labels) for labels in (similar, similar.astype(int)))
    assert one.digest() == other.digest()


def test_times_of_arrival_are_learned_from_what_time_adds():
    days = (np.random.default_rng(3).random((60, 24)) < 0.2).astype(float)
    pairs = label_pairs(days, Arrival(), n_pairs=600)
    by = {inputs: LinearMetric(inputs=inputs).learn(*pairs) for inputs in ("values", "time", "auto")}
    assert by["time"].figures["held_out_learned"] > by["values"].figures["held_out_learned"] + 0.05
    assert (by["values"].inputs, by["time"].inputs, by["auto"].inputs) == ("values", "time", "sums")
    assert by["auto"].used


def test_what_euclidean_distance_has_its_share_in_is_the_sum_of_both(days):
    left, right, similar = label_pairs(days, Segment(3, 5), n_pairs=300)
    asked = {"inputs": "values", "form": "diagonal", "penalty": 0.01}
    alone, mixed = (LinearMetric(**asked, euclidean_share=share).learn(left, right, similar) for share in (0.0, 0.25))
    own, plain = alone.distances(left, right) ** 2, ((left - right) ** 2).sum(axis=1)
    assert_allclose(mixed.distances(left, right) ** 2, 0.75 * own / own.mean() + 0.25 * plain / plain.mean())
    assert (alone.values_weight, alone.figures["euclidean_share"], mixed.figures["euclidean_share"]) == (0.0, 0.0, 0.25)
    assert "with 25% of Euclidean distance mixed in" in mixed.statement


def test_a_fold_is_judged_with_the_setting_that_does_best_on_all_other_folds_of_every_draw(days):
    pairs = as_pairs(*label_pairs(days, Segment(3, 5), n_pairs=60))
    drawn = pairs.drawn_folds(0)
    metric = LinearMetric(euclidean_share=0.0, inputs="values")
    settings = metric._settings()
    chosen, judged = metric._choose(settings, {"values": pairs.series}, drawn)
    folds = [fold for draw in drawn for fold in draw]
    distances = [
        [
            fold.held.distances(pairs.series @ SOLVERS["logistic", s.form](pairs.series, fold.train, s.penalty).T)
            for fold in folds
        ]
        for s in settings
    ]
    scores = [[score(d, fold.held.similar) for d, fold in zip(row, folds, strict=True)] for row in distances]
    assert chosen == settings[max(range(len(settings)), key=lambda s: sum(scores[s]))]
    used = set()
    for at, held_out in enumerate(judged):
        best = max(range(len(settings)), key=lambda s: sum(scores[s][:at] + scores[s][at + 1 :]))
        assert_allclose(held_out.learned, distances[best][at])
        used.add(best)
    assert len(used) > 1  # so the fold itself was left out


def test_few_labels_are_held_out_in_several_draws_and_counted_once(days):
    pairs = as_pairs(*label_pairs(days, Segment(3, 5), n_pairs=60))
    drawn = pairs.drawn_folds(0)
    assert len(drawn) == 4
    assert len({fold.held.left.tobytes() for folds in drawn for fold in folds}) == 12
    assert len(as_pairs(*label_pairs(days, Segment(3, 5), n_pairs=600)).drawn_folds(0)) == 1
    assert LinearMetric().learn(*label_pairs(days, Segment(3, 5), n_pairs=60)).figures["n_held_out"] <= 60
