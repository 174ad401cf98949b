"""`mltune export`: selectors and their kernels, written in a language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.compat.autogemm import FullCWriter
from mltune.errors import UsageError
from mltune.export import LANGUAGES, SET_WRITERS, WRITERS
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.export.writer import Writer
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.reading import read_text
from mltune.selector import Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selectors
from mltune.shell import command
from mltune.unknown import unknown

COMPACT, FULL = "compact", "full"
DEFAULT_NAME = "mltune"


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files that were written."""

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


def export_selectors(
    selectors: Sequence[Path | Selector],
    language: str,
    folder: Path,
    *,
    name: str | None = None,
    layout: str = COMPACT,
    precompile: Sequence[str] = (),
    user_kernels: Sequence[Path] = (),
) -> ExportResult:
    """Write selectors as one library.

    Args:
        selectors: files or folders of `mltune distil`, selectors in memory, or packs. A language
            in `WRITERS` takes one, a language in `SET_WRITERS` one for each problem type.
        language: a name of `WRITERS` or `SET_WRITERS`.
        folder: of the library.
        name: of a library of several selectors (default: `mltune`).
        layout: of the files: `compact`, or `full` as AutoGEMM's (C and one selector only).
        precompile: in the full layout, which kernels to list for it; see `FullCWriter`.
        user_kernels: in the full layout, sources that replace the kernels of the same names.

    Raises:
        UsageError: when a selector cannot be read, the language is unknown, takes one selector and
            gets several, the folder is a file, or another's file would be replaced.
        MltuneError: when something cannot be written.
    """
    if language not in LANGUAGES:
        raise UsageError(f"export: {unknown('language', language, LANGUAGES)}")
    writer = _writer(language, layout, precompile, user_kernels)
    loaded = tuple(_loaded(selectors))
    written = [kernels_of(selector) for selector in loaded]
    warnings = tuple(line for _, lines in written for line in lines)
    as_set = len(loaded) > 1 or name is not None or writer is None
    if as_set and (language not in SET_WRITERS or layout != COMPACT):
        raise UsageError(
            f"export: --lang {language}{f' --layout {layout}' * (layout != COMPACT)} takes one "
            f"selector, got {len(loaded)} (several: {', '.join(SET_WRITERS)})"
            if len(loaded) > 1
            else f"--name: only {', '.join(SET_WRITERS)} have it, got --lang {language}"
        )
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; the library needs a folder")
    if as_set or writer is None:
        libraries = tuple(
            Library.of(selector, kernels)
            for selector, (kernels, _) in zip(loaded, written, strict=True)
        )
        files = SET_WRITERS[language].write(LibrarySet(name or DEFAULT_NAME, libraries), folder)
    else:
        files = writer.write(loaded[0], written[0][0], folder)
    return ExportResult(folder, tuple(files), warnings)


def _loaded(selectors: Sequence[Path | Selector]) -> Iterator[Selector]:
    for given in selectors:
        if isinstance(given, Selector):
            yield given
        else:
            yield from (read_selector(file) for file in find_selectors(given))


def next_command(selector: Selector, path: Path) -> str:
    """Return the export of a selector to a language that supports it; empty if none does."""
    if not selector.contraction.is_gemm:
        return ""
    return command("mltune", "export", path, "--lang", "c", "-o", "tuned-c")


def _writer(
    language: str, layout: str, precompile: Sequence[str], user_kernels: Sequence[Path]
) -> Writer | None:
    """Return the language's writer of single selectors, if it has one."""
    if layout not in (COMPACT, FULL):
        raise UsageError(unknown("layout", layout, (COMPACT, FULL)))
    if layout == COMPACT:
        if precompile or user_kernels:
            option = "--precompile" if precompile else "--user-kernels"
            raise UsageError(f"{option}: needs --layout {FULL}")
        return WRITERS.get(language)
    if language != "c":
        raise UsageError(f"--layout {FULL}: only C has it, got --lang {language}")
    named = tuple((path.stem, read_text(path)) for path in user_kernels)
    return FullCWriter(precompile=tuple(precompile), user_kernels=named)


def kernels_of(selector: Selector) -> tuple[tuple[Kernel, ...], tuple[str, ...]]:
    """Generate the sources of a portfolio.

    Returns:
        The kernels, and a line if sources differ from those that were measured.

    Raises:
        UsageError: when a family is unknown or refuses a config.
    """
    kernels = []
    changed = []
    for entry in selector.portfolio:
        if entry.family not in FAMILIES:
            raise UsageError(f"selector: {unknown('kernel family', entry.family, FAMILIES)}")
        kernel = FAMILIES[entry.family].generate(selector.contraction, entry.config)
        kernels.append(kernel)
        if kernel.source_hash != entry.source_hash:
            changed.append(entry.name)
    if not changed:
        return tuple(kernels), ()
    return tuple(kernels), (
        f"{len(changed)} of {len(kernels)} kernels have other sources than those measured, as "
        f"{changed[0]}: their times may differ; measure again with mltune search",
    )
