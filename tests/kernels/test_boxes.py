import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.covering import naive_boxes
from shoal.kernels.boxes import boxes_of_rows

RANK = st.integers(0, 4)


@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.tuples(RANK, RANK)), min_size=1, max_size=8),
    boxes=st.lists(st.tuples(st.integers(0, 2), st.tuples(st.tuples(RANK, RANK), st.sets(RANK))), max_size=8),
)
def test_boxes_equal_naive(rows, boxes):
    boxes = sorted(boxes, key=lambda box: box[0])
    times = np.array([when for when, _ in boxes], dtype=np.int64)
    at = np.array([time for time, _ in rows])
    ranges = np.array([condition[0] for _, condition in boxes], dtype=np.int64).reshape(-1, 2)
    lists = [sorted(condition[1]) for _, condition in boxes]
    low = np.stack([ranges[:, 0], np.zeros(len(boxes), dtype=np.int64)], axis=1)
    high = np.stack([ranges[:, 1], np.full(len(boxes), 4)], axis=1)
    number = np.stack([np.full(len(boxes), -1), np.arange(len(boxes))], axis=1)
    starts = np.concatenate([[0], np.cumsum([len(items) for items in lists])]).astype(np.int64)
    found = boxes_of_rows(
        np.array([ranks for _, ranks in rows]),
        np.searchsorted(times, at, "left"),
        np.searchsorted(times, at, "right"),
        low,
        high,
        number,
        starts,
        np.array([item for items in lists for item in items], dtype=np.int64),
    )
    assert_array_equal(found, naive_boxes(rows, boxes))
