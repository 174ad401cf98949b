"""The space of hand-written kernels: which of them, with which work-group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mltune.errors import UsageError
from mltune.kernel.handwritten.description import Description
from mltune.kernel.handwritten.family import KERNEL, NAME
from mltune.problem import Contraction, problem_type_name

_POWERS = [2**power for power in range(8)]
_ALL_SIZES = [(x, y) for x in _POWERS for y in _POWERS if 16 <= x * y <= 256]


def space_text(descriptions: Sequence[Description]) -> str:
    """Return a space's file over all kernels and their local sizes.

    A kernel that lists its local sizes gets those; the others all powers of two with 16 to 256
    work-items.
    """
    sides: tuple[set[int], set[int]] = (set(), set())
    rules: list[str] = []
    for description in descriptions:
        pairs = description.local_sizes or _ALL_SIZES
        for side, numbers in zip(sides, zip(*pairs, strict=True), strict=True):
            side.update(numbers)
        # A rule for each number along one side, as the terms of a rule are limited. No identifier
        # begins with a digit, so the names are unique.
        other = f'{KERNEL} != "{description.name}"'
        firsts = sorted({pair[0] for pair in pairs})
        rules.append(f"  kernel_{description.name}: {other} or {_one_of('work_group_0', firsts)}")
        for first in firsts:
            seconds = sorted({pair[1] for pair in pairs if pair[0] == first})
            rules.append(
                f"  kernel_{first}_{description.name}: "
                f"{other} or work_group_0 != {first} or {_one_of('work_group_1', seconds)}"
            )
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


def _one_of(parameter: str, numbers: Iterable[int]) -> str:
    return " or ".join(f"{parameter} == {number}" for number in numbers)


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
