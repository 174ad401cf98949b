"""Hand-written kernels as a kernel family: a config names the kernel and its work-group."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.handwritten.description import Description, unique
from mltune.kernel.handwritten.frame import frame
from mltune.kernel.kernel import Kernel, KernelFamily
from mltune.problem import Contraction, problem_type_name
from mltune.space.config import Config
from mltune.unknown import unknown

NAME = "handwritten"
KERNEL = "kernel"
"""The parameter whose value is a description's name."""

_PARAMETERS = (KERNEL, "work_group_0", "work_group_1")


class HandwrittenFamily:
    """Hand-written kernels; each is right for one problem type, within its limits."""

    def __init__(self, descriptions: tuple[Description, ...]) -> None:
        self._descriptions = unique(descriptions)

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return NAME

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Frame a kernel's source with mltune's arguments; see `KernelFamily.generate`."""
        if set(config) != set(_PARAMETERS):
            raise UsageError(
                f"kernel family {NAME}: a config has {', '.join(_PARAMETERS)}, "
                f"got {', '.join(config) or 'nothing'}"
            )
        word = config.word(KERNEL)
        if word not in self._descriptions:
            raise UsageError(
                f"kernel family {NAME}: {unknown('kernel', word, self._descriptions)}"
            )
        description = self._descriptions[word]
        canonical = contraction.canonical()
        if description.contraction.canonical() != canonical:
            raise UnsupportedError(
                f"kernel family {NAME}: {word} computes "
                f"{problem_type_name(description.contraction)}, not "
                f"{problem_type_name(contraction)}"
            )
        group = (config.int("work_group_0"), config.int("work_group_1"))
        if min(group) < 1:
            raise UsageError(f"kernel family {NAME}: a work-group must be at least 1x1")
        name = f"{canonical.name}_{word}_WG{group[0]}x{group[1]}x1"
        return Kernel(
            name=name,
            family=NAME,
            contraction=canonical,
            config=config,
            source=frame(description, canonical, name, group),
            build_options=description.build_options,
            work_group=(*group, 1),
            macro_tile=(group[0] * description.tile[0], group[1] * description.tile[1]),
            limits=description.limits(group),
        )


@dataclass(frozen=True, slots=True)
class FamilyBeside:
    """A family of generated kernels, and hand-written ones beside it in the same run."""

    generated: KernelFamily
    handwritten: HandwrittenFamily

    @property
    def name(self) -> str:
        """That of the generated kernels."""
        return self.generated.name

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of a config of either; see `KernelFamily.generate`."""
        family = self.handwritten if KERNEL in config else self.generated
        return family.generate(contraction, config)
