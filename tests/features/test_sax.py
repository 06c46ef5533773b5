import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from naive.kp import naive_shape, naive_similarity, naive_word
from shoal.errors import InputError, ParameterError
from shoal.features.sax import MOST_LETTERS, Sax, breakpoints, letters, parse, reconstruct, text
from strategies import small_panels

LEVELS = st.integers(1, MOST_LETTERS)


@given(x=small_panels(gaps=False, channels=False), level=LEVELS)
def test_letters_equal_the_definition(x, level):
    assert_array_equal(letters(x, level), [naive_word(row.tolist(), level) for row in x])


@given(level=LEVELS, seed=st.integers(0, 10_000))
def test_letters_of_walks_equal_the_definition(level, seed):
    x = np.random.default_rng(seed).normal(size=(20, 10)).cumsum(axis=1)
    assert_array_equal(letters(x, level), [naive_word(row.tolist(), level) for row in x])


def test_breakpoints_are_those_of_the_tables_of_sax():
    assert_allclose(breakpoints(3), [-0.43, 0.43], atol=0.005)
    assert_allclose(breakpoints(6), [-0.97, -0.43, 0.0, 0.43, 0.97], atol=0.005)
    assert len(breakpoints(1)) == 0


@pytest.mark.parametrize("level", range(1, MOST_LETTERS + 1))
def test_a_constant_series_has_the_letter_of_zero(level):
    constant = np.array([[0.1] * 7, [-1e9] * 7, [0.0] * 7])
    assert (letters(constant, level) == level // 2).all()


@given(x=arrays(np.float64, (5, 6), elements=st.integers(-50, 50).map(lambda v: v / 8)), level=LEVELS)
def test_a_large_common_offset_decides_no_letter(x, level):
    for offset in (1e8, -1e8, 1e12):
        assert_array_equal(letters(x + offset, level), letters(x, level))


def test_an_offset_that_rounds_the_values_decides_no_letter():
    x = np.random.default_rng(3).normal(size=(2000, 10)).cumsum(axis=1)
    x = np.concatenate([x, np.array([[0.1, 0.2, 0.3, 0.2] * 2 + [0.2, 0.2]] * 2)])
    for level in (2, 3, 7, 20):
        found, moved = letters(x[:-2], level), letters(x[:-2] + 1e8, level)
        assert_array_equal(found, moved)
    assert_array_equal(letters(10 * x[-1:], 4), letters(x[-1:], 4))


def test_size_does_not_matter_up_to_the_ends_of_the_number_line():
    x = np.random.default_rng(4).normal(size=(50, 8))
    for scale in (1e-290, 1e307):
        assert_array_equal(letters(x * scale, 9), letters(x, 9))
    assert text(letters(np.array([[-1.7e308, 0.0, 1.7e308]]), 3)) == ("abc",)


def test_words_of_a_level_are_no_refinement_of_the_level_below():
    x = np.array([[-3.0, -0.2, 0.2, 3.0]])
    assert text(letters(x, 2)) == ("aabb",)
    assert text(letters(x, 3)) == ("abbc",)


def test_one_instant_is_constant():
    assert letters(np.array([[5.0], [7.0]]), 3).tolist() == [[1], [1]]


@given(words=arrays(np.uint8, (4, 5), elements=st.integers(0, MOST_LETTERS - 1)))
def test_words_can_be_printed_and_read_again(words):
    printed = text(words)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in printed)
    assert_array_equal(parse(printed), words)


@pytest.mark.parametrize("words", [["abz"], ["ab!"], ["aB"], ["añ"], ["a b"], ["u"]])
def test_other_characters_are_refused(words):
    with pytest.raises(InputError, match="letters 'a' to 't'"):
        parse(words)


@pytest.mark.parametrize("words", [[], [""], ["ab", "abc"]])
def test_words_of_different_lengths_are_refused(words):
    with pytest.raises(InputError, match="same number"):
        parse(words)


def test_a_letter_becomes_the_middle_of_its_share():
    for level in range(1, MOST_LETTERS + 1):
        word = np.arange(level, dtype=np.uint8)[None, :]
        shape = reconstruct(word, np.array([level]))[0]
        assert_allclose(shape, naive_shape(range(level), level))
        ends = [-math.inf, *breakpoints(level), math.inf]
        assert all(a < v < b for a, v, b in zip(ends[:-1], shape, ends[1:], strict=True))
    assert reconstruct(np.zeros((1, 3), np.uint8), np.array([1])).tolist() == [[0.0, 0.0, 0.0]]


def test_words_of_different_levels_are_reconstructed_side_by_side():
    found = reconstruct(parse(["ab", "ab"]), np.array([2, 4]))
    assert_allclose(found, [naive_shape([0, 1], 2), naive_shape([0, 1], 4)])


def test_a_letter_beyond_the_level_is_refused():
    with pytest.raises(InputError, match="beyond its level"):
        reconstruct(parse(["abc"]), np.array([2]))


@pytest.mark.parametrize("level", [0, -1, 21])
def test_levels_out_of_range_are_refused(level):
    for ask in (lambda: Sax(level), lambda: breakpoints(level), lambda: letters(np.zeros((1, 2)), level)):
        with pytest.raises(ParameterError, match="from 1 to 20"):
            ask()


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros((2, 0)), np.array([[1.0, np.nan]]), np.array([[1.0, np.inf]])])
def test_gaps_and_other_shapes_are_refused(x):
    with pytest.raises(InputError, match="without gaps"):
        letters(x, 3)


def test_input_stays_as_it_is_also_when_locked():
    x = np.random.default_rng(5).normal(size=(4, 6))
    kept = x.copy()
    x.setflags(write=False)
    assert_array_equal(letters(x, 5), letters(kept, 5))
    assert_array_equal(letters(np.asfortranarray(kept), 5), letters(kept, 5))
    assert_array_equal(x, kept)


def test_its_words_and_shapes_are_those_of_the_functions():
    sax = Sax(7)
    x = np.random.default_rng(6).normal(size=(9, 5))
    assert (sax.name, sax.max_level) == ("sax", 7)
    assert_array_equal(sax.words(x, 4), letters(x, 4))
    assert_array_equal(sax.reconstruct(letters(x, 4), np.full(9, 4)), reconstruct(letters(x, 4), np.full(9, 4)))


@given(a=arrays(np.uint8, (6, 5), elements=st.integers(0, 3)), b=arrays(np.uint8, (6, 5), elements=st.integers(0, 3)))
def test_similarity_is_the_cosine_of_all_differences(a, b):
    shapes = [reconstruct(w, np.full(6, 4)) for w in (a, b)]
    expected = [naive_similarity(p.tolist(), q.tolist()) for p, q in zip(*shapes, strict=True)]
    assert_allclose(Sax().similarity(*shapes), expected, atol=1e-8)


def test_flat_shapes_are_like_each_other_only():
    flat, slope = np.zeros((1, 3)), np.array([[-1.0, 0.0, 1.0]])
    alike = [
        float(Sax().similarity(a, b)[0]) for a, b in ((flat, flat), (flat, slope), (slope, slope), (slope, -slope))
    ]
    assert_allclose(alike, [1.0, 0.0, 1.0, -1.0])
