"""A hand-written kernel with the arguments of all of mltune's kernels.

The built source is the user's, except for the kernel's head: it takes mltune's arguments, and
declares its own from them. So worker, runtime and exported code launch it like any other. (A
kernel around it, which calls it, would be simpler. But OpenCL leaves local memory in a called
kernel to the driver, and PoCL shares it among all work-groups.) Names begin with `mltune_`, as the
source may define any other name.
"""

from __future__ import annotations

from mltune.kernel.abi import declarations, integer_arguments
from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.handwritten.description import Description
from mltune.kernel.handwritten.header import find_header
from mltune.problem import Contraction

_HEAD = """
__kernel __attribute__((reqd_work_group_size({group_0}, {group_1}, 1)))
void {name}(__global {type} *mltune_c,
        const __global {type} *mltune_a, const __global {type} *mltune_b,
        const {type} mltune_alpha, const {type} mltune_beta,
        {integers})
{{
    /* The arguments of {function}. */
{declarations}
"""


def frame(
    description: Description, contraction: Contraction, name: str, work_group: tuple[int, int]
) -> str:
    """Return the source to build.

    Args:
        description: of the kernel.
        contraction: canonical.
        name: of the kernel that is launched.
        work_group: along C's shorter stride and the other.
    """
    arithmetic = Arithmetic(contraction.precision)
    source = description.source
    header = find_header(source, description.function)
    head = _HEAD.format(
        group_0=work_group[0],
        group_1=work_group[1],
        name=name,
        type=arithmetic.stored,
        integers=",\n        ".join(declarations(integer_arguments(contraction), "mltune_")),
        function=header.function,
        declarations="\n".join(
            f"    {parameter} = {_value(description, argument)};"
            for parameter, argument in zip(header.parameters, description.arguments, strict=True)
        ),
    )
    return arithmetic.pragmas + source[: header.start] + head + source[header.end :]


def _value(description: Description, argument: str) -> str:
    """The expression for one of the user's arguments."""
    # In a canonical problem C is column-major: if the user's is row-major, A and B are exchanged.
    swaps = description.contraction.swaps_operands
    a, b = ("b", "a") if swaps else ("a", "b")
    # Pointers to void, as the user's may be to vectors.
    return {
        "A": f"(__global void *)(mltune_{a} + mltune_offset_{a})",
        "B": f"(__global void *)(mltune_{b} + mltune_offset_{b})",
        "C": "(__global void *)(mltune_c + mltune_offset_c)",
        "alpha": "mltune_alpha",
        "beta": "mltune_beta",
        "n": "mltune_size_i",
        "M": "mltune_size_j" if swaps else "mltune_size_i",
        "N": "mltune_size_i" if swaps else "mltune_size_j",
        "K": "mltune_size_l",
        "lda": f"mltune_ld_{a}",
        "ldb": f"mltune_ld_{b}",
        "ldc": "mltune_ld_c",
    }[argument]
