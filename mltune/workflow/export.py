"""`mltune export`: a selector and its kernels, written in a language."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.export import WRITERS
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.selector import Selector
from mltune.selector.json import read_selector
from mltune.workflow.distil import selector_path


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written."""

    folder: Path
    files: tuple[Path, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "folder": str(self.folder),
            "files": [str(path) for path in self.files],
            "warnings": list(self.warnings),
        }


def export_selector(selector: Path, language: str, folder: Path) -> ExportResult:
    """Write a selector as a library.

    Raises:
        UsageError: when the selector cannot be read, the language is unknown, or the folder is
            a file.
        MltuneError: when something cannot be written.
    """
    if language not in WRITERS:
        raise UsageError(f"export: unknown language '{language}' (known: {', '.join(WRITERS)})")
    loaded = read_selector(selector_path(selector))
    kernels, warnings = kernels_of(loaded)
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; the library needs a folder")
    files = WRITERS[language].write(loaded, kernels, folder)
    return ExportResult(folder, tuple(files), warnings)


def kernels_of(selector: Selector) -> tuple[tuple[Kernel, ...], tuple[str, ...]]:
    """Write the sources of a portfolio again.

    Returns:
        The kernels, and a line for each whose source is not the one that was measured.

    Raises:
        UsageError: when a family is unknown or refuses a config.
    """
    kernels = []
    warnings = []
    for entry in selector.portfolio:
        if entry.family not in FAMILIES:
            raise UsageError(f"selector: unknown kernel family '{entry.family}'")
        kernel = FAMILIES[entry.family].generate(selector.contraction, entry.config)
        kernels.append(kernel)
        if kernel.source_hash != entry.source_hash:
            warnings.append(
                f"{entry.name}: this mltune writes another source than the one measured; "
                "measure again with mltune search"
            )
    return tuple(kernels), tuple(warnings)
