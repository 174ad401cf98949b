"""The protocol of an export language."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mltune.export.library_set import LibrarySet
from mltune.kernel import Kernel
from mltune.selector import Selector


class Writer(Protocol):
    """Writes a selector with its kernels as source code of one language."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        ...

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the library into a folder, which is made if needed.

        The same selector and kernels give the same files, byte for byte.

        Args:
            selector: chooses the kernel.
            kernels: the portfolio's, in its order.
            out: the folder; files of an earlier export are replaced.

        Returns:
            The files, the one to read first in front.

        Raises:
            UnsupportedError: when the language does not support the problem type.
            UsageError: when the kernels are not the selector's, or `out` has another's file.
            MltuneError: when a file cannot be written.
        """
        ...


class SetWriter(Protocol):
    """Writes several selectors, each for another problem type, as one library."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        ...

    def write(self, libraries: LibrarySet, out: Path) -> list[Path]:
        """Write the library into a folder, which is made if needed.

        The same set gives the same files, byte for byte.

        Args:
            libraries: the set, with its name.
            out: the folder; files of an earlier export are replaced.

        Returns:
            The files, the one to read first in front.

        Raises:
            UnsupportedError: when the language does not support a problem type.
            UsageError: when `out` has another's file.
            MltuneError: when a file cannot be written.
        """
        ...
