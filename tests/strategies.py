"""Random panels that are hard on kernels and checks.

Few distinct values (ties), constant panels, equal columns, equal rows, large offsets, -0.0, one instant, two channels;
scattered gaps, a series, an instant or a panel that is missing altogether. Values are finite or NaN and small enough
that no sum of squares overflows. Two dimensions are (series, instants), three are (series, instants, channels).
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

FEW_VALUES = [-1.0, -0.0, 0.0, 0.5, 1.0, 3.0]
OFFSETS = [1e6, -1e9, 1e15]
TENTHS = st.integers(-20, 20).map(lambda i: i / 10)  # not exact in binary, so sums round
ANY_VALUES = st.floats(-1e6, 1e6, width=64)


@st.composite
def _sizes(draw, k):
    """Numbers from k to 3k + 2, more often those where the number of groups changes."""
    corners = sorted({k, 2 * k - 1, 2 * k, 3 * k - 1, 3 * k})
    return draw(st.one_of(st.sampled_from(corners), st.integers(k, 3 * k + 2)))


@st.composite
def _shapes(draw, n, channels):
    instants = draw(st.sampled_from([1, 2, 3, 5]))
    ends = [(), (1,), (2,)] if channels else [()]
    return (n, instants, *draw(st.sampled_from(ends)))


@st.composite
def _complete(draw, shape):
    kind = draw(st.sampled_from(["few", "tenths", "any", "constant", "equal columns", "equal rows", "offset"]))
    few = st.sampled_from(FEW_VALUES)
    if kind == "few":
        return draw(arrays(np.float64, shape, elements=few))
    if kind == "tenths":
        return draw(arrays(np.float64, shape, elements=TENTHS))
    if kind == "any":
        return draw(arrays(np.float64, shape, elements=ANY_VALUES))
    if kind == "constant":
        return np.full(shape, draw(st.one_of(few, TENTHS, st.sampled_from(OFFSETS))))
    if kind == "equal columns":
        column = draw(arrays(np.float64, shape[0], elements=st.one_of(few, TENTHS)))
        return np.broadcast_to(column.reshape(-1, *[1] * (len(shape) - 1)), shape).copy()
    if kind == "equal rows":
        rows = draw(arrays(np.float64, (2, *shape[1:]), elements=st.one_of(few, TENTHS)))
        return rows[draw(arrays(np.int64, shape[0], elements=st.integers(0, 1)))]
    return draw(st.sampled_from(OFFSETS)) + draw(arrays(np.float64, shape, elements=TENTHS))


@st.composite
def _with_gaps(draw, x):
    x = x.copy()
    kinds = draw(st.sets(st.sampled_from(["scattered", "series", "instant", "channel"]), max_size=2))
    if "scattered" in kinds:
        x[draw(arrays(np.bool_, x.shape, elements=st.booleans()))] = np.nan
    if "series" in kinds:
        x[draw(st.integers(0, x.shape[0] - 1))] = np.nan
    if "instant" in kinds:
        x[:, draw(st.integers(0, x.shape[1] - 1))] = np.nan
    if "channel" in kinds and x.ndim == 3:
        x[..., draw(st.integers(0, x.shape[2] - 1))] = np.nan
    return x


@st.composite
def _panels(draw, n, gaps, channels):
    x = draw(_complete(draw(_shapes(n, channels))))
    return draw(_with_gaps(x)) if gaps else x


@st.composite
def panels_with_k(draw, gaps=True, channels=True, largest_k=4):
    """(x, k) with 2 <= k <= largest_k and k to 3k + 2 series."""
    k = draw(st.integers(2, largest_k))
    n = draw(_sizes(k))
    return draw(_panels(n, gaps, channels)), k


def small_panels(gaps=True, channels=True):
    """x alone: float64, two dimensions, or sometimes three if `channels`."""
    return panels_with_k(gaps=gaps, channels=channels).map(lambda pair: pair[0])


@st.composite
def panels_with_subjects(draw, gaps=True, channels=True, largest_k=3):
    """(x, k, subjects) with k to 3k + 2 subjects coded 0, 1, 2, …, in any row order, some with more rows."""
    k = draw(st.integers(2, largest_k))
    n_subjects = draw(_sizes(k))
    further = draw(st.lists(st.integers(0, n_subjects - 1), min_size=1, max_size=2 * k))
    subjects = [*range(n_subjects), *further]
    if len(set(np.bincount(subjects))) == 1:
        subjects.append(0)
    subjects = np.array(draw(st.permutations(subjects)), dtype=np.int64)
    return draw(_panels(len(subjects), gaps, channels)), k, subjects
