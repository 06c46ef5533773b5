"""Create-tree, recycling and joining against the listings, also with words that are no SAX words at all."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive.kp import naive_post_processing, naive_recycle, naive_tree
from shoal.features.sax import Sax, parse, reconstruct
from shoal.kernels.kp_leftovers import join_bad_leaves
from shoal.kernels.kp_tree import create_tree, recycle, word_classes

ONE_TREE = np.zeros


def described(leaves):
    """(rows, level, row of the word) of the good leaves and of the bad ones."""
    found = [
        (np.flatnonzero(leaves.leaf == number).tolist(), int(leaves.level[number]), int(leaves.first[number]))
        for number in range(len(leaves.level))
    ]
    return sorted(f for f, g in zip(found, leaves.good, strict=True) if g), sorted(
        f for f, g in zip(found, leaves.good, strict=True) if not g
    )


def expected_leaves(word, roots, p, max_level):
    good, bad = [], []
    for root in range(max(roots) + 1):
        more = naive_tree(word, [i for i in range(len(roots)) if roots[i] == root], p, max_level)
        good, bad = good + more[0], bad + more[1]
    as_tuples = [[(b["rows"], b["level"], b["first"]) for b in some] for some in (good, bad)]
    return sorted(as_tuples[0]), sorted(as_tuples[1])


@st.composite
def tables(draw, largest=40):
    """(letters by level, row and place; p; roots): any words, but for those of level 1."""
    n, p, max_level = draw(st.integers(1, largest)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    table = draw(arrays(np.uint8, (max_level + 1, n, draw(st.integers(1, 2))), elements=st.integers(0, 1)))
    table[1] = 0
    roots = np.sort(draw(arrays(np.int64, n, elements=st.integers(0, 2))))
    return table, p, np.unique(roots, return_inverse=True)[1].reshape(-1)


@given(case=tables())
def test_the_tree_is_that_of_the_listing(case):
    table, p, roots = case
    found = described(create_tree(lambda level: table[level], roots, p, len(table) - 1))
    assert found == expected_leaves(lambda row, level: tuple(table[level][row]), roots, p, len(table) - 1)


@given(case=tables(), levels=st.data())
def test_recycling_puts_rows_together_at_the_highest_level_they_share(case, levels):
    table, p, _ = case
    n = table.shape[1]
    own = levels.draw(arrays(np.int64, n, elements=st.integers(1, len(table) - 1)))
    found, found_levels = recycle(lambda level: table[level], own, p)
    bad = [{"rows": [row], "level": int(own[row])} for row in range(n)]
    good, left = naive_recycle(lambda row, level: tuple(table[level][row]), bad, p)
    assert sorted((np.flatnonzero(found == i).tolist(), int(level)) for i, level in enumerate(found_levels)) == sorted(
        (g["rows"], g["level"]) for g in good
    )
    assert np.flatnonzero(found < 0).tolist() == [b["rows"][0] for b in left]
    assert (found < 0).sum() < p


@given(case=tables())
def test_bad_leaves_join_as_the_text_says(case):
    table, p, roots = case
    roots = roots[np.isin(roots, np.flatnonzero(np.bincount(roots) >= p))]
    if not len(roots):
        return
    roots = np.unique(roots, return_inverse=True)[1].reshape(-1)
    table = table[:, : len(roots)]
    leaves = create_tree(lambda level: table[level], roots, p, len(table) - 1)
    shapes = reconstruct(table[leaves.level, leaves.first], leaves.level + 1)  # a level's words have two letters here
    joins = join_bad_leaves(leaves, roots, shapes, Sax().similarity)
    found = sorted(np.flatnonzero(joins[leaves.leaf] == g).tolist() for g in np.flatnonzero(leaves.good))

    def word(row, level):
        return tuple(table[level][row])

    expected = []
    for root in range(roots.max() + 1):
        trees = naive_tree(word, np.flatnonzero(roots == root).tolist(), p, len(table) - 1)
        lifted = [[dict(b, level=b["level"] + 1) for b in some] for some in trees]
        expected += naive_post_processing(lambda row, level: word(row, level - 1), *lifted)
    assert found == sorted(g["rows"] for g in expected)


def figure_3():
    """The words of the paper's figure 3, by level; what is beyond level 3 it does not say."""
    level_2 = ["aaabbb"] * 4 + ["bbbaaa"] * 4
    level_3 = ["aabbcc"] * 2 + ["abbbbc"] * 2 + ["ccbbaa"] * 3 + ["ccbbba"]
    return {1: parse(["aaaaaa"] * 8), 2: parse(level_2), 3: parse(level_3)}


