"""The interface of a space for a search, whether rules or a list define its configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mltune.space.config import Config, Value
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks


class ConfigSpace(Protocol):
    """A finite set of configs: a `FlatSpace`, or a `UnionSpace` of several."""

    @property
    def name(self) -> str:
        """The space's name, for information."""
        ...

    @property
    def family(self) -> str:
        """The kernel family of its configs; for a union, all families."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters; a config of a union has some of them."""
        ...

    @property
    def size(self) -> int:
        """The number of configs."""
        ...

    def __contains__(self, config: object) -> bool: ...

    def __iter__(self) -> Iterator[Config]: ...

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs; return all if there are fewer.

        Each config has the same probability; in a union each family has.
        """
        ...

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Return up to `count` configs close to any combination of values, the closest first."""
        ...


class FlatSpace(ConfigSpace, Protocol):
    """A space whose configs all have the same parameters, as `Space` and `RecordedSpace`."""

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows that are configs of the space; a row has a rank for each parameter."""
        ...

    def at(self, index: int) -> Config:
        """Return the config at an index of the iteration."""
        ...

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Compute the derived values of each row of ranks, as floats; there may be none."""
        ...
