"""Letters of normalised series.

    z[i, t]       = (x[i, t] - mean of x[i]) / deviation of x[i], divisor T; 0 where all values of x[i] are equal
    letter(i, t)  = #{ b : breaks[b] - TOLERANCE <= z[i, t] }

The first value is subtracted before anything is summed, so a common offset has no effect. The rest is halved and scaled
by a power of two, so that no sum of squares overflows. TOLERANCE, in deviations, is there because 0.1, 0.2, 0.3 must
get the letters of 1, 2, 3, whose middle value is on a break: it is above the rounding of values around 1e8 with a
deviation of 1, and far below the distance of any two breaks.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats

TOLERANCE = 1e-7


@njit(cache=True, nogil=True)
def letters_of(x: Floats, breaks: Floats) -> NDArray[np.uint8]:
    """For each value its letter, 0 to len(breaks); breaks ascending."""
    n, length = x.shape
    result = np.empty((n, length), dtype=np.uint8)
    z = np.empty(length)
    for i in range(n):
        first = 0.5 * x[i, 0]
        largest = 0.0
        for t in range(length):
            z[t] = 0.5 * x[i, t] - first
            largest = max(largest, abs(z[t]))
        if largest > 0.0:
            scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))
            mean = 0.0
            for t in range(length):
                z[t] *= scale
                mean += z[t]
            mean /= length
            square = 0.0
            for t in range(length):
                z[t] -= mean
                square += z[t] * z[t]
            deviation = math.sqrt(square / length)
            if deviation > 0.0:
                for t in range(length):
                    z[t] /= deviation
        for t in range(length):
            # The first break above z + TOLERANCE, by bisection.
            low, high = 0, len(breaks)
            while low < high:
                middle = (low + high) // 2
                if breaks[middle] <= z[t] + TOLERANCE:
                    low = middle + 1
                else:
                    high = middle
            result[i, t] = low
    return result
