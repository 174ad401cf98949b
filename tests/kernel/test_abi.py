"""A kernel's arguments as data are those of its source and of its launch."""

from __future__ import annotations

import pyopencl as cl
import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import Kernel, abi
from mltune.kernel.abi import Kind
from mltune.kernel.families import FAMILIES
from mltune.kernel.passes import extents
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem, parse_problem_type
from mltune.space import Config
from mltune.space.expression import Name, Number, evaluate, product
from tests.export.conftest import SMALL

TYPES = {
    Kind.UINT: "uint",
    Kind.ULONG: "ulong",
    Kind.MATRIX: "float*",
    Kind.FACTOR: "float",
    Kind.SCRATCH: "float*",
    Kind.COUNTERS: "uint*",
}
VARIANTS: dict[str, dict[str, int | str]] = {
    "plain": {},
    "remainder": {"edge_type": "remainder"},
    "split": {"global_split_u": 3},
    "counting": {"global_split_u": 3, "global_split_u_algorithm": "multiple_single_kernel"},
    "walking": {"persistent_kernel": 2, "stream_k": 1},
    "transposing": {"transpose_first": 1},
}


def _kernel(contraction: Contraction, variant: str) -> Kernel:
    return FAMILIES["tiled"].generate(contraction, Config.of({**SMALL, **VARIANTS[variant]}))


@pytest.mark.device
@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("einsum", ["", "bmkl,bkln->bmn"])
def test_the_compiler_sees_the_same_arguments_in_every_pass(
    variant: str, einsum: str, queue: cl.CommandQueue
) -> None:
    contraction = gemm(Precision.SINGLE, "n", "t")
    if einsum:
        contraction = Contraction.from_einsum(Precision.SINGLE, einsum)
    try:
        kernel = _kernel(contraction, variant)
    except UnsupportedError as error:
        pytest.skip(str(error))
    program = cl.Program(queue.context, kernel.source).build(
        [*kernel.build_options, "-cl-kernel-arg-info"],
        cache_dir=False,  # type: ignore[arg-type]  # its annotation forgets False
    )

    for each in kernel.passes:
        built = cl.Kernel(program, each.entry)
        assert built.num_args == len(kernel.arguments)
        for number, argument in enumerate(kernel.arguments):
            name = built.get_arg_info(number, cl.kernel_arg_info.NAME)
            assert str(name).removesuffix("_argument") == argument.name
            found = built.get_arg_info(number, cl.kernel_arg_info.TYPE_NAME)
            assert found == TYPES[argument.kind], argument.name


def test_a_gemm_passes_sizes_and_layout_in_the_order_of_the_arguments() -> None:
    kernel = _kernel(parse_problem_type("sgemm_nn"), "counting")
    launch = kernel.launch(gemm_problem(kernel.contraction, 33, 17, 9, lda=40))
    integers = [each.name for each in kernel.arguments if each.kind.is_integer]

    assert [each.name for each in kernel.arguments][-2:] == ["scratch", "counters"]
    assert dict(zip(integers, launch.integers, strict=True)) == {
        "size_i": 33, "size_j": 17, "size_l": 9,
        "offset_c": 0, "ld_c": 33, "batch_stride_c": 0,
        "offset_a": 0, "ld_a": 40, "batch_stride_a": 0,
        "offset_b": 0, "ld_b": 9, "batch_stride_b": 0,
    }  # fmt: skip


def test_an_argument_may_be_derived_from_others() -> None:
    derived = abi.Argument("size_in_all", Kind.ULONG, product(Name("i"), Name("j"), Number(3)))
    problem = gemm_problem(parse_problem_type("sgemm_nn"), 5, 7, 1)

    assert abi.integers([derived], abi.numbers(problem)) == (105,)


def test_a_launch_is_computed_exactly_beyond_64_bits() -> None:
    kernel = _kernel(parse_problem_type("sgemm_nn_batched"), "split")
    huge = Problem(contraction=kernel.contraction, sizes=(2**31 - 1, 2**31 - 1, 2**31 - 1, 8))
    reach = extents(huge, 1)

    assert evaluate(kernel.geometry.scratch_bytes, reach) == 3 * 4 * 2**62 * reach["z"] > 2**64


@pytest.mark.parametrize(
    ("einsum", "sizes", "words"),
    [
        ("mkl,nkl->mn", (1, 1, 2**16, 2**15), "2147483647 terms of a sum, got 2147483648"),
        ("abmk,abkn->abmn", (1, 1, 2**15, 2**16, 1), "products in a batch, got 2147483648"),
    ],
)
def test_more_than_32_bits_can_count_is_refused(
    einsum: str, sizes: tuple[int, ...], words: str
) -> None:
    kernel = _kernel(Contraction.from_einsum(Precision.SINGLE, einsum), "plain")
    halved = (1, 1, sizes[2] // 2, *sizes[3:])

    assert kernel.launch(Problem(contraction=kernel.contraction, sizes=halved)).grids
    with pytest.raises(UsageError, match=f"takes at most .*{words}"):
        kernel.launch(Problem(contraction=kernel.contraction, sizes=sizes))
