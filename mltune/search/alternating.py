"""Given configs in turns with those of another searcher: hand-written kernels beside others."""

from __future__ import annotations

from collections.abc import Iterable

from mltune.record.measurement import Status
from mltune.search.searcher import Searcher, check_answer
from mltune.space.config import Config


class AlternatingSearcher:
    """Proposes a given config, then one of another searcher's, and so on; a `Searcher`.

    Where one of the two has none left, the other one goes on alone.

    Args:
        given: outside of the other searcher's space.
        other: hears nothing of `given`.
    """

    def __init__(self, given: Iterable[Config], other: Searcher) -> None:
        self._waiting = dict.fromkeys(given)
        self._given = frozenset(self._waiting)
        self._other = other
        self._others_turn = False

    def ask(self) -> Config | None:
        """Return the next proposal."""
        config = self._other.ask() if self._others_turn else None
        self._others_turn = not self._others_turn
        if config is not None:
            return config
        if not self._waiting:
            return self._other.ask()
        config = next(iter(self._waiting))
        del self._waiting[config]
        return config

    def avoid(self, config: Config) -> None:
        """Drop one of the given configs; hand any other on."""
        if config in self._given:
            self._waiting.pop(config, None)
        else:
            self._other.avoid(config)

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Note one of the given configs; hand any other on."""
        if config not in self._given:
            self._other.tell(config, value, status)
            return
        check_answer(value, status)
        self._waiting.pop(config, None)
