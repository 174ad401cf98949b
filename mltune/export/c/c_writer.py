"""Writes a C99 library: selection, kernel sources, launch code, an example and build files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mltune import __version__
from mltune.export.c import epilogue, selection
from mltune.export.c.arguments import arguments as blas_arguments
from mltune.export.c.arguments import call, prototype
from mltune.export.c.element import ELEMENTS, Element
from mltune.export.c.text import GEOMETRY_DIALECT, comment, literal, literals
from mltune.export.expression import EXTENT_NAMES, layout_names
from mltune.export.files import write_files
from mltune.export.library import Library
from mltune.export.plain import plain_paragraphs
from mltune.export.statement import statement
from mltune.export.template import fill
from mltune.kernel import Kernel
from mltune.kernel.abi import Geometry, Kind, arguments
from mltune.kernel.build_options import exported_options
from mltune.kernel.two_step_build import needs_two_steps
from mltune.selector import Reason, Selector

TEMPLATES = Path(__file__).parent / "templates"
_BUILD = TEMPLATES / "build_source.c.in"
# Rows and columns (or the other way round) of each matrix, and a packed element's index.
_EXTENTS = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}
_INDICES = {"a": ("i", "l"), "b": ("l", "j"), "c": ("i", "j")}
_CHECKED_SIZES = ((1, 1, 1), (7, 5, 3), (33, 100, 257), (64, 64, 64), (256, 192, 128))
BUILD_HEADERS = (
    "\n#include <errno.h>\n#include <stdio.h>\n#include <string.h>\n#include <time.h>\n"
)
_POSIX_HEADERS = "".join(
    f"\n#include <{name}.h>" for name in ("fcntl", "sys/file", "sys/stat", "unistd")
)


class CWriter:
    """Writes a library that needs a C99 compiler, POSIX threads and OpenCL 1.2."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "c"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the library into a folder; see `Writer.write`."""
        return write_files(out, compact_files(Library.of(selector, kernels)))


def compact_files(library: Library) -> dict[str, str]:
    """Return the texts of all files by name."""
    values = _values(library)
    files = {
        "README.md": "README.md.in",
        f"{library.name}.h": "library.h.in",
        f"{library.name}.c": "library.c.in",
        f"{library.name}_select.h": "select.h.in",
        f"{library.name}_select.c": "select.c.in",
        f"{library.name}_kernels.h": "kernels.h.in",
        f"{library.name}_kernels.c": "kernels.c.in",
        "example.c": "example.c.in",
        "Makefile": "Makefile.in",
        "CMakeLists.txt": "CMakeLists.txt.in",
    }
    return {file: fill(TEMPLATES / template, values) for file, template in files.items()}


def launch_file(library: Library, values: Mapping[str, str]) -> str:
    """Return the text of the file that launches kernels, with some values replaced."""
    return fill(TEMPLATES / "library.c.in", _values(library) | dict(values))


def _values(library: Library) -> dict[str, str]:
    """Return the values of all templates of the library."""
    selector = library.selector
    contraction = selector.contraction
    element = ELEMENTS[contraction.precision]
    return {
        "library": library.name,
        "guard": library.name.upper(),
        "problem_type": library.problem_type,
        "num_kernels": str(len(library.kernels)),
        **build_values(library, [kernel.source for kernel in library.kernels]),
        **shared_values(library.name),
        "formula": library.formula,
        "statement": comment(statement(library)),
        "paragraphs": plain_paragraphs(statement(library)),
        **element.values(contraction.conjugate_a, contraction.conjugate_b),
        "bound": element.bound(contraction.compute),
        "names": "\n".join(
            f"    /* {number} */ {literal(kernel.name)},"
            for number, kernel in enumerate(selector.portfolio)
        ),
        **selection.values(selector, library.name, library.name),
        **kernel_values(library),
        "most_passes": most_passes([library]),
        "arrays": f"extern const {library.name}_kernel {library.name}_kernels[];",
        **_call_values(library, element),
        **_example_values(library, element),
    }


