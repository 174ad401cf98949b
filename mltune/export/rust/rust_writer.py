"""Writes a Rust crate: selection, kernel sources and launch code, on OpenCL's C functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.export.block import FEATURE_VALUES, block_of, features_of, nested
from mltune.export.expression import EXTENT_NAMES, layout_names
from mltune.export.files import write_files
from mltune.export.formulas import plan
from mltune.export.library import Library
from mltune.export.plain import plain_paragraphs
from mltune.export.rust.text import CHOICE, GEOMETRY, TIMES, comment, literal
from mltune.export.statement import statement
from mltune.export.template import fill
from mltune.kernel import Kernel
from mltune.kernel.abi import Argument, Kind, arguments
from mltune.kernel.held_back import holds_back
from mltune.problem import Precision
from mltune.selector import MOST_EXTENT, Selector, padding, work_limit
from mltune.selector.tiling import CAP, CAPPED

_TEMPLATES = Path(__file__).parent / "templates"
_ELEMENTS = {
    Precision.SINGLE: ("f32", "0.0"),
    Precision.DOUBLE: ("f64", "0.0"),
    Precision.COMPLEX_SINGLE: ("[f32; 2]", "[0.0; 2]"),
    Precision.COMPLEX_DOUBLE: ("[f64; 2]", "[0.0; 2]"),
}
_EXTENTS = {index: f"of.{extent}" for index, extent in EXTENT_NAMES.items()}
_PASSED = _EXTENTS | {"l": "terms"} | layout_names("{0}.at.{1}")
_SIZES = {size: f"of.{size}" for size in ("m", "n", "k", "batch")}
_TREE_SIZES = _SIZES | {name: f"of.{size}.min({CAP})" for name, size in CAPPED.items()}
_WIDE_SIZES = {size: f"{text} as u64" for size, text in _SIZES.items()}


class RustWriter:
    """Writes a crate without dependencies that links OpenCL 1.2."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "rust"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the crate into a folder; see `Writer.write`."""
        library = Library.of(selector, kernels)
        library.refuse_epilogue("rust")
        values = _values(library) | _choice(selector)
        readme = values | {"statement": plain_paragraphs(statement(library))}
        texts = {"README.md": fill(_TEMPLATES / "README.md.in", readme)}
        for name in ("Cargo.toml", "src/lib.rs", "src/kernels.rs", "src/selection.rs"):
            texts[name] = fill(_TEMPLATES / f"{Path(name).name}.in", values)
        for name in ("launch.rs", "opencl.rs"):
            texts[f"src/{name}"] = (_TEMPLATES / name).read_text(encoding="utf-8")
        texts |= {f"opencl/{kernel.name}.cl": kernel.source for kernel in library.kernels}
        return write_files(out, texts)


def _values(library: Library) -> dict[str, str]:
    contraction = library.selector.contraction
    if contraction.precision not in _ELEMENTS:
        raise UnsupportedError(
            f"export rust: {library.problem_type} is not written, as Rust has no half precision "
            "(c, python: every precision)"
        )
    for kernel in library.kernels:
        if holds_back(kernel.source):
            raise UnsupportedError(
                f"export rust: kernel {kernel.name} is built in two steps (c, python: can)"
            )
    element, zero = _ELEMENTS[contraction.precision]
    return {
        "library": library.name,
        "distribution": library.name.replace("_", "-"),
        "problem_type": library.problem_type,
        "statement": comment(statement(library)),
        "element": element,
        "zero": zero,
        "batched": str(library.batched).lower(),
        "column_major": str([order == "F" for order in library.orders]).lower(),
        "count": str(len(library.kernels)),
        "names": _lines(1, (literal(kernel.name) for kernel in library.kernels)),
        "kernels": "".join(_kernel(*numbered) for numbered in enumerate(library.kernels)),
        "arguments": "".join(map(_passed, arguments(contraction.canonical(), True, True))),
        "geometry": "\n\n".join(_compute(*numbered) for numbered in enumerate(library.kernels)),
    }


def _lines(level: int, items: Iterable[str]) -> str:
    """The lines between the brackets of an array."""
    return "".join(f"{'    ' * level}{item},\n" for item in items)


def _kernel(number: int, kernel: Kernel) -> str:
    passes = ", ".join(f"({literal(x.entry)}, {list(x.work_group)})" for x in kernel.passes)
    return (
        f'    Kernel {{\n        source: include_str!("../opencl/{kernel.name}.cl"),\n'
        f"        build_options: {literal(' '.join(kernel.build_options))},\n"
        f"        passes: &[{passes}],\n        compute: compute_{number},\n    }},\n"
    )


def _passed(argument: Argument) -> str:
    """The statement that passes an argument."""
    if argument.kind in (Kind.SCRATCH, Kind.COUNTERS):
        return f"    {argument.name}.map_or(Ok(()), |memory| passed.value(memory))?;\n"
    value = argument.name + ".at.buffer" * (argument.kind is Kind.MATRIX)
    if argument.value is not None:
        value = GEOMETRY.text(argument.value, _PASSED)
    return f"    passed.value({value}{' as u32' * (argument.kind is Kind.UINT)})?;\n"


def _compute(number: int, kernel: Kernel) -> str:
    geometry = kernel.geometry
    sizes = [
        f"[{', '.join(GEOMETRY.text(size, _EXTENTS) for size in each)}]"
        for each in geometry.global_sizes
    ]
    return (
        f"fn compute_{number}(of: &Extents) -> Launch {{\n    Launch {{\n        global: vec![\n"
        f"{_lines(3, sizes)}        ],\n"
        f"        scratch_bytes: {GEOMETRY.text(geometry.scratch_bytes, _EXTENTS)},\n"
        f"        counter_bytes: {GEOMETRY.text(geometry.counter_bytes, _EXTENTS)},\n    }}\n}}"
    )


def _choice(selector: Selector) -> dict[str, str]:
    """What chooses a kernel."""
    formulas, used = selector.formulas, features_of(selector.tree)
    planned = plan(formulas)
    features = [
        f"    let {name} = {CHOICE.text(value, _SIZES)};"
        for name, value in FEATURE_VALUES.items()
        if name in used
    ]
    words = ("if {} {{", "}", "return {};")
    guards = nested(
        block_of(selector.tree), lambda node: CHOICE.text(node, _TREE_SIZES), words, " // {}"
    )
    *lines, last = [*features, *guards]
    exact = (f"({list(size)}, {kernel})" for size, kernel in sorted(selector.exact))
    return {
        "exact": _lines(1, exact),
        "most": str(MOST_EXTENT),
        # Without formulas, no size has so little work.
        "padding": str(padding(formulas) if formulas else 1),
        "limit": str(work_limit(formulas) if formulas else 0),
        "counts": "".join(
            f"    let {count.name} = {TIMES.text(count.value, _WIDE_SIZES)};\n"
            for count in planned.counts
        ),
        "times": _lines(2, map(TIMES.text, planned.times)),
        "tree": "\n".join([*lines, last.replace("return ", "").replace(";", "", 1)]),
    }
