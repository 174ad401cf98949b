"""YAML from any source as a tree of texts with line numbers: no aliases, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from mltune.reading.file import size_text

MOST_CHARACTERS = 16 * 2**20
_MOST_VALUES = 1_000_000
_ALWAYS = 250_000
_CHARACTERS = 3
"""Before each further value: rows of sizes, as in Tensile's library logic, have more; `[a,a,...`
has 2.
"""
_MOST_DEPTH = 100

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader takes a tenth of the time, if PyYAML was built with it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value as written in the text.

    Attributes:
        line: from 1.
        tag: as written; empty if there is none.
        is_plain: whether it is a text without quotation marks.
        content: a text, a list's values, or the keys and values of a mapping, one after the other.
    """

    line: int
    tag: str
    is_plain: bool
    content: str | list[Node]
    is_mapping: bool = False


class YamlError(Exception):
    """An error in a text.

    Attributes:
        line: from 1; 0 if unknown.
        reason: in a few words.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def parse_yaml(text: str) -> Node | None:
    """Read a text with one document; None if there is none.

    Raises:
        YamlError: when it is no YAML, has an alias, or exceeds the limits.
    """
    if len(text) > MOST_CHARACTERS:
        raise YamlError(0, f"larger than {size_text(MOST_CHARACTERS)}")
    try:
        return _tree(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = str(error.problem or error.context).removeprefix("did not find ")
        if "nesting depth" in reason:  # the limit of 1,000 of newer versions of libyaml
            reason = "nested too deeply"
        raise YamlError(mark.line + 1 if mark else 0, reason) from error
    except yaml.YAMLError as error:
        raise YamlError(0, str(error).splitlines()[0]) from error
    except UnicodeEncodeError as error:  # half of a pair, which only an escape in JSON can hold
        line = text.count("\n", 0, error.start) + 1
        raise YamlError(line, "half of a surrogate pair, which is no character") from error
    except RecursionError as error:
        raise YamlError(0, "nested too deeply") from error


def _tree(text: str) -> Node | None:
    root: Node | None = None
    above: list[list[Node]] = []
    documents = values = 0
    for event in yaml.parse(text, Loader=_LOADER):
        mark = event.start_mark
        line, place = (mark.line + 1, mark.index) if mark else (0, 0)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise YamlError(line, "but found another document")
        elif isinstance(event, yaml.AliasEvent):
            raise YamlError(line, "aliases are not supported")
        elif isinstance(event, yaml.CollectionEndEvent):
            above.pop()
        elif isinstance(event, yaml.NodeEvent):
            node = _node(event, line)
            values += 1
            most = max(_ALWAYS, min(place // _CHARACTERS, _MOST_VALUES))
            if values > most:
                raise YamlError(line, f"more than {most:,} values")
            if above:
                above[-1].append(node)
            else:
                root = node
            if isinstance(node.content, list):
                above.append(node.content)
                if len(above) > _MOST_DEPTH:
                    raise YamlError(line, "nested too deeply")
    return root


def _node(event: Any, line: int) -> Node:
    tag = event.tag or ""
    if isinstance(event, yaml.ScalarEvent):
        return Node(line, tag, not event.style, event.value)
    return Node(line, tag, False, [], isinstance(event, yaml.MappingStartEvent))
