"""The family `wgmma`: which writer serves which precision."""

from __future__ import annotations

from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.kernel.kernel import Kernel
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.wgmma import half, halves, rounded, single
from mltune.problem import Contraction, Precision
from mltune.space.config import Config

_WRITERS = {
    (Precision.HALF, "tf32"): half.generate,
    (Precision.SINGLE, "tf32"): single.generate,
    (Precision.SINGLE, "half"): halves.generate,
}
"""By precision, and by what single is split into."""


class WgmmaFamily:
    """Tensor cores of compute capability 9.0, for any contraction.

    Their kernels are built in two steps, as the driver's compiler does not know these; see
    `mltune.kernel.two_step_build`.
    """

    def __init__(self, instructions: Path | None = None) -> None:
        """Use other templates for the instructions.

        Args:
            instructions: a folder whose templates, such as `wgmma/ptx/half.cl`, replace those of
                PTX; None for PTX.
        """
        self._instructions = instructions

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "wgmma"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        precisions = tuple(dict.fromkeys(precision for precision, _ in _WRITERS))
        if canonical.precision not in precisions:
            known = ", ".join(precision.name.lower() for precision in precisions)
            raise UnsupportedError(
                f"kernel family wgmma: writes {known}, not {canonical.precision.name.lower()}"
            )
        if canonical.rounds:
            return rounded.generate(canonical, config, self._instructions)
        settings = WGMMA.read(config, canonical.precision)
        writer = _WRITERS[canonical.precision, settings.word("split_into")]
        return writer(canonical, config, self._instructions)
