"""AutoGEMM's layout of a library: a file per source, forced selection, binaries, overrides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mltune.errors import UsageError
from mltune.export.c.c_writer import (
    BUILD_HEADERS,
    TEMPLATES,
    build_example,
    build_program,
    build_values,
    compact_files,
    geometry,
    launch_file,
    source_array,
)
from mltune.export.c.text import literal
from mltune.export.files import write_files
from mltune.export.library import Library
from mltune.export.template import fill
from mltune.kernel import Kernel
from mltune.kernel.build_options import exported_options
from mltune.selector import Selector

_FULL = TEMPLATES / "full"
_PROBLEM = re.compile(r"([hsdcz])gemm_([ntc])([ntc])(_row)?(_batched)?")
_WANTED = re.compile(r"(?P<precision>[hsdcz])?(?:gemm)?_?(?P<transposes>[ntc]{2})?")
_PARTS = ("", "_select", "_select_specific", "_kernels", "_build_options", "_binaries")


@dataclass(frozen=True, slots=True)
class FullCWriter:
    """Writes the library of `CWriter` in AutoGEMM's files; a `Writer`.

    Attributes:
        precompile: which kernels to list for pre-compiling, by precision and transposes: `s`,
            `nn`, `sgemm_nn`, or `all`.
        user_kernels: sources that replace kernels, by the kernels' names.
    """

    precompile: tuple[str, ...] = ()
    user_kernels: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "c"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the library into a folder; see `Writer.write`."""
        library = Library.of(selector, kernels)
        library.refuse_beyond_blas("the full layout")
        texts = compact_files(library)
        values = _values(library) | self._user_values(library) | self._precompile_values(library)
        own = dict(self.user_kernels)
        arrays = {
            f"{kernel.name}_SOURCE": own.get(kernel.name, kernel.source)
            for kernel in library.kernels
        }
        name = library.name
        values |= {
            "build_program": build_program(arrays.values(), name, fetches=True),
            "build_example": build_example(name),
            "geometry": geometry(library, arrays),
        }
        for file, template in {
            f"{name}_kernels.c": "kernels.c.in",
            f"{name}_user_kernels.h": "user_kernels.h.in",
            f"{name}_build_options.h": "build_options.h.in",
            f"{name}_build_options.c": "build_options.c.in",
            f"{name}_enumeration.h": "enumeration.h.in",
            f"{name}_select_specific.h": "select_specific.h.in",
            f"{name}_select_specific.c": "select_specific.c.in",
            f"{name}_binaries.h": "binaries.h.in",
            f"{name}_binaries.c": "binaries.c.in",
            f"{name}_to_precompile.h": "to_precompile.h.in",
            "kernel_binaries/precompiled.h": "precompiled.h.in",
            "precompile.c": "precompile.c.in",
            "Makefile": "Makefile.in",
            "CMakeLists.txt": "CMakeLists.txt.in",
        }.items():
            texts[file] = fill(_FULL / template, values)
        for number, kernel in enumerate(library.kernels):
            texts[_source_file(kernel)] = fill(
                _FULL / "source.c.in",
                {
                    "kernel": kernel.name,
                    "number": str(number),
                    "source": source_array(kernel.source, f"source_{number}"),
                },
            )
        texts["README.md"] += fill(_FULL / "README_files.md.in", values)
        headers = (
            f'#include "{name}_binaries.h"\n#include "{name}_build_options.h"\n{BUILD_HEADERS}'
        )
        launching = build_values(library, arrays.values(), _FULL / "build_binary.c.in")
        texts[f"{name}.c"] = launch_file(library, launching | {"build_headers": headers})
        return write_files(out, texts)

    def _user_values(self, library: Library) -> dict[str, str]:
        """Return the user's kernels, each of which must replace a kernel of the library."""
        known = {kernel.name: kernel for kernel in library.kernels}
        names = [name for name, _ in self.user_kernels]
        for name, source in self.user_kernels:
            if names.count(name) > 1:
                raise UsageError(
                    f"--user-kernels: {name}: needs one source, got {names.count(name)}"
                )
            if name not in known:
                raise UsageError(
                    f"--user-kernels: {name}: there is no such kernel (known: {', '.join(known)})"
                )
            for each in known[name].passes:
                if not re.search(rf"\b{re.escape(each.entry)}\b", source):
                    raise UsageError(
                        f"--user-kernels: {name}: its source does not hold the name {each.entry}"
                    )
        parts = [
            f"\n{source_array(source, f'user_{number}')}#define {name}_SOURCE user_{number}"
            for number, (name, source) in enumerate(self.user_kernels)
        ]
        return {"sources": "\n".join(parts) or "\n/* There are none. */"}

    def _precompile_values(self, library: Library) -> dict[str, str]:
        """Return the kernels to pre-compile: all of the library, or none."""
        precision, transposes, _ = _problem(library)
        for word in self.precompile:
            match = _WANTED.fullmatch(word)
            if word != "all" and (match is None or not word):
                raise UsageError(
                    f"--precompile: '{word}' is neither a precision nor transposes nor both, such "
                    "as s, nn or sgemm_nn, nor 'all'"
                )
            if match is not None and (
                match["precision"] not in (None, precision)
                or match["transposes"] not in (None, transposes)
            ):
                raise UsageError(
                    f"--precompile: '{word}' has no kernel here: this is {library.problem_type}"
                )
        count = len(library.kernels) if self.precompile else 0
        return {
            "num_to_precompile": str(count),
            "to_precompile": ", ".join(map(str, [*range(count), -1])),
        }


