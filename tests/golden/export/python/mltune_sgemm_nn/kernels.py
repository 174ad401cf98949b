"""The kernels: OpenCL sources beside this file, with their launch geometry."""

from pathlib import Path

from .gemm_kernel import GemmKernel, Geometry

_FOLDER = Path(__file__).parent / "opencl"
_ARGUMENTS = (
    "c",
    "a",
    "b",
    "alpha",
    "beta",
    "uint",
    "uint",
    "uint",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
    "ulong",
)
"""What all kernels take, in order; scratch memory and counters come after it."""


def _integers(
    *,
    rows: int,
    columns: int,
    terms: int,
    offset_c: int,
    ld_c: int,
    batch_stride_c: int,
    offset_a: int,
    ld_a: int,
    batch_stride_a: int,
    offset_b: int,
    ld_b: int,
    batch_stride_b: int,
) -> tuple[int, ...]:
    return (
        rows,
        columns,
        terms,
        offset_c,
        ld_c,
        batch_stride_c,
        offset_a,
        ld_a,
        batch_stride_a,
        offset_b,
        ld_b,
        batch_stride_b,
    )


def _kernel(
    name: str,
    build_options: tuple[str, ...],
    passes: tuple[tuple[str, tuple[int, int, int]], ...],
    geometry: Geometry,
    memories: tuple[str, ...] = (),
    counts_units: bool = False,
    two_steps: bool = False,
) -> GemmKernel:
    return GemmKernel(
        name=name,
        source=(_FOLDER / f"{name}.cl").read_text(encoding="utf-8"),
        build_options=build_options,
        passes=passes,
        arguments=_ARGUMENTS + memories,
        integers=_integers,
        geometry=geometry,
        counts_units=counts_units,
        two_steps=two_steps,
    )


KERNELS = (
    _kernel(
        "one_element",
        build_options=("-cl-std=CL1.2",),
        passes=(("one_element", (8, 8, 1)),),
        geometry=lambda rows, columns, terms, batch, units: (
            ((-(-rows // 8) * 8, -(-columns // 8) * 8, batch),),
            0,
            0,
        ),
    ),
    _kernel(
        "four_rows",
        build_options=("-cl-std=CL1.2",),
        passes=(("four_rows", (8, 8, 1)),),
        geometry=lambda rows, columns, terms, batch, units: (
            ((-(-rows // 32) * 8, -(-columns // 8) * 8, batch),),
            0,
            0,
        ),
    ),
)
