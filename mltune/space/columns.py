"""The rules of a space for many points at once, by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.space.constraint import Constraint, Derived
from mltune.space.domain import Domain, Numbers, fits_in_64_bits
from mltune.space.expression import Node, Number, column_evaluator, slots_of, substitute
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks


class Columns:
    """The derived values and constraints of a space, a column of points at a time.

    Args:
        parameters: what varies.
        derived: numbers that follow from the parameters and from those before them.
        constraints: conditions on both.
        limits: other names that rules may use, with their values.

    Attributes:
        exact: whether all that is computed fits into 64 bits; numpy wraps what does not.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        derived: Sequence[Derived],
        constraints: Sequence[Constraint],
        limits: Mapping[str, int],
    ) -> None:
        self._values = [np.array(parameter.values) for parameter in parameters]
        scope: dict[str, Domain] = {name: Numbers(one, one) for name, one in limits.items()}
        scope |= {parameter.name: parameter.domain for parameter in parameters}
        for rule in derived:
            scope[rule.name] = rule.infer(scope)
        self.exact = all(fits_in_64_bits(rule.tree, scope) for rule in (*derived, *constraints))
        fixed: dict[str, Node] = {name: Number(value) for name, value in limits.items()}
        slots = slots_of([*(one.name for one in parameters), *(one.name for one in derived)])
        self._formulas, self._conditions = (
            [column_evaluator(substitute(rule.tree, fixed), slots) for rule in rules]
            for rules in (derived, constraints)
        )

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows that satisfy all constraints."""
        row = [values[column] for values, column in zip(self._values, ranks.T, strict=True)]
        for formula in self._formulas:
            row.append(formula(row))
        allowed = np.ones(len(ranks), dtype=np.bool_)
        for condition in self._conditions:
            allowed &= condition(row)
        return allowed
