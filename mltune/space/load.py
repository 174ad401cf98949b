"""Spaces from YAML files: `load_space` checks a file, `SpaceFile.bind` returns the space."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mltune.errors import UsageError
from mltune.reading import read_text
from mltune.space.config import Value
from mltune.space.constraint import Constraint, Derived
from mltune.space.domain import IntDomain
from mltune.space.names import OUTSIDE_NAMES
from mltune.space.parameter import Parameter
from mltune.space.space import Space, write_out
from mltune.space.union import family_parameter
from mltune.space.yaml_document import Item, parse_document
from mltune.unknown import unknown

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REQUIRED = ("name", "family", "parameters")
_OPTIONAL = ("about", "default", "derived", "constraints")
ANY_LIMITS = dict.fromkeys(OUTSIDE_NAMES, IntDomain(1, 2**62))
"""Until there is a device, its limits are any positive numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFile:
    """A space that is not bound to a device yet.

    Attributes:
        about: a description.
        default: values of the config to try first, by parameter; empty if the file names none.
    """

    name: str
    family: str
    about: str
    parameters: tuple[Parameter, ...]
    derived: tuple[Derived, ...]
    constraints: tuple[Constraint, ...]
    default: tuple[tuple[str, Value], ...] = ()

    def bind(self, names: Mapping[str, int], *, in_union: bool = False) -> Space:
        """Return the space on one device, for one precision.

        Args:
            names: from `outside_names`.
            in_union: whether the configs name their family, as those of a `UnionSpace` do.

        Raises:
            UsageError: when no config satisfies all constraints there.
        """
        return Space(
            name=self.name,
            family=self.family,
            parameters=(family_parameter(self.family),) * in_union + self.parameters,
            derived=self.derived,
            constraints=self.constraints,
            limits=names,
            default=dict(self.default) if self.default else None,
        )


def load_space(path: str | Path) -> SpaceFile:
    """Read and check a space's file.

    Raises:
        UsageError: when it cannot be read, or with the first mistake in it and its line.
    """
    return parse_space(read_text(Path(path)), str(path))


def parse_space(text: str, name: str) -> SpaceFile:
    """Check the text of a space's file, such as the one that a run keeps.

    Args:
        text: YAML.
        name: of the file, for messages.

    Raises:
        UsageError: with the first mistake and its line.
    """
    document = parse_document(text, name)
    entries = document.mapping("a space")
    for key, item in entries.items():
        if key not in _REQUIRED + _OPTIONAL:
            raise UsageError(f"{item.where}: {unknown('key', key, _REQUIRED + _OPTIONAL)}")
    for key in _REQUIRED:
        if key not in entries:
            raise UsageError(f"{name}: lacks the key '{key}'")
    loaded = SpaceFile(
        name=entries["name"].text("'name'"),
        family=entries["family"].text("'family'"),
        about=entries["about"].text("'about'") if "about" in entries else "",
        parameters=tuple(
            _parameter(name, item) for name, item in _named(entries, "parameters", "parameter")
        ),
        derived=tuple(
            Derived(name, _formula(name, item, "derived"), item.where)
            for name, item in _named(entries, "derived", "derived")
        ),
        constraints=tuple(
            Constraint(name, _formula(name, item, "constraint"), item.where)
            for name, item in _named(entries, "constraints", "constraint")
        ),
        default=tuple(
            (name, item.scalar(f"default '{name}'"))
            for name, item in _named(entries, "default", "default")
        ),
    )
    if not loaded.parameters:
        raise UsageError(f"{entries['parameters'].where}: 'parameters' must not be empty")
    _check_default(loaded, name)
    write_out(loaded.parameters, loaded.derived, loaded.constraints, ANY_LIMITS)
    return loaded


def _named(entries: Mapping[str, Item], key: str, kind: str) -> list[tuple[str, Item]]:
    """Return the entries of one part of the file, with their names checked."""
    if key not in entries:
        return []
    named = list(entries[key].mapping(f"'{key}'").items())
    for name, item in named:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{item.where}: {kind} '{name}': a name is made of letters, digits and '_'"
            )
    return named


def _check_default(loaded: SpaceFile, where: str) -> None:
    """Refuse a default with a name or a value that the parameters do not have."""
    known = {parameter.name: parameter for parameter in loaded.parameters}
    for name, value in loaded.default:
        if name not in known:
            raise UsageError(f"{where}: default: {unknown('parameter', name, known)}")
        if value not in known[name].values:
            raise UsageError(
                f"{where}: default: parameter '{name}' cannot be {value!r} "
                f"(allowed: {known[name].listing})"
            )


def _formula(name: str, item: Item, kind: str) -> str:
    """Return the text of an expression, which may be a bare number."""
    return " ".join(str(item.scalar(f"{kind} '{name}'")).split())


def _parameter(name: str, item: Item) -> Parameter:
    label = f"parameter '{name}'"
    if not isinstance(item.content, dict):
        return Parameter(name, _values(item, label), where=item.where)
    fields = item.content
    for key, field in fields.items():
        if key not in ("values", "meaning"):
            raise UsageError(
                f"{field.where}: {label}: {unknown('key', key, ('values', 'meaning'))}"
            )
    if "values" not in fields:
        raise UsageError(f"{item.where}: {label}: lacks the key 'values'")
    return Parameter(
        name,
        _values(fields["values"], label),
        fields["meaning"].text(f"{label}: 'meaning'") if "meaning" in fields else "",
        item.where,
    )


def _values(item: Item, label: str) -> tuple[Value, ...]:
    listed = item.sequence(f"{label}: 'values'")
    return tuple(value.scalar(f"{label}: a value") for value in listed)
