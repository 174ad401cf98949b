"""The kernel family of a run: one of the generated ones, hand-written kernels, or both."""

from __future__ import annotations

from mltune.errors import UsageError
from mltune.kernel import KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.kernel.handwritten import FamilyBeside, HandwrittenFamily
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_kept


def family_named(name: str, where: str, kernels: str = "") -> KernelFamily:
    """Return a kernel family.

    Args:
        name: of the family.
        where: what names it, for messages.
        kernels: hand-written kernels as a run keeps them; empty if it has none.

    Raises:
        UsageError: when there is none of that name.
    """
    written = HandwrittenFamily(read_kept(kernels, where)) if kernels else None
    if name == HANDWRITTEN:
        if written is None:
            raise UsageError(f"{where}: family '{name}' needs --kernels FILE")
        return written
    if name not in FAMILIES:
        known = ", ".join((*FAMILIES, HANDWRITTEN))
        raise UsageError(f"{where}: unknown kernel family '{name}' (known: {known})")
    return FAMILIES[name] if written is None else FamilyBeside(FAMILIES[name], written)
