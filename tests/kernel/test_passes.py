from dataclasses import replace

from mltune.kernel import Area, Kernel, Pass
from mltune.kernel.passes import Part, extents
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from mltune.space.expression import evaluate

KERNEL = Kernel(
    name="multiply",
    family="none",
    contraction=gemm(Precision.SINGLE, batched=True),
    config=Config.of({}),
    source="",
    build_options=(),
    work_group=(8, 4, 1),
    macro_tile=(32, 16),
)
PROBLEM = gemm_problem(KERNEL.contraction, 33, 16, 100, 3)


def test_a_plain_kernel_has_one_pass_and_no_scratch_memory() -> None:
    launch = KERNEL.launch(PROBLEM)

    assert [each.entry for each in KERNEL.passes] == ["multiply"]
    assert [grid.global_size for grid in launch.grids] == [(2 * 8, 1 * 4, 3)]
    assert KERNEL.scratch_bytes(PROBLEM) == 0


def test_work_groups_that_share_a_tile_stand_in_the_first_dimension() -> None:
    launch = replace(KERNEL, split=5).launch(PROBLEM)

    assert launch.grids[0].global_size == (2 * 5 * 8, 1 * 4, 3)


def test_passes_around_the_multiplying_one_walk_over_the_tiles_they_name() -> None:
    pack = Pass(entry="pack", work_group=(16, 2, 1), tile=(64, 10), over="il")
    finish = Pass(entry="finish", work_group=(32, 4, 1), tile=(32, 4))
    kernel = replace(KERNEL, before=(pack,), after=(finish,))

    launch = kernel.launch(PROBLEM)

    assert [each.entry for each in kernel.passes] == ["pack", "multiply", "finish"]
    assert [grid.local_size for grid in launch.grids] == [(16, 2, 1), (8, 4, 1), (32, 4, 1)]
    assert launch.grids[0].global_size == (1 * 16, 10 * 2, 3)
    assert launch.grids[2].global_size == (2 * 32, 4 * 4, 3)


def test_tiles_of_two_indices_may_stand_one_after_the_other() -> None:
    both = Pass(entry="both", work_group=(16, 1, 1), tile=(16, 64), over="il", then="j")
    reach = extents(gemm_problem(KERNEL.contraction, 33, 16, 65), 1)

    assert [evaluate(each, reach) for each in both.global_sizes] == [(3 + 1) * 16, 2, 1]


def test_a_pass_may_take_the_whole_tiles_or_the_rim_only() -> None:
    def groups(m: int, n: int) -> list[tuple[int, ...]]:
        parts: tuple[Part, ...] = ("whole", "edge")
        rest = Pass(entry="rest", work_group=(1, 1, 1), tile=(32, 16))
        passes = [replace(rest, part=(along_i, along_j)) for along_i in parts for along_j in parts]
        reach = extents(gemm_problem(KERNEL.contraction, m, n, 1), 1)
        return [tuple(evaluate(x, reach) for x in each.tiles) for each in passes]

    assert groups(70, 50) == [(2, 3), (2, 1), (1, 3), (1, 1)]
    assert groups(64, 48) == [(2, 3), (2, 0), (0, 3), (0, 0)]
    assert groups(31, 16) == [(0, 1), (0, 0), (1, 1), (1, 0)]


def test_work_groups_that_walk_are_as_many_as_the_device_has_room_for() -> None:
    meet = Pass(entry="meet", work_group=(128, 1, 1), tile=(1, 1), over="u1", split=6)
    area = Area(element_bytes=4, tile=(1, 512), over="u1", copies=4)
    kernel = replace(KERNEL, groups_per_unit=2, after=(meet,), scratch=(area,))

    launch = kernel.launch(PROBLEM, compute_units=132)

    assert [grid.global_size for grid in launch.grids] == [
        (2 * 132 * 8, 4, 3),
        (6 * 132 * 128, 1, 3),
    ]
    assert kernel.scratch_bytes(PROBLEM, compute_units=132) == 3 * 4 * 4 * 132 * 512


def test_scratch_memory_holds_whole_tiles_of_every_area() -> None:
    areas = (
        Area(element_bytes=4, tile=(32, 16), copies=5),
        Area(element_bytes=8, tile=(10, 64), over="li"),
    )

    assert replace(KERNEL, scratch=areas).scratch_bytes(PROBLEM) == 3 * (
        4 * 5 * 64 * 16 + 8 * 100 * 64
    )


def test_all_but_the_tiled_indices_of_c_count_together() -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn")
    problem = Problem(contraction=contraction, sizes=(5, 40, 3, 6, 7)).canonical()
    tiled = problem.contraction

    assert extents(problem, 132) == {
        "i": problem.sizes[tiled.d0 or 0],
        "j": problem.sizes[tiled.d1 or 0],
        "l": 6 * 7,
        "z": 5 * 40 * 3 // (problem.sizes[tiled.d0 or 0] * problem.sizes[tiled.d1 or 0]),
        "u": 132,
        "1": 1,
    }
