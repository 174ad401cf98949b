"""Asynchronous copies without their PTX, for any device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction
from mltune.space import Config


def tiled_without_copies(contraction: Contraction, values: Mapping[str, int | str]) -> Kernel:
    """A kernel of the family tiled that makes its copies at once."""
    return without_copies(FAMILIES["tiled"].generate(contraction, Config.of(values)))


def without_copies(kernel: Kernel) -> Kernel:
    """The same kernel with copies made at once."""
    copies = r'asm volatile\("cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+);"[^;]*'

    def plain(copy: re.Match[str]) -> str:
        vector = {4: "float", 8: "float2", 16: "float4"}[int(copy[1])]
        return f"*(__local {vector} *)to = *(const __global {vector} *)from"

    source = re.sub(copies, plain, kernel.source)
    source = re.sub(r"(#define (?:COMMIT|WAIT)\(\)) asm .*", r"\1", source)
    return replace(kernel, source=source)
