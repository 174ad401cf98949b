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
    """A finite set of configs with the same parameters; `Space` and `RecordedSpace` are such."""

    @property
    def name(self) -> str:
        """The space's name, for people."""
        ...

    @property
    def family(self) -> str:
        """The kernel family that its configs are for."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What varies."""
        ...

    @property
    def size(self) -> int:
        """How many configs there are."""
        ...

    def __contains__(self, config: object) -> bool: ...

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows of ranks of all parameters' values that are configs of the space."""
        ...

    def __iter__(self) -> Iterator[Config]: ...

    def at(self, index: int) -> Config:
        """Return the config that iteration gives at an index."""
        ...

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs, every one as likely as any other; all if there are fewer."""
        ...

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Find up to `count` configs close to any combination of values, the closest first."""
        ...

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Compute the derived values of each row of ranks, as floats; there may be none."""
        ...
