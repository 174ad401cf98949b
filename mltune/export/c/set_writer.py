"""Writes one C99 library of several problem types: one header, one entry, shared launch code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mltune.export.c import selection
from mltune.export.c.arguments import arguments as blas_arguments
from mltune.export.c.arguments import call, prototype
from mltune.export.c.c_writer import (
    OVERLAP,
    TEMPLATES,
    build_values,
    kernel_values,
    most_passes,
    refusals,
    shared_values,
)
from mltune.export.c.element import ELEMENTS
from mltune.export.c.text import comment, literal
from mltune.export.files import write_files
from mltune.export.library import Library
from mltune.export.library_set import LibrarySet
from mltune.export.plain import plain_paragraphs
from mltune.export.statement import statement
from mltune.export.template import fill
from mltune.problem import Precision

_SET = TEMPLATES / "set"
_WIDTH = 100
_LETTERS = ("precision", "order", "trans_a", "trans_b")
_TYPE = re.compile(r"(?P<precision>[hsdcz])gemm_(?P<a>[ntc])(?P<b>[ntc])(?P<row>_row)?(_batched)?")
# The length of a matrix's contiguous run, by the variables of the general function.
_RUNS = {"a": "of_a.length", "b": "of_b.length", "c": "of_c.length"}


class CSetWriter:
    """Writes a library of several problem types, with the requirements of `CWriter`'s."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "c"

    def write(self, libraries: LibrarySet, out: Path) -> list[Path]:
        """Write the library into a folder; see `SetWriter.write`."""
        return write_files(out, set_files(libraries))


def set_files(libraries: LibrarySet) -> dict[str, str]:
    """Return the texts of all files by name."""
    for library in libraries.libraries:
        library.refuse_beyond_blas("a library of several problem types")
    name = libraries.name
    values = set_values(libraries)
    files = {
        "README.md": "README.md.in",
        f"{name}.h": "library.h.in",
        f"{name}.c": "library.c.in",
        f"{name}_select.h": "select.h.in",
        "example.c": "example.c.in",
        "Makefile": "Makefile.in",
        "CMakeLists.txt": "CMakeLists.txt.in",
    }
    texts = {file: fill(_SET / template, values) for file, template in files.items()}
    texts[f"{name}_kernels.h"] = fill(TEMPLATES / "kernels.h.in", values)
    for library in libraries.libraries:
        file = libraries.file(library)
        own = _type_values(libraries, library)
        texts[f"{file}_select.c"] = fill(_SET / "type_select.c.in", own)
        texts[f"{file}_kernels.c"] = fill(_SET / "type_kernels.c.in", own)
    return texts


def source_files(libraries: LibrarySet) -> list[str]:
    """Return the C files of the library, without their suffixes."""
    name = libraries.name
    parts = [f"{libraries.file(each)}{part}" for each in libraries.libraries for part in _PARTS]
    return [name, *parts]


_PARTS = ("_select", "_kernels")


def set_values(libraries: LibrarySet) -> dict[str, str]:
    """Return the values for the templates of the set."""
    name = libraries.name
    sources = [kernel.source for library in libraries.libraries for kernel in library.kernels]
    half = ELEMENTS[Precision.HALF].values(conjugate_a=False, conjugate_b=False)
    listed = general_arguments()
    names = [argument for _, argument in listed]
    objects = [f"{file}.o" for file in source_files(libraries)]
    return {
        "name": name,
        "library": name,
        "guard": name.upper(),
        "statement": comment(set_statement(libraries)),
        "paragraphs": plain_paragraphs(set_statement(libraries)),
        **build_values(libraries.libraries[0], sources, types=name),
        **shared_values(name),
        "most_passes": most_passes(libraries.libraries),
        "arrays": "\n".join(
            f"extern const {name}_kernel {libraries.prefix(each)}_kernels[];"
            for each in libraries.libraries
        ),
        "selects": "\n".join(
            f"int {libraries.prefix(each)}_select(const {name}_problem *problem, "
            f"const char **reason);\n"
            f"int {libraries.prefix(each)}_likely(const {name}_problem *problem, int most, "
            f"int *kernels);\n"
            f"extern const char *const {libraries.prefix(each)}_names[];"
            for each in libraries.libraries
        ),
        "types_table": "\n".join(_row(libraries, each) for each in libraries.libraries),
        "to_half": half["to_half"].lstrip(),
        "from_half": "\n" + (TEMPLATES / "from_half.c.in").read_text(encoding="utf-8").lstrip(),
        "overlap": OVERLAP,
        "prototype": prototype(f"{name}_gemm", listed),
        "prototypes": "\n".join(f"{head};" for head, _ in _functions(name)),
        "functions": "\n".join(f"{head}\n{{\n{body}\n}}\n" for head, body in _functions(name)),
        "checks": "\n".join(_checks(names)),
        "places": ", ".join(map(str, _places(names))),
        **{f"at_{each}": str(names.index(each) + 1) for each in ("a", "b", "c", "stride_c")},
        "objects": " \\\n    ".join(objects),
        "c_files": "\n  ".join(f"{file}.c" for file in source_files(libraries)),
    }


