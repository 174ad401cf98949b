"""The parameters of the family `wgmma`.

Half takes both operands from local memory, single one of them; so they have different values.
"""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import EnumParam, IntParam, Limit, Tensile, pair
from mltune.kernel.parameters.shared import (
    DEPTH_U,
    GLOBAL_SPLIT_U,
    MAX_REGISTERS,
    WORK_GROUP_MAPPING,
)

WGMMA = FamilyParameters(
    family="wgmma",
    macro_tile=("warp_groups", "warp_group_tile"),
    params=(
        *pair(
            IntParam(
                name="warp_groups",
                abbreviation="WPG",
                meaning="warpgroups of a work-group",
                values=(1, 2, 3, 4),
            ),
            lambda axis: (
                Limit(
                    "warp_groups_0 * warp_groups_1 * 128 <= max_work_group_size",
                    "so small that the device has work-groups of this size",
                ),
            ),
        ),
        IntParam(
            name="warp_group_tile_0",
            abbreviation="WPT",
            meaning="elements of C per warpgroup along d0, the instruction's columns",
            values=tuple(range(64, 257, 8)),
            limits=(
                Limit(
                    "stored_bytes == 2 or warp_group_tile_0 % 64 == 0 or warp_group_tile_0 == 96",
                    "64, 96, 128 or 192 in {precision}",
                ),
                Limit(
                    "stored_bytes == 4 or warp_group_tile_0 % 64 == 0 or warp_groups_0 == 1",
                    "64, 128, 192 or 256 with several warpgroups along d0 in {precision}",
                ),
                Limit(
                    "warp_group_tile_0 != 256 or stored_bytes == 2 or rounds == 1",
                    "64, 96, 128 or 192 in {precision}",
                ),
                Limit(
                    'warp_group_tile_0 <= 128 or split_into == "tf32"',
                    "at most 128 where single is split into halves, whose sums take three times "
                    "the registers",
                ),
            ),
        ),
        IntParam(
            name="warp_group_tile_1",
            abbreviation="WPT",
            meaning="elements of C per warpgroup along d1; 64 are the instruction's rows",
            values=(64, 128, 192),
            limits=(Limit("warp_group_tile_1 == 64 or stored_bytes == 2", "64 in {precision}"),),
        ),
        replace(
            DEPTH_U,
            values=(32, 64, 128),
            tensile=None,
            limits=(
                Limit("depth_u != 32 or multiplied_bytes == 4", "64 or 128 in {precision}"),
                Limit("depth_u == 32 or multiplied_bytes == 2", "32 in {precision}"),
                Limit("depth_u != 128 or stored_bytes == 2", "64 in {precision}"),
            ),
        ),
        IntParam(
            name="local_buffers",
            abbreviation="LB",
            meaning="tiles of each operand in local memory, including those being copied; in "
            "single of A only, besides three tiles of its small parts",
            lowest=3,
        ),
        IntParam(
            name="partial_sum_terms",
            abbreviation="PST",
            meaning="in single without a compute type only: terms that are summed before they "
            "are rounded and added to the whole sum",
            values=(0, 32, 64, 128, 256),
            default=0,
            limits=(
                Limit(
                    "partial_sum_terms == 0 or stored_bytes == 4 and rounds == 0",
                    "0 in {precision}",
                ),
                Limit(
                    "partial_sum_terms > 0 or stored_bytes == 2 or rounds == 1",
                    "32, 64, 128 or 256 in {precision}",
                ),
            ),
        ),
        EnumParam(
            name="split_into",
            abbreviation="SPI",
            meaning="in single only: the format of the two parts that each number is split into; "
            "all products of parts are added up, except that of the two small parts. "
            "`tf32`: numbers with single's exponents. `half`: twice as fast; "
            "`partial_sum_terms` of a row of A or column of B are scaled by a power of two",
            values=("tf32", "half"),
            default="tf32",
            limits=(
                Limit(
                    'split_into == "tf32" or stored_bytes == 4 and rounds == 0',
                    "tf32 in {precision}",
                ),
            ),
        ),
        IntParam(
            name="dense_rest",
            abbreviation="DR",
            meaning="in half only: how a tile is copied whose contiguous elements are no multiple "
            "of 64. 0: eight work-items copy the rest of a row, too, some of which idle. 1: as "
            "many as it has chunks of 8 elements",
            values=(0, 1),
            default=0,
            limits=(Limit("dense_rest == 0 or stored_bytes == 2", "0 in {precision}"),),
        ),
        WORK_GROUP_MAPPING,
        IntParam(
            name="persistent_kernel",
            abbreviation="PK",
            meaning="in half only: work-groups for each compute unit, which compute the tiles of "
            "C in turns, and copy for the next tile while they store. 0, or if several "
            "indices are summed: each tile has a work-group",
            lowest=0,
            default=0,
            limits=(Limit("persistent_kernel == 0 or stored_bytes == 2", "0 in {precision}"),),
            tensile=Tensile("PersistentKernel"),
        ),
        MAX_REGISTERS,
        replace(
            GLOBAL_SPLIT_U[0],
            limits=(
                *GLOBAL_SPLIT_U[0].limits,
                Limit("global_split_u == 1 or persistent_kernel == 0", "1 with persistent_kernel"),
            ),
        ),
        *GLOBAL_SPLIT_U[1:],
    ),
)
