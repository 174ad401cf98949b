"""Random configs of the families without local tiles: any that they accept and PoCL can build."""

from __future__ import annotations

import random

from mltune.problem import Precision
from mltune.space import Config


def breaks_pocl(values: dict[str, int | str], widest: int, precision: Precision) -> bool:
    """Whether pip's PoCL without AVX-512 fails; see spaces/tiled-cpu.yaml."""
    builtins = values["multiply_add"] != "expr" or values["vector_access"] != "cast"
    bytes_each = max(precision.bytes, 4)  # in registers
    return (builtins or precision is Precision.HALF) and widest * bytes_each > 32


def _register_tile(
    rng: random.Random, precision: Precision, groups: tuple[int, ...]
) -> dict[str, int | str]:
    """The parameters that the families `direct` and `small` share, odd tiles included."""
    while True:
        width, width_b = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4))
        values: dict[str, int | str] = {
            "work_group_0": rng.choice(groups),
            "work_group_1": rng.choice(groups),
            "thread_tile_0": width * rng.choice((1, 2, 3)),
            "thread_tile_1": width_b * rng.choice((1, 2, 3)),
            "depth_u": rng.choice((1, 2, 3, 4, 8)),
            "vector_width": width,
            "multiply_add": rng.choice(("expr", "fma", "mad")),
            "vector_access": rng.choice(("cast", "vload", "either")),
        }
        if rng.random() < 0.5:
            values["vector_width_b"] = width_b
        if rng.random() < 0.4:
            values["vector_width_u"] = rng.choice((1, 2, 4, 8))
        width_u = int(values.get("vector_width_u", 1))
        if int(values["depth_u"]) % width_u:
            continue
        if rng.random() < 0.7:
            values["edge_type"] = rng.choice(("branch", "shiftptr"))
        if breaks_pocl(values, max(width, width_b, width_u), precision):
            continue
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        parts = 2 if precision.is_complex else 1
        if width_u > 1:
            sums = int(values["thread_tile_0"]) * int(values["thread_tile_1"])
            vectors = max(vectors, sums // width_u)
        # PoCL takes long to compile longer bodies
        if vectors * int(values["depth_u"]) * parts <= 64:
            return values


def direct_config(rng: random.Random, precision: Precision) -> Config:
    """Any config of `direct`."""
    values = _register_tile(rng, precision, (1, 2, 3, 4, 5, 8))
    return Config.of({**values, "work_group_mapping": rng.choice((1, 2, 7, 8))})


def sub_group_config(rng: random.Random, precision: Precision) -> Config:
    """Any config of `direct` whose work-items read B by sub-groups."""
    while True:
        config = direct_config(rng, precision)
        size = rng.choice((8, 16))
        values = {name: value for name, value in config.items() if name != "vector_width_u"}
        values |= {"edge_type": "branch", "sub_group_size": size}
        values |= {
            "work_group_0": size * rng.choice((1, 2)),
            "work_group_1": rng.choice((1, 2, 3)),
        }
        if int(values["thread_tile_1"]) * int(values["depth_u"]) % size == 0:
            return Config.of(values)


def small_config(rng: random.Random, precision: Precision) -> Config:
    """Any config of `small`."""
    values = _register_tile(rng, precision, (1, 1, 2, 3, 4))
    values |= {"local_split_u": rng.choice((1, 2, 4, 16)), "problems": rng.choice((1, 2, 5))}
    if rng.random() < 0.4:
        values["fan_in"] = rng.choice((2, 4, 8, 32))
    if rng.random() < 0.4:
        values |= {"problems": 1, "global_split_u": rng.choice((1, 2, 3, 8))}
    if values.get("vector_width_u") and values["local_split_u"] != 1:
        values["interleave_u"] = rng.choice((0, 1))
    return Config.of(values)
