"""The parameters of the family `mma`."""

from __future__ import annotations

from mltune.errors import UnsupportedError
from mltune.kernel import split_sum
from mltune.kernel.mma.instruction import Instruction
from mltune.kernel.rules import Numbers, Rules, Settings
from mltune.space.config import Config

_TILES = (16, 32, 64, 128)  # powers of two, as swizzled chunks stay in their row then

RULES: Rules = {
    "waves_0": Numbers(choices=(1, 2, 4, 8)),
    "waves_1": Numbers(choices=(1, 2, 4, 8)),
    "wave_tile_0": Numbers(choices=_TILES),
    "wave_tile_1": Numbers(choices=_TILES),
    "depth_u": Numbers(choices=(8, 16, 32, 64, 128)),
    "local_buffers": Numbers(lowest=2),
    "work_group_mapping": Numbers(),
    "local_split_u": Numbers(choices=(1, 2, 4, 8), default=1),
    "prefetch_local_read": Numbers(choices=(0, 1), default=0),
    "partial_sum_terms": Numbers(lowest=0, default=0),
    "swizzle": Numbers(choices=(0, 1), default=1),
    "max_registers": Numbers(lowest=0, default=0),
    **split_sum.RULES,
}


def read_settings(config: Config, instruction: Instruction) -> Settings:
    """Check a config, also against the precision's instruction.

    Raises:
        UsageError: when a value is refused.
        UnsupportedError: when it is right for another precision.
    """
    settings = Settings.read("mma", RULES, config)
    depth = settings.number("depth_u")
    slices = settings.number("local_split_u")
    unit = instruction.unit_terms * slices
    if depth % unit:
        shared = f" with local_split_u {slices}" if slices > 1 else ""
        raise UnsupportedError(
            f"kernel family mma: depth_u must be a multiple of {unit} in this precision{shared}, "
            f"got {depth}"
        )
    depth //= slices
    partial, terms = settings.number("partial_sum_terms"), instruction.terms
    fits = partial % terms == 0 and (depth % max(partial, 1) == 0 or partial % (2 * depth) == 0)
    settings.require(
        fits,
        "partial_sum_terms",
        f"a multiple of {terms} that divides {depth} or is a multiple of {2 * depth}",
    )
    return settings
