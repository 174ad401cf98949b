"""The configs of a space that were not visited yet, in a random order."""

from __future__ import annotations

import random

from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace


class UnvisitedConfigs:
    """Draws every config once, as if from a shuffled list, and remembers which were visited.

    The list is never made: a Fisher-Yates shuffle keeps only the entries that it has moved.

    Args:
        seed: decides the order.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        self._space = space
        self._random = random.Random(seed)
        self._moved: dict[int, int] = {}
        self._drawn = 0
        self._visited: set[Config] = set()

    def __contains__(self, config: Config) -> bool:
        """Whether a config is in the space and not visited."""
        return config not in self._visited and config in self._space

    def visit(self, config: Config) -> None:
        """Never draw this config."""
        self._visited.add(config)

    def draw(self) -> Config | None:
        """Return a config that was not visited, now visited; None when there is none left."""
        while self._drawn < self._space.size:
            chosen = self._random.randrange(self._drawn, self._space.size)
            index = self._moved.pop(chosen, chosen)
            if chosen != self._drawn:
                self._moved[chosen] = self._moved.pop(self._drawn, self._drawn)
            self._drawn += 1
            config = self._space.at(index)
            if config not in self._visited:
                self._visited.add(config)
                return config
        return None
