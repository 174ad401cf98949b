"""The parameters of the family `wgmma`."""

from __future__ import annotations

from mltune.errors import UnsupportedError
from mltune.kernel import split_sum
from mltune.kernel.rules import Numbers, Rules, Settings
from mltune.problem import Precision
from mltune.space.config import Config

RULES: Rules = {
    "warp_groups_0": Numbers(choices=(1, 2, 3, 4)),
    "warp_groups_1": Numbers(choices=(1, 2, 3, 4)),
    "warp_group_tile_0": Numbers(choices=(64, 96, 128, 192, 256)),
    "warp_group_tile_1": Numbers(choices=(64, 128, 192)),
    "depth_u": Numbers(choices=(32, 64, 128)),
    "local_buffers": Numbers(lowest=3),
    "partial_sum_terms": Numbers(choices=(0, 32, 64, 128, 256), default=0),
    "work_group_mapping": Numbers(),
    "max_registers": Numbers(lowest=0, default=0),
    **split_sum.RULES,
}

# What the two ways of writing differ in: half takes both operands from local memory, single one.
_RULES_OF_PRECISION: dict[Precision, dict[str, Numbers]] = {
    Precision.HALF: {
        "warp_group_tile_0": Numbers(choices=(64, 128, 192, 256)),
        "depth_u": Numbers(choices=(64, 128)),
        "partial_sum_terms": Numbers(choices=(0,), default=0),
    },
    Precision.SINGLE: {
        "warp_group_tile_0": Numbers(choices=(64, 96, 128, 192)),
        "warp_group_tile_1": Numbers(choices=(64,)),
        "depth_u": Numbers(choices=(32,)),
        "partial_sum_terms": Numbers(choices=(32, 64, 128, 256)),
    },
}


def read_settings(config: Config, precision: Precision) -> Settings:
    """Check a config, also against what a precision has.

    Raises:
        UsageError: when a value is refused.
        UnsupportedError: when it is right for another precision.
    """
    settings = Settings.read("wgmma", RULES, config)
    for name, rule in _RULES_OF_PRECISION[precision].items():
        value, wanted = rule.read(settings.values, name)
        if wanted:
            raise UnsupportedError(
                f"kernel family wgmma: {name} must be {wanted} in {precision.name.lower()}, "
                f"got {value}"
            )
    return settings
