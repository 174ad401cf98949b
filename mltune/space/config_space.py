"""What a search needs to know of a space, whether rules or a list say what is in it."""

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
        """The space's name, for people."""
        ...

    @property
    def family(self) -> str:
        """The kernel family that its configs are for; of a union, all of them."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What varies; a config of a union has some of them."""
        ...

    @property
    def size(self) -> int:
        """How many configs there are."""
        ...

    def __contains__(self, config: object) -> bool: ...

    def __iter__(self) -> Iterator[Config]: ...

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs, all if there are fewer.

        Every one is as likely as any other; of a union every family is.
        """
        ...

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Find up to `count` configs close to any combination of values, the closest first."""
        ...


class FlatSpace(ConfigSpace, Protocol):
    """A space whose configs all have the same parameters; `Space` and `RecordedSpace` are such."""

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows of ranks of all parameters' values that are configs of the space."""
        ...

    def at(self, index: int) -> Config:
        """Return the config that iteration gives at an index."""
        ...

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Compute the derived values of each row of ranks, as floats; there may be none."""
        ...
