"""Spaces of kernel families from files, with the families' own conditions on their parameters.

A space's file has the values to search. Conditions on every config of the family are declared with
the family's parameters, and become constraints of the space here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mltune.errors import UsageError
from mltune.kernel.parameters import DECLARED
from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import Param
from mltune.space.config import Value
from mltune.space.constraint import Constraint
from mltune.space.domain import Domain, EnumDomain, IntDomain
from mltune.space.expression import Name, Node, Number, Operation, Word, names
from mltune.space.load import SpaceFile
from mltune.space.load import load_space as load_any
from mltune.space.load import parse_space as parse_any
from mltune.space.names import OUTSIDE_NAMES
from mltune.space.parameter import Parameter
from mltune.space.parser import parse
from mltune.space.specialize import specialize, to_text
from mltune.unknown import unknown


def load_space(path: str | Path) -> SpaceFile:
    """Read and check a space's file, also against its kernel family.

    Raises:
        UsageError: when it cannot be read, or with the first mistake in it and its line.
    """
    file = load_any(path)
    if file.family in DECLARED:
        _check(file, DECLARED[file.family])
    return with_limits(file)


def parse_space(text: str, name: str) -> SpaceFile:
    """Read the text of a space's file, such as the one that a run keeps.

    Values that the family no longer has are allowed here: their kernels cannot be built.

    Args:
        text: YAML.
        name: of the file, for messages.

    Raises:
        UsageError: with the first mistake and its line.
    """
    return with_limits(parse_any(text, name))


def with_limits(file: SpaceFile) -> SpaceFile:
    """Add the meanings and the limits of the family's parameters; other families have none."""
    if file.family not in DECLARED:
        return file
    family = DECLARED[file.family]
    given = {rule.text for rule in file.constraints}
    limits = {rule.text: rule for rule in _limits(file, family) if rule.text not in given}
    return replace(
        file,
        parameters=tuple(_with_meaning(each, family) for each in file.parameters),
        constraints=(*file.constraints, *limits.values()),
    )


def _check(file: SpaceFile, family: FamilyParameters) -> None:
    """Refuse parameters and values that no config of the family has, and missing parameters."""
    for parameter in file.parameters:
        param = family.by_name.get(parameter.name)
        if param is None:
            known = unknown("parameter", parameter.name, family.by_name)
            raise UsageError(f"{parameter.where}: kernel family {family.family}: {known}")
        for value in parameter.values:
            if not param.accepts(value):
                raise UsageError(
                    f"{parameter.label}: kernel family {family.family}: "
                    f"must be {param.wanted}, got {value!r}"
                )
    given = {parameter.name for parameter in file.parameters}
    needed = [param.name for param in family.params if param.default is None]
    if missing := [name for name in needed if name not in given]:
        raise UsageError(
            f"{file.parameters[0].where}: kernel family {family.family}: 'parameters' lacks "
            f"{', '.join(missing)}"
        )


def _with_meaning(parameter: Parameter, family: FamilyParameters) -> Parameter:
    param = family.by_name.get(parameter.name)
    if parameter.meaning or param is None:
        return parameter
    return replace(parameter, meaning=param.meaning)


def _limits(file: SpaceFile, family: FamilyParameters) -> Iterator[Constraint]:
    """The limits of the parameters, as far as they are not decided in this space.

    Raises:
        UsageError: when no config can satisfy one.
    """
    scope: dict[str, Domain] = dict.fromkeys(OUTSIDE_NAMES, IntDomain(0, 2**62))
    scope |= {
        param.name: _domain_of(param.default)
        for param in family.params
        if param.default is not None
    }
    searched = {parameter.name: parameter for parameter in file.parameters}
    scope |= {name: parameter.domain for name, parameter in searched.items()}
    here = file.parameters[0].where.rpartition(":")[0] or f"space '{file.name}'"
    for param in family.params:
        where = searched[param.name].where if param.name in searched else here
        where += f": kernel family {family.family}"
        conditions = [limit.tree for limit in param.limits]
        if param.name in searched and param.applies_when:
            conditions.append(_one_value_where_it_changes_nothing(param, searched[param.name]))
        for tree in conditions:
            if not names(tree) <= scope.keys():
                continue  # the space lacks a parameter that kernels need
            rest = specialize(tree, scope)
            if rest is False:
                raise UsageError(f"{where}: no config of the space satisfies {to_text(tree)}")
            if not isinstance(rest, bool):
                yield Constraint(param.name, to_text(rest), where)


def _domain_of(value: Value) -> Domain:
    return IntDomain(value, value) if isinstance(value, int) else EnumDomain((value,))


def _one_value_where_it_changes_nothing(param: Param, parameter: Parameter) -> Node:
    listed = parameter.values
    one = param.default if param.default in listed else listed[0]
    leaf = Number(one) if isinstance(one, int) else Word(str(one))
    same = Operation("==", (Name(param.name), leaf))
    return Operation("or", (parse(param.applies_when), same))
