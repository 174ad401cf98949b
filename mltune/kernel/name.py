"""Canonical kernel names: contraction and config in Tensile's abbreviations, readable back.

`Cij_Aik_Bkj_SB_MT64x32x16_LU4_PGR1_..._TT4x4_VW4_WG16x8x1_WGM8`: the problem type, the macro
tile with depth_u, then the parameters in alphabetical order of their abbreviations. A parameter
that the config leaves to its default is not in the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.kernel.parameters import DECLARED
from mltune.problem import Contraction
from mltune.space.config import Config, Value

_PARAMS = {param.name: param for family in DECLARED.values() for param in family.params}
_SIDES = ("_0", "_1")
_STEMS = {
    param.abbreviation: name[:-2]
    for name, param in _PARAMS.items()
    if name.endswith("_0") and f"{name[:-2]}_1" in _PARAMS
}
"""Names of parameters along d0 and d1, whose two numbers are one word, by abbreviation."""

_SINGLES = {
    param.abbreviation: name for name, param in _PARAMS.items() if param.abbreviation not in _STEMS
}
"""Names of the other parameters, by abbreviation."""

_DEPTH = "depth_u"
_DIGITS = "[0-9]{1,18}"
_WORD_END = re.compile("_(?=[A-Z])")  # a value may contain underscores, too
_MACRO_TILES = tuple(dict.fromkeys(family.macro_tile for family in DECLARED.values()))


def kernel_name(contraction: Contraction, config: Config) -> str:
    """Return the name of the kernel that a config gives for a contraction.

    Raises:
        UsageError: when a parameter has no place in the name.
    """
    words: dict[str, str] = {}
    for parameter, value in config.items():
        if parameter == _DEPTH:
            continue
        if parameter not in _PARAMS:
            raise UsageError(f"kernel name: parameter '{parameter}' has no abbreviation")
        short = _PARAMS[parameter].abbreviation
        if short in _STEMS:
            first, second = (config.int(_STEMS[short] + side) for side in _SIDES)
            words[short] = f"{short}{first}x{second}"
        else:
            words[short] = f"{short}{value}"
    if "WG" in words:
        words["WG"] += f"x{config.int('local_split_u') if 'local_split_u' in config else 1}"
    count, each = next(pair for pair in _MACRO_TILES if f"{pair[0]}_0" in config)
    tile = [config.int(f"{count}_{axis}") * config.int(f"{each}_{axis}") for axis in (0, 1)]
    macro = f"MT{tile[0]}x{tile[1]}x{config.int(_DEPTH)}"
    return "_".join((contraction.canonical().name, macro, *(words[key] for key in sorted(words))))


@dataclass(frozen=True, slots=True)
class Blocking:
    """How a kernel divides its work, as its name tells.

    Attributes:
        sides: of the macro tile, along d0 and d1.
        depth: terms of a step, `depth_u`.
        split: work-groups that share a sum.
        packs: whether it is a GPU kernel that packs A and B first: for warp groups, in single
            precision. Those of the family `packed`, for processors, are not counted.
        strip: tiles along d1 that are computed before the walk along d0 goes on.
    """

    sides: tuple[int, int]
    depth: int
    split: int = 1
    packs: bool = False
    strip: int = 1


def blocking_of(name: str) -> Blocking | None:
    """Return the blocking of a kernel; None for names without a macro tile."""
    tile = re.search(rf"_MT({_DIGITS})x({_DIGITS})x({_DIGITS})(?:_|$)", name)
    if tile is None:
        return None
    split = re.search(rf"_GSU({_DIGITS})(?:_|$)", name)
    strip = re.search(rf"_WGM({_DIGITS})(?:_|$)", name)
    return Blocking(
        sides=(int(tile[1]), int(tile[2])),
        depth=int(tile[3]),
        split=int(split[1]) if split else 1,
        packs=re.search(r"_SB_.*_WPG", name) is not None,
        strip=int(strip[1]) if strip else 1,
    )


def parse_kernel_name(name: str) -> tuple[Contraction, Config]:
    """Read contraction and config from a name of `kernel_name`.

    Raises:
        UsageError: when it is no such name.
    """
    head, found, tail = name.partition("_MT")
    if not found:
        raise UsageError(f"kernel name: '{name}' lacks _MT<rows>x<columns>x<depth>")
    contraction = Contraction.from_name(head)
    values: dict[str, Value] = {}
    for word in _WORD_END.split("MT" + tail):
        pair = re.fullmatch(rf"([A-Z]+)({_DIGITS})x({_DIGITS})(?:x({_DIGITS}))?", word)
        single = re.fullmatch(rf"([A-Z]+)({_DIGITS}|[a-z][a-z0-9_]*)", word)
        if pair is not None and pair[1] == "MT":
            values[_DEPTH] = int(pair[4] or 0)
        elif pair is not None and pair[1] in _STEMS:
            stem = _STEMS[pair[1]]
            values[f"{stem}_0"], values[f"{stem}_1"] = int(pair[2]), int(pair[3])
        elif single is not None and single[1] in _SINGLES:
            text = single[2]
            values[_SINGLES[single[1]]] = int(text) if text.isdigit() else text
        else:
            raise UsageError(f"kernel name: cannot read '{word}' in '{name}'")
    config = Config.of(values)
    is_whole = any(
        all(f"{stem}_{axis}" in config for stem in stems_of_one for axis in (0, 1))
        for stems_of_one in _MACRO_TILES
    )
    if not is_whole or _DEPTH not in config or kernel_name(contraction, config) != name:
        raise UsageError(f"kernel name: '{name}' is not canonical")
    return contraction, config
