"""A queue on PoCL, and the simplest kernel with mltune's arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import pyopencl as cl
import pytest

from mltune.kernel.abi import arguments, integers
from mltune.problem import Contraction
from mltune.runtime import built_kernels
from mltune.runtime.gemm_kernel import GemmKernel

NAIVE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
{helpers}
__kernel void {name}(__global TYPE *c, const __global TYPE *a, const __global TYPE *b,
    const TYPE alpha, const TYPE beta, const uint size_i, const uint size_j, const uint size_l,
    const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
    const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
    const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{{
    const size_t i = get_global_id(0), j = get_global_id(1), batch = get_global_id(2);
    if (i >= size_i || j >= size_j)
        return;
    c += offset_c + batch * batch_stride_c + i + j * ld_c;
    a += offset_a + batch * batch_stride_a;
    b += offset_b + batch * batch_stride_b;
    TYPE sum = 0;
    for (size_t l = 0; l < size_l; ++l)
        sum += MULTIPLY(CONJUGATE_A(a[{a_index}]), CONJUGATE_B(b[{b_index}]));
    *c = MULTIPLY(alpha, sum) + (IS_ZERO(beta) ? (TYPE)0 : MULTIPLY(beta, *c));
}}
"""
_REAL = """
#define TYPE {type}
#define MULTIPLY(x, y) ((x) * (y))
#define IS_ZERO(x) ((x) == 0)
#define CONJUGATE_A(x) (x)
#define CONJUGATE_B(x) (x)
"""
_COMPLEX = """
#define TYPE {type}2
#define MULTIPLY(x, y) ((TYPE)((x).s0 * (y).s0 - (x).s1 * (y).s1, \\
                               (x).s0 * (y).s1 + (x).s1 * (y).s0))
#define IS_ZERO(x) ((x).s0 == 0 && (x).s1 == 0)
#define CONJUGATE_A(x) ((TYPE)((x).s0, {sign_a}(x).s1))
#define CONJUGATE_B(x) ((TYPE)((x).s0, {sign_b}(x).s1))
"""
_TYPES = {"s": "float", "d": "double", "c": "float", "z": "double"}


@pytest.fixture(scope="module", autouse=True)
def compiled_soon(not_optimised: None) -> None:
    """Let kernels compile quickly: these tests are about the code around the kernels."""


@pytest.fixture
def strict_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse launches that wait for events of another context, as OpenCL asks; PoCL 3.1 does not.

    Arrays of another context have such events.
    """
    launched = built_kernels._launched

    def strict(
        kernel: cl.Kernel, queue: cl.CommandQueue, size: Any, group: Any, events: Sequence[Any]
    ) -> list[cl.Event]:
        if any(each.context != queue.context for each in events):
            raise cl.LogicError("clEnqueueNDRangeKernel failed: INVALID_CONTEXT")
        return launched(kernel, queue, size, group, events)

    monkeypatch.setattr(built_kernels, "_launched", strict)


@pytest.fixture(scope="session")
def naive_kernel() -> Callable[[Contraction], GemmKernel]:
    """Write a kernel of one work-item per element for any GEMM contraction."""

    def write(contraction: Contraction, name: str = "naive") -> GemmKernel:
        canonical = contraction.canonical()
        row, summed = 0, canonical.summation_indices[0]
        helpers = (_COMPLEX if canonical.precision.is_complex else _REAL).format(
            type=_TYPES[canonical.precision.letter],
            sign_a="-" if canonical.conjugate_a else "",
            sign_b="-" if canonical.conjugate_b else "",
        )
        source = NAIVE.format(
            name=name,
            helpers=helpers,
            a_index="i + l * ld_a" if canonical.index_assignments_a[0] == row else "l + i * ld_a",
            b_index="l + j * ld_b"
            if canonical.index_assignments_b[0] == summed
            else "j + l * ld_b",
        )
        return GemmKernel(
            name=name,
            source=source,
            build_options=("-cl-std=CL1.2",),
            passes=((name, (4, 2, 1)),),
            arguments=tuple(
                each.word for each in arguments(canonical, scratch=False, counters=False)
            ),
            integers=lambda rows, columns, terms, **layout: integers(
                arguments(canonical, scratch=False, counters=False),
                {"i": rows, "j": columns, "l": terms, **layout},
            ),
            geometry=lambda rows, columns, terms, batch, units: (
                ((-(-rows // 4) * 4, -(-columns // 2) * 2, batch),),
                0,
                0,
            ),
        )

    return write
