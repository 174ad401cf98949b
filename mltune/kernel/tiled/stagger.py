"""Lets work-groups begin at different steps of the sum: Tensile's StaggerU.

Where rows or columns of A and B lie a power of two apart, work-groups that walk through the sum in
step ask for addresses of the same memory channels, all at once. Staggered ones do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Section


@dataclass(frozen=True, slots=True)
class Stagger:
    """Where in the sum a work-group begins.

    Attributes:
        places: as many different ones; up to 1 where all begin with the first terms.
        number: the expression for the number that chooses a work-group's place.
        steps: of `depth_u` terms, from one place to the next.
    """

    places: int
    number: str
    steps: int

    @classmethod
    def of(cls, settings: Settings, signature: Signature) -> Stagger:
        """Read a config; a stride shorter than a step is one step."""
        step_bytes = settings.number("depth_u") * signature.contraction.precision.bytes
        numbers = ("tile_i / MT0", "tile_j / MT1", f"(uint){signature.number}", "group")
        return cls(
            settings.number("stagger_u"),
            numbers[settings.number("stagger_u_mapping")],
            max(1, settings.number("stagger_u_stride") // step_bytes),
        )

    @property
    def section(self) -> Section:
        """The macros of the template."""
        definitions = (("SU", self.places), ("SUS", self.steps))
        return Section("Places where work-groups begin, and steps between them.", definitions)
