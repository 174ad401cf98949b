"""The two-step build: instructions that the driver's compiler does not see until the second step.

NVIDIA's compiler of OpenCL C assembles inline PTX for a plain architecture, such as sm_90, and
refuses instructions that only this very architecture has (Hopper's `wgmma` needs sm_90a). But
comments inside inline PTX survive into the PTX text that the driver hands out as the program's
binary. So a source writes such an instruction as a comment that begins with a mark,
`asm volatile("//@ wgmma.fence.sync.aligned;")`, is built once, and what came out is built again
without the marks and for the architecture with all that it has.
"""

from __future__ import annotations

import re

MARK = "//@ "
"""Stands before an instruction of the second step, inside of an asm statement's string."""

# A string ends where a comment cannot begin, and the other way round: whichever comes first.
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TARGET = re.compile(rb"^(\.target sm_\d+)a?\b", re.MULTILINE)


def needs_two_steps(source: str) -> bool:
    """Whether a string of an OpenCL C source holds the mark; comments of C do not count."""
    found = _STRING_OR_COMMENT.findall(source) if MARK in source else []
    return any(text.startswith('"') and MARK in text for text in found)


def second_step_text(binary: bytes) -> bytes | None:
    """Return the PTX text of the second build; None where the first one's is no marked PTX."""
    mark, text = MARK.encode(), binary.rstrip(b"\0")
    if mark not in text or b"\0" in text or _TARGET.search(text) is None:
        return None
    return _TARGET.sub(rb"\1a", text).replace(mark, b" " * len(mark))
