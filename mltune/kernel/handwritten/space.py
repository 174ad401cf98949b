"""The space of hand-written kernels: which of them, with which work-group."""

from __future__ import annotations

from collections.abc import Sequence

from mltune.errors import UsageError
from mltune.kernel.handwritten.description import Description
from mltune.kernel.handwritten.family import KERNEL, NAME
from mltune.problem import Contraction, problem_type_name

_POWERS = (1, 2, 4, 8, 16, 32, 64, 128)
_FEWEST_ITEMS, _MOST_ITEMS = 16, 256


def space_text(descriptions: Sequence[Description]) -> str:
    """Return a space's file over all kernels and their local sizes.

    A kernel that lists its local sizes gets those; the others all powers of two with 16 to 256
    work-items.
    """
    sides: tuple[set[int], set[int]] = (set(), set())
    rules: list[str] = []
    for description in descriptions:
        pairs = description.local_sizes
        for axis in (0, 1):
            sides[axis].update([pair[axis] for pair in pairs] or _POWERS)
        allowed = " or ".join(
            f"(work_group_0 == {pair[0]} and work_group_1 == {pair[1]})" for pair in pairs
        )
        if not pairs:
            powers = " and ".join(f"({_one_of(f'work_group_{axis}')})" for axis in (0, 1))
            items = "work_group_0 * work_group_1"
            allowed = f"({powers} and {items} >= {_FEWEST_ITEMS} and {items} <= {_MOST_ITEMS})"
        rules.append(f'  {description.name}: {KERNEL} != "{description.name}" or {allowed}')
    names = ", ".join(description.name for description in descriptions)
    listed = [", ".join(map(str, sorted(side))) for side in sides]
    lines = [
        f"name: {NAME}",
        f"family: {NAME}",
        "about: Hand-written kernels and their work-groups.",
        "parameters:",
        f"  {KERNEL}: {{values: [{names}], meaning: the kernel's name}}",
        f"  work_group_0: {{values: [{listed[0]}], meaning: work-items along C's shorter stride}}",
        f"  work_group_1: {{values: [{listed[1]}], meaning: work-items along the other}}",
        "constraints:",
        "  work_group_size: work_group_0 * work_group_1 <= max_work_group_size",
        *rules,
    ]
    return "\n".join(lines) + "\n"


def _one_of(parameter: str) -> str:
    return " or ".join(f"{parameter} == {power}" for power in _POWERS)


def contraction_of(descriptions: Sequence[Description]) -> Contraction:
    """Return the problem type that all the kernels compute.

    Raises:
        UsageError: when they compute several.
    """
    first, *others = descriptions
    for other in others:
        if other.contraction.canonical() != first.contraction.canonical():
            raise UsageError(
                f"kernels: {first.name} computes {problem_type_name(first.contraction)}, "
                f"{other.name} {problem_type_name(other.contraction)}; say which with --problem"
            )
    return first.contraction
