"""The rules of a space for many points at once, by numpy, with a column for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.space.constraint import Constraint, Derived
from mltune.space.domain import Domain, IntDomain, fits_in_64_bits
from mltune.space.expression import OPERATORS, Node, Number, compiled, slots_of, substitute
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks

ColumnOperators = Mapping[str, Callable[..., Any]]

COLUMN_OPERATORS: ColumnOperators = {
    **OPERATORS,
    "not": np.logical_not,
    "min": lambda *operands: reduce(np.minimum, operands),
    "max": lambda *operands: reduce(np.maximum, operands),
}
"""The operators for columns of words or of numbers, which wrap around at 64 bits."""

LARGE_COLUMN_OPERATORS: ColumnOperators = {
    symbol: np.vectorize(operation, otypes=[object]) for symbol, operation in OPERATORS.items()
}
"""The operators for columns of Python's own numbers, which have any size and are slow."""


class Columns:
    """The derived values and constraints of a space.

    Args:
        parameters: of the space.
        derived: numbers computed from the parameters and from earlier derived values.
        constraints: conditions on both.
        limits: other names that rules may use, with their values.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        derived: Sequence[Derived],
        constraints: Sequence[Constraint],
        limits: Mapping[str, int],
    ) -> None:
        scope: dict[str, Domain] = {name: IntDomain(one, one) for name, one in limits.items()}
        scope |= {parameter.name: parameter.domain for parameter in parameters}
        for value in derived:
            scope[value.name] = value.infer(scope)
        fits = all(fits_in_64_bits(rule.tree, scope) for rule in (*derived, *constraints))
        operators = COLUMN_OPERATORS if fits else LARGE_COLUMN_OPERATORS
        self._values = [np.array(one.values, None if fits else object) for one in parameters]
        self._names = [rule.name for rule in derived]
        slots = slots_of([*(one.name for one in parameters), *self._names])
        fixed: dict[str, Node] = {name: Number(value) for name, value in limits.items()}
        self._formulas, self._conditions = (
            [compiled(substitute(rule.tree, fixed), slots, operators) for rule in rules]
            for rules in (derived, constraints)
        )

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows that satisfy all constraints."""
        columns = self._columns(ranks)
        allowed = np.ones(len(ranks), dtype=np.bool_)
        for condition in self._conditions:
            allowed &= np.asarray(condition(columns), dtype=np.bool_)
        return allowed

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Compute the derived values of each row, as floats."""
        columns = self._columns(ranks)[len(self._values) :]
        return {
            name: np.broadcast_to(np.asarray(column, dtype=np.float64), len(ranks))
            for name, column in zip(self._names, columns, strict=True)
        }

    def _columns(self, ranks: Ranks) -> list[Any]:
        """Return a column for each parameter and derived value; one value if it is constant."""
        columns = [values[rank] for values, rank in zip(self._values, ranks.T, strict=True)]
        for formula in self._formulas:
            columns.append(formula(columns))
        return columns
