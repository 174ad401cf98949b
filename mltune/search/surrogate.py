"""The model that a guided search goes by, kept up to date with the answers.

What it says follows from the answers and their order alone, so that a resumed search goes on as
if it had not been cut off: it is fitted anew at fixed numbers of answers, to these answers only,
and takes every further one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mltune.search.candidates import Candidates, CandidateSource
from mltune.search.encoding import Encoding, Matrix, Matrix32
from mltune.search.expectation import Scale, View, expected_improvement
from mltune.search.gaussian_process import GaussianProcess, fit
from mltune.search.knowledge import Knowledge
from mltune.space.config import Config

_MOST_MODELLED = 1_000

Answers = Mapping[Config, float | None]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the model expects of the candidates.

    Attributes:
        gains: the expected improvement of each on the best answer, about in logs.
    """

    candidates: Candidates
    gains: Matrix32


class Surrogate:
    """A Gaussian process over the candidates of a space.

    Args:
        view: what it is shown of the answers.
        knowledge: what other records say; the model learns how much of that holds here.
    """

    def __init__(
        self,
        encoding: Encoding,
        source: CandidateSource,
        view: View,
        knowledge: Knowledge | None,
    ) -> None:
        self._encoding = encoding
        self._source = source
        self._view = view
        self._knowledge = knowledge
        self._fitted = -1
        self._candidates = source.around(())
        self._process: GaussianProcess | None = None
        self._expected = np.zeros(0, dtype=np.float32)
        # What the process has observed, in its order, and what other records expected there.
        self._rows: dict[Config, float] = {}
        self._believed: dict[Config, float] = {}

    def forecast(self, answers: Answers, asked: Sequence[Config]) -> Forecast:
        """Return what is expected now.

        Args:
            answers: in the order they came; None for a failure.
            asked: configs without an answer yet; the model believes its own expectation of them,
                so that it does not ask for the same thing twice.
        """
        scale = self._scale([*answers.values()])
        due = _fit_due(len(answers))
        if self._process is None or due != self._fitted:
            self._process = self._fit(dict(islice(answers.items(), due)))
            self._fitted = due
        for config in islice(answers, due, None):
            if config not in self._rows:
                self._observe(self._process, [config])
        for config in asked:
            if config not in self._rows:
                self._believed[config] = self._belief(self._process, config, answers, scale)
                self._observe(self._process, [config])
        mean, deviation = self._predict(self._process, answers, scale)
        units = scale.units([*answers.values()])
        best = float(units.min()) if len(units) else float(mean.max())
        gains = expected_improvement(mean, deviation, best) * np.float32(scale.spread)
        return Forecast(self._candidates, gains)

    def _scale(self, answers: list[float | None]) -> Scale:
        if self._knowledge is None:
            return Scale.of(answers, self._view)
        return Scale.within(answers, self._view, self._knowledge.reach, self._knowledge.spread)

    def _fit(self, answers: Answers) -> GaussianProcess:
        """Fit the hyperparameters, and start anew with the answers."""
        kept = _kept(answers)
        values = self._scale([*answers.values()]).units([answers[config] for config in kept])
        basis, expected = self._known(kept)
        doubt = 1.0 if self._knowledge is None else self._knowledge.doubt
        hyper = fit(self._encoding, self._encoding.ranks(kept), values - expected, basis, doubt)
        self._candidates = self._source.around(_best_first(answers))
        basis, expected = self._known(self._candidates.configs)
        self._expected = expected.astype(np.float32)
        process = GaussianProcess(self._encoding, hyper, self._candidates.ranks, basis)
        self._rows = {}
        if kept:
            self._observe(process, kept)
        return process

    def _observe(self, process: GaussianProcess, configs: Sequence[Config]) -> None:
        basis, expected = self._known(configs)
        process.observe(self._encoding.ranks(configs), basis)
        self._rows |= dict(zip(configs, expected.tolist(), strict=True))

    def _predict(
        self, process: GaussianProcess, answers: Answers, scale: Scale
    ) -> tuple[Matrix32, Matrix32]:
        values = scale.units(
            [answers[row] if row in answers else self._believed[row] for row in self._rows]
        )
        mean, deviation = process.predict(values - np.array([*self._rows.values()]))
        return mean + self._expected, deviation

    def _belief(
        self, process: GaussianProcess, config: Config, answers: Answers, scale: Scale
    ) -> float:
        """What an answer is expected to be."""
        number = self._candidates.number(config)
        if number is None or not process.count:
            return scale.answer(0.0)
        mean, _ = self._predict(process, answers, scale)
        return scale.answer(float(mean[number]))

    def _known(self, configs: Sequence[Config]) -> tuple[Matrix, Matrix]:
        """Return what other records say: functions whose share is unknown, and their sum."""
        if self._knowledge is None:
            return np.zeros((len(configs), 0)), np.zeros(len(configs))
        views = self._knowledge.views(configs)
        return self._knowledge.basis(views), self._knowledge.expected(views)


def _fit_due(count: int) -> int:
    """Return at how many answers the model was last due to be fitted."""
    due = 0
    while (following := due + max(1, min(due // 10, 50))) <= count:
        due = following
    return due


def _best_first(answers: Answers) -> list[Config]:
    known = {config: value for config, value in answers.items() if value is not None}
    return sorted(known, key=known.__getitem__)


def _kept(answers: Answers) -> list[Config]:
    """Return the configs to model: all, or the best and a part of the rest if there are many."""
    if len(answers) <= _MOST_MODELLED:
        return list(answers)
    best = _best_first(answers)[: _MOST_MODELLED // 2]
    rest = [config for config in answers if config not in set(best)]
    step = len(rest) / (_MOST_MODELLED - len(best))
    chosen = {*best, *(rest[int(number * step)] for number in range(_MOST_MODELLED - len(best)))}
    return [config for config in answers if config in chosen]