def build_values(
    library: Library,
    sources: Iterable[str],
    build: Path = _BUILD,
    *,
    types: str = "",
) -> dict[str, str]:
    """Return the values for the code that builds and launches kernels, and its includes.

    Args:
        library: the export, or one problem type of it.
        sources: of the kernels.
        build: the template of the function that builds a kernel.
        types: the prefix of the types' names (default: the library's name).
    """
    prefix = types or library.name
    names = {"library": library.name, "types": prefix, "guard": prefix.upper()}
    names["build_program"] = build_program(sources, prefix, fetches=build == _BUILD)
    names["binaries"] = fill(TEMPLATES / "binaries.c.in", names)
    names["learned_file"] = fill(TEMPLATES / "learned_file.c.in", names).rstrip("\n")
    built = fill(build, names).rstrip("\n")
    return {
        "launch": fill(
            TEMPLATES / "launch.c.in",
            names | {"build": built} | _arguments(library) | epilogue.launch_values(library),
        ),
        "learn": fill(TEMPLATES / "learn.c.in", names).rstrip("\n") + "\n",
        "exact": Reason.EXACT.value,
        "build_headers": BUILD_HEADERS,
        "posix_headers": _POSIX_HEADERS,
    }


def build_program(sources: Iterable[str], types: str, *, fetches: bool) -> str:
    """Return the code that builds a kernel's program from its source.

    Args:
        sources: of the kernels.
        types: the prefix of the types' names.
        fetches: whether the code that follows fetches the program's binary.
    """
    values = {"types": types, "binary_of": "", "two_steps": "", "build_again": ""}
    in_two_steps = any(map(needs_two_steps, sources))
    if fetches or in_two_steps:
        values["binary_of"] = fill(TEMPLATES / "binary_of.c.in", {}) + "\n"
    if in_two_steps:
        values["two_steps"] = fill(TEMPLATES / "two_steps.c.in", {}) + "\n"
        values["build_again"] = (
            "    if (status == CL_SUCCESS && written->two_steps)\n"
            "        status = build_again(context, device, options, program);\n"
        )
    return fill(TEMPLATES / "build_program.c.in", values)


def build_example(library: str) -> str:
    """Return the part of a CMakeLists.txt that builds the example."""
    return fill(TEMPLATES / "example.cmake.in", {"library": library}).rstrip("\n")


def shared_values(types: str) -> dict[str, str]:
    """Return the values that are the same in the files of any library."""
    tools = {"find_device": fill(TEMPLATES / "find_device.c.in", {}).rstrip("\n")}
    return {
        "opencl": fill(TEMPLATES / "opencl.h.in", {}).rstrip("\n"),
        "library_end": fill(TEMPLATES / "library_end.h.in", {"types": types}).rstrip("\n"),
        "build_example": build_example(types),
        "version": __version__,
        "example_tools": fill(TEMPLATES / "example_tools.c.in", tools).rstrip("\n"),
    }


def most_passes(libraries: Iterable[Library]) -> str:
    """Return the number of passes of the kernel with the most passes."""
    return str(max(len(kernel.passes) for each in libraries for kernel in each.kernels))


def kernel_values(library: Library, types: str = "", prefix: str = "") -> dict[str, str]:
    """Return the values for the kernels' sources and launches; see `geometry`."""
    sources = {f"source_{number}": kernel.source for number, kernel in enumerate(library.kernels)}
    arrays = [source_array(source, name) for name, source in sources.items()]
    named = zip(library.kernels, arrays, strict=True)
    return {
        "sources": "\n".join(f"/* {kernel.name} */\n{array}" for kernel, array in named),
        "geometry": geometry(library, sources, types, prefix),
    }


