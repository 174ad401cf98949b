"""A cache of the most recently used values, with a limited cost."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """A mapping with a limited total cost that forgets the least recently used first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._total = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value of a key, if it is still kept."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def put(self, key: K, value: V, cost: int = 1) -> None:
        """Keep a value; it stays until the next `put` even if it alone is over the limit."""
        self.drop(key)
        self.make_room(cost)
        self._entries[key] = (value, cost)
        self._total += cost

    def make_room(self, cost: int) -> None:
        """Drop old values until a new one of this cost would fit, or none is left."""
        while self._entries and self._total + cost > self._limit:
            self.drop(next(iter(self._entries)))

    def drop(self, key: K) -> None:
        """Drop one value, if it is kept."""
        if key in self._entries:
            self._total -= self._entries.pop(key)[1]