def general_arguments() -> list[tuple[str, str]]:
    """Return type and name of every argument of the function for all problem types."""
    factors = {"alpha", "beta"}
    return [
        *(("char", letter) for letter in _LETTERS),
        *(
            ("const void *" if name in factors else kind, name)
            for kind, name in blas_arguments("", batched=True)
        ),
    ]


def _functions(name: str) -> Iterator[tuple[str, str]]:
    """Yield head and body of each precision's functions, for one product and for a batch."""
    general = [argument for _, argument in general_arguments()]
    for precision in Precision:
        factor = ELEMENTS[precision].factor
        for batched in (False, True):
            listed = [("char", letter) for letter in _LETTERS[1:]]
            listed += blas_arguments(factor, batched)
            own = {argument for _, argument in listed}
            passed = [_passed(argument, precision, own) for argument in general]
            ending = "_batched" if batched else ""
            called = call(f"{name}_gemm", passed).replace("\n", "\n        ")
            head = prototype(f"{name}_{precision.letter}gemm{ending}", listed)
            yield head, f"    return place({called}, {int(batched)});"


def _passed(argument: str, precision: Precision, own: set[str]) -> str:
    """Return what a function for a precision passes as an argument of the general one."""
    if argument == "precision":
        return f"'{precision.letter}'"
    if argument in ("alpha", "beta"):
        return f"&{argument}"
    if argument in own:
        return argument
    return "1" if argument == "batch" else "0"


def _places(names: Sequence[str]) -> list[int]:
    """For each argument of the general function, return its place in that for one product."""
    own = [*_LETTERS[1:], *(name for _, name in blas_arguments("", batched=False))]
    return [0, *(own.index(name) + 1 if name in own else 0 for name in names)]


def _checks(names: Sequence[str]) -> list[str]:
    """Return the statements that refuse a wrong argument, in the order of the arguments."""
    tests = {
        "precision": "bytes == 0",
        "order": "lower(order) != 'c' && lower(order) != 'r'",
        **{f"trans_{x}": f"!is_transpose(lower(trans_{x}))" for x in "ab"},
        **{size: f"{size} < 0 || {size} > INT32_MAX" for size in ("m", "n", "k", "batch")},
        **{factor: f"{factor} == NULL" for factor in ("alpha", "beta")},
        **{f"offset_{x}": f"offset_{x} < 0" for x in "abc"},
        **{f"ld{x}": f"ld{x} < 1 || ld{x} < {_RUNS[x]}" for x in "abc"},
        **{f"stride_{x}": f"stride_{x} < 0" for x in "abc"},
        "queue": "queue == NULL",
    }
    return refusals(tests, names)


def _row(libraries: LibrarySet, library: Library) -> str:
    """Return a problem type's entry in the table of all."""
    match = _TYPE.fullmatch(library.problem_type)
    assert match is not None  # every library is for a GEMM
    prefix = libraries.prefix(library)
    letters = ", ".join(f"'{match[group]}'" for group in ("precision", "a", "b"))
    return (
        f'    {{"{library.problem_type}", {letters}, {int(bool(match["row"]))}, '
        f"{int(library.batched)},\n     {prefix}_select, {prefix}_likely, {prefix}_names, "
        f"{prefix}_kernels, {len(library.kernels)}}},"
    )


def _type_values(libraries: LibrarySet, library: Library) -> dict[str, str]:
    """Return the values for the templates of one problem type."""
    return {
        "name": libraries.name,
        "library": libraries.prefix(library),
        "statement": comment(statement(library)),
        "names": "\n".join(f"    {literal(kernel.name)}," for kernel in library.kernels),
        **selection.values(library.selector, libraries.prefix(library), libraries.name),
        **kernel_values(library, libraries.name, libraries.prefix(library)),
    }


def set_statement(libraries: LibrarySet) -> list[str]:
    """Return a paragraph for each problem type: what it computes, its rule, and its loss."""
    return [
        f"{library.problem_type}: {' '.join(statement(library))}"
        for library in libraries.libraries
    ]
