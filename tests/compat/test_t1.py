"""Spaces in T1, in and out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mltune.compat.t1 import from_t1, to_t1
from mltune.errors import UsageError
from mltune.resources import data_folder
from mltune.space.load import load_space, parse_space
from mltune.space.names import OUTSIDE_NAMES

LIMITS = dict.fromkeys(OUTSIDE_NAMES, 1 << 16) | {
    "bytes": 4,
    "parts": 1,
    "stored_bytes": 4,
    "wave_size": 32,
}


@pytest.mark.parametrize("name", ["tiled-cpu", "tiled-gpu"])
def test_a_space_comes_back_with_the_same_configs(name: str) -> None:
    given = load_space(data_folder("spaces") / f"{name}.yaml")
    text, notes = to_t1(given)
    back_text, lost = from_t1(text, "t1.json")
    back = parse_space(back_text, "back.yaml")

    assert lost == ()
    assert any("local_mem_bytes, which T1 does not define" in note for note in notes)
    assert back.family == given.family
    assert [p.values for p in back.parameters] == [p.values for p in given.parameters]
    assert back.bind(LIMITS).size == given.bind(LIMITS).size


SMALL = """\
name: small
family: plain
parameters:
  tile: [2, 4]
  way: [flat, area]
derived:
  area: tile * tile
  volume: area * tile
constraints:
  few: volume <= local_mem_bytes
  own: way != "area" or tile > 2
  even: ceil_div(max(tile, 3), 2) == 2
"""


def test_derived_values_are_written_out_but_words_are_kept() -> None:
    text, notes = to_t1(parse_space(SMALL, "small.yaml"))

    section = json.loads(text)["ConfigurationSpace"]
    assert section["TuningParameters"] == [
        {"Name": "tile", "Type": "int", "Values": "[2, 4]"},
        {"Name": "way", "Type": "string", "Values": '["flat", "area"]'},
    ]
    assert section["Conditions"] == [
        {"Expression": "((tile * tile) * tile) <= local_mem_bytes", "Parameters": ["tile"]},
        {"Expression": 'way != "area" or tile > 2', "Parameters": ["tile", "way"]},
        {"Expression": "ceil_div(max(tile, 3), 2) == 2", "Parameters": ["tile"]},
    ]
    assert notes == (
        "condition 'few' uses local_mem_bytes, which T1 does not define",
        "condition 'even' uses ceil_div, which T1 does not define",
    )
    back, _ = from_t1(text, "t1.json")
    names = [rule.name for rule in parse_space(back, "back.yaml").constraints]
    assert names == ["condition_1", "condition_2", "condition_3"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"KernelSpecification": []},
        {"KernelSpecification": {}},
        {"KernelSpecification": {"KernelName": ""}},
    ],
)
def test_a_file_may_lack_conditions_and_a_name(more: dict[str, Any]) -> None:
    section = {"TuningParameters": [{"Name": "x", "Values": "[1, 2]"}]}
    text, notes = from_t1(json.dumps({"ConfigurationSpace": section, **more}), "t1.json")

    space = parse_space(text, "ours.yaml")
    assert (space.family, space.constraints, notes) == ("foreign", (), ())
    assert "constraints" not in text


def test_a_condition_may_lack_its_expression() -> None:
    text, notes = from_t1(foreign(Conditions=[{"Parameters": []}]), "t1.json")

    assert "constraints" not in text
    assert len(notes) == 1
    assert "condition '' is left out" in notes[0]


def foreign(**changes: Any) -> str:
    section = {
        "TuningParameters": [
            {"Name": "block", "Type": "int", "Values": "[8, 16, 32]"},
            {"Name": "split", "Type": "int", "Values": "[1, 2, 3]"},
            {"Name": "way", "Type": "string", "Values": "['a', 'b']"},
        ],
        "Conditions": [
            {"Expression": "block / 4 >= split && (split != 3 || way == 'a')", "Parameters": []},
            {"Expression": "block**2 > 9", "Parameters": ["block"]},
            {"Expression": "block < warp", "Parameters": ["block"]},
        ],
    }
    top = {
        "ConfigurationSpace": section | changes,
        "KernelSpecification": {"KernelName": "my gemm"},
    }
    return json.dumps(top, indent=2)


def test_another_tuners_space_is_read_and_what_cannot_be_said_is_named() -> None:
    text, notes = from_t1(foreign(), "their.json")
    space = parse_space(text, "ours.yaml").bind(LIMITS)

    assert space.family == "my_gemm"
    assert [p.name for p in space.parameters] == ["block", "split", "way"]
    assert space.size == sum(
        block // 4 >= split and (split != 3 or way == "a")
        for block in (8, 16, 32)
        for split in (1, 2, 3)
        for way in "ab"
    )
    assert len(notes) == 3
    assert "their.json" in notes[0]
    assert notes[0].endswith("way == 'a')': '/' is taken as whole-number division")
    assert "condition 'block**2 > 9' is left out" in notes[1]
    assert "condition 'block < warp' is left out: unknown name 'warp' (known: " in notes[2]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("!(block % 2)", "'not' takes a condition, got a number"),
        ("block % (split - 1) == 0", "the divisor of '%' can be 0"),
        ("block & 1", "column 7: unexpected character '&'"),
        ("1", "must come to a condition, but is a number"),
    ],
)
def test_a_condition_without_a_counterpart_is_left_out(condition: str, reason: str) -> None:
    listed = [{"Expression": condition}, {"Expression": "block > split"}]
    text, (note,) = from_t1(foreign(Conditions=listed), "their.json")

    assert note.startswith("their.json:")
    assert f"condition '{condition:.80}' is left out: {reason}" in note
    (rule,) = parse_space(text, "ours.yaml").constraints
    assert rule.text == "block > split"


def test_a_kernel_whose_name_is_a_number_is_a_family_too() -> None:
    text, _ = from_t1(foreign().replace("my gemm", "123"), "their.json")

    assert parse_space(text, "ours.yaml").family == "_123"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "lacks the key 'ConfigurationSpace'"),
        ('{"ConfigurationSpace": {}}', "lacks the key 'TuningParameters'"),
        (foreign(TuningParameters=[{"Name": "x"}]), "lacks the key 'Values'"),
        (foreign(TuningParameters=[{"Name": "x y", "Values": "[1]"}]), "is no name"),
        (foreign(TuningParameters=[{"Name": "x", "Values": "3"}]), "'Values' must be a list"),
        (foreign(TuningParameters=[{"Name": "x", "Values": "[1, a]"}]), "all numbers or all"),
        (foreign(TuningParameters=[{"Name": "min", "Values": "[1]"}]), r"t1.json:\d+: parameter"),
        (
            foreign(TuningParameters=[{"Name": "x", "Values": "['\ud800']"}]),
            "not YAML: .* character",
        ),
    ],
)
def test_what_is_no_t1_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        from_t1(text, "t1.json")

    assert "\n" not in str(caught.value)
