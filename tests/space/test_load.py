from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.space.load import load_space, parse_space

GOOD = """\
name: small
family: tiled
about: a test
parameters:
  tile_m: {values: [16, 32, 64], meaning: rows}
  tile_k: {values: [8, 16]}
  access: {values: [on, no, cast], meaning: words}
derived:
  tile_bytes: tile_m * tile_k * bytes
constraints:
  local_memory: tile_bytes <= local_mem_bytes
  folded: >
    tile_m >= tile_k
    and access != "no"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "s.yaml"
    path.write_text(text)
    return path


def test_reads_a_space(tmp_path: Path, gpu_names: dict[str, int]) -> None:
    loaded = load_space(written(tmp_path, GOOD))
    space = loaded.bind({**gpu_names, "local_mem_bytes": 2048})

    assert (loaded.name, loaded.family, loaded.about) == ("small", "tiled", "a test")
    assert [parameter.meaning for parameter in space.parameters] == ["rows", "", "words"]
    assert [tuple(config.values()) for config in space] == [
        (word, k, m)
        for m, k, word in itertools.product((16, 32, 64), (8, 16), ("on", "cast"))
        if m * k * 4 <= 2048
    ]


def test_the_values_alone_are_a_parameter() -> None:
    short = GOOD.replace("{values: [8, 16]}", "[8, 16]")

    assert short != GOOD
    assert parse_space(short, "kept") == parse_space(GOOD, "kept")


def test_reads_a_space_from_text(tmp_path: Path) -> None:
    assert parse_space(GOOD, "kept") == load_space(written(tmp_path, GOOD))
    with pytest.raises(UsageError, match=r"^kept:1: a space must be a mapping, got 'text'$"):
        parse_space("text", "kept")


def test_names_the_file_that_empties_a_device(tmp_path: Path, gpu_names: dict[str, int]) -> None:
    path = written(tmp_path, GOOD)

    with pytest.raises(UsageError) as caught:
        load_space(path).bind({**gpu_names, "local_mem_bytes": 100})

    assert str(caught.value) == (
        f"{path}:11: constraint 'local_memory': the space is empty, no config satisfies this and "
        "the constraints before it: tile_bytes <= local_mem_bytes (local_mem_bytes = 100)"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tile_bytes <=", "tile_q <=", ":11: constraint 'local_memory': unknown name 'tile_q' "),
        (
            "tile_m * tile_k",
            "tile_m * (tile_k",
            ":9: derived 'tile_bytes': column 25: expected ')', got the end",
        ),
        (
            '"no"',
            '"na"',
            ":12: constraint 'folded': unknown word 'na' (known: cast, no, on)",
        ),
        (
            "tile_bytes <= local_mem_bytes",
            "tile_bytes",
            ":11: constraint 'local_memory': must come to a condition, but is a number",
        ),
        (
            "tile_m * tile_k * bytes",
            "tile_m > 1",
            ":9: derived 'tile_bytes': must come to a number, but is a condition",
        ),
        (
            "tile_m * tile_k * bytes",
            "[1]",
            ":9: derived 'tile_bytes' must be a whole number or text, got a list",
        ),
        ("[8, 16]", "[]", ":6: parameter 'tile_k': needs at least one value"),
        ("[8, 16]", "8", ":6: parameter 'tile_k': 'values' must be a list, got 8"),
        ("[8, 16]", "{a: 1}", ":6: parameter 'tile_k': 'values' must be a list, got a mapping"),
        ("[8, 16]", "!!seq [8, 16]", ":6: tag 'tag:yaml.org,2002:seq' is not supported"),
        ("[8, 16]", "[8, 8]", ":6: parameter 'tile_k': value 8 stands twice"),
        ("[8, 16]", "[8, 010]", ":6: parameter 'tile_k': '010' is neither a whole number nor"),
        ("[8, 16]", "[8, 1.5]", ":6: parameter 'tile_k': '1.5' is neither a whole number nor"),
        ("[8, 16]", "[8, '16']", ":6: parameter 'tile_k': '16' is neither a whole number nor"),
        ("[8, 16]", "[8, [16]]", ":6: parameter 'tile_k': a value must be a whole number or text"),
        ("[8, 16]", "[8, x]", ":6: parameter 'tile_k': values must be all numbers or all words"),
        ("meaning: rows", "means: rows", ":5: parameter 'tile_m': unknown key 'means' (did you"),
        ("{values: [8, 16]}", "{meaning: x}", ":6: parameter 'tile_k': lacks the key 'values'"),
        ("{values: [8, 16]}", "8", ":6: parameter 'tile_k': 'values' must be a list, got 8"),
        ("{values: [8, 16]}", "[8, 8]", ":6: parameter 'tile_k': value 8 stands twice"),
        ("tile_k: {", "tile_m: {", ":6: key 'tile_m' stands twice"),
        ("tile_k: {", "tile-k: {", ":6: parameter 'tile-k': a name is made of letters, digits"),
        ("tile_k: {", "bytes: {", ":6: parameter 'bytes': the name is taken by a limit"),
        ("tile_bytes: ", "tile_k: ", ":9: derived 'tile_k': the name is taken by a parameter"),
        ("  tile_bytes: tile_m * tile_k * bytes\n", "", ":8: 'derived' must be a mapping, got no"),
        ("tile_k: {", "or: {", ":6: parameter 'or': the name is taken by an operator"),
        ("tile_k: {", "min: {", ":6: parameter 'min': the name is taken by an operator"),
        (
            "constraints:",
            "constraint:",
            ":10: unknown key 'constraint' (did you mean 'constraints'",
        ),
        ("family: tiled\n", "", ": lacks the key 'family'"),
        ("family: tiled", "family:", ":2: 'family' must not be empty"),
        ("name: small", "name: 7", ":1: 'name' must be text, got 7"),
        ("name: small", "name: !!python/name:os.system ''", ":1: tag 'tag:yaml.org,2002:python/"),
        ("[8, 16]", "&a [8, *a]", ":6: not YAML: aliases are not supported"),
        ("[8, 16]", "[8, 16", ":6: not YAML: expected ',' or ']'"),
        ("name: small", "- a\n- b", ":3: not YAML: "),
        ("about: a test", "about: a test\n---\nx: 1", ":4: not YAML: but found another document"),
    ],
)
def test_a_mistake_is_one_line_that_says_where(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))

    with pytest.raises(UsageError) as caught:
        load_space(path)

    text = str(caught.value)
    assert text.startswith(f"{path}{message}")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": is empty"),
        (b"# nothing\n", ": is empty"),
        (b"- 1\n", ":1: a space must be a mapping, got a list"),
        (b"just text", ":1: a space must be a mapping, got 'just text'"),
        (b"name: \xff", ": is no UTF-8 text (invalid start byte, byte 6)"),
        (b"name: \x00", ": not YAML: unacceptable character #x0000"),
        (b"[" * 1500, ":1: not YAML: nested too deeply"),
        (b"name: a\nfamily: b\nparameters: {}\n", ":3: 'parameters' must not be empty"),
    ],
)
def test_what_is_no_space_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(content)

    with pytest.raises(UsageError) as caught:
        load_space(path)

    assert str(caught.value).startswith(f"{path}{message}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml: cannot read \(No such file"):
        load_space(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match=r"cannot read \(Is a directory"):
        load_space(tmp_path)