def geometry(
    library: Library, sources: Mapping[str, str], types: str = "", prefix: str = ""
) -> str:
    """Return the definitions of all passes and launches, then of the array of all kernels.

    Args:
        library: the export.
        sources: of the kernels, by the names of their arrays of literals.
        types: the prefix of the types' names (default: the library's name).
        prefix: that of the array's name (default: the library's name).
    """
    name = types or library.name
    parts, entries = [], []
    arrays = zip(library.kernels, sources.items(), strict=True)
    for number, (kernel, (array, source)) in enumerate(arrays):
        passes = [
            f"    {{{literal(each.entry)}, {_braced(each.work_group)}}}," for each in kernel.passes
        ]
        parts += [f"static const {name}_pass passes_{number}[] = {{", *passes, "};"]
        parts += [
            f"static void compute_{number}(const {name}_extents *of, {name}_launch *launch)",
            "{",
            *_computed(kernel.geometry),
            "}",
            "",
        ]
        entries.append(
            f"    {{{array}, sizeof {array} / sizeof {array}[0],\n"
            f"     {literal(exported_options(kernel.build_options))},\n"
            f"     passes_{number}, {len(passes)}, {int(bool(kernel.scratch))}, "
            f"{int(kernel.counters)}, {int(needs_two_steps(source))}, compute_{number}}},"
        )
    head = f"const {name}_kernel {prefix or library.name}_kernels[] = {{"
    return "\n".join((*parts, head, *entries, "};"))


def _computed(geometry: Geometry) -> Iterator[str]:
    """Yield the statements that compute a launch."""
    names = {index: f"of->{extent}" for index, extent in EXTENT_NAMES.items()}
    for place, sizes in enumerate(geometry.global_sizes):
        for dimension, size in enumerate(sizes):
            text = GEOMETRY_DIALECT.text(size, names)
            yield f"    launch->global[{place}][{dimension}] = {text};"
    for word in ("scratch_bytes", "counter_bytes"):
        yield f"    launch->{word} = {GEOMETRY_DIALECT.text(getattr(geometry, word), names)};"


