"""The parameters of the family `wgmma`."""

from __future__ import annotations

from mltune.kernel import split_sum
from mltune.kernel.rules import Numbers, Rules, Settings
from mltune.space.config import Config

RULES: Rules = {
    "warp_groups_0": Numbers(choices=(1, 2, 3, 4)),
    "warp_groups_1": Numbers(choices=(1, 2, 3, 4)),
    "warp_group_tile_0": Numbers(choices=(64, 128, 192, 256)),
    "warp_group_tile_1": Numbers(choices=(64, 128, 192)),
    "depth_u": Numbers(choices=(64, 128)),
    "local_buffers": Numbers(lowest=3),
    "work_group_mapping": Numbers(),
    "max_registers": Numbers(lowest=0, default=0),
    **split_sum.RULES,
}


def read_settings(config: Config) -> Settings:
    """Check a config.

    Raises:
        UsageError: when a value is refused.
    """
    return Settings.read("wgmma", RULES, config)
