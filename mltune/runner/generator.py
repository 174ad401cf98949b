"""The random numbers of problems: each depends only on a key and its place.

So a device can draw all of them in parallel, and the host can draw any one again. The generator is
SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA
2014): its state is a counter, so that number n is a hash of `key + (n + 1) * gamma`.
`device/opencl/numbers.cl` has the same in OpenCL C, and gives the same bits.

Numbers are uniform in [-1, 1): multiples of 2^-52 for double precision and of 2^-23 for all
others, as numpy draws them. Each part of a complex number is a number of its own. Half is single,
rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]

_GAMMA, _ONE, _TWO = (
    np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_BLOCK = 1 << 15  # fits into a core's cache with its temporaries


def key_of(problem: Problem, seed: int, tensor: str) -> int:
    """Return the key of one of the problem's `tensors`: 64 bits of the seed and the sizes."""
    number = ("a", "b", "c", "bias").index(tensor)
    words = np.random.SeedSequence([seed, *problem.sizes, number])
    return int(words.generate_state(1, np.uint64)[0])


def drawn(key: int, dtype: str, count: int) -> Array:
    """Return the first `count` numbers of a stream."""
    numbers = np.empty(count, dtype)
    for begin in range(0, count, _BLOCK):
        end = min(begin + _BLOCK, count)
        numbers[begin:end] = drawn_at(key, dtype, np.arange(begin, end))
    return numbers


def drawn_at(key: int, dtype: str, places: Array) -> Array:
    """Return the numbers of a stream at these places."""
    kind = np.dtype(dtype)
    is_wide = kind in (np.float64, np.complex128)
    if kind.kind != "c":
        return _reals(key, places.astype(np.uint64), is_wide=is_wide).astype(kind, copy=False)
    parts = np.stack([2 * places, 2 * places + 1], axis=-1).astype(np.uint64)
    found: Array = _reals(key, parts, is_wide=is_wide).view(kind)[..., 0]
    return found


def _reals(key: int, places: Array, *, is_wide: bool) -> Array:
    """Return real numbers of a stream; `places` is overwritten."""
    bits = places
    bits += np.uint64(1)
    bits *= _GAMMA
    bits += np.uint64(key)
    _mix(bits, 30, _ONE)
    _mix(bits, 27, _TWO)
    bits ^= bits >> np.uint64(31)
    if is_wide:
        wide: Array = (bits >> np.uint64(11)).view(np.int64) - (1 << 52)
        return wide * 2.0**-52
    narrow: Array = (bits >> np.uint64(40)).astype(np.int32) - np.int32(1 << 23)
    return narrow.astype(np.float32) * np.float32(2.0**-23)


def _mix(bits: Array, shift: int, factor: np.uint64) -> None:
    bits ^= bits >> np.uint64(shift)
    bits *= factor
