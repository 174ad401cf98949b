"""The parameters of the family `mma`."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import IntParam, Limit, pair
from mltune.kernel.parameters.shared import (
    DEPTH_U,
    GLOBAL_SPLIT_U,
    LOCAL_SPLIT_U,
    MAX_REGISTERS,
    SWIZZLE,
    WORK_GROUP_MAPPING,
)

_OWN_DEPTH = "(depth_u // local_split_u)"

MMA = FamilyParameters(
    family="mma",
    macro_tile=("waves", "wave_tile"),
    params=(
        *pair(
            IntParam(
                name="waves",
                abbreviation="WV",
                meaning="waves of 32 lanes of a work-group (MIWaveGroup)",
                values=(1, 2, 4, 8),
            )
        ),
        *pair(
            IntParam(
                name="wave_tile",
                abbreviation="WT",
                meaning="elements of C per wave (MIWaveTile times the instruction's shape)",
                values=(16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128),
            ),
            lambda axis: (
                Limit(
                    f"stored_bytes == 8 or wave_tile_{axis} == 16 or wave_tile_{axis} == 32"
                    f" or wave_tile_{axis} == 64 or wave_tile_{axis} == 128",
                    "16, 32, 64 or 128 in {precision}",
                ),
                # An instruction multiplies 8 columns along d0 with 16 rows along d1.
                *((Limit("wave_tile_1 % 16 == 0", "a multiple of 16"),) if axis == "1" else ()),
            ),
        ),
        replace(
            LOCAL_SPLIT_U,
            meaning="groups of waves that compute the same elements from different terms of a "
            "tile; their sums are added in local memory",
            values=(1, 2, 4, 8),
            limits=(
                Limit(
                    "waves_0 * waves_1 * local_split_u * 32 <= max_work_group_size",
                    "so small that the device has work-groups of this size",
                ),
            ),
        ),
        replace(
            DEPTH_U,
            values=(8, 16, 32, 64, 128),
            tensile=None,
            limits=(
                Limit(
                    "depth_u % (8 * local_split_u) == 0",
                    "a multiple of 8 times local_split_u ({local_split_u})",
                ),
                Limit(
                    "stored_bytes == 8 or depth_u % (16 * local_split_u) == 0",
                    "a multiple of 16 times local_split_u ({local_split_u}) in {precision}",
                ),
            ),
        ),
        IntParam(
            name="instruction_terms",
            abbreviation="MIK",
            meaning="terms of the sum that an instruction adds (the third of MatrixInstruction). "
            "4, in double: prefetched operands take half as many registers",
            values=(0, 4),
            default=0,
            default_means="16 with elements of 2 bytes, else 8",
            limits=(
                Limit("instruction_terms == 0 or stored_bytes == 8", "0 in {precision}"),
                Limit(
                    "instruction_terms == 0 or partial_sum_terms == 0", "0 with partial_sum_terms"
                ),
            ),
        ),
        IntParam(
            name="local_buffers",
            abbreviation="LB",
            meaning="tiles of each operand in local memory, including those being copied",
            lowest=2,
        ),
        IntParam(
            name="prefetch_local_read",
            abbreviation="PLR",
            meaning="1: the next unit of a tile is read while the present one is multiplied",
            values=(0, 1),
            default=0,
        ),
        IntParam(
            name="partial_sum_terms",
            abbreviation="PST",
            meaning="terms that are summed before they are rounded and added to the whole sum; 0: "
            "no partial sums",
            lowest=0,
            default=0,
            limits=(
                Limit("partial_sum_terms % 8 == 0", "a multiple of 8"),
                Limit(
                    "multiplied_bytes != 2 or partial_sum_terms % 16 == 0",
                    "a multiple of 16 with elements of 2 bytes",
                ),
                Limit(
                    f"{_OWN_DEPTH} % max(partial_sum_terms, 1) == 0"
                    f" or partial_sum_terms % (2 * max({_OWN_DEPTH}, 1)) == 0",
                    "a divisor of depth_u / local_split_u, or a multiple of twice that",
                ),
            ),
        ),
        replace(
            SWIZZLE,
            meaning="1: chunks of 16 bytes are permuted from row to row, against bank conflicts",
            default=1,
        ),
        WORK_GROUP_MAPPING,
        MAX_REGISTERS,
        *GLOBAL_SPLIT_U,
    ),
)
