"""YAML as plain data with line numbers: mappings, lists, whole numbers and text, no more.

None of YAML 1.1's guesses are made: `on`, `no` and `010` are text, and only `8` or `-8` is a
number. Tags, aliases and duplicate keys are refused.
"""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mltune.errors import UsageError
from mltune.files import file_error
from mltune.space.config import Value

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_SAFE_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in (
        "str",
        "int",
        "float",
        "bool",
        "null",
        "timestamp",
        "value",
        "merge",
        "map",
        "seq",
    )
)


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a document that knows its file and line.

    Attributes:
        where: `file:line`.
    """

    where: str
    content: Value | tuple[Item, ...] | dict[str, Item]

    def mapping(self, what: str) -> dict[str, Item]:
        """The content as a mapping.

        Raises:
            UsageError: when it is something else.
        """
        if not isinstance(self.content, dict):
            raise self._wrong(what, "a mapping")
        return self.content

    def sequence(self, what: str) -> tuple[Item, ...]:
        """The content as a list.

        Raises:
            UsageError: when it is something else.
        """
        if not isinstance(self.content, tuple):
            raise self._wrong(what, "a list")
        return self.content

    def scalar(self, what: str) -> Value:
        """The content as a whole number or text.

        Raises:
            UsageError: when it is something else.
        """
        if isinstance(self.content, tuple | dict):
            raise self._wrong(what, "a whole number or text")
        return self.content

    def text(self, what: str) -> str:
        """The content as text.

        Raises:
            UsageError: when it is something else, or empty.
        """
        if not isinstance(self.content, str):
            raise self._wrong(what, "text")
        if not self.content.strip():
            raise UsageError(f"{self.where}: {what} must not be empty")
        return self.content

    def _wrong(self, what: str, wanted: str) -> UsageError:
        if isinstance(self.content, dict):
            got = "a mapping"
        elif isinstance(self.content, tuple):
            got = "a list"
        else:
            got = "nothing" if self.content == "" else reprlib.repr(self.content)
        return UsageError(f"{self.where}: {what} must be {wanted}, got {got}")


def read_text(path: Path) -> str:
    """Read a text file.

    Raises:
        UsageError: when it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise file_error(path, "read", error) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text (byte {error.start})") from error
    except ValueError as error:  # a path that no system can have
        raise UsageError(f"{path}: cannot read ({error})") from error


def parse_document(text: str, name: str) -> Item:
    """Read the one document of a YAML text.

    Args:
        text: the document.
        name: of the file, for messages.

    Raises:
        UsageError: when the text is no plain YAML.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{name}{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: not YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: not YAML: nested too deeply") from error
    if node is None:
        raise UsageError(f"{name}: is empty")
    return _item(name, node)


class _Loader(yaml.SafeLoader):
    """Refuses aliases, with which a small file can stand for an endless one."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=mark)
        return super().compose_node(parent, index)


def _item(name: str, node: yaml.Node) -> Item:
    where = f"{name}:{node.start_mark.line + 1}"
    if node.tag not in _SAFE_TAGS:
        raise UsageError(f"{where}: tag '{node.tag}' is not supported")
    if isinstance(node, yaml.MappingNode):
        content: dict[str, Item] = {}
        for key_node, value_node in node.value:
            key = str(_item(name, key_node).scalar("a key"))
            line = f"{name}:{key_node.start_mark.line + 1}"
            if key in content:
                raise UsageError(f"{line}: key '{key}' stands twice")
            content[key] = Item(line, _item(name, value_node).content)
        return Item(where, content)
    if isinstance(node, yaml.SequenceNode):
        return Item(where, tuple(_item(name, entry) for entry in node.value))
    plain = isinstance(node, yaml.ScalarNode) and node.style is None
    text = str(node.value)
    return Item(where, int(text) if plain and _NUMBER.fullmatch(text) else text)
