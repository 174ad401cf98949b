"""Canonical kernel names: contraction and config in Tensile's abbreviations, readable back.

`Cij_Aik_Bkj_SB_MT64x32x16_LU4_PGR1_..._TT4x4_VW4_WG16x8x1_WGM8`: the problem type, the macro
tile with depth_u, then the parameters in alphabetical order of their abbreviations.
"""

from __future__ import annotations

import re

from mltune.errors import UsageError
from mltune.problem import Contraction
from mltune.space.config import Config, Value

ABBREVIATIONS: dict[str, str] = {
    "local_pad": "LP",
    "loop_unroll": "LU",
    "multiply_add": "MA",
    "prefetch_global_read": "PGR",
    "vector_access": "VA",
    "vector_width": "VW",
    "work_group_mapping": "WGM",
}
"""Parameters whose value stands behind an abbreviation of its own."""

_SHAPES = ("work_group_0", "work_group_1", "thread_tile_0", "thread_tile_1", "depth_u")


def kernel_name(contraction: Contraction, config: Config) -> str:
    """Return the name of the kernel that a config gives for a contraction.

    Raises:
        UsageError: when a parameter has no place in the name.
    """
    group = (config.int("work_group_0"), config.int("work_group_1"))
    tile = (config.int("thread_tile_0"), config.int("thread_tile_1"))
    words = {"TT": f"TT{tile[0]}x{tile[1]}", "WG": f"WG{group[0]}x{group[1]}x1"}
    for parameter, value in config.items():
        if parameter in _SHAPES:
            continue
        if parameter not in ABBREVIATIONS:
            raise UsageError(f"kernel name: parameter '{parameter}' has no abbreviation")
        words[ABBREVIATIONS[parameter]] = f"{ABBREVIATIONS[parameter]}{value}"
    macro = f"MT{group[0] * tile[0]}x{group[1] * tile[1]}x{config.int('depth_u')}"
    return "_".join((contraction.canonical().name, macro, *(words[key] for key in sorted(words))))


def parse_kernel_name(name: str) -> tuple[Contraction, Config]:
    """Read contraction and config back from what `kernel_name` gave.

    Raises:
        UsageError: when it is no such name.
    """
    head, found, tail = name.partition("_MT")
    if not found:
        raise UsageError(f"kernel name: '{name}' lacks _MT<rows>x<columns>x<depth>")
    contraction = Contraction.from_name(head)
    by_abbreviation = {abbreviation: name for name, abbreviation in ABBREVIATIONS.items()}
    values: dict[str, Value] = {}
    for word in ("MT" + tail).split("_"):
        shape = re.fullmatch(r"(MT|TT|WG)(\d+)x(\d+)(?:x(\d+))?", word)
        single = re.fullmatch(r"([A-Z]+)(\d+|[a-z]+)", word)
        if shape is not None:
            kind, first, second, third = shape.groups()
            if kind == "MT":
                values["depth_u"] = int(third or 0)
            else:
                parameter = "thread_tile" if kind == "TT" else "work_group"
                values[f"{parameter}_0"], values[f"{parameter}_1"] = int(first), int(second)
        elif single is not None and single[1] in by_abbreviation:
            text = single[2]
            values[by_abbreviation[single[1]]] = int(text) if text.isdigit() else text
        else:
            raise UsageError(f"kernel name: cannot read '{word}' in '{name}'")
    config = Config.of(values)
    if (
        any(parameter not in config for parameter in _SHAPES)
        or kernel_name(contraction, config) != name
    ):
        raise UsageError(f"kernel name: '{name}' is not canonical")
    return contraction, config
