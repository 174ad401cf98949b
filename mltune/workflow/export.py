"""`mltune export`: a selector and its kernels, written in a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UsageError
from mltune.export import WRITERS
from mltune.export.writer import Writer
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.reading import read_text
from mltune.selector import Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selector
from mltune.shell import command

COMPACT, FULL = "compact", "full"


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


def export_selector(
    selector: Path | Selector,
    language: str,
    folder: Path,
    *,
    layout: str = COMPACT,
    precompile: Sequence[str] = (),
    user_kernels: Sequence[Path] = (),
) -> ExportResult:
    """Write a selector as a library.

    Args:
        selector: what `mltune distil` wrote, or what was read from there.
        language: a name of `WRITERS`.
        folder: of the library.
        layout: of the files: `compact`, or `full` as AutoGEMM's (C only).
        precompile: in the full layout, which kernels to list for it; see `FullCWriter`.
        user_kernels: in the full layout, sources in the place of the kernels they are named after.

    Raises:
        UsageError: when the selector cannot be read, the language is unknown, or the folder is
            a file.
        MltuneError: when something cannot be written.
    """
    if language not in WRITERS:
        raise UsageError(f"export: unknown language '{language}' (known: {', '.join(WRITERS)})")
    writer = _writer(language, layout, precompile, user_kernels)
    loaded = selector if isinstance(selector, Selector) else read_selector(find_selector(selector))
    kernels, warnings = kernels_of(loaded)
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; the library needs a folder")
    files = writer.write(loaded, kernels, folder)
    return ExportResult(folder, tuple(files), warnings)


def next_command(selector: Selector, path: Path) -> str:
    """The export of a selector to a language that takes it; empty if none does."""
    if not selector.contraction.is_gemm or selector.contraction.epilogue:
        return ""
    return command("mltune", "export", path, "--lang", "c", "-o", "tuned-c")


def _writer(
    language: str, layout: str, precompile: Sequence[str], user_kernels: Sequence[Path]
) -> Writer:
    if layout not in (COMPACT, FULL):
        raise UsageError(f"--layout: unknown '{layout}' (known: {COMPACT}, {FULL})")
    if layout == COMPACT:
        if precompile or user_kernels:
            option = "--precompile" if precompile else "--user-kernels"
            raise UsageError(f"{option}: needs --layout {FULL}")
        return WRITERS[language]
    if language != "c":
        raise UsageError(f"--layout {FULL}: only C has it, got --lang {language}")
    named = tuple((path.stem, read_text(path)) for path in user_kernels)
    return FullCWriter(precompile=tuple(precompile), user_kernels=named)


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
