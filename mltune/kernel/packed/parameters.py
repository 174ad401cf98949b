"""The parameters of the family `packed`."""

from __future__ import annotations

from mltune.kernel.arithmetic import MULTIPLY_ADD, VECTOR_WIDTHS
from mltune.kernel.rules import Numbers, Rules, Settings, Words
from mltune.space.config import Config

RULES: Rules = {
    "panels_0": Numbers(),
    "panels_1": Numbers(),
    "thread_tile_0": Numbers(),
    "thread_tile_1": Numbers(),
    "depth_u": Numbers(),
    "vector_width": Numbers(choices=VECTOR_WIDTHS),
    "loop_unroll": Numbers(),
    "multiply_add": Words(tuple(MULTIPLY_ADD)),
    "pack_b": Numbers(choices=(0, 1)),
}


def read_settings(config: Config) -> Settings:
    """Check a config, also one parameter against another.

    Raises:
        UsageError: when a value is refused.
    """
    settings = Settings.read("packed", RULES, config)
    width = settings.number("vector_width")
    settings.require(
        settings.number("thread_tile_0") % width == 0,
        "thread_tile_0",
        f"a multiple of vector_width ({width})",
    )
    return settings
