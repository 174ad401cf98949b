"""Several spaces as one: a config names its kernel family, and has that family's parameters.

In a union the family is a further parameter of a config. Records keep it beside the config, as for
a single space: `with_family` and `without_family` convert between the two forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from typing import Protocol, cast

import numpy as np

from mltune.errors import UsageError
from mltune.space.config import Config, Value
from mltune.space.config_space import ConfigSpace, FlatSpace
from mltune.space.parameter import Parameter
from mltune.space.space import Space

FAMILY = "family"
"""The parameter of a union, and of a trial in any study, that names the kernel family."""


def family_parameter(family: str) -> Parameter:
    """Return the parameter for the family that all configs of one family share in a union."""
    return Parameter(FAMILY, (family,), "kernel family")


def with_family(config: Config, family: str) -> Config:
    """Add the name of its family to a config."""
    return Config.of({**config.to_json(), FAMILY: family})


def without_family(config: Config) -> Config:
    """Remove the name of its family from a config."""
    return Config(tuple(item for item in config.items_ if item[0] != FAMILY))


class Member(FlatSpace, Protocol):
    """A space whose configs name their family: `FAMILY` is a parameter with one value."""

    @property
    def default(self) -> Config | None:
        """The config to try first; None if the space names none."""
        ...


class UnionSpace:
    """The configs of several spaces, each of one family; a `ConfigSpace`.

    Several members may have the same family. A config that is in two of them counts once.

    Args:
        name: for information.
        members: at least one.

    Raises:
        UsageError: when there is no member, or one does not name its family.
    """

    def __init__(self, name: str, members: Sequence[Member]) -> None:
        if not members:
            raise UsageError(f"space '{name}': needs at least one member")
        for member in members:
            if not any(
                one.name == FAMILY and one.values == (member.family,) for one in member.parameters
            ):
                raise UsageError(f"space '{name}': member '{member.name}' names no family")
        self.name = name
        self.members = tuple(members)
        self.families = tuple(dict.fromkeys(member.family for member in members))
        self.family = ", ".join(self.families)
        self.parameters = _together(name, members)

    @cached_property
    def size(self) -> int:
        """The number of configs."""
        return sum(
            member.size - _also_in(member, self.members[:number])
            for number, member in enumerate(self.members)
        )

    def of_family(self, family: str) -> tuple[Member, ...]:
        """Return the members of a family."""
        return tuple(member for member in self.members if member.family == family)

    def __contains__(self, config: object) -> bool:
        return any(config in member for member in self.members)

    def __iter__(self) -> Iterator[Config]:
        for number, member in enumerate(self.members):
            earlier = _alike(member, self.members[:number])
            yield from (
                config for config in member if not any(config in other for other in earlier)
            )

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs, equally many of each family, and of its members likewise."""
        drawn = [
            in_turns([member.sample(rng, count) for member in self.of_family(family)])
            for family in self.families
        ]
        return tuple(in_turns(drawn)[:count])

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Return configs close to some values of a member's parameters, in that member.

        Raises:
            UsageError: when the values belong to no member.
        """
        for member in self.members:
            if all(
                parameter.name in values and values[parameter.name] in parameter.values
                for parameter in member.parameters
            ):
                return member.near(values, count)
        raise UsageError(f"space '{self.name}': no member has the values {dict(values)}")


def members_of(space: ConfigSpace) -> tuple[FlatSpace, ...]:
    """Return the members of a union; for another space, that space."""
    return space.members if isinstance(space, UnionSpace) else (cast(FlatSpace, space),)


def _together(name: str, members: Sequence[Member]) -> tuple[Parameter, ...]:
    """Return all parameters, each with the values of all members."""
    values: dict[str, dict[Value, None]] = {FAMILY: {}}
    meanings: dict[str, str] = {}
    for parameter in chain.from_iterable(member.parameters for member in members):
        values.setdefault(parameter.name, {}).update(dict.fromkeys(parameter.values))
        meanings.setdefault(parameter.name, parameter.meaning)
    return tuple(
        Parameter(each, tuple(found), meanings[each], where=f"space '{name}'")
        for each, found in values.items()
    )


def in_turns(lists: Sequence[Sequence[Config]]) -> list[Config]:
    """Return the first item of each list, then the second of each, and so on; each config once."""
    turns = chain.from_iterable(zip_longest(*lists))
    return list(dict.fromkeys(config for config in turns if config is not None))


def _alike(member: Member, others: Sequence[Member]) -> list[Member]:
    """Return the other members that may contain a config of a member."""
    names = {parameter.name for parameter in member.parameters}
    return [
        other
        for other in others
        if other.family == member.family and {one.name for one in other.parameters} == names
    ]


def _also_in(member: Member, earlier: Sequence[Member]) -> int:
    """Count the configs of a member that others contain."""
    alike = _alike(member, earlier)
    if not alike:
        return 0
    if isinstance(member, Space) and all(isinstance(other, Space) for other in alike):
        return member.size - member.size_without(
            [other for other in alike if isinstance(other, Space)]
        )
    return sum(any(config in other for other in alike) for config in member)
