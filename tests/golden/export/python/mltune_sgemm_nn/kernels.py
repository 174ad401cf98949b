"""The kernels: OpenCL sources beside this file, with their launch geometry."""

from pathlib import Path

from .launch import GemmKernel

_FOLDER = Path(__file__).parent / "opencl"


def _kernel(
    name: str,
    build_options: tuple[str, ...],
    work_group: tuple[int, int, int],
    macro_tile: tuple[int, int],
) -> GemmKernel:
    return GemmKernel(
        name=name,
        source=(_FOLDER / f"{name}.cl").read_text(encoding="utf-8"),
        build_options=build_options,
        work_group=work_group,
        macro_tile=macro_tile,
    )


KERNELS = (
    _kernel(
        "one_element",
        build_options=("-cl-std=CL1.2",),
        work_group=(8, 8, 1),
        macro_tile=(8, 8),
    ),
    _kernel(
        "four_rows",
        build_options=("-cl-std=CL1.2",),
        work_group=(8, 8, 1),
        macro_tile=(32, 8),
    ),
)
