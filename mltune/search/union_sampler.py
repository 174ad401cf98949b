"""Search a union with a model for each of its spaces, which compete for the next trial.

All models share the incumbents, the best values of every size so far, so that their expected gains
can be compared: the next trial is the config of any space with the largest expected gain for the
library. A space with a small expected gain gets no trial until the others' gains are smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.errors import UsageError
from mltune.measurement.recording import Recording
from mltune.problem import Problem
from mltune.search.expected_gain import ExpectedGain
from mltune.search.guided import GuidedSampler, Promise
from mltune.search.sampler import BEST, SIZES, ConfigSampler, set_attribute
from mltune.search.surrogate import THRIFTY
from mltune.search.tile_quantization import TileQuantization
from mltune.search.transfer import Transfer, usable
from mltune.space.config import Config
from mltune.space.union import Member, UnionSpace, in_turns

_STARTS = 3
"""Trials of each space before its model is used: the default, then configs close to the best."""
_MOST_STARTS = 6
"""The most such trials, if too few of them worked."""
_KNOWN = 2
"""The number of trials that have to work."""
_FAR_BEHIND = math.log(1.5)
"""If a space's default is slower by this factor on every size than the best of others, its second
and third trial come later: after `_PATIENCE` trials of all spaces for each.
"""
_PATIENCE = 30
_MOST_LEADERS = 64
"""Kernels of selectors and packs that are tried first."""
_VAIN = 16
"""After so many of them in a row that were the best on no size, no further ones come first, except
those of the same device and problem type: a result has to be better than these.
"""


@dataclass(slots=True, eq=False)
class _Contender:
    """A space of the union.

    Attributes:
        model: of the space.
        knows: whether the model has a prior.
        promise: the model's last promise; None if it cannot tell, or has nothing left.
        bound: an upper bound of the space's promises.
    """

    space: Member
    model: GuidedSampler
    knows: bool
    promise: Promise | None = None
    bound: float = math.inf


class UnionSampler(ConfigSampler):
    """Proposes the config of a union from which the library is expected to gain most.

    Each space begins with its default config and some close to it, one space after the other. They
    are timed on all sizes, the quick ones first, or on a part of them if the space is slow. After
    the defaults come the leaders that the priors name, as long as now and then one of them
    is the best on some size. Then the models compete.

    Args:
        space: to search.
        seed: decides every proposal, given the answers.
        counts: how often each size is called; see `Incumbents`.
        priors: other records; a space learns from those that share its parameters.
        problems: one of each size, in the same order; empty without sizes.

    Raises:
        UsageError: when there are priors that no space can learn from.
    """

    def __init__(
        self,
        space: UnionSpace,
        seed: int,
        counts: Sequence[int],
        priors: Sequence[Recording] = (),
        problems: Sequence[Problem] = (),
    ) -> None:
        super().__init__(space, seed)
        transfers = transfers_of(space, priors, seed)
        self._leaders = leaders_of(space, priors)
        self._own = frozenset(config for each in priors if each.is_own for config in each.leaders)
        self._vain = 0
        """How many leaders in a row were the best on no size."""
        self._contenders = [
            _Contender(
                member,
                GuidedSampler(
                    member,
                    seed,
                    counts,
                    transfer,
                    TileQuantization(member, problems) if problems else None,
                    starts=0,
                    thoroughness=THRIFTY,
                ),
                transfer is not None,
            )
            for member, transfer in zip(space.members, transfers, strict=True)
        ]
        self._incumbents = self._contenders[0].model.incumbents
        self._shares = self._incumbents.shares
        self._all = tuple(range(self._incumbents.count))

    def prepare(self) -> None:
        """Let each model learn from its records."""
        for one in self._contenders:
            one.model.prepare()

    def worthwhile(self, study: Study, config: Config) -> tuple[int, ...]:
        """Return the sizes with most of a config's expected gain."""
        owners = [one for one in self._contenders if config in one.space]
        if not owners:
            return self._all
        with self._taking_turns:
            self._read(study)
            if any(map(self._is_starting, owners)):
                return self._quick_first
            # For a config in several spaces, the space that would have proposed it decides.
            best = self._most_promising() if len(owners) > 1 else owners[0]
            return (best if best in owners else owners[0]).model.plan(config)

    def expected_gain(self, study: Study, trials: int) -> ExpectedGain | None:
        """Return the most promising space's expectation; None while all begin."""
        with self._taking_turns:
            self._read(study)
            best = self._most_promising()
            return None if best is None else best.model.gain_ahead(trials)

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        config, sizes = self._start() or self._best() or (self._unvisited.draw(), self._all)
        if config is None:
            return None
        is_first = self._total == 0
        self._note(config, sizes, is_mine=True)
        if len(self._all) > 1:
            set_attribute(study, trial, SIZES, list(sizes))
            # The first one is what the gain is compared with, on all sizes.
            if not is_first and sizes == self._quick_first and self._sign > 0:
                times = self._incumbents.best
                best = np.exp(times).tolist() if np.isfinite(times).all() else []
                set_attribute(study, trial, BEST, best)
        return config

    def _start(self) -> tuple[Config, tuple[int, ...]] | None:
        """Return the next default, leader, or config of the beginning space with fewest trials."""
        starting = [
            one
            for one in sorted(self._contenders, key=lambda each: each.model.tried)
            if self._is_starting(one)
        ]
        for one in starting:
            default = one.space.default
            if default is not None and default in self._unvisited:
                return default, self._quick_first
        for leader in self._leaders:
            if leader in self._unvisited and (leader in self._own or self._vain < _VAIN):
                return leader, self._quick_first
        for one in starting:
            if (config := one.model.draw()) is not None:
                return config, self._quick_first
        return None

    def _is_starting(self, one: _Contender) -> bool:
        tried, worked = one.model.tried, one.model.worked
        if one.knows:
            return tried < 1
        if tried >= (_STARTS if worked >= _KNOWN else _MOST_STARTS):
            return False
        return tried < 1 or not self._is_far_behind(one) or self._total >= _PATIENCE * tried

    def _is_far_behind(self, one: _Contender) -> bool:
        """Whether a space's working configs are much slower on every size than others' best."""
        ahead = one.model.best - self._incumbents.best
        return bool(np.isfinite(ahead).any() and np.nanmin(ahead) > _FAR_BEHIND)

    @property
    def _total(self) -> int:
        """Return the number of configs tried in all spaces."""
        return sum(one.model.tried for one in self._contenders)

    @property
    def _quick_first(self) -> tuple[int, ...]:
        """Return all sizes, those first on which the best configs are fastest."""
        order = np.argsort(self._incumbents.best, kind="stable")
        return tuple(order.tolist())

    def _best(self) -> tuple[Config, tuple[int, ...]] | None:
        best = self._most_promising()
        if best is None or best.promise is None:
            return None
        return best.promise.config, best.promise.sizes

    def _most_promising(self) -> _Contender | None:
        """Ask the models in the order of their bounds, until no other can promise more.

        Without a new result of its space a model's promise cannot grow, because the values to beat
        only improve.
        """
        self._loosen()
        best: _Contender | None = None
        for one in sorted(self._contenders, key=lambda each: -each.bound):
            if best is not None and best.bound >= one.bound:
                break
            if one.bound > -1 and not self._is_starting(one):
                one.promise = one.model.promise()
                one.bound = -1.0 if one.promise is None else one.promise.gain
                if one.promise is not None and (best is None or one.bound > best.bound):
                    best = one
        return best

    def _loosen(self) -> None:
        """Adjust the bounds to the present shares of sizes."""
        shares, before = self._incumbents.shares, self._shares
        self._shares = shares
        grown = shares[shares > 0] / np.maximum(before[shares > 0], 1e-300)
        factor = float(grown.max(initial=1.0))
        for one in self._contenders:
            if one.bound > 0:
                one.bound *= factor

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        before = self._incumbents.best
        for one in self._contenders:
            one.model.hear(config, trial, self._sign)
        if config in self._leaders and config not in self._own:
            leads = bool((self._incumbents.best < before).any())
            self._vain = 0 if leads else self._vain + 1
        self._renew(config)

    def _avoid(self, config: Config) -> None:
        self._note(config, self._all, is_mine=False)

    def _note(self, config: Config, sizes: tuple[int, ...], *, is_mine: bool) -> None:
        for one in self._contenders:
            one.model.note(config, sizes, is_mine=is_mine)
        self._renew(config)

    def _renew(self, config: Config) -> None:
        """Let spaces be asked again that contain a config with a new result."""
        for one in self._contenders:
            if config in one.space:
                one.bound = math.inf


