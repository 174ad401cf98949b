"""All parameters of one kernel family, and the check of a config against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.parameters.param import IntParam, Limit, Param
from mltune.kernel.rules import Settings, refusal
from mltune.problem.compute_type import ComputeType
from mltune.problem.precision import Precision
from mltune.space.config import Config, Value
from mltune.space.domain import Condition, Domain, IntDomain, infer
from mltune.space.expression import Evaluator, evaluator, slots_of
from mltune.space.names import OUTSIDE_NAMES, precision_names
from mltune.space.parser import parse


@dataclass(frozen=True, kw_only=True)
class FamilyParameters:
    """The parameters of a family.

    Attributes:
        family: its name.
        params: in the order of the docs.
        macro_tile: two pairs of parameters whose products are the macro tile's sides.

    Raises:
        UsageError: when a limit has an unknown name, or is no condition.
    """

    family: str
    params: tuple[Param, ...]
    macro_tile: tuple[str, str]

    def __post_init__(self) -> None:
        scope: dict[str, Domain] = dict.fromkeys(OUTSIDE_NAMES, IntDomain(0, 2**62))
        scope |= {param.name: param.domain for param in self.params}
        for param in self.params:
            applies = [parse(param.applies_when)] if param.applies_when else []
            for rule in (*applies, *(limit.tree for limit in param.limits)):
                if not isinstance(infer(rule, scope), Condition):
                    raise UsageError(f"{self.family}: {param.name}: {rule} is no condition")

    @cached_property
    def by_name(self) -> Mapping[str, Param]:
        """The parameters by name."""
        return {param.name: param for param in self.params}

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        """The values of parameters that a config may leave out."""
        return {one.name: one.default for one in self.params if one.default is not None}

    def read(
        self, config: Config, precision: Precision, compute: ComputeType = ComputeType.FULL
    ) -> Settings:
        """Check a config, also one parameter against another, and fill in the defaults.

        Args:
            config: to check.
            precision: of the problem type.
            compute: of the problem type, for a family that rounds.

        Raises:
            UsageError: when a parameter is missing or unknown, or has a value that is refused.
            UnsupportedError: when the value is right in another precision.
        """
        given = dict(config.items_)
        for name in given:
            if name not in self.by_name:
                raise UsageError(
                    f"kernel family {self.family}: unknown parameter '{name}' "
                    f"(known: {', '.join(self.by_name)})"
                )
        values: dict[str, Value] = {}
        for param in self.params:
            if param.name in given or param.default is None:
                whole = isinstance(param, IntParam)
                value = config.int(param.name) if whole else config.word(param.name)
                if not param.accepts(value):
                    raise refusal(self.family, param.name, value, param.wanted)
            else:
                value = param.default
            values[param.name] = value
        row = (*values.values(), *precision_names(precision, compute=compute).values())
        for param, limit, holds in self._limits:
            if not holds(row):
                name = precision.name.lower()
                if compute is not ComputeType.FULL:
                    name += f" with compute type {compute.value}"
                wanted = limit.wanted.format(**values, precision=name)
                error = refusal(self.family, param.name, values[param.name], wanted)
                raise UnsupportedError(str(error)) if limit.needs_precision else error
        return Settings(self.family, Config.of(values), self.macro_tile)

    @cached_property
    def _limits(self) -> tuple[tuple[Param, Limit, Evaluator], ...]:
        slots = slots_of([*self.by_name, *precision_names(Precision.SINGLE)])
        return tuple(
            (param, limit, evaluator(limit.tree, slots))
            for param in self.params
            for limit in param.limits
            if not limit.needs_device
        )
