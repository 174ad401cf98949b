from __future__ import annotations

import json

import pytest

from mltune.errors import UsageError
from mltune.space.json_document import parse_json_document
from mltune.space.yaml_document import Item


def plain(item: Item) -> object:
    if isinstance(item.content, dict):
        return {key: plain(value) for key, value in item.content.items()}
    if isinstance(item.content, tuple):
        return [plain(each) for each in item.content]
    return item.content


@pytest.mark.parametrize(
    "text", ["[]", "{}", "[1]", "[[], [1, [2]], {}]", ' { "a" : { "b" : [ {} , 2 ] } , "c":3 } ']
)
def test_what_is_json_is_read_as_it_is_elsewhere(text: str) -> None:
    assert plain(parse_json_document(text, "a.json")) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1[2]", "expected ',', got '['"),
        ("[1[]", "expected ',', got '['"),
        ("[[1][2]]", "expected ',', got '['"),
        ("[1{2]", "expected ',', got '{'"),
        ('{"a":1{"b":2}', "expected ',', got '{'"),
        ("[1 2]", "expected ',', got '2'"),
        ("[1,]", "expected a value, got ']'"),
        ("[,1]", "expected a value, got ','"),
        ('{"a":1,}', "expected a key in double quotation marks"),
        ("[1", "it ends here"),
        ("[1]]", "something follows the end"),
    ],
)
def test_what_is_no_json_is_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_json_document(f"\n{text}", "a.json")

    assert str(refused.value) == f"a.json:2: not JSON: {reason}"
