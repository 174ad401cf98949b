"""Search by a model: measure next what promises the largest gain.

Gaussian processes predict, for every config that may still be tried, its value and how sure that
is; the config with the greatest expected improvement on the best one so far comes next. There
are two of them, which are shown the values in two ways and have an equal say.
Values are best given as logs of times, so that a gain is a ratio.
"""

from __future__ import annotations

import numpy as np

from mltune.record.measurement import Status
from mltune.search.candidates import CandidateSource
from mltune.search.encoding import Encoding
from mltune.search.expectation import View
from mltune.search.knowledge import Knowledge
from mltune.search.outlook import Outlook
from mltune.search.searcher import check_answer
from mltune.search.surrogate import Forecast, Surrogate
from mltune.search.unseen import UnseenConfigs
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace

_STARTS = 10
_KNOWN = 2


class GuidedSearcher:
    """Proposes the config with the greatest expected improvement; a `Searcher`.

    Without knowledge it starts with random configs: ten, or more until two have worked.

    Args:
        seed: decides every proposal, given the answers.
        knowledge: what other records say about the space, if there are any.
    """

    def __init__(self, space: ConfigSpace, seed: int, knowledge: Knowledge | None = None) -> None:
        self._space = space
        self._unseen = UnseenConfigs(space, seed)
        self._answers: dict[Config, float | None] = {}
        self._asked: dict[Config, None] = {}
        self._knows = knowledge is not None
        encoding = Encoding(space.parameters)
        self._surrogates: tuple[Surrogate, ...] = ()
        if encoding.width:
            source = CandidateSource(space, encoding, seed)
            # A record's expectations are of capped values, so they go with that view alone.
            views = (View.CAPPED,) if knowledge else (View.CAPPED, View.SPEED)
            self._surrogates = tuple(
                Surrogate(encoding, source, view, knowledge) for view in views
            )

    def ask(self) -> Config | None:
        """Return the next config."""
        config = self._most_promising() or self._unseen.draw()
        if config is not None:
            self._unseen.see(config)
            self._asked[config] = None
        return config

    def avoid(self, config: Config) -> None:
        """Take a config for one that was asked for here: the model believes its expectation."""
        if config in self._unseen:
            self._unseen.see(config)
            self._asked[config] = None

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Learn from an answer."""
        check_answer(value, status)
        if config in self._answers or config not in self._space:
            return
        self._unseen.see(config)
        self._asked.pop(config, None)
        self._answers[config] = value

    def outlook(self, trials: int) -> Outlook | None:
        """Return what the model expects of up to so many trials; None while it has begun."""
        forecast = self._forecast()
        if forecast is None or not any(value is not None for value in self._answers.values()):
            return None
        return Outlook.of(forecast.gains[forecast.gains >= 0].tolist(), trials)

    def _most_promising(self) -> Config | None:
        """Return the best by the model; None while it has too little to go by, or is done."""
        forecast = self._forecast()
        if forecast is None:
            return None
        chosen = int(np.argmax(forecast.gains))
        return forecast.candidates[chosen] if forecast.gains[chosen] >= 0 else None

    def _forecast(self) -> Forecast | None:
        """The mean of what the surrogates expect; configs that were seen gain -1."""
        known = sum(value is not None for value in self._answers.values())
        starting = len(self._answers) < _STARTS or known < _KNOWN
        if not self._surrogates or (starting and not self._knows):
            return None
        forecasts = [one.forecast(self._answers, tuple(self._asked)) for one in self._surrogates]
        candidates = forecasts[0].candidates
        gains = np.mean([forecast.gains for forecast in forecasts], axis=0)
        gains[~candidates.others((*self._answers, *self._asked))] = -1
        return Forecast(candidates, gains)
