"""Writes a Rust crate: selection, kernel sources and launch code, on OpenCL's C functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.export.block import FEATURE_VALUES, block_of, features_of, nested
from mltune.export.expression import EXTENT_NAMES
from mltune.export.files import write_files
from mltune.export.formulas import plan
from mltune.export.library import Library
from mltune.export.plain import plain_paragraphs
from mltune.export.rust.text import (
    FEATURES_DIALECT,
    FORMULAS_DIALECT,
    GEOMETRY_DIALECT,
    comment,
    literal,
)
from mltune.export.statement import statement
from mltune.export.template import fill
from mltune.kernel import Kernel
from mltune.kernel.abi import Argument, Kind, arguments
from mltune.kernel.held_back import holds_back
from mltune.problem import Precision
from mltune.selector import MOST_EXTENT, Reason, Selector, padding, work_limit

_TEMPLATES = Path(__file__).parent / "templates"
_ELEMENTS = {
    Precision.SINGLE: ("f32", "0.0"),
    Precision.DOUBLE: ("f64", "0.0"),
    Precision.COMPLEX_SINGLE: ("[f32; 2]", "[0.0; 2]"),
    Precision.COMPLEX_DOUBLE: ("[f64; 2]", "[0.0; 2]"),
}
_EXTENTS = {index: f"of.{extent}" for index, extent in EXTENT_NAMES.items()}
_SIZES = {size: f"of.{size}" for size in ("m", "n", "k", "batch")}


class RustWriter:
    """Writes a crate without dependencies that links OpenCL 1.2."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "rust"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the crate into a folder; see `Writer.write`."""
        library = Library.of(selector, kernels)
        values = _values(library)
        names = (
            "README.md",
            "Cargo.toml",
            *(f"src/{x}.rs" for x in ("lib", "kernels", "selection")),
        )
        texts = {name: fill(_TEMPLATES / f"{Path(name).name}.in", values) for name in names}
        texts["README.md"] = fill(
            _TEMPLATES / "README.md.in",
            values | {"statement": plain_paragraphs(statement(library))},
        )
        for name in ("launch.rs", "opencl.rs"):
            texts[f"src/{name}"] = (_TEMPLATES / name).read_text(encoding="utf-8")
        texts |= {f"opencl/{kernel.name}.cl": kernel.source for kernel in library.kernels}
        return write_files(out, texts)


def _values(library: Library) -> dict[str, str]:
    contraction = library.selector.contraction
    if contraction.precision not in _ELEMENTS:
        raise UnsupportedError(
            f"export rust: {library.problem_type} is not written, as Rust has no half precision "
            "(python: every precision)"
        )
    for kernel in library.kernels:
        if holds_back(kernel.source):
            raise UnsupportedError(
                f"export rust: kernel {kernel.name} is built in two steps (c and python: do that)"
            )
    element, zero = _ELEMENTS[contraction.precision]
    listed = arguments(contraction.canonical(), True, True)
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
        "names": "\n".join(f"    {literal(kernel.name)}," for kernel in library.kernels),
        "kernels": "\n".join(map(_kernel, range(len(library.kernels)), library.kernels)),
        "arguments": "\n".join(map(_passed, listed)),
        "geometry": "\n\n".join(map(_compute, range(len(library.kernels)), library.kernels)),
        "body": "\n".join(_body(library.selector)),
    }


def _kernel(number: int, kernel: Kernel) -> str:
    passes = ", ".join(f"({literal(x.entry)}, {list(x.work_group)})" for x in kernel.passes)
    return (
        f'    Kernel {{\n        source: include_str!("../opencl/{kernel.name}.cl"),\n'
        f"        build_options: {literal(' '.join(kernel.build_options))},\n"
        f"        passes: &[{passes}],\n        compute: compute_{number},\n    }},"
    )


