"""Model-based search: the config with the largest expected gain is measured next.

Gaussian processes predict, for every config that may still be tried, its value on every size and
the standard deviation. The next config has the largest expected gain for the library: the sum over
the sizes of the expected improvement on the size's best config. There are two processes, with two
transformations of the values; the gain is the mean of both. Values are times, whose logs are
modelled, so that a gain is a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mltune.errors import UsageError
from mltune.one_thread import one_thread
from mltune.search.candidates import Candidates, CandidateSource
from mltune.search.encoding import Encoding, Matrix, Matrix32
from mltune.search.expectation import View
from mltune.search.expected_gain import ExpectedGain
from mltune.search.forecast import Forecast
from mltune.search.incumbents import Incumbents
from mltune.search.sampler import SIZES, ConfigSampler, set_attribute
from mltune.search.surrogate import THOROUGH, Surrogate, Thoroughness, best_first
from mltune.search.tile_quantization import TileQuantization
from mltune.search.transfer import Transfer
from mltune.space.config import Config
from mltune.space.config_space import FlatSpace
from mltune.space.union import UnionSpace

_STARTS = 10
_KNOWN = 2
_LATELY = 100
"""The least number of trials whose gain bounds the expected one."""

_LOOK_AFAR = 4
"""In a space too large to list, one proposal in this many may come from anywhere; the others are
made from the best configs so far. With few observations a model is too optimistic about configs
far from all of them: 60 % of the proposals were such configs, and gained next to nothing.
"""
_TIMED_GAIN = 0.999999
"""A config is timed on the sizes with this share of its expected gain."""


@dataclass(frozen=True, slots=True)
class Promise:
    """The config that a model would measure next.

    Attributes:
        sizes: those worth timing.
        gain: the library's expected gain, as an approximate log of its time.
    """

    config: Config
    sizes: tuple[int, ...]
    gain: float


class GuidedSampler(ConfigSampler):
    """Proposes the config with the largest expected gain for the library.

    Without transfer it starts with random configs: ten, or more until two have worked. They are
    timed on all sizes, later ones where they may win: a trial's attribute `sizes` lists these.

    A trial's time on size i is its intermediate value at step i. In a study of one size the
    trial's value is used, and a pruned trial counts as failed.

    Args:
        space: to search.
        seed: decides every proposal, given the answers.
        counts: how often each size is called; see `Incumbents`.
        transfer: expectations from other records, if there are any.
        work: the tile quantization of the sizes. It is used if sizes are counted and there is no
            transfer: without counts, half of the shares are equal, so that it would favour small
            sizes.
        log: whether the values are positive, such as times or speeds, so that their ratios count;
            else their differences.
        starts: number of answers before the model is used.
        thoroughness: how much the model computes.
    """

    def __init__(
        self,
        space: FlatSpace,
        seed: int = 0,
        counts: Sequence[int] = (1,),
        transfer: Transfer | None = None,
        work: TileQuantization | None = None,
        *,
        log: bool = True,
        starts: int = _STARTS,
        thoroughness: Thoroughness = THOROUGH,
    ) -> None:
        if isinstance(space, UnionSpace):
            raise UsageError("guided: searches one space; UnionSampler searches several as one")
        super().__init__(space, seed)
        self._seed = seed
        self._starts = starts
        self._log = log
        self._incumbents = Incumbents(counts)
        self._saved: list[float] = []
        """What each answer saved, as the log of time before / time after."""
        self._answers: dict[Config, Matrix] = {}
        self._asked: dict[Config, tuple[int, ...]] = {}
        self._proposed: set[Config] = set()
        self._elsewhere = 0
        """The number of answers, since the first proposal, to another sampler's proposals."""
        self._to_beat = np.full(self._incumbents.count, math.nan)
        """The best values of configs outside the space, such as hand-written kernels."""
        self._own_best = self._to_beat.copy()
        self._worked = 0
        self._transfer = transfer
        self._most_kept = thoroughness.most_kept
        encoding = Encoding(space)
        self._surrogates: tuple[Surrogate, ...] = ()
        self._source: CandidateSource | None = None
        if encoding.width:
            source = CandidateSource(space, encoding, seed, thoroughness.most_listed)
            self._source = source
            # Expectations from records are of capped values, so they only fit that transformation.
            views = (View.CAPPED,) if transfer else (View.CAPPED, View.SPEED)
            is_used = work is not None and work.tells and self._incumbents.is_counted
            known_work = work if is_used and transfer is None else None
            self._surrogates = tuple(
                Surrogate(
                    encoding, source, view, self._incumbents, transfer, known_work, thoroughness
                )
                for view in views
            )

    def prepare(self) -> None:
        """List the candidates and fit the records' models now; else the first proposal does it."""
        if self._source is not None:
            self._source.around(())
        if self._transfer is not None:
            self._transfer.prepare()

    def worthwhile(self, study: Study, config: Config) -> tuple[int, ...]:
        """Return the sizes with most of a config's expected gain."""
        with self._taking_turns:
            self._read(study)
            return self.plan(config)

    def expected_gain(self, study: Study, trials: int) -> ExpectedGain | None:
        """Return the expected gain of a number of trials; None in the starting phase."""
        with self._taking_turns:
            self._read(study)
            return self.gain_ahead(trials)

    def gain_ahead(self, trials: int) -> ExpectedGain | None:
        """Return the same for the trials that are known."""
        forecast = self._forecast()
        if forecast is None or not self._worked:
            return None
        gains = self._library_gains(forecast)
        order = np.argsort(-gains, kind="stable")[:trials]
        first = [number for number in order.tolist() if gains[number] >= 0]
        if not first:
            return ExpectedGain(0.0, trials, 0.0)
        alone = float(gains[first[0]])
        together = float(self._incumbents.shares @ forecast.together(first))
        # Random draws of the others give no more than this.
        ahead = min(max(alone, together), self._saved_lately(trials))
        return ExpectedGain(min(alone, ahead), trials, ahead)

    def _saved_lately(self, trials: int) -> float:
        """Return what as many trials, and at least `_LATELY`, saved at last, as a log.

        Gains decrease, but the model expects too much of its most promising configs: in a search
        of double kernels for an H200, 4 to 12 % of 100 more trials, which saved 0.01 to 0.12 %.
        """
        known = max(trials, _LATELY)
        return math.fsum(self._saved[-known:]) if len(self._saved) >= known else math.inf

    @property
    def incumbents(self) -> Incumbents:
        """The best values so far."""
        return self._incumbents

    @property
    def best(self) -> Matrix:
        """The best value of the space's configs by size, as a log; nan if there is none."""
        return self._own_best

    @property
    def tried(self) -> int:
        """The number of configs of the space that were proposed or answered."""
        return len(self._answers) + len(self._asked)

    @property
    def worked(self) -> int:
        """How many of them worked."""
        return self._worked

    def promise(self) -> Promise | None:
        """Return the model's next config; None if it cannot tell, or nothing is left.

        The gain is that of the most promising config near the best ones, wherever the next config
        comes from, as the model is too optimistic about configs far away.
        """
        forecast = self._forecast()
        config = None if forecast is None else self._most_promising(forecast)
        if forecast is None or config is None:
            return None
        gains = self._library_gains(forecast)
        near = gains[forecast.candidates.anywhere :]
        gain = float(near.max(initial=-1))
        gain = gain if gain >= 0 else float(gains.max())
        return Promise(config, self._worthwhile(config, forecast), gain)

    def plan(self, config: Config) -> tuple[int, ...]:
        """Return the sizes with most of a config's expected gain at this time."""
        return self._worthwhile(config, self._forecast())

    def draw(self) -> Config | None:
        """Return a config that was not visited, for a model that knows too little to choose.

        It is close to the best ones that worked, as most random configs of a large space are far
        slower than its default. Without such configs, or in a listed space, any config is drawn;
        None when there is none left.
        """
        near = self._close_to_best()
        if not near:
            return self._unvisited.draw()
        chance = np.random.default_rng((self._seed, self.tried))
        return near[int(chance.integers(len(near)))]

    def note(self, config: Config, sizes: tuple[int, ...], *, is_mine: bool = True) -> None:
        """Note the config that is tried next in a union, of this space or of another one."""
        self._unvisited.visit(config)
        if is_mine:
            self._proposed.add(config)
        if config in self._space:
            self._asked[config] = sizes

    def hear(self, config: Config, trial: FrozenTrial, sign: int) -> None:
        """Learn the result of a config of a union.

        Args:
            config: of this space or of another one.
            trial: that tried it.
            sign: -1 where the study maximises.
        """
        self._sign = sign
        self._unvisited.visit(config)
        self._learn(config, trial)

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        forecast = self._forecast()
        config = (forecast and self._most_promising(forecast)) or self._unvisited.draw()
        if config is not None:
            self._proposed.add(config)
            sizes = self._asked[config] = self._worthwhile(config, forecast)
            if self._incumbents.count > 1:
                set_attribute(study, trial, SIZES, list(sizes))
        return config

    def _avoid(self, config: Config) -> None:
        self._asked[config] = tuple(range(self._incumbents.count))

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        if config in self._answers:
            return
        found = self._found(trial)
        if found is None:
            return
        row = np.full(self._incumbents.count, math.nan)
        row[list(found)] = list(found.values())
        saved = self._incumbents.add(found)
        self._saved.append(math.inf if saved >= 1 else -math.log1p(-saved))
        if config not in self._space:
            self._to_beat = np.fmin(self._to_beat, row)
            return
        self._asked.pop(config, None)
        self._elsewhere += bool(self._proposed) and config not in self._proposed
        self._worked += bool(found)
        self._own_best = np.fmin(self._own_best, row)
        self._answers[config] = row if found else np.full(self._incumbents.count, math.inf)

    def _found(self, trial: FrozenTrial) -> dict[int, float] | None:
        """Return a trial's value on each size: empty if it failed; None if it has none."""
        if trial.state == TrialState.FAIL:
            return {}
        values = trial.intermediate_values
        if self._incumbents.count == 1:
            if trial.state == TrialState.PRUNED:
                return {} if values else None
            values = {0: trial.values[0]}
        known = {
            size: self._scaled(values[size]) for size in values if size < self._incumbents.count
        }
        return known or None

    def _scaled(self, value: float) -> float:
        """The value that is modelled; smaller is better."""
        if not math.isfinite(value):
            raise UsageError(f"guided: values must be finite, got {value}")
        if not self._log:
            return self._sign * value
        if value <= 0:
            raise UsageError(f"guided: values must be positive, got {value} (or give log=False)")
        return self._sign * math.log(value)

    def _most_promising(self, forecast: Forecast) -> Config | None:
        gains = self._choosing_gains(forecast)
        anywhere = forecast.candidates.anywhere
        looks_afar = self.tried % _LOOK_AFAR == 0
        if not looks_afar and gains[anywhere:].max(initial=-1) >= 0:
            gains[:anywhere] = -1
        chosen = int(np.argmax(gains))
        return forecast.candidates[chosen] if gains[chosen] >= 0 else None

    def _choosing_gains(self, forecast: Forecast) -> Matrix32:
        """Return the gains by which a config is chosen; -1 for visited ones.

        On one size the best answer may be out of all others' reach; among sizes there is a choice.
        """
        if self._incumbents.count > 1:
            return self._library_gains(forecast)
        free = self._free(forecast.candidates)
        gains: Matrix32 = forecast.gains_within_reach(free)[0]
        gains[~free] = -1
        return gains

    def _free(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Mark the candidates that were not visited."""
        return candidates.others((*self._answers, *self._asked))

    def _library_gains(self, forecast: Forecast) -> Matrix32:
        """Return the library's expected gain by each candidate; -1 for visited ones."""
        gains = self._incumbents.shares.astype(np.float32) @ forecast.gains
        gains[~self._free(forecast.candidates)] = -1
        return gains

    def _worthwhile(self, config: Config, forecast: Forecast | None) -> tuple[int, ...]:
        number = None if forecast is None else forecast.candidates.number(config)
        if forecast is None or number is None:
            return tuple(range(self._incumbents.count))
        gains = self._incumbents.shares * forecast.gains[:, number]
        order = np.argsort(-gains, kind="stable")
        held = np.cumsum(gains[order])
        needed = 1 + int(np.searchsorted(held, _TIMED_GAIN * held[-1]))
        return tuple(sorted(order[:needed].tolist()))

    def _forecast(self) -> Forecast | None:
        """Return the mean of the surrogates' expectations; None with too few answers."""
        starting = len(self._answers) < self._starts or self._worked < _KNOWN
        if not self._surrogates or (starting and self._transfer is None):
            return None
        with one_thread():
            if self._most_kept is not None:
                self._shorten(self._most_kept)
            posteriors = [
                one.expect(self._answers, tuple(self._asked), self._to_beat, self._elsewhere)
                for one in self._surrogates
            ]
            # In a union there may be sizes without a timed config of this space: no prediction for
            # these.
            unknown = np.isnan(self._own_best) & (self._most_kept is not None)
            return Forecast.of(self._surrogates[0].candidates, posteriors, unknown)

    def _close_to_best(self) -> list[Config]:
        """Return the candidates close to the best configs of the space, without visited ones."""
        if self._source is None or not self._worked:
            return []
        found = self._source.around(best_first(self._answers, self._incumbents))
        free = self._free(found)
        free[: found.anywhere] = False
        return [found[number] for number in np.flatnonzero(free).tolist()]

    def _shorten(self, most: int) -> None:
        """After a fit, keep the candidates with the largest expected gains."""
        fitted = [one.refit(self._answers, self._elsewhere) for one in self._surrogates]
        candidates = self._surrogates[0].candidates
        if not any(fitted) or len(candidates) <= most:
            return
        promised = np.sum([one.promising() for one in self._surrogates], axis=0)
        # Without answers since the fit, which a resumed search has earlier.
        seen = islice(self._answers, self._surrogates[0].fitted)
        promised[~candidates.others(seen)] = -1
        # Some of those from anywhere, as few of them would be among the best.
        anywhere = promised[: candidates.anywhere]
        first = np.argsort(-promised, kind="stable")[:most]
        chosen = np.union1d(first, np.argsort(-anywhere, kind="stable")[: most // 4]).tolist()
        kept = candidates.only(chosen)
        for one in self._surrogates:
            one.keep(kept, chosen)
