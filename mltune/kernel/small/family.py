"""The family `small`: many products of a batch, or one long sum, in a work-group."""

from __future__ import annotations

import math

from mltune.kernel.direct.register_tile import Work, write
from mltune.kernel.kernel import Kernel
from mltune.kernel.parameters.register_tile import SMALL
from mltune.kernel.split_sum import SplitSum
from mltune.problem import Contraction
from mltune.space.config import Config


class SmallFamily:
    """Matrices so small that the work-items of a work-group share their sums, or many of them.

    Writes all precisions and any contraction; half is stored as such and computed in single.
    """

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "small"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        settings = SMALL.read(config, contraction.precision)
        split, problems = settings.number("local_split_u"), settings.number("problems")
        fan_in = settings.number("fan_in")
        plane = math.prod(settings.pair("work_group"))
        work = Work(
            definitions=(
                ("LSU", split),
                ("PROBLEMS", problems),
                ("PLANE", plane),
                ("FAN_IN", fan_in),
                ("ONES_LEFT", max(split // fan_in, 1)),
            ),
            # In one dimension: devices allow few work-items along the third.
            work_group=(plane * split * problems, 1, 1),
            number="problem",
            split=SplitSum(settings.number("global_split_u"), "multiple_single_kernel"),
        )
        return write(contraction.canonical(), settings, config, work)
