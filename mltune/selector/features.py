"""The features of a tree: whole numbers that are computed from a size."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from mltune.selector.formula import INT64_MAX
from mltune.selector.rest import rest_tile
from mltune.selector.tiling import tiling

Feature = Callable[[int, int, int, int], int]
"""Returns the value for m, n, k and batch, which are from 0 to 2^63 - 1."""


_FEATURES: dict[str, Feature] = {
    "m": lambda m, n, k, batch: m,
    "n": lambda m, n, k, batch: n,
    "k": lambda m, n, k, batch: k,
    "batch": lambda m, n, k, batch: batch,
    "mn": lambda m, n, k, batch: found if (found := m * n) < INT64_MAX else INT64_MAX,
    "mk": lambda m, n, k, batch: found if (found := m * k) < INT64_MAX else INT64_MAX,
    "nk": lambda m, n, k, batch: found if (found := n * k) < INT64_MAX else INT64_MAX,
    "mnk": lambda m, n, k, batch: found if (found := m * n * k) < INT64_MAX else INT64_MAX,
    "m_per_n": lambda m, n, k, batch: m // max(n, 1),
    "n_per_m": lambda m, n, k, batch: n // max(m, 1),
    "k_per_m": lambda m, n, k, batch: k // max(m, 1),
    "k_per_n": lambda m, n, k, batch: k // max(n, 1),
}

FEATURES = tuple(_FEATURES)
"""The features besides those of `rest` and `tiling`; the exporters compute the same ones."""

OTHER_FEATURES = "rest_MxNxK, tiles_MxN, waves_MxN_S, idle_MxN_S, used_MxN_S"
"""The forms of the other features' names."""


def within(m: int, n: int, k: int, batch: int) -> tuple[int, int, int, int]:
    """Return the extents as whole numbers of 64 bits; those below 0 count as 0."""
    most = INT64_MAX
    if 0 <= m <= most and 0 <= n <= most and 0 <= k <= most and 0 <= batch <= most:
        return m, n, k, batch  # nearly always, and much faster than the next line
    m, n, k, batch = (min(max(size, 0), INT64_MAX) for size in (m, n, k, batch))
    return m, n, k, batch


def features(m: int, n: int, k: int, batch: int = 1) -> dict[str, int]:
    """Compute every one of `FEATURES` exactly as the exported C does with 64-bit integers.

    Products saturate at 2^63 - 1, ratios are whole-number divisions by at least 1, and sizes below
    0 count as 0, so the result is defined for every input.
    """
    size = within(m, n, k, batch)
    return {name: feature(*size) for name, feature in _FEATURES.items()}


@lru_cache(maxsize=4096)  # trees ask for the same ones again and again
def feature_of(name: str) -> Feature | None:
    """Return the function of a feature; None if there is no such feature."""
    if name in _FEATURES:
        return _FEATURES[name]
    if (counted := tiling(name)) is not None:
        return counted.of_size()
    if (tile := rest_tile(name)) is not None:
        of_m, of_n, of_k = tile
        return lambda m, n, k, batch: m % of_m + n % of_n + k % of_k
    return None


def feature_value(values: dict[str, int], name: str) -> int:
    """Return one feature, given those that `features` computes."""
    if name in values:
        return values[name]
    feature = feature_of(name)
    if feature is None:
        raise KeyError(name)
    return feature(values["m"], values["n"], values["k"], values["batch"])
