"""The compiler options that a kernel may use: those for code generation, none with a path.

Some options make a compiler read or write files (`-I`, `-include`, `-o`, `-save-temps`), and a
kernel may come from a file of unknown origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mltune.errors import UsageError

_ALLOWED = re.compile(
    r"-cl-[a-z0-9-]+(=[A-Za-z0-9_.]+)?"  # -cl-fast-relaxed-math, -cl-std=CL1.2, ...
    r"|-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+-]+)?"
    r"|-w|-Werror"
)


def build_options(max_registers: int = 0) -> tuple[str, ...]:
    """Return the options of generated kernels.

    Args:
        max_registers: of a work-item, which NVIDIA's compiler then respects; 0 for no limit.
    """
    limit = (f"-cl-nv-maxrregcount={max_registers}",) if max_registers else ()
    return ("-cl-std=CL1.2", *limit)


def exported_options(options: Iterable[str]) -> str:
    """Return the options as one text, with -w: else some drivers print the number of warnings."""
    return " ".join(dict.fromkeys((*options, "-w")))


def check_build_options(options: Iterable[str]) -> None:
    """Refuse options that could do more than change how a kernel compiles.

    Raises:
        UsageError: with the first that is not on the list.
    """
    for option in options:
        if not _ALLOWED.fullmatch(option):
            raise UsageError(
                f"build option {option!r:.80} is not allowed (allowed: -cl-..., -DNAME[=VALUE] "
                "with a plain value, -w, -Werror)"
            )
