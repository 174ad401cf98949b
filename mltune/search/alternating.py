"""Given configs in turns with those of another searcher: hand-written kernels beside others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mltune.record.measurement import Status
from mltune.search.library import LibrarySearcher
from mltune.search.outlook import Outlook
from mltune.space.config import Config


class AlternatingLibrary:
    """Proposes a given config, then one of another searcher's, and so on; a `LibrarySearcher`.

    Where one of the two has none left, the other one goes on alone.

    Args:
        given: outside of the other searcher's space.
        other: is told how the given ones did: a library that has them gains less from its own.
    """

    def __init__(self, given: Iterable[Config], other: LibrarySearcher) -> None:
        self._waiting = dict.fromkeys(given)
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
        """Drop one of the given configs; the other searcher leaves it alone."""
        self._waiting.pop(config, None)
        self._other.avoid(config)

    def sizes(self, config: Config) -> tuple[int, ...]:
        """Return what the other searcher says: of a config outside of its space, all sizes."""
        return self._other.sizes(config)

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        """Say it to the other searcher; a given config need not be asked for any more."""
        self._other.tell(config, values, status)
        self._waiting.pop(config, None)

    def outlook(self, trials: int) -> Outlook | None:
        """Return what the other searcher expects of its own configs."""
        return self._other.outlook(trials)
