"""The parameters of the family `tiled`."""

from __future__ import annotations

from mltune.kernel import split_sum
from mltune.kernel.arithmetic import MULTIPLY_ADD, VECTOR_WIDTHS
from mltune.kernel.rules import Numbers, Rules, Settings, Words
from mltune.kernel.tiled import along_sum, local_memory, stagger, transpose_first, walk
from mltune.kernel.tiled.edge_regions import EDGE_REGIONS, LOOPS
from mltune.space.config import Config

READ_NEXT_TILE = 2  # of prefetch_local_read: also over the barrier between two tiles

RULES: Rules = {
    "work_group_0": Numbers(),
    "work_group_1": Numbers(),
    "thread_tile_0": Numbers(),
    "thread_tile_1": Numbers(),
    "depth_u": Numbers(),
    "vector_width": Numbers(choices=VECTOR_WIDTHS),
    "prefetch_global_read": Numbers(choices=(0, 1)),
    "local_pad": Numbers(lowest=0),
    "loop_unroll": Numbers(),
    "work_group_mapping": Numbers(),
    "multiply_add": Words(tuple(MULTIPLY_ADD)),
    "vector_access": Words(("cast", "vload")),
    # 0, or leaving it out, stands for what follows from the others.
    "vector_width_b": Numbers(choices=(0, *VECTOR_WIDTHS), default=0),
    "global_read_vector_width": Numbers(choices=(0, *VECTOR_WIDTHS), default=0),
    "local_pad_b": Numbers(lowest=0, default=-1),  # left out: as local_pad
    "local_buffers": Numbers(choices=(1, 2, 3, 4), default=1),
    "local_split_u": Numbers(default=1),
    "prefetch_local_read": Numbers(choices=(0, 1, READ_NEXT_TILE), default=0),
    "swizzle": Numbers(choices=(0, 1), default=0),
    "wave_lanes_0": Numbers(lowest=0, default=0),
    "wave_lanes_1": Numbers(lowest=0, default=0),
    "global_to_local": Words(("registers", "async"), default="registers"),
    "edge_type": Words(tuple(EDGE_REGIONS), default="branch"),
    "max_registers": Numbers(lowest=0, default=0),
    "non_temporal_a": Numbers(choices=(0, 1), default=0),
    "non_temporal_b": Numbers(choices=(0, 1), default=0),
    "non_temporal_c": Numbers(choices=(0, 1), default=0),
    **along_sum.RULES,
    **local_memory.RULES,
    **stagger.RULES,
    **transpose_first.RULES,
    **walk.RULES,
    **split_sum.RULES,
}


def read_settings(config: Config) -> Settings:
    """Check a config, also one parameter against another.

    Raises:
        UsageError: when a value is refused.
    """
    settings = Settings.read("tiled", RULES, config)
    tile = settings.pair("thread_tile")
    group = settings.pair("work_group")
    width, width_b = settings.number("vector_width"), settings.number("vector_width_b")
    settings.require(
        tile[0] % width == 0, "thread_tile_0", f"a multiple of vector_width ({width})"
    )
    settings.require(
        width_b == 0 or tile[1] % width_b == 0, "vector_width_b", f"a divisor of {tile[1]}"
    )
    split = settings.number("local_split_u")
    settings.require(
        settings.number("depth_u") % split == 0, "local_split_u", "a divisor of depth_u"
    )
    lanes = settings.pair("wave_lanes")
    settings.require((lanes[0] == 0) == (lanes[1] == 0), "wave_lanes_1", "0 if wave_lanes_0 is")
    for axis in (0, 1):
        fits = lanes[axis] == 0 or group[axis] % lanes[axis] == 0
        settings.require(fits, f"wave_lanes_{axis}", f"a divisor of work_group_{axis}")
    buffers = settings.number("local_buffers")
    if settings.word("global_to_local") == "async":
        settings.require(buffers >= 2, "local_buffers", "at least 2 with global_to_local async")
    else:
        settings.require(buffers <= 2, "local_buffers", "1 or 2 with global_to_local registers")
        fits = buffers == 1 or settings.number("prefetch_global_read") == 1
        settings.require(fits, "local_buffers", "1 without prefetch_global_read")
    for tensor in "abc":
        fits = settings.number(f"non_temporal_{tensor}") == 0 or (
            settings.word("vector_access") == "cast"
            and (tensor == "c" or settings.word("global_to_local") == "registers")
        )
        settings.require(
            fits, f"non_temporal_{tensor}", "0 but with vector_access cast, through registers"
        )
    fits = settings.word("edge_type") == "branch" or settings.number("global_split_u") == 1
    settings.require(fits, "edge_type", "branch where work-groups share a sum")
    fits = settings.word("edge_type") != LOOPS or settings.number("stagger_u") <= 1
    settings.require(fits, "edge_type", f"other than {LOOPS} with stagger_u")
    along_sum.check(settings)
    local_memory.check(settings)
    transpose_first.check(settings)
    _check_local_reads(settings)
    return settings


def _check_local_reads(settings: Settings) -> None:
    """Check what goes with reading rows of tiles before they are multiplied."""
    ahead = settings.number("prefetch_local_read")
    if ahead:
        unroll = settings.number("loop_unroll")
        settings.require(unroll % 2 == 0, "loop_unroll", "even with prefetch_local_read")
    if ahead == READ_NEXT_TILE:
        rows = settings.number("depth_u") // settings.number("local_split_u")
        own = any(settings.number(f"direct_to_registers_{tensor}") for tensor in "ab")
        fits = rows % 2 == 0 and settings.number("local_buffers") > 1 and not own
        settings.require(
            fits,
            "prefetch_local_read",
            "0 or 1 but with an even depth_u / local_split_u, 2 or more local_buffers and both "
            "operands in local memory",
        )
