"""Parameters that several families have."""

from __future__ import annotations

from mltune.kernel.arithmetic import VECTOR_WIDTHS
from mltune.kernel.parameters.param import EnumParam, IntParam, Limit, Tensile, pair, switch

AUTOMATIC = -1
"""As in Tensile: the value is computed from the others."""

WORK_GROUP = pair(
    IntParam(
        name="work_group",
        abbreviation="WG",
        meaning="work-items of a work-group",
        tensile=Tensile("WorkGroup"),
    ),
    lambda axis: (
        Limit(f"work_group_{axis} <= max_work_item_size_{axis}", "what the device allows"),
    ),
)

THREAD_TILE_0, THREAD_TILE_1 = pair(
    IntParam(
        name="thread_tile",
        abbreviation="TT",
        meaning="elements of C per work-item",
        tensile=Tensile("ThreadTile"),
    )
)

DEPTH_U = IntParam(
    name="depth_u",
    abbreviation="DU",
    meaning="terms of the sum per pass through local memory",
    tensile=Tensile("DepthU", automatic=AUTOMATIC),
)

VECTOR_WIDTH = IntParam(
    name="vector_width",
    abbreviation="VW",
    meaning="elements of d0 per access to local memory and C",
    values=VECTOR_WIDTHS,
    tensile=Tensile("VectorWidth", automatic=AUTOMATIC),
)

VECTOR_WIDTH_B = IntParam(
    name="vector_width_b",
    abbreviation="VWB",
    meaning="elements of d1 per access to local memory",
    values=(0, *VECTOR_WIDTHS),
    default=0,
    default_means="vector_width",
    limits=(
        Limit(
            "vector_width_b == 0 or thread_tile_1 % max(vector_width_b, 1) == 0",
            "a divisor of {thread_tile_1}",
        ),
    ),
)

WHOLE_VECTORS = Limit(
    "thread_tile_0 % vector_width == 0", "a multiple of vector_width ({vector_width})"
)

LOOP_UNROLL = IntParam(
    name="loop_unroll",
    abbreviation="LU",
    meaning="terms of the sum per step of the inner loop",
    tensile=Tensile("LoopUnroll"),
)

WORK_GROUP_MAPPING = IntParam(
    name="work_group_mapping",
    abbreviation="WGM",
    meaning="width, in tiles, of the strips of C that work-groups compute one after the other, "
    "for the cache",
    tensile=Tensile("WorkGroupMapping"),
)

MULTIPLY_ADD = EnumParam(
    name="multiply_add",
    abbreviation="MA",
    meaning="how a product is added to the sum: `x * y + z`, or OpenCL's function",
    values=("expr", "fma", "mad"),
    tensile=Tensile("MACInstruction", words=(("FMA", "fma"), ("MAD", "mad"))),
)

VECTOR_ACCESS = EnumParam(
    name="vector_access",
    abbreviation="VA",
    meaning="how a vector is read from memory: by a pointer to a vector, or by `vload`",
    values=("cast", "vload"),
)

LOCAL_SPLIT_U = IntParam(
    name="local_split_u",
    abbreviation="LSU",
    meaning="slices of work-items that share the terms of a sum",
    default=1,
)

MAX_REGISTERS = IntParam(
    name="max_registers",
    abbreviation="MR",
    meaning="registers per work-item that the compiler may use: NVIDIA's `-cl-nv-maxrregcount`",
    lowest=0,
    default=0,
    default_means="no limit",
)

SWIZZLE = IntParam(
    name="swizzle",
    abbreviation="SZ",
    meaning="1: vectors of a tile change places from row to row, against bank conflicts",
    values=(0, 1),
    default=0,
)

GLOBAL_SPLIT_U = (
    IntParam(
        name="global_split_u",
        abbreviation="GSU",
        meaning="work-groups that share a sum",
        default=1,
        tensile=Tensile("GlobalSplitU"),
    ),
    EnumParam(
        name="global_split_u_algorithm",
        abbreviation="GSUA",
        meaning="how their partial sums are added. `multiple`: each has a buffer of its own, and "
        "a second kernel adds these up, always in the same order. "
        "`multiple_single_kernel`: the last of a tile's work-groups to finish adds them up, in "
        "the same order. `single`: a first kernel multiplies C with beta, then all add to C by "
        "compare-exchange. `red`: the same by PTX's `red.global.add`, NVIDIA only",
        values=("multiple", "multiple_single_kernel", "single", "red"),
        default="multiple",
        applies_when="global_split_u > 1",
        limits=(
            Limit(
                'global_split_u == 1 or global_split_u_algorithm == "multiple"'
                ' or global_split_u_algorithm == "multiple_single_kernel"'
                " or parts == 1 and stored_bytes == bytes",
                "multiple or multiple_single_kernel in {precision}, which has no atomic addition",
            ),
            Limit(
                'global_split_u == 1 or global_split_u_algorithm == "multiple"'
                ' or global_split_u_algorithm == "multiple_single_kernel" or epilogue == 0',
                "multiple or multiple_single_kernel where there is an epilogue",
            ),
            Limit(
                'global_split_u_algorithm != "single" or bytes < 8 or int64_atomics == 1',
                "another one on this device, which cannot exchange 64 bits",
            ),
            Limit(
                'global_split_u_algorithm != "red" or compute_capability >= 60',
                "another one on this device",
            ),
        ),
        tensile=Tensile(
            "GlobalSplitUAlgorithm",
            words=(
                ("MultipleBuffer", "multiple"),
                ("MultipleBufferSingleKernel", "multiple_single_kernel"),
                ("SingleBuffer", "single"),
            ),
        ),
    ),
    IntParam(
        name="global_split_u_summation_assignment_round_robin",
        abbreviation="GSUSARR",
        meaning="1: steps of `depth_u` terms are dealt out in turn; 0: a share is one piece",
        values=(0, 1),
        default=0,
        applies_when="global_split_u > 1",
        tensile=switch("GlobalSplitUSummationAssignmentRoundRobin"),
    ),
    IntParam(
        name="global_split_u_work_group_mapping_round_robin",
        abbreviation="GSUWGMRR",
        meaning="1: the first shares of all tiles come first, then the second ones; "
        "0: the work-groups of a tile are neighbours",
        values=(0, 1),
        default=0,
        applies_when="global_split_u > 1",
        tensile=switch("GlobalSplitUWorkGroupMappingRoundRobin"),
    ),
)
"""How several work-groups share a sum: the families `tiled`, `mma` and `wgmma`."""
