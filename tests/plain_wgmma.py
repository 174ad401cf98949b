"""The family `wgmma` without tensor cores: its instructions in plain OpenCL C, for any device."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.kernel.wgmma import WgmmaFamily
from mltune.problem import Contraction, Precision
from mltune.space import Config
from tests.plain_mma import INSTRUCTIONS, NOT_OPTIMISED, with_storage

_ROWS = "    __local float handed[THREADS * 4];\n"
_CHUNKS = "    __local uint handed[THREADS];\n"


class PlainWgmmaFamily(WgmmaFamily):
    """Kernels for NVIDIA's GPUs, except for the instructions."""

    def __init__(self) -> None:
        """Take the instructions from the folder of the families' tests."""
        super().__init__(INSTRUCTIONS)

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel so that pip's PoCL, which copies unrolled barriers, can build it."""
        kernel = super().generate(contraction, config)
        source = kernel.source.replace("#pragma unroll\n", "#pragma unroll 1\n")
        source = source.replace('("unroll")', '("unroll 1")')
        if kernel.contraction.precision is Precision.HALF:
            source = with_storage(source, _CHUNKS)
        elif "SPIhalf" not in kernel.name and not contraction.rounds:
            source = with_storage(source, _ROWS)
        options = (*kernel.build_options, NOT_OPTIMISED)
        return replace(kernel, source=source, build_options=options)
