"""The kernels: OpenCL sources beside this file, with their launch geometry."""

from pathlib import Path

from .launch import GemmArea, GemmKernel, GemmPass

_FOLDER = Path(__file__).parent / "opencl"


def _kernel(
    name: str,
    build_options: tuple[str, ...],
    passes: tuple[GemmPass, ...],
    scratch: tuple[GemmArea, ...] = (),
    counters: bool = False,
    held_back: bool = False,
) -> GemmKernel:
    return GemmKernel(
        name=name,
        source=(_FOLDER / f"{name}.cl").read_text(encoding="utf-8"),
        build_options=build_options,
        passes=passes,
        scratch=scratch,
        counters=counters,
        held_back=held_back,
    )


KERNELS = (
    _kernel(
        "one_element",
        build_options=("-cl-std=CL1.2",),
        passes=(GemmPass(entry="one_element", work_group=(8, 8, 1), tile=(8, 8)),),
    ),
    _kernel(
        "four_rows",
        build_options=("-cl-std=CL1.2",),
        passes=(GemmPass(entry="four_rows", work_group=(8, 8, 1), tile=(32, 8)),),
    ),
)