def leaders_of(space: UnionSpace, priors: Sequence[Recording]) -> tuple[Config, ...]:
    """Return the leaders of records that a union has: all of the first one, then in turns.

    Those of the same device and problem type come before others.

    Raises:
        UsageError: when a record without times has no leader that the union has.
    """
    found = []
    for prior in sorted(priors, key=lambda each: not each.is_own):
        own = [config for config in prior.leaders if config in space]
        if not own and not prior.points:
            raise UsageError(f"{prior.where}: none of its kernels is in the space '{space.name}'")
        if own:
            found.append(own)
    if not found:
        return ()
    return tuple(dict.fromkeys([*found[0], *in_turns(found[1:])]))[:_MOST_LEADERS]


def transfers_of(
    space: UnionSpace, priors: Sequence[Recording], seed: int
) -> list[Transfer | None]:
    """Return what each space learns from records: from those that share its parameters.

    A record that names its space or its family is only used for that one, if it is in the union.
    One without times teaches nothing.

    Raises:
        UsageError: when no space can learn from a record, with the reason, and none has a leader
            of it.
    """
    shared: list[list[Recording]] = [[] for _ in space.members]
    for prior in priors:
        if not prior.points:
            continue
        refusal: UsageError | None = None
        for number, member in enumerate(space.members):
            if not _is_for(prior, member, space):
                continue
            try:
                usable(member.parameters, prior)
            except UsageError as error:
                refusal = refusal or error
            else:
                shared[number].append(prior)
        is_used = any(prior in found for found in shared) or any(
            config in space for config in prior.leaders
        )
        if refusal is not None and not is_used:
            raise refusal
    return [
        Transfer(member, found, seed) if found else None
        for member, found in zip(space.members, shared, strict=True)
    ]


def _is_for(prior: Recording, member: Member, space: UnionSpace) -> bool:
    """Whether a record may be of a space of a union, as far as the record says."""
    if any(_stem(each) == prior.space for each in space.members):
        return _stem(member) == prior.space
    return prior.family not in space.families or member.family == prior.family


def _stem(member: Member) -> str:
    return PurePath(member.name).stem
