"""The family `wgmma` without tensor cores: its instructions in plain OpenCL C, for any device."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.kernel.wgmma import WgmmaFamily
from mltune.problem import Contraction, Precision
from mltune.space import Config
from tests.plain_mma import INSTRUCTIONS, with_storage

_STORAGE = "    __local float handed[THREADS * 4];\n"


class PlainWgmmaFamily(WgmmaFamily):
    """All but the instructions is what NVIDIA's GPUs get."""

    def __init__(self) -> None:
        """Take the instructions beside the families' tests."""
        super().__init__(INSTRUCTIONS)

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel as pip's PoCL can build it, which copies barriers that it unrolls."""
        kernel = super().generate(contraction, config)
        source = kernel.source.replace("#pragma unroll\n", "#pragma unroll 1\n")
        source = source.replace('("unroll")', '("unroll 1")')
        hands = kernel.contraction.precision is Precision.SINGLE and "SPIhalf" not in kernel.name
        return replace(kernel, source=with_storage(source, _STORAGE) if hands else source)
