"""The place of the kernel in a hand-written source, and its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mltune.errors import UsageError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_HEADER = re.compile(
    r"(?:\bvoid\s+)?\b(?:__)?kernel\s+(?:void\s+)?(?P<name>[A-Za-z_]\w*)\s*"
    r"\((?P<parameters>[^(){}]*)\)\s*\{"
)


@dataclass(frozen=True, slots=True)
class Header:
    """The text from a kernel's attributes to the brace that opens its body.

    Attributes:
        parameters: declarations such as `global float4 const *restrict A`.
        start: of the header in the source.
        end: of it, behind the brace.
    """

    function: str
    parameters: tuple[str, ...]
    start: int
    end: int


def find_header(source: str, wanted: str = "") -> Header:
    """Find the kernel in a source.

    Args:
        source: OpenCL C.
        wanted: which of several it is; empty if there is one only.

    Raises:
        UsageError: when there is none, or several and none is wanted.
    """
    bare = _blanked(_ATTRIBUTE, source)
    plain = _blanked(_COMMENT, bare)
    found = {match["name"]: match for match in _HEADER.finditer(plain)}
    if not wanted and len(found) == 1:
        wanted = next(iter(found))
    if wanted in found:
        match = found[wanted]
        return Header(
            function=wanted,
            parameters=tuple(" ".join(each.split()) for each in match["parameters"].split(",")),
            start=len(bare[: match.start()].rstrip()),  # a comment above stays
            end=match.end(),
        )
    listed = ", ".join(found) or "none"
    if wanted:
        raise UsageError(f"'function': the source has no kernel '{wanted}' (it has: {listed})")
    raise UsageError(f"'function' must say which kernel of the source it is (it has: {listed})")


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """Replace matches by blanks, so that all places stay the same."""
    return pattern.sub(lambda found: " " * len(found[0]), text)
