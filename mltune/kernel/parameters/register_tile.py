"""The parameters of the families `direct` and `small`: register tiles without local memory."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel.arithmetic import VECTOR_WIDTHS
from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import EnumParam, IntParam, Limit
from mltune.kernel.parameters.shared import (
    DEPTH_U,
    GLOBAL_SPLIT_U,
    LOCAL_SPLIT_U,
    MAX_REGISTERS,
    MULTIPLY_ADD,
    THREAD_TILE_0,
    THREAD_TILE_1,
    VECTOR_ACCESS,
    VECTOR_WIDTH,
    VECTOR_WIDTH_B,
    WHOLE_VECTORS,
    WORK_GROUP,
    WORK_GROUP_MAPPING,
)

_TILE = (
    replace(THREAD_TILE_0, limits=(WHOLE_VECTORS,)),
    THREAD_TILE_1,
    replace(
        DEPTH_U,
        meaning="terms that are read before they are multiplied; for the end of a sum see "
        "`edge_depth_u`",
    ),
    IntParam(
        name="edge_depth_u",
        abbreviation="EDU",
        meaning="terms that are read before they are multiplied at the end of a sum, and "
        "everywhere if vectors do not fit: at the edge of C, or if a leading dimension is "
        "no multiple of their width",
        values=(1, 2, 4, 8, 16, 32),
        default=1,
    ),
    replace(
        VECTOR_WIDTH,
        meaning="elements of d0 per access to C, and to A if it runs along d0; if A runs along "
        "the sum, its vectors have the largest width that divides `depth_u`",
    ),
    replace(
        VECTOR_WIDTH_B,
        meaning="neighbouring columns of a work-item; elements per access to B, as above",
    ),
    IntParam(
        name="vector_width_u",
        abbreviation="VWU",
        meaning="terms per read of an operand that runs along the sum. If A or B does, and "
        "numbers are real, the sums are such vectors, too, and are added up at the end",
        values=(0, *VECTOR_WIDTHS),
        default=0,
        default_means="by the two widths above",
        limits=(
            Limit("depth_u % max(vector_width_u, 1) == 0", "a divisor of depth_u ({depth_u})"),
        ),
    ),
    EnumParam(
        name="edge_type",
        abbreviation="ET",
        meaning="`branch`: a vector across the edge of C is read and written element by element. "
        "`shiftptr`: it is moved back inside, and elements that are computed twice are "
        "written once. `none`: only GEMMs whose M and N are multiples of the macro tile's "
        "sides and whose K is a multiple of `depth_u`",
        values=("branch", "shiftptr", "none"),
        default="branch",
    ),
    MULTIPLY_ADD,
    replace(
        VECTOR_ACCESS,
        meaning=f"{VECTOR_ACCESS.meaning}. `either`: by `vload`, in a loop of its own, if "
        "A or B is not aligned for pointers",
        values=("cast", "vload", "either"),
        applies_when="max(vector_width, vector_width_b, vector_width_u) > 1",
    ),
    MAX_REGISTERS,
)

_SUB_GROUPS = tuple(
    Limit(f"sub_group_size == 0 or {text}", wanted)
    for text, wanted in (
        ("work_group_0 % max(sub_group_size, 1) == 0", "a divisor of work_group_0"),
        (
            "thread_tile_1 * depth_u % max(sub_group_size, 1) == 0",
            "a divisor of thread_tile_1 * depth_u",
        ),
        ("vector_width_u <= 1", "0 where vector_width_u makes sums vectors along the sum"),
        ('edge_type != "shiftptr"', "0 with edge_type shiftptr"),
        ("sub_group_sizes // max(sub_group_size, 1) % 2 == 1", "a size that the device has"),
    )
)

DIRECT = FamilyParameters(
    family="direct",
    macro_tile=("work_group", "thread_tile"),
    params=(
        WORK_GROUP[0],
        replace(
            WORK_GROUP[1],
            limits=(
                *WORK_GROUP[1].limits,
                Limit(
                    "work_group_0 * work_group_1 <= max_work_group_size",
                    "so small that the device has work-groups of this size",
                ),
            ),
        ),
        *_TILE,
        WORK_GROUP_MAPPING,
        IntParam(
            name="sub_group_size",
            abbreviation="SG",
            meaning="work-items of a sub-group with the same columns of C: each reads a share of "
            "B and sends it to the others by `sub_group_broadcast`. 0: each reads "
            "everything itself",
            values=(0, 8, 16, 32, 64),
            default=0,
            limits=_SUB_GROUPS,
        ),
    ),
)

SMALL = FamilyParameters(
    family="small",
    macro_tile=("work_group", "thread_tile"),
    params=(
        *(replace(side, limits=()) for side in WORK_GROUP),
        *_TILE,
        replace(
            LOCAL_SPLIT_U,
            meaning="slices of work-items that share the terms of a sum",
            values=tuple(2**power for power in range(11)),
            default=None,
        ),
        IntParam(
            name="fan_in",
            abbreviation="FI",
            meaning="slices whose partial sums are added at once; a larger number needs more "
            "local memory and fewer barriers",
            values=(2, 4, 8, 16, 32),
            default=2,
            applies_when="local_split_u > 2",
        ),
        IntParam(
            name="interleave_u",
            abbreviation="IU",
            meaning="1: slices take turns after `vector_width_u` terms, so that neighbours read "
            "neighbouring vectors, and the reads of a step are under way at once even if a sum "
            "ends within it. A vector of leading dimension 1 is read in such vectors, too, where "
            "the macro tile has one row or column",
            values=(0, 1),
            default=0,
            applies_when="local_split_u > 1",
            limits=(
                Limit("interleave_u == 0 or vector_width_u > 0", "0 where vector_width_u is 0"),
            ),
        ),
        replace(
            GLOBAL_SPLIT_U[0],
            meaning="work-groups that share a sum; the last of them to finish adds their partial "
            "sums up, always in the same order",
            tensile=None,
            limits=(
                Limit(
                    "global_split_u == 1 or problems == 1",
                    "1 where a work-group has several products",
                ),
            ),
        ),
        IntParam(
            name="problems",
            abbreviation="NP",
            meaning="products of a batch per work-group",
            limits=(
                # In one dimension: devices allow few work-items along the third.
                Limit(
                    "work_group_0 * work_group_1 * local_split_u * problems "
                    "<= min(max_work_group_size, max_work_item_size_0)",
                    "so small that the device has work-groups of this size",
                ),
            ),
        ),
    ),
)
