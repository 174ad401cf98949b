"""Random configs of the families without local tiles: all that they accept and PoCL holds."""

from __future__ import annotations

import random

from mltune.problem import Precision
from mltune.space import Config


def breaks_pocl(values: dict[str, int | str], widest: int, precision: Precision) -> bool:
    """Whether pip's PoCL without AVX-512 fails; see spaces/tiled-cpu.yaml."""
    builtins = values["multiply_add"] != "expr" or values["vector_access"] == "vload"
    bytes_each = max(precision.bytes, 4)  # in registers
    return (builtins or precision is Precision.HALF) and widest * bytes_each > 32


def direct_config(rng: random.Random, precision: Precision) -> Config:
    """Any config of `direct`, odd tiles included."""
    while True:
        width, width_b = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4))
        values: dict[str, int | str] = {
            "work_group_0": rng.choice((1, 2, 3, 4, 8, 16)),
            "work_group_1": rng.choice((1, 2, 4, 5, 8)),
            "thread_tile_0": width * rng.choice((1, 2, 3)),
            "thread_tile_1": width_b * rng.choice((1, 2, 3)),
            "depth_u": rng.choice((1, 2, 3, 4, 8)),
            "vector_width": width,
            "work_group_mapping": rng.choice((1, 2, 7, 8)),
            "multiply_add": rng.choice(("expr", "fma", "mad")),
            "vector_access": rng.choice(("cast", "vload")),
            "edge_type": rng.choice(("branch", "shiftptr")),
        }
        if rng.random() < 0.5:
            values["vector_width_b"] = width_b
        if breaks_pocl(values, max(width, width_b), precision):
            continue
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        parts = 2 if precision.is_complex else 1
        if vectors * int(values["depth_u"]) * parts <= 64:  # PoCL compiles longer bodies for long
            return Config.of(values)
