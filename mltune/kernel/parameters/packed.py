"""The parameters of the family `packed`."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import IntParam, pair
from mltune.kernel.parameters.shared import (
    DEPTH_U,
    LOOP_UNROLL,
    MULTIPLY_ADD,
    THREAD_TILE_0,
    THREAD_TILE_1,
    VECTOR_WIDTH,
    WHOLE_VECTORS,
)

_TILE_MEANING = "elements of C in a register tile along d"

PACKED = FamilyParameters(
    family="packed",
    macro_tile=("panels", "thread_tile"),
    params=(
        *pair(
            IntParam(
                name="panels",
                abbreviation="PN",
                meaning="the most register tiles of a work-group; those of C are divided evenly "
                "between the work-groups,",
            )
        ),
        replace(THREAD_TILE_0, meaning=f"{_TILE_MEANING}0", limits=(WHOLE_VECTORS,)),
        replace(THREAD_TILE_1, meaning=f"{_TILE_MEANING}1"),
        replace(DEPTH_U, meaning="terms of the sum in a packed panel"),
        replace(VECTOR_WIDTH, meaning="elements in a vector"),
        LOOP_UNROLL,
        MULTIPLY_ADD,
        IntParam(
            name="pack_b",
            abbreviation="PB",
            meaning="1: B is packed, too; 0: it is read from its own memory",
            values=(0, 1),
        ),
    ),
)
