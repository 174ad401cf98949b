"""The family `direct`: a grid of register tiles over C, read from global memory."""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.direct.register_tile import Work, write
from mltune.kernel.kernel import Kernel
from mltune.kernel.parameters.register_tile import DIRECT
from mltune.problem import Contraction
from mltune.space.config import Config


class DirectFamily:
    """Register tiles that are read straight from global memory, for any contraction.

    Writes all precisions; half is stored as such and computed in single. The work-items of a
    sub-group may read one operand together.
    """

    def __init__(self, instructions: Path | None = None) -> None:
        """Use other templates for sub-groups.

        Args:
            instructions: a folder whose `direct/broadcast.cl` replaces that for OpenCL's
                sub-groups; None for OpenCL's.
        """
        self._instructions = instructions

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "direct"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        settings = DIRECT.read(config, contraction.precision)
        work = Work(
            definitions=(("WGM", settings.number("work_group_mapping")),),
            work_group=(*settings.pair("work_group"), 1),
            instructions=self._instructions,
        )
        return write(contraction.canonical(), settings, config, work)
