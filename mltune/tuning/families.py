"""The kernel family of a run: one of the generated ones, hand-written kernels, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mltune.errors import UsageError
from mltune.kernel import Kernel, KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.kernel.handwritten import FamilyBeside, HandwrittenFamily
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_kept
from mltune.problem import Contraction
from mltune.run.run_info import RunInfo
from mltune.space import Config
from mltune.space.union import FAMILY, without_family
from mltune.unknown import unknown


def family_named(name: str, where: str, kernels: str = "") -> KernelFamily:
    """Return a kernel family.

    Args:
        name: of the family.
        where: the place of the name, for messages.
        kernels: hand-written kernels as a run stores them; empty if it has none.

    Raises:
        UsageError: when there is none of that name.
    """
    written = HandwrittenFamily(read_kept(kernels, where)) if kernels else None
    if name == HANDWRITTEN:
        if written is None:
            raise UsageError(f"{where}: family '{name}' needs --kernels FILE")
        return written
    if name not in FAMILIES:
        raise UsageError(f"{where}: {unknown('kernel family', name, (*FAMILIES, HANDWRITTEN))}")
    return FAMILIES[name] if written is None else FamilyBeside(FAMILIES[name], written)


def family_of_run(info: RunInfo, where: str) -> KernelFamily:
    """Return the family that generates the kernels of a run; for several, all of them as one.

    Raises:
        UsageError: when one is unknown.
    """
    if not info.spaces:
        return family_named(info.family, where, info.kernels)
    names = (*info.families, *([HANDWRITTEN] if info.kernels else []))
    return NamedFamilies({name: family_named(name, where, info.kernels) for name in names})


@dataclass(frozen=True, slots=True)
class NamedFamilies:
    """Several families as one `KernelFamily`; each config names its family.

    A kernel keeps that name in its config, so that measurements of different families differ.

    Attributes:
        families: by name.
    """

    families: Mapping[str, KernelFamily]

    @property
    def name(self) -> str:
        """The families' names."""
        return ", ".join(self.families)

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Generate the kernel of a config of one of them; see `KernelFamily.generate`."""
        family = self.families[config.word(FAMILY)]
        return replace(family.generate(contraction, without_family(config)), config=config)
