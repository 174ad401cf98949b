"""The family `mma` without tensor cores: its instructions in plain OpenCL C, for any device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mltune.kernel import Kernel
from mltune.kernel.mma import MmaFamily
from mltune.problem import Contraction, Precision
from mltune.space import Config

_INSTRUCTIONS = Path(__file__).parent / "kernel" / "mma_plain"


class PlainMmaFamily(MmaFamily):
    """All but the instructions is what NVIDIA's GPUs get."""

    def __init__(self) -> None:
        """Take the instructions beside the family's tests."""
        super().__init__(_INSTRUCTIONS)

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel with its loops as loops: PoCL copies every barrier it unrolls.

        Except double: pip's PoCL then keeps vectors of 32 bytes wrongly over a barrier.
        """
        kernel = super().generate(contraction, config)
        if kernel.contraction.precision is Precision.DOUBLE:
            return kernel
        source = kernel.source.replace("#pragma unroll\n", "#pragma unroll 1\n")
        return replace(kernel, source=source.replace('("unroll")', '("unroll 1")'))
