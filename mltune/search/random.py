"""Random search: every config of the space once, in a random order."""

from __future__ import annotations

from mltune.record.measurement import Status
from mltune.search.searcher import check_answer
from mltune.search.unseen import UnseenConfigs
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace


class RandomSearcher:
    """Proposes configs uniformly at random; a `Searcher`.

    Args:
        seed: decides the order.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        self._unseen = UnseenConfigs(space, seed)

    def ask(self) -> Config | None:
        """Return the next config."""
        return self._unseen.draw()

    def avoid(self, config: Config) -> None:
        """Note that a config needs no proposing any more."""
        self._unseen.see(config)

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Note that a config needs no proposing any more."""
        check_answer(value, status)
        self._unseen.see(config)
