"""The parameters of the family `direct`."""

from __future__ import annotations

from mltune.kernel.arithmetic import MULTIPLY_ADD, VECTOR_WIDTHS
from mltune.kernel.rules import Numbers, Rules, Settings, Words
from mltune.space.config import Config

RULES: Rules = {
    "work_group_0": Numbers(),
    "work_group_1": Numbers(),
    "thread_tile_0": Numbers(),
    "thread_tile_1": Numbers(),
    "depth_u": Numbers(),
    "vector_width": Numbers(choices=VECTOR_WIDTHS),
    "work_group_mapping": Numbers(),
    "multiply_add": Words(tuple(MULTIPLY_ADD)),
    "vector_access": Words(("cast", "vload")),
    "edge_type": Words(("branch", "shiftptr")),
    # 0, or leaving it out, stands for what follows from the others.
    "vector_width_b": Numbers(choices=(0, *VECTOR_WIDTHS), default=0),
    "max_registers": Numbers(lowest=0, default=0),
}


def read_settings(config: Config) -> Settings:
    """Check a config, also one parameter against another.

    Raises:
        UsageError: when a value is refused.
    """
    settings = Settings.read("direct", RULES, config)
    tile = settings.pair("thread_tile")
    width, width_b = settings.number("vector_width"), settings.number("vector_width_b")
    settings.require(
        tile[0] % width == 0, "thread_tile_0", f"a multiple of vector_width ({width})"
    )
    settings.require(
        width_b == 0 or tile[1] % width_b == 0, "vector_width_b", f"a divisor of {tile[1]}"
    )
    return settings