def _braced(values: Iterable[object]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _arguments(library: Library) -> dict[str, str]:
    """Return the statements for a kernel's arguments, and the arguments in order."""
    names = {"i": "of->rows", "j": "of->columns", "l": "terms"}
    names |= layout_names("(uint64_t){0}->{1}")
    names["offset_bias"] = "(uint64_t)with->bias.offset"
    passed = {
        Kind.MATRIX: "{{sizeof {0}->buffer, &{0}->buffer}}",
        Kind.FACTOR: "{{factor_bytes, {0}}}",
        Kind.SCRATCH: "{{sizeof(cl_mem), memories[plain]}}",
        Kind.COUNTERS: "{{sizeof(cl_mem), memories[zeroed]}}",
    }
    computed, listed = [], []
    for each in arguments(library.selector.contraction.canonical(), scratch=True, counters=True):
        if each.value is not None:
            kind = f"cl_{each.kind.value}"
            value = GEOMETRY_DIALECT.text(each.value, names)
            cast = f"({kind})" if each.kind is Kind.UINT else ""
            computed.append(f"    const {kind} {each.name} = {cast}{value};")
        text = epilogue.kernel_argument(each.name)
        text = text or passed.get(each.kind, "{{sizeof {0}, &{0}}}").format(each.name)
        listed.append(f"        {text},")
    return {"integers": "\n".join(computed), "arguments": "\n".join(listed)}


def source_array(source: str, name: str) -> str:
    """Return the definition of an array of string literals that together are a source."""
    lines = "".join(f"    {text},\n" for text in literals(source))
    return f"static const char *{name}[] = {{\n{lines}}};\n"


def _call_values(library: Library, element: Element) -> dict[str, str]:
    """Return the values for the public function: its header, prototype and checks."""
    after = epilogue.arguments(library, element.factor)
    listed = blas_arguments(element.factor, library.batched, after)
    names = [name for _, name in listed]
    column_major = library.orders[2] == "F"
    values = {
        "prototype": prototype(library.name, listed),
        "prototype_with": prototype(f"{library.name}_with", [*listed, ("int", "kernel")]),
        "call_with": call(f"{library.name}_with", [*names, "-1"]).replace("\n", "\n    "),
        "problem": f"m, n, k, {'batch' if library.batched else '1'}",
        "checks": "\n".join(_checks(library, names)),
        "first": "matrix_a" if column_major else "matrix_b",
        "second": "matrix_b" if column_major else "matrix_a",
        "operands": ""
        if column_major
        else " A row-major product is the column-major\n * one of the transposed matrices, so A "
        "and B change places.",
        "stride_words": "\n * and a stride from each product to the next"
        if library.batched
        else "",
        "overlap_function": OVERLAP if library.batched else "",
        "check_overlap": "    if (overlap(&matrix_c, problem.batch))\n"
        f"        return -{names.index('stride_c') + 1};\n"
        if library.batched
        else "",
        **epilogue.library_values(library, names, element.is_half),
    }
    for matrix in "abc":
        length, count = _run(library, matrix)
        stride = f"stride_{matrix}" if library.batched else "0"
        values[f"matrix_{matrix}"] = (
            f"{matrix}, offset_{matrix}, {length}, {count}, ld{matrix}, {stride}"
        )
        values[f"at_{matrix}"] = str(names.index(matrix) + 1)
    return values


def _checks(library: Library, names: list[str]) -> list[str]:
    """Return the statements that refuse a wrong argument, in the order of the arguments."""
    tests = {size: f"{size} < 0 || {size} > INT32_MAX" for size in ("m", "n", "k", "batch")}
    for matrix in "abc":
        length, _ = _run(library, matrix)
        tests[f"offset_{matrix}"] = f"offset_{matrix} < 0"
        tests[f"ld{matrix}"] = f"ld{matrix} < 1 || ld{matrix} < {length}"
        tests[f"stride_{matrix}"] = f"stride_{matrix} < 0"
    tests |= epilogue.checks(names)
    tests["queue"] = "queue == NULL"
    tests["kernel"] = f"kernel < -1 || kernel >= {library.name}_num_kernels()"
    return refusals(tests, [*names, "kernel"])


def refusals(tests: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return the statements that return the place of a wrong argument, in their order.

    Args:
        tests: the conditions under which an argument is wrong, by name.
        names: of all arguments.
    """
    return [
        f"    if ({tests[name]})\n        return -{place};"
        for place, name in enumerate(names, start=1)
        if name in tests
    ]


def _example_values(library: Library, element: Element) -> dict[str, str]:
    """Return the values for the example program and the README."""
    sizes = ["m", "n", "k", *(["batch"] if library.batched else [])]
    passed = ["m", "n", "k", *(["problem->batch"] if library.batched else [])]
    for matrix in "abc":
        length, count = _run(library, matrix)
        factor = {"a": "alpha", "c": "beta"}.get(matrix)
        passed += [element.passed(factor)] if factor else []
        passed += [matrix, "0", length]
        passed += [f"{length} * {count}"] if library.batched else []
    passed += [*epilogue.passed(library), "queue", "0", "NULL", "NULL"]
    values = {
        "extents": "".join(f"    const int64_t {size} = problem->{size};\n" for size in "mnk"),
        "call": call(library.name, passed).replace("\n", "\n            "),
        "num_sizes": str(len(sizes)),
        "usage_sizes": " ".join(size.upper() for size in sizes),
        "example_sizes": "100 200 300" + " 4" * library.batched,
        "given_sizes": ", ".join(f"positive(sizes[{place}])" for place in range(len(sizes)))
        + ("" if library.batched else ", 1"),
        "checked_sizes": "\n".join(
            f"        {{{m}, {n}, {k}, {3 if library.batched else 1}}},"
            for m, n, k in _CHECKED_SIZES
        ),
    }
    conjugates = library.selector.contraction
    widen = element.values(conjugates.conjugate_a, conjugates.conjugate_b)["widen"]
    values |= epilogue.example_values(library, widen)
    for matrix, (row, column) in _INDICES.items():
        length, _ = _run(library, matrix)
        fast, slow = (row, column) if length == _EXTENTS[matrix][0] else (column, row)
        values[f"index_{matrix}"] = f"{fast} + {slow} * {length}"
    return values


def _run(library: Library, matrix: str) -> tuple[str, str]:
    """Return the length and the number of a matrix's contiguous runs."""
    rows, columns = _EXTENTS[matrix]
    return (rows, columns) if library.orders["abc".index(matrix)] == "F" else (columns, rows)


OVERLAP = """
/* Whether two matrices of a batch share an element. They do not if they lie one after the other,
   or if each one's runs lie between those of the others. */
static int overlap(const matrix *x, int64_t batch)
{
    const uint64_t stride = (uint64_t)x->stride, length = (uint64_t)x->length;
    const uint64_t between = sum(product((uint64_t)batch - 1, stride), length);

    return batch > 1 && stride < span(x) && (stride < length || between > (uint64_t)x->ld);
}
"""
