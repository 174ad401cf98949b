"""One parameter of a kernel family, declared once.

Kernel names, the checks of configs and of space files, the tables of docs/parameters.md and
Tensile's spelling are all derived from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mltune.device_info import limit_names
from mltune.problem.precision import Precision
from mltune.space.config import Value
from mltune.space.domain import Domain, EnumDomain, IntDomain
from mltune.space.expression import Node, names
from mltune.space.names import precision_names
from mltune.space.parser import parse

_LARGEST = 2**31
_DEVICE_NAMES = limit_names()
_PRECISION_NAMES = frozenset(precision_names(Precision.SINGLE))


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition on a parameter and others.

    The text is an expression as in the constraints of a space's file. It may name the parameters
    of the family and properties of the precision. If it names a device's limits, it is checked
    when the device is known: it is a constraint of every space of the family.

    Attributes:
        text: the condition.
        wanted: the condition in words, for messages. `{depth_u}` stands for a value, `{precision}`
            for its name.
    """

    text: str
    wanted: str
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", parse(self.text))

    @property
    def needs_device(self) -> bool:
        """Whether only a space, which is bound to a device, can be checked."""
        return bool(names(self.tree) & _DEVICE_NAMES)

    @property
    def needs_precision(self) -> bool:
        """Whether refused values may be right in another precision."""
        return bool(names(self.tree) & _PRECISION_NAMES)


@dataclass(frozen=True, slots=True)
class Tensile:
    """Tensile's name and values of a parameter.

    Attributes:
        key: its name there.
        place: in the list of numbers that Tensile writes for several of mltune's parameters.
        words: Tensile's words with mltune's values; empty if both have the same numbers. `True`
            and `False` may also be read as 1 and 0.
        writes_numbers: whether these two are written as 1 and 0.
        automatic: mltune's value for Tensile's -1, if it has a meaning.
    """

    key: str
    place: int | None = None
    words: tuple[tuple[str, Value], ...] = ()
    writes_numbers: bool = False
    automatic: int | None = None


def switch(key: str, off: Value = 0, on: Value = 1, *, writes_numbers: bool = False) -> Tensile:
    """Return the form of a parameter that is False or True in Tensile."""
    return Tensile(key, words=(("False", off), ("True", on)), writes_numbers=writes_numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Param:
    """The properties of all parameters.

    Attributes:
        name: in configs and spaces. Two that end in _0 and _1 and share an abbreviation are one
            word of kernel names, such as `TT8x4`.
        abbreviation: in kernel names; capital letters.
        meaning: a description, as in docs/parameters.md.
        default_means: what the default stands for.
        applies_when: the condition under which it changes the kernel; elsewhere spaces have one
            value of it. Empty if it always does.
        limits: conditions on it and other parameters.
        tensile: its name and values in Tensile; None if Tensile lacks it.
    """

    name: str
    abbreviation: str
    meaning: str
    default_means: str = ""
    applies_when: str = ""
    limits: tuple[Limit, ...] = ()
    tensile: Tensile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntParam(_Param):
    """A parameter whose value is a whole number.

    Attributes:
        lowest: the smallest value, if `values` is empty.
        values: all allowed values; empty for every number from `lowest` on.
        default: the value in a config that lacks the parameter; None if it must be given.
    """

    lowest: int = 1
    values: tuple[int, ...] = ()
    default: int | None = None

    @property
    def least(self) -> int:
        """The smallest value that can be given."""
        return min(self.values) if self.values else self.lowest

    @property
    def wanted(self) -> str:
        """The values in words."""
        if not self.values:
            return f"at least {self.lowest}"
        *most, last = map(str, self.values)
        return f"{', '.join(most)} or {last}" if most else last

    @property
    def domain(self) -> Domain:
        """The domain of the parameter in an expression."""
        default = self.least if self.default is None else self.default
        return IntDomain(min(self.least, default), max(self.values or (_LARGEST,)))

    def accepts(self, value: Value) -> bool:
        """Whether it is one of the values."""
        if not isinstance(value, int):
            return False
        return value in self.values if self.values else value >= self.lowest


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumParam(_Param):
    """A parameter whose value is one of a few words; see `IntParam`."""

    values: tuple[str, ...]
    default: str | None = None

    @property
    def wanted(self) -> str:
        """The values in words."""
        return " or ".join(self.values)

    @property
    def domain(self) -> Domain:
        """The domain of the parameter in an expression."""
        return EnumDomain(self.values)

    def accepts(self, value: Value) -> bool:
        """Whether it is one of the values."""
        return value in self.values


Param = IntParam | EnumParam


def pair(
    param: IntParam, limits: Callable[[str], tuple[Limit, ...]] = lambda axis: ()
) -> tuple[IntParam, IntParam]:
    """Return a parameter along d0 and along d1.

    Args:
        param: whose name and meaning lack the axis.
        limits: those along axis `0` or `1`.
    """
    first, second = (
        replace(
            param,
            name=f"{param.name}_{axis}",
            meaning=f"{param.meaning} along d{axis}",
            limits=limits(axis),
            tensile=param.tensile and replace(param.tensile, place=int(axis)),
        )
        for axis in "01"
    )
    return first, second
