"""Writes a Rust crate: selection, kernel sources and launch code, on OpenCL's C functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
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
from mltune.export.template import render
from mltune.kernel import Kernel
from mltune.kernel.abi import arguments
from mltune.kernel.two_step_build import needs_two_steps
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
        _check(library)
        values = _values(library) | _choice(selector)
        sources = {f"opencl/{kernel.name}.cl": kernel.source for kernel in library.kernels}
        return write_files(out, render(_TEMPLATES, values) | sources)


def _check(library: Library) -> None:
    if library.selector.contraction.precision not in _ELEMENTS:
        raise UnsupportedError(
            f"export rust: {library.problem_type} is not written, as Rust has no half precision "
            "(c, python: every precision)"
        )
    for kernel in library.kernels:
        if needs_two_steps(kernel.source):
            raise UnsupportedError(
                f"export rust: kernel {kernel.name} is built in two steps (c, python: can)"
            )


def _values(library: Library) -> dict[str, object]:
    """What is built and launched."""
    contraction, said = library.selector.contraction, statement(library)
    return {
        "library": library,
        "element": _ELEMENTS[contraction.precision],
        "paragraphs": plain_paragraphs(said),
        "comment": comment(said),
        "literal": literal,
        "arguments": arguments(contraction.canonical(), True, True),
        "passed": partial(GEOMETRY.text, names=EXTENT_NAMES | layout_names("{0}.{1}")),
        "computed": lambda nodes: f"[{', '.join(GEOMETRY.text(x, EXTENT_NAMES) for x in nodes)}]",
    }


def _choice(selector: Selector) -> dict[str, object]:
    """What chooses a kernel."""
    formulas, planned, used = (
        selector.formulas,
        plan(selector.formulas),
        features_of(selector.tree),
    )
    features = {x: CHOICE.text(value) for x, value in FEATURE_VALUES.items()}
    features |= {name: f"{size}.min({CAP})" for name, size in CAPPED.items()}
    words = ("if {} {{", "}", "return {};")
    *guards, last = nested(block_of(selector.tree), CHOICE.text, words, " // {}")
    return {
        "exact": sorted(selector.exact),
        "most": MOST_EXTENT,
        # Without formulas, no size has so little work.
        "padding": padding(formulas) if formulas else 1,
        "limit": work_limit(formulas) if formulas else 0,
        "counts": {each.name: TIMES.text(each.value) for each in planned.counts},
        "times": [*map(TIMES.text, planned.times)],
        "features": {x: value for x, value in features.items() if x in used},
        "guards": [*guards, last.replace("return ", "").replace(";", "", 1)],
    }
