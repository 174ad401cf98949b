"""YAML as plain data with line numbers: only mappings, lists, whole numbers and text.

Values are not guessed as in YAML 1.1: `on`, `no` and `010` are text, and only `8` or `-8` is a
number. Tags, aliases and duplicate keys are refused.
"""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.reading.yaml_text import Node, YamlError, parse_yaml
from mltune.space.config import Value

NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
"""The form of a whole number; anything else is text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of a document that knows its file and line.

    Attributes:
        where: `file:line`.
    """

    where: str
    content: Value | tuple[Item, ...] | dict[str, Item]

    def mapping(self, what: str) -> dict[str, Item]:
        """Return the content as a mapping.

        Raises:
            UsageError: when it is something else.
        """
        if not isinstance(self.content, dict):
            raise self._wrong(what, "a mapping")
        return self.content

    def sequence(self, what: str) -> tuple[Item, ...]:
        """Return the content as a list.

        Raises:
            UsageError: when it is something else.
        """
        if not isinstance(self.content, tuple):
            raise self._wrong(what, "a list")
        return self.content

    def scalar(self, what: str) -> Value:
        """Return the content as a whole number or text.

        Raises:
            UsageError: when it is something else.
        """
        if isinstance(self.content, tuple | dict):
            raise self._wrong(what, "a whole number or text")
        return self.content

    def text(self, what: str) -> str:
        """Return the content as text.

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


def parse_document(text: str, name: str) -> Item:
    """Read a YAML text with one document.

    Args:
        text: the document.
        name: of the file, for messages.

    Raises:
        UsageError: when the text is no plain YAML.
    """
    try:
        node = parse_yaml(text)
    except YamlError as error:
        line = f":{error.line}" if error.line else ""
        raise UsageError(f"{name}{line}: not YAML: {error.reason}") from error
    if node is None:
        raise UsageError(f"{name}: is empty")
    return _item(name, node)


def _item(name: str, node: Node) -> Item:
    where = f"{name}:{node.line}"
    if node.tag:
        raise UsageError(f"{where}: tag '{node.tag}' is not supported")
    if isinstance(node.content, str):
        is_number = node.is_plain and NUMBER.fullmatch(node.content)
        return Item(where, int(node.content) if is_number else node.content)
    if not node.is_mapping:
        return Item(where, tuple(_item(name, entry) for entry in node.content))
    content: dict[str, Item] = {}
    for key_node, value_node in zip(node.content[::2], node.content[1::2], strict=True):
        key = str(_item(name, key_node).scalar("a key"))
        line = f"{name}:{key_node.line}"
        if key in content:
            raise UsageError(f"{line}: key '{key}' stands twice")
        content[key] = Item(line, _item(name, value_node).content)
    return Item(where, content)
