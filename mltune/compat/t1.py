"""Reads and writes spaces in the auto-tuning community's T1 format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mltune.errors import UsageError
from mltune.space.config import Value
from mltune.space.constraint import Constraint
from mltune.space.json_document import parse_json_document
from mltune.space.load import ANY_LIMITS, SpaceFile
from mltune.space.names import OUTSIDE_NAMES
from mltune.space.parameter import Parameter
from mltune.space.space import write_out
from mltune.space.yaml_document import Item, parse_document

SECTION = "ConfigurationSpace"
"""The member that identifies a T1 file."""

_OWN = OUTSIDE_NAMES | {"ceil_div"}
"""The names in expressions that only mltune knows; `min` and `max` are Python's, too."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIVISION = r"(?<!/)/(?!/)"
_SPELLINGS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (_DIVISION, "//"))


def to_t1(space: SpaceFile) -> tuple[str, tuple[str, ...]]:
    """Write a space as T1, with derived values replaced by their expressions.

    Returns:
        The text, and one line for each condition that T1 cannot evaluate by itself.
    """
    derived: dict[str, str] = {}
    for value in space.derived:
        derived[value.name] = f"({_substituted(value.text, derived)})"
    conditions = []
    notes = []
    for rule in space.constraints:
        text = _substituted(rule.text, derived)
        used = set(_NAME.findall(re.sub(r"\"[^\"]*\"|'[^']*'", "", text)))
        own = [parameter.name for parameter in space.parameters if parameter.name in used]
        conditions.append({"Expression": text, "Parameters": own})
        if outside := sorted(used & _OWN):
            notes.append(
                f"condition '{rule.name}' uses {', '.join(outside)}, which T1 does not define"
            )
    document = {
        "General": {"FormatVersion": 1},
        SECTION: {
            "TuningParameters": [
                {
                    "Name": parameter.name,
                    "Type": "int" if parameter.is_number else "string",
                    "Values": json.dumps(list(parameter.values)),
                }
                for parameter in space.parameters
            ],
            "Conditions": conditions,
        },
        "KernelSpecification": {"Language": "OpenCL", "KernelName": space.family},
    }
    return json.dumps(document, indent=2) + "\n", tuple(notes)


def from_t1(text: str, name: str) -> tuple[str, tuple[str, ...]]:
    """Convert a T1 file to the text of a space's file.

    Args:
        text: JSON.
        name: of the file, for messages.

    Returns:
        YAML, and one line for each condition that mltune's expressions cannot express, or that
        has a division.

    Raises:
        UsageError: with the line of the first mistake.
    """
    top = parse_json_document(text, name).mapping("a T1 file")
    if SECTION not in top:
        raise UsageError(f"{name}: lacks the key '{SECTION}'")
    section = top[SECTION].mapping(f"'{SECTION}'")
    if "TuningParameters" not in section:
        raise UsageError(f"{top[SECTION].where}: lacks the key 'TuningParameters'")
    parameters = tuple(
        _parameter(item) for item in section["TuningParameters"].sequence("'TuningParameters'")
    )
    write_out(parameters, (), (), ANY_LIMITS)
    rules: list[str] = []
    notes: list[str] = []
    listed = section["Conditions"].sequence("'Conditions'") if "Conditions" in section else ()
    for item in listed:
        fields = item.mapping("a condition")
        given = fields["Expression"].text("'Expression'") if "Expression" in fields else ""
        expression = given
        for pattern, ours in _SPELLINGS:
            expression = re.sub(pattern, ours, expression)
        label = f"{item.where}: condition '{given:.80}'"
        try:
            rule = Constraint("condition", expression, item.where)
            write_out(parameters, (), (rule,), ANY_LIMITS)
        except UsageError as error:
            reason = str(error).partition("'condition': ")[2]
            notes.append(f"{label} is left out: {reason}")
            continue
        rules.append(expression)
        if re.search(_DIVISION, given):
            notes.append(f"{label}: '/' is taken as whole-number division")
    return "\n".join(_yaml(_family(top), parameters, rules)) + "\n", tuple(notes)


def _yaml(family: str, parameters: Sequence[Parameter], rules: Sequence[str]) -> Iterator[str]:
    yield f"name: {family}"
    yield f"family: {family}"
    yield "parameters:"
    for parameter in parameters:
        yield f"  {parameter.name}: {{values: {json.dumps(list(parameter.values))}}}"
    if rules:
        yield "constraints:"
    for number, rule in enumerate(rules, start=1):
        yield f"  condition_{number}: {json.dumps(' '.join(rule.split()))}"


def _family(top: Mapping[str, Item]) -> str:
    specification = top["KernelSpecification"].content if "KernelSpecification" in top else {}
    item = specification.get("KernelName") if isinstance(specification, dict) else None
    word = str(item.scalar("'KernelName'")) if item is not None else ""
    family = re.sub(r"[^A-Za-z0-9_]", "_", word) or "foreign"
    return f"_{family}" if family.isdigit() else family


def _parameter(item: Item) -> Parameter:
    fields = item.mapping("a tuning parameter")
    for key in ("Name", "Values"):
        if key not in fields:
            raise UsageError(f"{item.where}: a tuning parameter lacks the key '{key}'")
    name = fields["Name"].text("'Name'")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{item.where}: '{name}' is no name of a parameter")
    content: Any = fields["Values"].content
    if isinstance(content, str):  # T1 has lists as texts
        content = parse_document(content, item.where).content
    if not isinstance(content, tuple):
        raise UsageError(f"{item.where}: parameter '{name}': 'Values' must be a list")
    values: list[Value] = [each.scalar(f"a value of '{name}'") for each in content]
    return Parameter(name, tuple(values), where=item.where)


def _substituted(text: str, derived: Mapping[str, str]) -> str:
    """Replace the names of derived values by their texts, except in quoted words."""
    return re.sub(
        r"\"[^\"]*\"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*",
        lambda found: derived.get(found[0], found[0]),
        text,
    )
