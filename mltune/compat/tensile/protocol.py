"""A protocol: problem types, each with groups of kernels and sizes, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mltune.problem import Contraction, Size
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter with Tensile's name and its values; each sets some of mltune's parameters."""

    name: str
    values: tuple[Config, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Parameters whose combinations are compared with each other, and the sizes for this.

    Attributes:
        where: its place in the file, for messages.
    """

    choices: tuple[Choice, ...]
    sizes: tuple[Size, ...]
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The seven steps for one group of problem sizes.

    Attributes:
        initial: settings of all kernels.
        join: names of parameters; None if no kernel is dropped.
        join_sizes: on which the kernels to be joined are compared.
    """

    initial: tuple[Choice, ...]
    common: tuple[Step, ...]
    fork: tuple[Choice, ...]
    fork_steps: tuple[Step, ...]
    join: tuple[str, ...] | None
    join_sizes: tuple[Size, ...]
    join_steps: tuple[Step, ...]
    final_sizes: tuple[Size, ...]

    @property
    def choices(self) -> Iterator[Choice]:
        """All parameters of all steps."""
        yield from self.initial
        for step in self.common:
            yield from step.choices
        yield from self.fork
        for step in (*self.fork_steps, *self.join_steps):
            yield from step.choices

    @property
    def step_sizes(self) -> tuple[Size, ...]:
        """The sizes of all steps before the last one."""
        steps = (*self.common, *self.fork_steps, *self.join_steps)
        joined = self.join_sizes if self.join is not None else ()
        return tuple(dict.fromkeys((*(size for step in steps for size in step.sizes), *joined)))


@dataclass(frozen=True, slots=True)
class Problems:
    """One problem type with its groups."""

    contraction: Contraction
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """The content of a protocol's file.

    Attributes:
        name: of the file.
        text: of the file.
        samples: timed launches of each measurement; None if the file does not say.
        notes: one line for every setting without an effect in mltune.
    """

    name: str
    text: str
    problems: tuple[Problems, ...]
    samples: int | None = None
    notes: tuple[str, ...] = ()
