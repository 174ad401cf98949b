"""The family `mma` without tensor cores: its instructions in plain OpenCL C, for any device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mltune.kernel import Kernel
from mltune.kernel.mma import MmaFamily
from mltune.problem import Contraction, Precision
from mltune.space import Config

INSTRUCTIONS = Path(__file__).parent / "kernel" / "plain"
NOT_OPTIMISED = "-cl-opt-disable"
"""PoCL would optimise the replaced instructions for up to a minute."""
_BEGIN = "    const uint lane = "
_STORAGE = """\
    __local {register} handed[THREADS * 6];
    const __local LOCAL *__local rows[THREADS];
"""
_MORE_WHOLE_TILES = "copied + TURN <= whole_tiles"


class PlainMmaFamily(MmaFamily):
    """Kernels for NVIDIA's GPUs, except for the instructions."""

    def __init__(self) -> None:
        """Take the instructions from the folder of the family's tests."""
        super().__init__(INSTRUCTIONS)

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel so that pip's PoCL can build it.

        PoCL copies each barrier that it unrolls, so loops stay loops, except those of double:
        there it keeps vectors of 32 bytes wrongly over a barrier in a loop. It is also wrong if a
        loop with barriers is entered on a condition, like the loop of whole tiles; the loop of any
        tiles computes those, too.
        """
        kernel = super().generate(contraction, config)
        before, _, rest = kernel.source.partition(f"        if ({_MORE_WHOLE_TILES})\n")
        source = before + rest.partition(f"while ({_MORE_WHOLE_TILES});\n")[2]
        if kernel.contraction.precision is not Precision.DOUBLE:
            source = source.replace("#pragma unroll\n", "#pragma unroll 1\n")
            source = source.replace('("unroll")', '("unroll 1")')
        register = "uint" if contraction.rounds else "FRAGMENT"
        return replace(
            kernel,
            source=with_storage(source, _STORAGE.format(register=register)),
            build_options=(*kernel.build_options, NOT_OPTIMISED),
        )


def with_storage(source: str, storage: str) -> str:
    """The source with local memory through which the lanes of a kernel exchange numbers."""
    before, begin, after = source.partition(_BEGIN)
    return before + storage + begin + after
