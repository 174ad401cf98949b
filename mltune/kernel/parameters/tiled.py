"""The parameters of the family `tiled`."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel.arithmetic import VECTOR_WIDTHS
from mltune.kernel.parameters.family_parameters import FamilyParameters
from mltune.kernel.parameters.param import EnumParam, IntParam, Limit, Tensile, pair, switch
from mltune.kernel.parameters.shared import (
    DEPTH_U,
    GLOBAL_SPLIT_U,
    LOCAL_SPLIT_U,
    LOOP_UNROLL,
    MAX_REGISTERS,
    MULTIPLY_ADD,
    SWIZZLE,
    THREAD_TILE_0,
    THREAD_TILE_1,
    VECTOR_ACCESS,
    VECTOR_WIDTH,
    VECTOR_WIDTH_B,
    WHOLE_VECTORS,
    WORK_GROUP,
    WORK_GROUP_MAPPING,
)

READ_NEXT_TILE = 2  # of prefetch_local_read: also over the barrier between two tiles
_BOTH_LANES = Limit(
    "wave_lanes_0 * wave_lanes_1 > 0 or wave_lanes_0 + wave_lanes_1 == 0",
    "0 if wave_lanes_0 is, and only then",
)


def _direct_to_registers(tensor: str, *more: Limit) -> IntParam:
    name = f"direct_to_registers_{tensor}"
    return IntParam(
        name=name,
        abbreviation=f"DTR{tensor.upper()}",
        meaning=f"1: work-items read {tensor.upper()} themselves, and only the other operand "
        "passes through local memory. They read vectors if it runs along d0 or d1, else single "
        "elements. In no shipped space",
        values=(0, 1),
        default=0,
        limits=(
            Limit(
                f'{name} == 0 or global_to_local == "registers"', "0 with global_to_local async"
            ),
            *more,
        ),
        tensile=switch(f"DirectToVgpr{tensor.upper()}"),
    )


def _non_temporal(tensor: str) -> IntParam:
    name = f"non_temporal_{tensor}"
    path = "" if tensor == "c" else ' and global_to_local == "registers"'
    return IntParam(
        name=name,
        abbreviation=f"NT{tensor.upper()}",
        meaning=f"1: vectors of {tensor.upper()} bypass the caches, by clang's "
        "`__builtin_nontemporal_load` and `_store`; a driver without these builtins cannot build "
        "the kernel. In no shipped space",
        values=(0, 1),
        default=0,
        limits=(
            Limit(
                f'{name} == 0 or vector_access == "cast"{path}',
                "0 but with vector_access cast, through registers",
            ),
            Limit(
                f"{name} == 0 or stored_bytes == bytes",
                "0 in {precision}, whose numbers are converted",
            ),
        ),
        tensile=switch(f"NonTemporal{tensor.upper()}", writes_numbers=True),
    )


TILED = FamilyParameters(
    family="tiled",
    macro_tile=("work_group", "thread_tile"),
    params=(
        *WORK_GROUP,
        replace(THREAD_TILE_0, limits=(WHOLE_VECTORS,)),
        THREAD_TILE_1,
        DEPTH_U,
        replace(
            LOCAL_SPLIT_U,
            limits=(
                Limit("depth_u % local_split_u == 0", "a divisor of depth_u"),
                Limit(
                    "work_group_0 * work_group_1 * local_split_u <= max_work_group_size",
                    "so small that the device has work-groups of this size",
                ),
                Limit("local_split_u <= max_work_item_size_2", "what the device allows"),
            ),
            tensile=Tensile("WorkGroup", place=2),
        ),
        VECTOR_WIDTH,
        VECTOR_WIDTH_B,
        IntParam(
            name="global_read_vector_width",
            abbreviation="GRVW",
            meaning="elements per read of A and B",
            values=(0, *VECTOR_WIDTHS),
            default=0,
            default_means="from the shares",
            tensile=Tensile("GlobalReadVectorWidth", automatic=0),
        ),
        IntParam(
            name="prefetch_global_read",
            abbreviation="PGR",
            meaning="1: the next tile is loaded into registers while this one is multiplied",
            values=(0, 1),
            applies_when='global_to_local == "registers"',
            tensile=switch("PrefetchGlobalRead"),
        ),
        IntParam(
            name="prefetch_local_read",
            abbreviation="PLR",
            meaning="1: the next row of both tiles is read while the current one is multiplied, "
            "within a tile. 2: also across the barrier: the next tile's first row is read "
            "while the current tile's last row is multiplied (as in Tensile with two "
            "buffers)",
            values=(0, 1, READ_NEXT_TILE),
            default=0,
            limits=(
                Limit(
                    f"prefetch_local_read < {READ_NEXT_TILE} "
                    "or depth_u // local_split_u % 2 == 0 and local_buffers > 1 "
                    "and direct_to_registers_a + direct_to_registers_b == 0",
                    "0 or 1 but with an even depth_u / local_split_u, 2 or more local_buffers and "
                    "both operands in local memory",
                ),
                Limit("prefetch_local_read * vector_width_u == 0", "0 with vector_width_u"),
            ),
            tensile=switch("PrefetchLocalRead"),
        ),
        _direct_to_registers("a"),
        _direct_to_registers(
            "b",
            Limit(
                "direct_to_registers_a + direct_to_registers_b < 2",
                "0 where direct_to_registers_a is 1 (the family direct reads both so)",
            ),
        ),
        IntParam(
            name="local_buffers",
            abbreviation="LB",
            meaning="tiles of each operand in local memory",
            values=(1, 2, 3, 4),
            default=1,
            limits=(
                Limit(
                    'global_to_local == "registers" or local_buffers >= 2',
                    "at least 2 with global_to_local async",
                ),
                Limit(
                    'global_to_local == "async" or local_buffers <= 2',
                    "1 or 2 with global_to_local registers",
                ),
                Limit(
                    'global_to_local == "async" or local_buffers <= 1 + prefetch_global_read',
                    "1 without prefetch_global_read",
                ),
            ),
            tensile=Tensile("1LDSBuffer", words=(("False", 2), ("True", 1))),
        ),
        EnumParam(
            name="global_to_local",
            abbreviation="GTL",
            meaning="how a tile is copied to local memory: through `registers`, or directly by "
            "`async` copies (PTX's `cp.async`, NVIDIA from compute capability 8.0 on)",
            values=("registers", "async"),
            default="registers",
            limits=(
                Limit(
                    'global_to_local == "registers" or parts == 1 and stored_bytes == bytes',
                    "registers in {precision}, whose numbers are converted or read in parts",
                ),
                Limit(
                    'global_to_local == "registers" or compute_capability >= 80',
                    "registers on this device",
                ),
            ),
            tensile=switch("DirectToLds", "registers", "async"),
        ),
        IntParam(
            name="prefetch_l2",
            abbreviation="PLT",
            meaning="bytes that the second-level cache prefetches with every `async` copy: PTX's "
            "`.L2::128B`, as in CUTLASS. In no shipped space",
            values=(0, 64, 128, 256),
            default=0,
            applies_when='global_to_local == "async"',
        ),
        IntParam(
            name="local_pad",
            abbreviation="LP",
            meaning="unused elements after each row of a tile",
            lowest=0,
            tensile=Tensile("LdsPadA"),
        ),
        IntParam(
            name="local_pad_b",
            abbreviation="LPB",
            meaning="the same in tiles of B",
            lowest=0,
            default=-1,
            default_means="local_pad",
            tensile=Tensile("LdsPadB"),
        ),
        IntParam(
            name="vector_width_u",
            abbreviation="VWU",
            meaning="terms per access to local memory of an operand that runs along the sum (A in "
            "TN and TT, B in NN and TN). Its tile keeps this order in local memory, and "
            "is copied in vectors (TransposeLDS, now UnrollMajorLDSA, -B). 0: the copy "
            "transposes the tile, element by element",
            values=(0, *VECTOR_WIDTHS),
            default=0,
            limits=(
                Limit(
                    "depth_u // local_split_u % max(vector_width_u, 1) == 0",
                    "a divisor of depth_u / local_split_u",
                ),
            ),
        ),
        replace(
            SWIZZLE,
            meaning="1: in tiles of operands that run along the sum, vectors are permuted from "
            "row to row. This reduces bank conflicts without padding, when a column of a "
            "transposed tile is written, or when work-items read rows of a tile along the "
            "sum",
        ),
        IntParam(
            name="transpose_first",
            abbreviation="TF",
            meaning="1: a first pass transposes operands that run along the sum into scratch "
            "memory, and the multiplying pass is that of NT (CLBlast's indirect kernels); "
            "for GEMMs and batches of them",
            values=(0, 1),
            default=0,
            limits=(
                Limit(
                    "transpose_first == 0 or global_split_u == 1 and persistent_kernel == 0",
                    "0 with global_split_u or persistent_kernel",
                ),
            ),
        ),
        replace(
            LOOP_UNROLL,
            limits=(
                Limit(
                    "prefetch_local_read == 0 or loop_unroll % 2 == 0",
                    "even with prefetch_local_read",
                ),
                Limit(
                    "loop_unroll % max(vector_width_u, 1) == 0",
                    "a multiple of vector_width_u ({vector_width_u})",
                ),
            ),
        ),
        *pair(
            IntParam(
                name="wave_lanes",
                abbreviation="WL",
                meaning="consecutive work-items that form a block",
                lowest=0,
                default=0,
                default_means="a whole row",
            ),
            lambda axis: (
                Limit(
                    f"work_group_{axis} % max(wave_lanes_{axis}, 1) == 0",
                    f"a divisor of work_group_{axis}",
                ),
                *((_BOTH_LANES,) if axis == "1" else ()),
            ),
        ),
        WORK_GROUP_MAPPING,
        MULTIPLY_ADD,
        replace(
            VECTOR_ACCESS,
            applies_when="max(vector_width, vector_width_b, vector_width_u, "
            "global_read_vector_width) > 1",
        ),
        EnumParam(
            name="edge_type",
            abbreviation="ET",
            meaning="`branch`: every work-group checks whether its macro tile is inside of C. "
            "`shiftptr`: where vectors fit, what is outside is read inside, without checks but "
            "in the last step. `remainder`: a kernel without these checks for whole tiles, and "
            "up to three more for remaining rows, columns and corner, launched only if there "
            "are any; in no shipped space. `none`: only packed GEMMs whose M and N are "
            "multiples of the macro tile's sides and whose K is a multiple of `depth_u`; the "
            "loop over the sum has no branches. `loops`: any problem, two loops: one without "
            "branches for whole steps of tiles inside of C, one with checks for the rest",
            values=("branch", "shiftptr", "remainder", "none", "loops"),
            default="branch",
            limits=(
                Limit(
                    'edge_type == "branch" or edge_type == "shiftptr" or global_split_u == 1',
                    "branch or shiftptr where work-groups share a sum",
                ),
                Limit(
                    'edge_type == "branch" or edge_type == "shiftptr" or persistent_kernel == 0',
                    "branch or shiftptr with persistent_kernel",
                ),
                Limit('edge_type != "loops" or stagger_u <= 1', "other than loops with stagger_u"),
            ),
            tensile=Tensile(
                "EdgeType",
                words=(("Branch", "branch"), ("ShiftPtr", "shiftptr"), ("None", "none")),
            ),
        ),
        MAX_REGISTERS,
        *(_non_temporal(tensor) for tensor in "abc"),
        IntParam(
            name="stagger_u",
            abbreviation="SU",
            meaning="number of places in the sum where work-groups begin, so that they do not all "
            "read from the same memory channels at once; after the last step they "
            "continue with the first. 0 and 1: all begin with the first terms. In no "
            "shipped space",
            lowest=0,
            default=0,
            tensile=Tensile("StaggerU"),
        ),
        IntParam(
            name="stagger_u_mapping",
            abbreviation="SUM",
            meaning="the number that determines a work-group's place: its tile's along d0 (0), "
            "its tile's along d1 (1), its product's in the batch (2), or its own among "
            "all work-groups (3)",
            values=(0, 1, 2, 3),
            default=0,
            applies_when="stagger_u > 1",
            tensile=Tensile("StaggerUMapping"),
        ),
        IntParam(
            name="stagger_u_stride",
            abbreviation="SUS",
            meaning="bytes of a row from one place to the next, in whole steps of `depth_u`, at "
            "least one",
            default=256,
            applies_when="stagger_u > 1",
            tensile=Tensile("StaggerUStride"),
        ),
        IntParam(
            name="persistent_kernel",
            abbreviation="PK",
            meaning="work-groups for each compute unit, which compute the tiles of C in turns; "
            "the products of a batch have work-groups of their own. 0: each tile has a "
            "work-group",
            lowest=0,
            default=0,
            tensile=Tensile("PersistentKernel"),
        ),
        IntParam(
            name="stream_k",
            abbreviation="SK",
            meaning="1: these work-groups take equal shares of all tiles' steps of `depth_u` "
            "terms instead. If a sum is divided between shares, its parts go to scratch "
            "memory, at most two tiles for each work-group, and a second pass adds them "
            "up, always in the same order",
            values=(0, 1),
            default=0,
            limits=(
                Limit("stream_k == 0 or persistent_kernel > 0", "0 without persistent_kernel"),
            ),
            tensile=switch("StreamK", writes_numbers=True),
        ),
        replace(
            GLOBAL_SPLIT_U[0],
            limits=(
                Limit("global_split_u == 1 or persistent_kernel == 0", "1 with persistent_kernel"),
            ),
        ),
        *GLOBAL_SPLIT_U[1:],
    ),
)
