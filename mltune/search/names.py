"""The samplers by name, the form of users' names, and their seeds; loads no sampler."""

from __future__ import annotations

from mltune.errors import UsageError
from mltune.unknown import unknown

SAMPLERS: dict[str, str] = {
    "evolution": "mltune.search.evolution:EvolutionSampler",
    "exhaustive": "mltune.search.exhaustive:ExhaustiveSampler",
    "guided": "mltune.search.guided:GuidedSampler",
    "random": "mltune.search.random:RandomSampler",
    "tpe": "mltune.search.feasible_sampler:tpe",
}
"""`module:class` or `module:function` by name; it takes a space and a seed."""

MOST_SEED = 2**31 - 1
"""Numpy and scikit-learn take seeds of 32 bits, and seeds are derived from the given one."""
MOST_SECONDS = 10**9
"""The longest time limit: no clock waits for much longer."""


def check_sampler(name: str) -> None:
    """Refuse a name of the wrong form.

    Raises:
        UsageError: when it is neither known nor `module:Class`.
    """
    if not is_sampler(name):
        raise UsageError(f"{unknown('sampler', name, SAMPLERS)}; or give module:Class")


def is_sampler(name: str) -> bool:
    """Whether a name is a sampler's; runs of sweeps and protocols have their own words instead."""
    return name in SAMPLERS or is_own(name)


def is_own(name: str) -> bool:
    """Whether a sampler's name is that of a class outside of mltune."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), attribute))
