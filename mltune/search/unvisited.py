"""The configs of a space that were not visited yet, in a random order."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace, FlatSpace
from mltune.space.union import UnionSpace, members_of


class Unvisited(ABC):
    """Draws every config of a space once.

    Args:
        seed: decides the order.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        self._space = space
        self._random = random.Random(seed)
        self._visited: set[Config] = set()

    def __contains__(self, config: Config) -> bool:
        """Whether a config is in the space and not visited."""
        return config not in self._visited and config in self._space

    def visit(self, config: Config) -> None:
        """Mark a config as visited."""
        self._visited.add(config)

    @abstractmethod
    def draw(self) -> Config | None:
        """Return a config that was not visited, now visited; None when there is none left."""


def unvisited_of(space: ConfigSpace, seed: int) -> Unvisited:
    """Return an object that draws from a space or a union; the seed decides the order."""
    if isinstance(space, UnionSpace):
        return UnvisitedOfUnion(space, seed)
    (flat,) = members_of(space)
    return UnvisitedConfigs(flat, seed)


class UnvisitedConfigs(Unvisited):
    """Draws every config as if from a shuffled list.

    The list is never made: a Fisher-Yates shuffle stores only the entries that it has moved.
    """

    def __init__(self, space: FlatSpace, seed: int) -> None:
        super().__init__(space, seed)
        self._flat = space
        self._moved: dict[int, int] = {}
        self._drawn = 0

    def draw(self) -> Config | None:
        """Return a config that was not visited, now visited; None when there is none left."""
        while self._drawn < self._flat.size:
            chosen = self._random.randrange(self._drawn, self._flat.size)
            index = self._moved.pop(chosen, chosen)
            if chosen != self._drawn:
                self._moved[chosen] = self._moved.pop(self._drawn, self._drawn)
            self._drawn += 1
            config = self._flat.at(index)
            if config not in self._visited:
                self._visited.add(config)
                return config
        return None


class UnvisitedOfUnion(Unvisited):
    """Draws the family first, then a space of that family, then a config, each time uniformly.

    So a family with few configs is drawn as often as one with many, until it is used up. Visited
    configs take their turns, too, so that a resumed search draws what it would have drawn.
    """

    def __init__(self, space: UnionSpace, seed: int) -> None:
        super().__init__(space, seed)
        self._members = {
            family: [
                UnvisitedConfigs(member, self._random.randrange(2**32))
                for member in space.of_family(family)
            ]
            for family in space.families
        }

    def draw(self) -> Config | None:
        """Return a config that was not visited, now visited; None when there is none left."""
        while self._members:
            family = self._random.choice([*self._members])
            members = self._members[family]
            while members:
                member = self._random.choice(members)
                config = member.draw()
                if config is None:
                    members.remove(member)
                    continue
                for each in members:  # spaces of a family may have the same configs
                    each.visit(config)
                if config in self._visited:
                    break
                self._visited.add(config)
                return config
            else:
                del self._members[family]
        return None