def _passed(argument: Argument) -> str:
    """The statement that passes an argument."""
    if argument.kind in (Kind.SCRATCH, Kind.COUNTERS):
        return f"    {argument.name}.map_or(Ok(()), |memory| passed.value(memory))?;"
    names = _EXTENTS | {"l": "terms"}
    for tensor in "cab":
        for word, field in (("offset", "offset"), ("ld", "ld"), ("batch_stride", "stride")):
            names[f"{word}_{tensor}"] = f"{tensor}.at.{field}"
    value = argument.name + ".at.buffer" * (argument.kind is Kind.MATRIX)
    if argument.value is not None:
        value = GEOMETRY_DIALECT.text(argument.value, names)
    return f"    passed.value({value}{' as u32' * (argument.kind is Kind.UINT)})?;"


def _compute(number: int, kernel: Kernel) -> str:
    geometry = kernel.geometry
    sizes = [[GEOMETRY_DIALECT.text(x, _EXTENTS) for x in each] for each in geometry.global_sizes]
    listed = "".join(f"            [{', '.join(each)}],\n" for each in sizes)
    return (
        f"fn compute_{number}(of: &Extents) -> Launch {{\n    Launch {{\n"
        f"        global: vec![\n{listed}        ],\n"
        f"        scratch_bytes: {GEOMETRY_DIALECT.text(geometry.scratch_bytes, _EXTENTS)},\n"
        f"        counter_bytes: {GEOMETRY_DIALECT.text(geometry.counter_bytes, _EXTENTS)},\n"
        "    }\n}"
    )


def _body(selector: Selector) -> Iterator[str]:
    """The functions that choose a kernel."""
    exact = [f"    ({list(size)}, {kernel}),\n" for size, kernel in sorted(selector.exact)]
    yield f"static EXACT: [([i64; 4], usize); {len(exact)}] = [\n{''.join(exact)}];\n"
    yield "fn choose(problem: &Problem) -> (usize, &'static str) {"
    yield "    let sizes = [problem.m, problem.n, problem.k, problem.batch];"
    yield "    if let Ok(place) = EXACT.binary_search_by_key(&sizes, |(size, _)| *size) {"
    yield f'        return (EXACT[place].1, "{Reason.EXACT.value}");\n    }}'
    yield "    let [m, n, k, batch] = sizes.map(|size| size.max(0));"
    yield "    let of = Problem { m, n, k, batch };"
    if selector.formulas:
        yield f'    if has_time(&of) {{\n        return (fastest(&of), "{Reason.FORMULAS.value}");'
        yield "    }"
    yield f'    (tree(&of), "{Reason.TREE.value}")\n}}\n'
    if selector.formulas:
        yield from _by_time(selector)
    yield "#[allow(unused_variables)]\nfn tree(of: &Problem) -> usize {"
    used = features_of(selector.tree)
    for name, value in FEATURE_VALUES.items():
        if name in used:
            yield f"    let {name} = {FEATURES_DIALECT.text(value, _SIZES)};"
    *lines, last = nested(
        block_of(selector.tree),
        lambda node: FEATURES_DIALECT.text(node, _SIZES),
        ("if {} {{", "}", "return {};"),
    )
    yield from (*lines, last.replace("return ", "").rstrip(";"), "}")


def _by_time(selector: Selector) -> Iterator[str]:
    """The kernel with the least time, in femtoseconds, and the sizes that it is computed for."""
    planned, rim = plan(selector.formulas), padding(selector.formulas)
    names = {size: f"{text} as u64" for size, text in _SIZES.items()}
    yield "#[allow(unused_variables)]\nfn fastest(of: &Problem) -> usize {"
    for count in planned.counts:
        yield f"    let {count.name} = {FORMULAS_DIALECT.text(count.value, names)};"
    times = "".join(f"        {FORMULAS_DIALECT.text(time)},\n" for time in planned.times)
    yield f"    let times: [u64; {len(planned.times)}] = [\n{times}    ];"
    yield "    (0..times.len()).min_by_key(|&kernel| times[kernel]).unwrap_or(0)\n}\n"
    yield "fn has_time(of: &Problem) -> bool {"
    yield "    let [m, n, k, batch] = [of.m, of.n, of.k, of.batch].map(|size| size as u64);"
    yield f"    m.max(n).max(k).max(batch) <= {MOST_EXTENT}"
    yield f"        && (m + {rim}) * (n + {rim})"
    yield f"            <= {work_limit(selector.formulas)} / ((k + {rim}) * batch.max(1))\n}}\n"
