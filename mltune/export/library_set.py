"""The content of an export of several selectors: a library for each problem type, and a name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.export.library import Library

_NAME = re.compile("[a-z][a-z0-9_]{0,30}")
_TAKEN = (
    "cl", "clblast", "example",
    "all", "clean", "help", "install", "package", "test",
    "c", "dl", "m", "rt",
    "assert", "complex", "ctype", "dlfcn", "errno", "fcntl", "features", "float", "inttypes",
    "limits", "locale", "math", "pthread", "sched", "signal", "stdarg", "stddef", "stdint",
    "stdio", "stdlib", "string", "strings", "time", "unistd", "wchar", "wctype",
)  # fmt: skip
"""OpenCL's prefix, an export's other files, CMake's targets, libraries that libNAME hides, and
headers that NAME.h hides.
"""


@dataclass(frozen=True, slots=True)
class LibrarySet:
    """Libraries that become one library, one for each problem type.

    Attributes:
        name: the prefix of all its names.
        libraries: at least one.

    Raises:
        UsageError: when two are for the same problem type, or the name is no prefix in C, or
            is taken.
    """

    name: str
    libraries: tuple[Library, ...]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"--name: {self.name!r:.80} is no lower-case word of at most 31 letters, digits "
                "and underscores"
            )
        if self.name in _TAKEN:
            raise UsageError(
                f"--name: {self.name!r} is a header or library of C, a target of CMake, OpenCL's "
                f"prefix or another file of an export; take a name such as 'my_{self.name}'"
            )
        seen: set[str] = set()
        for library in self.libraries:
            if library.problem_type in seen:
                raise UsageError(
                    f"export: two selectors are for {library.problem_type}; distil their runs "
                    "together (mltune distil RUN RUN)"
                )
            seen.add(library.problem_type)

    def file(self, library: Library) -> str:
        """Return how the names of one problem type's files begin."""
        return f"{self.name}_{library.problem_type}"

    def prefix(self, library: Library) -> str:
        """Return the prefix of one problem type's symbols; a library of it alone has others."""
        return f"{self.name}_set_{library.problem_type}"
