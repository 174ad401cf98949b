"""The tables of docs/parameters.md come from the declarations.

`MLTUNE_UPDATE_GOLDEN=1 pytest tests/kernel/test_parameter_docs.py` writes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mltune.kernel.parameters import DECLARED
from mltune.kernel.parameters.param import EnumParam, Param
from mltune.kernel.parameters.shared import GLOBAL_SPLIT_U

PAGE = Path(__file__).parents[2] / "docs" / "parameters.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
SHARED = "sums"
HEAD = """\
| parameter | name | values | meaning | default | Tensile |
|---|---|---|---|---|---|
"""


def test_the_tables_are_those_of_the_declarations() -> None:
    given = PAGE.read_text(encoding="utf-8")
    written = TABLE.sub(lambda found: found[1] + _table(found[2]), given)
    if os.environ.get("MLTUNE_UPDATE_GOLDEN"):
        PAGE.write_text(written, encoding="utf-8")
    else:
        assert given == written, (
            "MLTUNE_UPDATE_GOLDEN=1 pytest tests/kernel/test_parameter_docs.py"
        )

    assert {found[2] for found in TABLE.finditer(given)} == {*DECLARED, SHARED}


def _table(name: str) -> str:
    shared = {param.name for param in GLOBAL_SPLIT_U}
    if name == SHARED:
        return HEAD + "".join(map(_row, _groups(GLOBAL_SPLIT_U)))
    family = DECLARED[name]
    own = [param for param in family.params if param.name not in shared]
    count, each = family.macro_tile
    rows = [_row(group) for group in _groups(own)]
    rows.append(f"| (macro tile) | MT | | `{count}` times `{each}` | | |\n")
    if others := len(family.params) - len(own):
        names = "global_split_u and its three | GSU, ..." if others > 1 else "global_split_u | GSU"
        rows.append(
            f"| {names} | | [work-groups that share a sum](#sums-that-work-groups-share) | | |\n"
        )
    return HEAD + "".join(rows)


def _groups(params: Sequence[Param]) -> Iterator[tuple[Param, ...]]:
    """Parameters one by one; those that differ only in their last letter are together."""
    waiting: list[Param] = []
    for param in params:
        if waiting and _about(param) != _about(waiting[0]):
            yield tuple(waiting)
            waiting = []
        waiting.append(param)
    yield tuple(waiting)


def _about(param: Param) -> tuple[object, ...]:
    """The description that two parameters of a row share."""
    stem, letter = param.name[:-1], param.name[-1]
    if not stem.endswith("_"):
        return (param.name,)
    meaning = re.sub(rf"\b(d{letter}|{letter.upper()})\b", "@", param.meaning)
    return (stem, meaning, param.values, param.default)


def _row(group: tuple[Param, ...]) -> str:
    first = group[0]
    names = ", ".join([first.name, *(f"_{param.name[-1]}" for param in group[1:])])
    shorts = ", ".join(dict.fromkeys(param.abbreviation for param in group))
    if isinstance(first, EnumParam):
        values = ", ".join(f"`{word}`" for word in first.values)
    else:
        values = ", ".join(map(str, first.values)) or f"from {first.lowest}"
    meaning = first.meaning
    if len(group) > 1:
        sides = [param.name[-1] for param in group]
        meaning = re.sub(rf"\bd{sides[0]}\b", " and ".join(f"d{side}" for side in sides), meaning)
        if not sides[0].isdigit():
            tensors = " or ".join(side.upper() for side in sides)
            meaning = re.sub(rf"\b{sides[0].upper()}\b", tensors, meaning)
    limits = dict.fromkeys(limit.text for param in group for limit in param.limits)
    if first.applies_when:
        meaning += f". Of use only where `{first.applies_when}`"
    if limits:
        meaning += ". Must be: " + "; ".join(f"`{text}`" for text in limits)
    default = "" if first.default is None else first.default_means or str(first.default)
    keys = dict.fromkeys(param.tensile.key for param in group if param.tensile)
    return f"| {names} | {shorts} | {values} | {meaning} | {default} | {', '.join(keys)} |\n"
