"""A space that is a list of configs, such as those of recorded measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mltune.errors import UsageError
from mltune.space.config import Config, Value
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks, configs_of, ranks_of

RECORDED = "recorded"
"""The family of configs whose family is unknown."""


class RecordedSpace:
    """The configs of a list, and no others; a `FlatSpace`.

    Args:
        name: for information and messages.
        configs: all with the same parameters; duplicates are dropped.
        family: of the configs.

    Raises:
        UsageError: when there is none, their parameters differ, or a parameter has numbers in one
            config and words in another.
    """

    default = None

    def __init__(self, name: str, configs: Iterable[Config], family: str = RECORDED) -> None:
        self.name = name
        self.family = family
        self._configs = tuple(dict.fromkeys(configs))
        if not self._configs:
            raise UsageError(f"space '{name}': needs at least one config")
        names = tuple(self._configs[0])
        for config in self._configs:
            if tuple(config) != names:
                raise UsageError(
                    f"space '{name}': config {dict(config)} lacks parameters of the first, "
                    f"or has others (expected: {', '.join(names)})"
                )
        columns = list(zip(*(_values(config) for config in self._configs), strict=True))
        self.parameters = tuple(
            Parameter(parameter, tuple(dict.fromkeys(column)), where=f"space '{name}'")
            for parameter, column in zip(names, columns, strict=True)
        )
        self._set = frozenset(self._configs)
        self._ranks = ranks_of(self.parameters, self._configs)
        powers = [_powers_of_two(parameter) for parameter in self.parameters]
        self._powers = {slot: of for slot, of in enumerate(powers) if of is not None}

    @property
    def size(self) -> int:
        """The number of configs."""
        return len(self._configs)

    def __contains__(self, config: object) -> bool:
        return config in self._set

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows of ranks that are in the list."""
        configs = configs_of(self.parameters, ranks)
        return np.array([config in self._set for config in configs], dtype=np.bool_)

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs)

    def at(self, index: int) -> Config:
        """Return the config at an index of the iteration.

        Raises:
            IndexError: when there are fewer configs, or the index is negative.
        """
        if not 0 <= index < self.size:
            raise IndexError(f"space '{self.name}' has {self.size} configs, not number {index}")
        return self._configs[index]

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs, each with the same probability; return all if there are fewer."""
        chosen = rng.choice(self.size, min(count, self.size), replace=False)
        return tuple(self._configs[index] for index in chosen)

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Return the `count` listed configs closest to any combination of allowed values.

        The distance is the number of steps between numbers, and 1 between words.
        """
        total = np.zeros(self.size, dtype=np.int64)
        for parameter, ranks in zip(self.parameters, self._ranks.T, strict=True):
            total += np.array(parameter.distances(values[parameter.name]))[ranks]
        return tuple(self._configs[i] for i in np.argsort(total, kind="stable")[:count])

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Return the largest power of two that divides each number, for columns where it varies.

        A list has no derived values. But on any hardware, blocks of 48 and 80 differ more from one
        of 64 than from each other.
        """
        return {
            f"power of two in {self.parameters[slot].name}": of_value[ranks[:, slot]]
            for slot, of_value in self._powers.items()
        }


def _values(config: Config) -> tuple[Value, ...]:
    return tuple(value for _, value in config.items_)


def _powers_of_two(parameter: Parameter) -> NDArray[np.float64] | None:
    """Return the power of two in each value; None if all are such powers or it is constant."""
    values = [value for value in parameter.values if isinstance(value, int) and value > 0]
    powers = [value & -value for value in values]
    if len(values) < len(parameter.values) or powers == values or len({*powers}) == 1:
        return None
    return np.array(powers, dtype=np.float64)
