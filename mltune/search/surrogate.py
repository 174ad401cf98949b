"""The model of a guided search, kept up to date with the answers.

Its predictions depend only on the answers and their order, so that a resumed search continues as
if it had not been interrupted: it is fitted at fixed numbers of answers, to these answers only,
and takes every further answer one by one. If several processes search together, each fits as often
as the number of its own answers requires; if all fitted for all answers, the fits alone would take
the time that they save.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mltune.search.candidates import MOST_LISTED, Candidates, CandidateSource
from mltune.search.encoding import Encoding, Matrix, Matrix32
from mltune.search.expectation import Scale, View, expected_improvement
from mltune.search.forecast import Posterior
from mltune.search.gaussian_process import GaussianProcess, fit
from mltune.search.incumbents import Incumbents
from mltune.search.tile_quantization import TileQuantization
from mltune.search.transfer import Transfer
from mltune.space.config import Config

_MOST_MODELLED = 1_000
_SIZES_LOOKED_AT = 16
_LENGTH, _LARGE_LENGTH = 2.0, 8.0
"""Typical length scales, in a listed space and in a larger one. The latter has more parameters,
each of which matters less; with the small scale no two of its configs would be correlated
(Hvarfner et al., "Vanilla Bayesian optimization performs great in high dimensions", 2024).
"""

Answers = Mapping[Config, Matrix]
"""In their order: a value for each size, infinite for a failure, nan if not timed."""


@dataclass(frozen=True, slots=True)
class Thoroughness:
    """How much a model computes.

    Attributes:
        most_listed: the largest space of which all configs are candidates.
        most_kept: the most candidates between two fits, the most promising ones; None for all.
        fit_share: the growth of the number of answers, as a share, after which a fit is due.
    """

    most_listed: int = MOST_LISTED
    most_kept: int | None = None
    fit_share: float = 0.1


THOROUGH = Thoroughness()
"""Of a model that searches alone."""

THRIFTY = Thoroughness(most_listed=10_000, most_kept=1_000, fit_share=0.2)
"""Of one of several models that compete, up to ten."""


class Surrogate:
    """A Gaussian process over the candidates of a space, the same one for every size.

    The sizes have their own values and share the kernel, so that one decomposition serves all.

    Args:
        view: the transformation of the answers.
        incumbents: know the weight of each size.
        transfer: expectations from other records; the model learns their weights.
        work: the tile quantization of the sizes, which is subtracted from the answers first.
        thoroughness: how much it computes.
    """

    def __init__(
        self,
        encoding: Encoding,
        source: CandidateSource,
        view: View,
        incumbents: Incumbents,
        transfer: Transfer | None,
        work: TileQuantization | None,
        thoroughness: Thoroughness,
    ) -> None:
        self._fit_share = thoroughness.fit_share
        self._of_fit: tuple[Matrix, Matrix, Matrix] | None = None
        """The last fit's values, as the process takes them, their best value, and spreads."""
        self._incumbents = incumbents
        self._work = work
        self._shares = np.zeros(2)
        self._extra = np.zeros((0, incumbents.count))  # of the candidates
        self._encoding = encoding
        self._source = source
        self._view = view
        self._transfer = transfer
        self._fitted = self._fitted_own = 0
        self._known_candidates: Candidates | None = None
        self._process: GaussianProcess | None = None
        self._expected = np.zeros(0, dtype=np.float32)
        # The configs that the process has observed, in order, and the records' expectations for
        # them.
        self._rows: dict[Config, float] = {}

    @property
    def fitted(self) -> int:
        """The number of first answers that it was fitted to."""
        return self._fitted

    @property
    def candidates(self) -> Candidates:
        """The candidates of the last prediction."""
        if self._known_candidates is None:  # computed at the first use, not before a search
            self._known_candidates = self._source.around(())
        return self._known_candidates

    def expect(
        self, answers: Answers, asked: Sequence[Config], to_beat: Matrix, elsewhere: int = 0
    ) -> Posterior:
        """Return the current expectations.

        Args:
            answers: so far.
            asked: configs without an answer yet; the model takes its own expectations for their
                answers, so that it does not propose similar configs twice.
            to_beat: by size, the best value besides the answers; nan if there is none.
            elsewhere: how many of the answers are to other processes' proposals.
        """
        self.refit(answers, elsewhere)
        assert self._process is not None
        table = self._table(answers.values())
        scales = self._scales(table - self._extra_of([*answers]))
        unseen = (*islice(answers, self._fitted, None), *asked)
        fresh = [config for config in unseen if config not in self._rows]
        # All at once is faster, but rounds differently.
        for part in [fresh] if elsewhere and fresh else [[config] for config in fresh]:
            self._observe(self._process, part)
        blank = np.full(self._incumbents.count, np.nan)
        rows = self._table([answers.get(config, blank) for config in self._rows])
        seen = _units(scales, rows - self._extra_of([*self._rows]))
        mean, deviation = self._process.predict(seen - np.array([[*self._rows.values()]]).T)
        mean += self._expected
        # Without a known answer, the scale is not one of times.
        known = np.where(np.isfinite(table).any(axis=0), to_beat, np.nan)
        slope = None
        if self._work is None:
            best = np.fmin.reduce(_units(scales, np.vstack((table, known))), axis=0)
        else:
            mean, slope, best = self._whole(scales, mean, table, known)
            deviation = deviation * slope
        best = np.where(np.isnan(best), mean.max(axis=1), best).astype(np.float32)
        spreads = np.array([scale.spread for scale in scales], dtype=np.float32)
        return Posterior(self._process, mean, deviation, best, spreads, slope)

    def refit(self, answers: Answers, elsewhere: int) -> bool:
        """Fit the model if that is due, and return whether it was; for the arguments see above.

        Then all candidates are available again.
        """
        due = _fit_due(len(answers), self._fit_share)
        new = len(answers) - elsewhere - self._fitted_own
        if self._process is not None and new < _fit_pause(self._fitted, self._fit_share):
            return False
        self._process = self._fit(dict(islice(answers.items(), due)))
        self._fitted, self._fitted_own = due, due - elsewhere
        return True

    def promising(self) -> Matrix32:
        """Return how promising each candidate is by the last fit, without later answers.

        So a resumed search, which fits later and knows more then, keeps the same candidates.
        """
        if self._process is None or self._of_fit is None:
            return np.zeros(len(self.candidates), dtype=np.float32)
        values, best, spreads = (each[..., :: self._size_step] for each in self._of_fit)
        mean, deviation = self._process.predict(values)
        mean += self._expected
        if self._work is not None:
            units = np.where(spreads > 0, spreads, np.inf)[:, None]
            mean += (self._extra.T[:: self._size_step] / units).astype(np.float32)
        gains = expected_improvement(mean, deviation, best.astype(np.float32)[:, None])
        promised: Matrix32 = spreads.astype(np.float32) @ gains
        return promised

    def keep(self, candidates: Candidates, numbers: Sequence[int]) -> None:
        """Use some of the candidates until the next fit.

        Args:
            candidates: the shorter list.
            numbers: of these in the current list.
        """
        assert self._process is not None
        self._process.keep(numbers)
        self._known_candidates = candidates
        self._expected = self._expected[[*numbers]]
        if self._work is not None:
            self._extra = self._extra[[*numbers]]

    @property
    def _size_step(self) -> int:
        """Return the step between sizes that are used to find the most promising candidates."""
        return max(1, self._incumbents.count // _SIZES_LOOKED_AT)

    def _whole(
        self, scales: Sequence[Scale], mean: Matrix32, table: Matrix, known: Matrix
    ) -> tuple[Matrix32, Matrix32, Matrix]:
        """Add the tile quantization to the expected times and to the times to beat."""
        least = np.min(np.where(np.isnan(table), np.inf, table), axis=0, initial=np.inf)
        to_beat = np.fmin(least, known)
        parts = [
            scale.with_extra(row, extra, start if np.isfinite(start) else scale.best)
            for scale, row, extra, start in zip(scales, mean, self._extra.T, least, strict=True)
        ]
        best = [
            scale.of_best(start, end) if np.isfinite(end) else np.nan
            for scale, start, end in zip(scales, least, to_beat, strict=True)
        ]
        means, slopes = (np.array(each) for each in zip(*parts, strict=True))
        return means, slopes, np.array(best)

    def _extra_of(self, configs: Sequence[Config]) -> Matrix:
        """Return the tile quantization of configs, with the coefficients that the answers show."""
        if self._work is None or not configs:
            return np.zeros((len(configs), self._incumbents.count))
        extra: Matrix = self._work.logs(configs) @ self._shares
        return extra

    def _table(self, answers: Iterable[Matrix]) -> Matrix:
        return np.array([*answers], dtype=np.float64).reshape(-1, self._incumbents.count)

    def _scales(self, table: Matrix) -> list[Scale]:
        if self._transfer is None:
            return [Scale.of(column, self._view) for column in table.T]
        reach, spread = self._transfer.reach, self._transfer.spread
        return [Scale.within(column, self._view, reach, spread) for column in table.T]

    def _fit(self, answers: Answers) -> GaussianProcess:
        """Fit the hyperparameters, and observe all answers again."""
        kept = _kept(answers, self._incumbents)
        if self._work is not None:
            self._shares = self._work.shares(kept, self._table([answers[each] for each in kept]))
        whole = self._table(answers.values())
        scales = self._scales(whole - self._extra_of([*answers]))
        # Here a size on which a config was not timed counts as slow, as that is why it was not
        # timed.
        table = self._table([answers[config] for config in kept]) - self._extra_of(kept)
        values = _units(scales, np.where(np.isnan(table), np.inf, table))
        basis, expected = self._known(kept)
        doubt = 1.0 if self._transfer is None else self._transfer.doubt
        ranks = self._encoding.ranks(kept)
        hyper = fit(
            self._encoding,
            ranks,
            values - expected[:, None],
            basis,
            variance=doubt,
            length=_LENGTH if self._source.is_listed else _LARGE_LENGTH,
        )
        self._known_candidates = self._source.around(best_first(answers, self._incumbents))
        basis, expected = self._known(self.candidates.configs)
        self._expected = expected.astype(np.float32)
        if self._work is not None:
            self._extra = self._work.compute(self.candidates.configs) @ self._shares
        process = GaussianProcess(self._encoding, hyper, self.candidates.ranks, basis)
        self._rows = {}
        self._of_fit = None
        if kept:
            self._observe(process, kept)
            is_known = np.isfinite(whole).any(axis=0)
            spreads = np.where(is_known, [scale.spread for scale in scales], 0.0)
            at_kept = np.array([*self._rows.values()])
            self._of_fit = values - at_kept[:, None], values.min(axis=0), spreads
        return process

    def _observe(self, process: GaussianProcess, configs: Sequence[Config]) -> None:
        basis, expected = self._known(configs)
        process.observe(self._encoding.ranks(configs), basis)
        self._rows |= dict(zip(configs, expected.tolist(), strict=True))

    def _known(self, configs: Sequence[Config]) -> tuple[Matrix, Matrix]:
        """Return the records' expectations: functions with unknown coefficients, and their sum."""
        if self._transfer is None:
            return np.zeros((len(configs), 0)), np.zeros(len(configs))
        views = self._transfer.views(configs)
        return self._transfer.basis(views), self._transfer.expected(views)


def _units(scales: Sequence[Scale], table: Matrix) -> Matrix:
    columns = [scale.units(column) for scale, column in zip(scales, table.T, strict=True)]
    return np.stack(columns, axis=1)


def _fit_due(count: int, share: float) -> int:
    """Return the number of answers at which a fit was last due."""
    due = 0
    while (following := due + _fit_pause(due, share)) <= count:
        due = following
    return due


def _fit_pause(count: int, share: float) -> int:
    """Return the number of further answers before the next fit."""
    return max(1, min(int(count * share), 50))


def best_first(answers: Answers, incumbents: Incumbents) -> list[Config]:
    """Return the configs that worked, the best first."""
    worked = [config for config, row in answers.items() if np.isfinite(row).any()]
    if not worked:
        return []
    order = incumbents.best_first(np.array([answers[config] for config in worked]))
    return [worked[number] for number in order]


def _kept(answers: Answers, incumbents: Incumbents) -> list[Config]:
    """Return the configs to model: all, or the best and a part of the rest if there are many."""
    if len(answers) <= _MOST_MODELLED:
        return list(answers)
    chosen = set(best_first(answers, incumbents)[: _MOST_MODELLED // 2])
    rest = [config for config in answers if config not in chosen]
    room = _MOST_MODELLED - len(chosen)
    step = len(rest) / room
    chosen |= {rest[int(number * step)] for number in range(room)}
    return [config for config in answers if config in chosen]