def test_the_tree_of_figure_3():
    words = figure_3()
    leaves = create_tree(words.__getitem__, ONE_TREE(8, dtype=np.int64), 2, 3)
    assert described(leaves) == (
        [([0, 1], 3, 0), ([2, 3], 3, 2), ([4, 5, 6], 3, 4)],  # nodes 4, 5 and 6
        [([7], 3, 7)],  # node 7
    )
    shapes = reconstruct(words[3][leaves.first], leaves.level)
    joins = join_bad_leaves(leaves, ONE_TREE(8, dtype=np.int64), shapes, Sax().similarity)
    assert joins[leaves.leaf].tolist() == [0, 0, 1, 1, 2, 2, 2, 2]  # node 8 is 6 with 7 in it


def test_series_that_agree_throughout_reach_the_highest_level():
    words = np.zeros((10, 3), dtype=np.uint8)
    for n in (4, 10):  # below 2p and above
        leaves = create_tree(lambda level, n=n: words[:n], ONE_TREE(n, dtype=np.int64), 3, 20)
        assert described(leaves) == ([(list(range(n)), 20, 0)], [])


def test_small_children_of_p_rows_or_more_stay_together_at_the_level_above():
    words = {2: parse(["a", "a", "a", "b", "c", "d"]), 3: parse(["a", "a", "a", "b", "b", "b"])}
    found = create_tree(words.__getitem__, ONE_TREE(6, dtype=np.int64), 3, 2)
    assert described(found) == ([([0, 1, 2], 2, 0), ([3, 4, 5], 1, 3)], [])
    # They agree again at level 3, and a leaf below 2p goes as high as its rows agree.
    found = create_tree(words.__getitem__, ONE_TREE(6, dtype=np.int64), 3, 3)
    assert described(found) == ([([0, 1, 2], 3, 0), ([3, 4, 5], 3, 3)], [])


def test_a_node_whose_children_are_all_small_stays():
    words = {2: parse(list("abcdef")), 3: parse(list("aaabbb"))}
    found = create_tree(words.__getitem__, ONE_TREE(6, dtype=np.int64), 2, 3)
    assert described(found) == ([([0, 1, 2, 3, 4, 5], 1, 0)], [])


def test_ties_of_similarity_go_to_the_smaller_leaf_then_to_the_first():
    words = {2: parse(["a"] * 3 + ["b"] * 2 + ["c"] * 2 + ["d"])}
    leaves = create_tree(words.__getitem__, ONE_TREE(8, dtype=np.int64), 2, 2)
    flat = np.zeros((len(leaves.level), 3))
    joins = join_bad_leaves(leaves, ONE_TREE(8, dtype=np.int64), flat, Sax().similarity)
    assert joins[leaves.leaf[7]] == leaves.leaf[3]


def test_many_trees_are_joined_in_blocks(monkeypatch):
    monkeypatch.setattr("shoal.kernels.kp_leftovers._PAIRS", 3)
    rng = np.random.default_rng(8)
    letters = rng.integers(0, 3, size=(300, 4)).astype(np.uint8)
    roots = np.repeat(np.arange(15), 20)
    leaves = create_tree(lambda level: letters % level, roots, 2, 3)
    shapes = reconstruct(letters[leaves.first], np.full(len(leaves.level), 3))
    joins = join_bad_leaves(leaves, roots, shapes, Sax().similarity)
    assert leaves.good[joins].all()
    assert_array_equal(roots[leaves.first[joins]], roots[leaves.first])


@given(
    letters=arrays(np.uint8, (30, 2), elements=st.integers(0, 2)), node=arrays(np.int64, 30, elements=st.integers(0, 2))
)
def test_word_classes_are_numbered_by_first_row(letters, node):
    rows = np.flatnonzero(node < 2)
    classes, firsts = word_classes(letters, rows, node)
    keys = [(node[row], *letters[row]) for row in rows]
    seen = list(dict.fromkeys(keys))
    assert classes.tolist() == [seen.index(key) for key in keys]
    assert firsts.tolist() == [rows[keys.index(key)] for key in seen]