def _values(library: Library) -> dict[str, str]:
    """Return the values that the templates use."""
    precision, transposes, order = _problem(library)
    kernels = library.kernels
    names = [kernel.name for kernel in kernels]
    return {
        "library": library.name,
        "guard": library.name.upper(),
        "num_kernels": str(len(kernels)),
        "precision": precision,
        "order": order,
        "transposes": transposes.upper(),
        "tiles": "\n".join(f"    {{{_tile(kernel)}}}, /* {kernel.name} */" for kernel in kernels),
        "includes": "\n".join(f'#include "{_source_file(kernel)}"' for kernel in kernels),
        "options": "\n".join(
            f"    {literal(exported_options(kernel.build_options))}," for kernel in kernels
        ),
        "no_options": "\n".join('    "",' for _ in kernels),
        "defaults": "\n".join(
            f"#ifndef {name}_BINARY\n#define {name}_BINARY NULL\n"
            f"#define {name}_BINARY_SIZE 0\n#endif\n"
            for name in names
        ),
        "binaries": "\n".join(f"    {{{name}_BINARY, {name}_BINARY_SIZE}}," for name in names),
        "objects": " \\\n    ".join(f"{library.name}{part}.o" for part in _PARTS),
        "c_files": "\n  ".join(f"{library.name}{part}.c" for part in _PARTS),
        "find_device": fill(TEMPLATES / "find_device.c.in", {}).rstrip("\n"),
    }


def _tile(kernel: Kernel) -> str:
    group, macro = kernel.work_group, kernel.macro_tile
    unroll = kernel.config.get("depth_u", 0)
    micro = [extent // items for extent, items in zip(macro, group[:2], strict=True)]
    return ", ".join(map(str, (*group[:2], *micro, *macro, unroll)))


def _problem(library: Library) -> tuple[str, str, str]:
    """Return the precision, the transposes and the order of the problem type."""
    match = _PROBLEM.fullmatch(library.problem_type)
    assert match is not None  # every library is for a GEMM
    return match[1], match[2] + match[3], "row" if match[4] else "column"


def _source_file(kernel: Kernel) -> str:
    return f"kernel_sources/{kernel.name}_src.c"
