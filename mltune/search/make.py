"""Makes a sampler from its name, or from the name of a user's class."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.samplers import BaseSampler, BruteForceSampler, GridSampler

from mltune.errors import UsageError
from mltune.measurement.recording import Recording
from mltune.problem import Problem
from mltune.search.feasible_sampler import FeasibleSampler
from mltune.search.names import SAMPLERS, check_sampler
from mltune.search.sampler import ConfigSampler
from mltune.space.config_space import ConfigSpace
from mltune.space.union import UnionSpace, members_of

_NUMERIC = frozenset({"CmaEsSampler", "GPSampler", "QMCSampler"})
"""Optuna's samplers that need numbers, and draw categories at random."""


def make_sampler(
    name: str,
    space: ConfigSpace,
    seed: int,
    *,
    priors: Sequence[Recording] = (),
    counts: Sequence[int] = (1,),
    problems: Sequence[Problem] = (),
    arguments: Mapping[str, Any] | None = None,
) -> ConfigSampler:
    """Make a sampler.

    Args:
        name: one of `SAMPLERS`, or `module:Class` of an `optuna.samplers.BaseSampler`, which is
            made feasible here unless it is a `ConfigSampler`. It gets `seed` if it takes one.
        space: to search.
        seed: decides the proposals.
        priors: of `guided`.
        counts: how often each size is called.
        problems: one of each size, in the same order; empty without sizes.
        arguments: further arguments of a user's class.

    Raises:
        UsageError: when there is none of that name, it cannot use other records, they share
            nothing with the space, or the class refuses its arguments.
    """
    check_sampler(name)
    if priors and name != "guided":
        raise UsageError(f"--prior: only the sampler 'guided' learns from records, got '{name}'")
    if name == "guided":
        from mltune.search.guided import GuidedSampler
        from mltune.search.tile_quantization import TileQuantization
        from mltune.search.transfer import Transfer

        if isinstance(space, UnionSpace):
            from mltune.search.union_sampler import UnionSampler

            return UnionSampler(space, seed, counts, priors, problems)
        (flat,) = members_of(space)
        timed = [prior for prior in priors if prior.points]
        known = Transfer(flat, timed, seed) if timed else None
        work = TileQuantization(flat, problems) if problems else None
        return GuidedSampler(flat, seed, counts, known, work)
    if name in SAMPLERS:
        sampler: ConfigSampler = _named(SAMPLERS[name])(space, seed)
        return sampler
    return _own(name, space, seed, dict(arguments or {}))


def own_class(name: str) -> type[BaseSampler]:
    """Import the class that `module:Class` names; nothing of the module is called.

    Raises:
        UsageError: when there is none, or it is no sampler.
    """
    kind = _named(name)
    if not (isinstance(kind, type) and issubclass(kind, BaseSampler)):
        raise UsageError(f"sampler: {name} is no optuna.samplers.BaseSampler")
    return kind


def _own(name: str, space: ConfigSpace, seed: int, arguments: dict[str, Any]) -> ConfigSampler:
    kind = own_class(name)
    if "seed" in inspect.signature(kind).parameters:
        arguments.setdefault("seed", seed)
    try:
        if issubclass(kind, ConfigSampler):
            return kind(space, **arguments)
        sampler = kind(**arguments)
    except (TypeError, ValueError, ImportError) as error:
        raise UsageError(f"sampler: {name}: {error}") from error
    return made_feasible(space, sampler, seed)


def made_feasible(space: ConfigSpace, sampler: BaseSampler, seed: int) -> ConfigSampler:
    """Return a sampler as it is if it knows the space, else inside a `FeasibleSampler`.

    Raises:
        UsageError: when it cannot learn from other trials than its own proposals.
    """
    if isinstance(sampler, ConfigSampler):
        return sampler
    if isinstance(sampler, (BruteForceSampler, GridSampler)):
        raise UsageError(
            f"sampler: {type(sampler).__name__} takes no proposal but its own; 'exhaustive' tries "
            "all feasible configs"
        )
    numeric = type(sampler).__name__ in _NUMERIC
    return FeasibleSampler(space, sampler, seed, numeric=numeric)


def _named(name: str) -> Any:
    """Import `module:attribute`."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UsageError(f"sampler: {name}: {error}") from error
