"""The index changes the work, never the groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.mdav import naive_mdav
from shoal.kernels import fast_mdav
from shoal.kernels.fast_mdav import fast_mdav_groups
from shoal.kernels.leaves import (
    LONG,
    build_leaves,
    drop_row,
    empty_place,
    frame_of,
    place_of_point,
    place_of_row,
)
from shoal.kernels.mdav import mdav_groups, squared_distance
from shoal.kernels.outskirts import farthest_from_mean, n_outskirts, outskirts_of
from shoal.kernels.search_index import (
    farthest_of,
    find_candidates,
    keep_far,
    keep_near,
    measure,
    nearest_of,
    room_for,
)


def slow(x, k):
    return mdav_groups(x, np.arange(len(x)), k, np.zeros(1, dtype=np.int64))


def fast(x, k, threads=1):
    done, before = np.zeros(1, dtype=np.int64), x.copy()
    labels = fast_mdav_groups(x, k, done, threads)
    assert done[0] == len(x)
    assert_array_equal(x, before)
    return labels


@pytest.fixture
def by_index_to_the_end(monkeypatch):
    """The index down to its last rows, and built anew on the way."""
    monkeypatch.setattr(fast_mdav, "SMALL", 20)
    monkeypatch.setattr(fast_mdav, "_LASTING", 200)


def clouds(rng, n, kind):
    if kind == "noise":
        return rng.normal(size=(n, 30))
    if kind == "few axes":
        return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 40)) + 0.01 * rng.normal(size=(n, 40))
    if kind == "ties":
        return rng.integers(0, 3, size=(n, 4)).astype(float)
    if kind == "one column":
        return rng.integers(0, 50, size=(n, 1)).astype(float)
    if kind == "constant":
        return np.full((n, 5), 0.1)
    if kind == "constant columns":
        return np.where(np.arange(9) % 3 == 0, rng.normal(size=(n, 9)), 7.3)
    if kind == "copies":
        return np.repeat(rng.normal(size=(n // 7 + 1, 6)), 7, axis=0)[:n]
    if kind == "far away":
        return rng.normal(size=(n, 8)) + 1e8
    if kind == "tiny":
        return 1e-130 * rng.normal(size=(n, 5))
    if kind == "too tiny to square":
        return 1e-160 * rng.normal(size=(n, 5))
    if kind == "too huge to square":
        return 1e155 * rng.normal(size=(n, 5))
    if kind == "so far away that means round":
        return 1e15 + rng.integers(0, 9, size=(n, 6)).astype(float)
    if kind == "two scales":
        return np.where(rng.random((n, 1)) < 0.5, 1.0, 1e-9) * rng.normal(size=(n, 7))
    if kind == "outliers":
        return rng.standard_cauchy(size=(n, 10))
    if kind == "long":
        return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 150)) + 0.3 * rng.normal(size=(n, 150))
    if kind == "long ties":
        return np.tile(rng.integers(0, 2, size=(n, 5)), (1, 20)).astype(float)
    if kind == "long copies far away":
        return np.repeat(rng.normal(size=(n // 4 + 1, LONG + 1)), 4, axis=0)[:n] + 1e8
    return np.where(rng.random((n, 12)) < 0.9, 0.0, rng.gamma(1.0, size=(n, 12)))  # mostly zeros


KINDS = [
    "noise",
    "few axes",
    "ties",
    "one column",
    "constant",
    "constant columns",
    "copies",
    "far away",
    "tiny",
    "too tiny to square",
    "too huge to square",
    "so far away that means round",
    "two scales",
    "outliers",
    "long",
    "long ties",
    "long copies far away",
    "zeros",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(700, 2), (901, 5), (1300, 10), (400, 60)])
def test_the_groups_are_those_of_the_search_through_all_rows(by_index_to_the_end, kind, n, k):
    x = clouds(np.random.default_rng(n + k), n, kind)
    assert_array_equal(fast(x, k), slow(x, k))


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), n=st.integers(40, 260), k=st.integers(1, 6))
def test_the_groups_are_the_same_on_random_clouds(seed, kind, n, k):
    x = clouds(np.random.default_rng(seed), n, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_mdav, "SMALL", 20)
        patch.setattr(fast_mdav, "_LASTING", 100)
        assert_array_equal(fast(x, k), slow(x, k))


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(25, 90),
    n_columns=st.integers(1, 6),
    n_values=st.integers(1, 4),
    scale=st.sampled_from([1.0, 0.1, 1e-100, 1e100]),
    offset=st.sampled_from([0.0, 0.3, 1e8]),
    k=st.integers(2, 4),
)
def test_the_groups_are_those_of_the_definition(seed, n, n_columns, n_values, scale, offset, k):
    x = scale * (np.random.default_rng(seed).integers(0, n_values, size=(n, n_columns)) + offset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_mdav, "SMALL", 12)
        assert_array_equal(fast(x, k), naive_mdav(x, k))


def test_the_index_is_used_on_all_but_rows_it_cannot_hold(monkeypatch, rng):
    built = []
    monkeypatch.setattr(fast_mdav, "build_leaves", lambda *a: built.append(len(a[1])) or build_leaves(*a))
    fast(rng.normal(size=(fast_mdav.SMALL + 20, 4)), 3)
    assert built == [fast_mdav.SMALL + 20]
    for x in (
        rng.normal(size=(fast_mdav.SMALL, 4)),
        1e200 * rng.normal(size=(fast_mdav.SMALL + 100, 4)),
        np.full((fast_mdav.SMALL + 100, 2), 1e308),
    ):
        assert_array_equal(fast(x, 3), slow(x, 3))
    assert len(built) == 1


def test_the_index_is_built_anew_when_the_rows_left_lie_much_closer_together(monkeypatch, rng):
    built = []
    monkeypatch.setattr(fast_mdav, "_LASTING", 300)
    monkeypatch.setattr(fast_mdav, "build_leaves", lambda *a: built.append(len(a[1])) or build_leaves(*a))
    x = rng.normal(size=(900, 5))
    assert_array_equal(fast(x, 3), slow(x, 3))
    assert built[0] == 900
    assert built[1] < 700
    built.clear()
    x[::100] *= 1e6
    assert_array_equal(fast(x, 3), slow(x, 3))
    assert built[0] == 900
    assert 800 < built[1] < 900


def test_threads_change_nothing(monkeypatch, rng):
    monkeypatch.setattr("shoal.kernels.leaves._MANY_ROWS", 500)
    monkeypatch.setattr("shoal.kernels.leaves._PRODUCT", 100)
    x = rng.normal(size=(2000, 6))
    assert_array_equal(fast(x, 5, threads=3), fast(x, 5))
    assert_array_equal(fast(x, 5), slow(x, 5))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("too")])
def test_nearest_and_farthest_equal_a_full_search_while_rows_are_dropped(kind):
    rng = np.random.default_rng(3)
    x = clouds(rng, 600, kind)
    frame = frame_of(x, np.arange(600))
    leaves = build_leaves(x, np.arange(600), frame)
    at, room = empty_place(frame), room_for(leaves)
    left = list(range(600))
    while len(left) > 41:
        centre = int(rng.choice(left))
        others = [r for r in left if r != centre]
        from_centre = {r: squared_distance(x[r], x[centre]) for r in left}
        wanted = int(rng.choice([1, 5, 40]))  # 40: more than the first leaves hold in the end
        found = np.empty(wanted, dtype=np.int64)
        place_of_row(leaves, centre, at)
        n_near, n_far = find_candidates(leaves, at, centre, wanted, 1, leaves.error, leaves.last_error, room)
        n_near = keep_near(x, room, n_near, centre, wanted, frame.scale, leaves.last_error)
        n_far = keep_far(x, room, n_far, centre, frame.scale, leaves.last_error)
        nearest_of(x, room.near[:n_near], centre, found)
        assert found.tolist() == sorted(others, key=lambda r: (from_centre[r], r))[:wanted]
        assert farthest_of(x, room.far[:n_far], x[centre]) == min(left, key=lambda r: (-from_centre[r], r))
        n_near, n_far = find_candidates(leaves, at, centre, wanted, 0, leaves.error, leaves.last_error, room)
        assert n_far == 0
        assert len(set(room.near[:n_near])) == n_near
        assert set(found) <= set(room.near[:n_near])
        point = x[left].mean(axis=0)
        place_of_point(frame, point, at)
        n_near, n_far = find_candidates(leaves, at, -1, 0, 1, frame.error, frame.last_error, room)
        from_point = {r: squared_distance(x[r], point) for r in left}
        assert n_near == 0
        assert farthest_of(x, room.far[:n_far], point) == min(left, key=lambda r: (-from_point[r], r))
        wanted = int(rng.choice([2, 7]))
        n_near, n_far = find_candidates(leaves, at, -1, 0, wanted, frame.error, frame.last_error, room)
        assert n_near == 0
        assert set(sorted(left, key=lambda r: (-from_point[r], r))[:wanted]) <= set(room.far[:n_far])
        for row in rng.choice(left, size=25, replace=False):
            drop_row(leaves, row)
            left.remove(row)


@pytest.mark.parametrize("n_columns", [3, 20, 48, 60, 400])
def test_no_two_rows_are_farther_apart_than_their_coordinates_and_the_error_say(n_columns):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(700, n_columns)) * rng.lognormal(sigma=2.0, size=(700, 1))
    frame = frame_of(x, np.arange(700))
    leaves = build_leaves(x, np.arange(700), frame)
    assert leaves.error <= frame.error
    assert leaves.last_error <= frame.last_error
    width = len(empty_place(frame).full)
    for a in range(0, 700, 50):
        at = empty_place(frame)
        place_of_row(leaves, a, at)
        for b in range(700):
            place = leaves.place_of[b]
            apart = np.sqrt(squared_distance(x[a], x[b])) * frame.scale
            other = empty_place(frame)
            place_of_row(leaves, b, other)
            first = at.first.astype(float), other.first.astype(float)
            assert np.linalg.norm(first[0] - first[1]) <= apart + leaves.error
            assert np.linalg.norm(at.opposite - first[1]) >= apart - leaves.error
            if width:
                whole = leaves.full[b * width : (b + 1) * width].astype(float)
                assert abs(np.linalg.norm(at.full - whole) - apart) <= leaves.last_error
            elif leaves.rest.size:
                steps = [(p.first[:-1], p.second[:-1], p.rest) for p in (at, other)]
                axes = [np.concatenate(parts).astype(float) for parts in steps]
                assert abs(np.linalg.norm(axes[0] - axes[1]) - apart) <= leaves.last_error
            assert place >= 0


def test_few_rows_are_measured():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4000, 3)) @ rng.normal(size=(3, 20)) + 0.1 * rng.normal(size=(4000, 20))
    frame = frame_of(x, np.arange(4000))
    leaves = build_leaves(x, np.arange(4000), frame)
    at, room = empty_place(frame), room_for(leaves)
    for row in range(0, 4000, 100):
        place_of_row(leaves, row, at)
        n_near, n_far = find_candidates(leaves, at, row, 9, 1, leaves.error, leaves.last_error, room)
        assert n_near <= 12
        assert n_far <= 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("too")])
@pytest.mark.parametrize("n_kept", [1, 3, 40])
def test_the_outskirts_hold_the_farthest_row_or_say_that_they_may_not(kind, n_kept):
    rng = np.random.default_rng(n_kept)
    x = clouds(rng, 200, kind)
    labels = np.full(200, -1)
    outskirts, n_known = None, 0
    for _ in range(60):
        left = np.flatnonzero(labels < 0)
        mean = x[left].cumsum(axis=0)[-1] / len(left)  # summed in row order
        distances = np.array([squared_distance(row, mean) for row in x[left]])
        found = -1
        if outskirts is not None:
            found = farthest_from_mean(x, outskirts, outskirts.others, labels, mean, 0.0)
            n_known += found >= 0
        if found < 0:
            close = left[distances >= np.sort(distances)[-min(n_kept, len(left))]]
            outskirts = outskirts_of(x, close, mean, min(n_kept, len(left)))
            found = farthest_from_mean(x, outskirts, -np.inf, labels, mean, 0.0)
        assert found == left[distances.argmax()]
        labels[[found, *rng.choice(left, 2)]] = 0
    if kind == "outliers" and n_kept == 40:
        assert n_known > 0


def test_the_outskirts_are_a_small_share_of_what_is_left():
    assert [n_outskirts(n) for n in (1, 127, 1000, 10**6)] == [1, 1, 8, 128]


@pytest.mark.parametrize("n", range(10))
def test_distances_measured_together_are_those_measured_alone(n, rng):
    x, point = rng.normal(size=(20, 7)), rng.normal(size=7)
    rows, found = rng.integers(20, size=n), np.empty(n)
    measure(x, rows, point, found)
    assert_array_equal(found, [squared_distance(x[row], point) for row in rows])
