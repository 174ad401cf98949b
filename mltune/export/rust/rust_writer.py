"""Writes a Rust crate: selection, kernel sources and launch code, on OpenCL's C functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.export.block import FEATURE_VALUES, block_of, compared, features_of, nested, returned
from mltune.export.expression import EXTENT_NAMES, Dialect, layout_names
from mltune.export.files import write_files
from mltune.export.formulas import plan
from mltune.export.library import Library
from mltune.export.plain import plain_paragraphs
from mltune.export.statement import statement
from mltune.export.template import render
from mltune.kernel import Kernel
from mltune.kernel.abi import arguments
from mltune.kernel.build_options import exported_options
from mltune.kernel.two_step_build import needs_two_steps
from mltune.problem import Precision
from mltune.selector import MOST_EXTENT, Selector, Tree, padding, work_limit
from mltune.selector.rival import MOST_TIME, PARTS, SHIFT
from mltune.selector.tiling import CAP, CAPPED

_TEMPLATES = Path(__file__).parent / "templates"
_ELEMENTS = {
    Precision.SINGLE: ("f32", "0.0"),
    Precision.DOUBLE: ("f64", "0.0"),
    Precision.COMPLEX_SINGLE: ("[f32; 2]", "[0.0; 2]"),
    Precision.COMPLEX_DOUBLE: ("[f64; 2]", "[0.0; 2]"),
}

EXACT = Dialect(
    templates={
        "ceil_div": "u64::div_ceil({0}, {1})",
        "max": "u64::max({0}, {1})",
        "flag": "u64::from({0})",
        "given": "({0}) * {1}",
    }
)
"""For time formulas, which cannot overflow."""

_CAPPED = {"*": "u64::saturating_mul({0}, {1})", "+": "u64::saturating_add({0}, {1})"}
SATURATING = Dialect(templates={**EXACT.templates, **_CAPPED}, symbols={"//": "/"})
"""Sums and products that are too large become u64::MAX."""

_KEPT = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}


class RustWriter:
    """Writes a crate without dependencies that links OpenCL 1.2."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "rust"

    def write(self, selector: Selector, kernels: Sequence[Kernel], out: Path) -> list[Path]:
        """Write the crate into a folder; see `Writer.write`."""
        library = Library.of(selector, kernels)
        _refuse(library)
        sources = {f"opencl/{kernel.name}.cl": kernel.source for kernel in library.kernels}
        return write_files(out, render(_TEMPLATES, _values(library)) | sources)


def _refuse(library: Library) -> None:
    """Refuse epilogues, compute types, half precision, and two-step builds."""
    contraction = library.selector.contraction
    if contraction.epilogue or contraction.rounds:
        library.refuse_beyond_blas("rust")
    if contraction.precision not in _ELEMENTS:
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
    selector, contraction = library.selector, library.selector.contraction
    planned = plan(selector.formulas)
    formulas = selector.formulas or (selector.teacher if compared(selector.tree) else ())
    plans = {number: plan([selector.teacher[number]]) for number in compared(selector.tree)}
    words, pair = ("if {} {{", "}"), "return faster_of([m, n, k, batch], {}, {}, {});"
    answer = partial(returned, one="return {};", two=pair)
    *guards, last = nested(block_of(selector.tree), SATURATING.text, words, answer, " // {}")
    return {
        "library": library,
        "element": _ELEMENTS[contraction.precision],
        "paragraphs": plain_paragraphs(statement(library)),
        "literal": literal,
        "exported_options": exported_options,
        "arguments": arguments(contraction.canonical(), scratch=True, counters=True),
        "text": partial(SATURATING.text, names=EXTENT_NAMES | layout_names("{0}.{1}")),
        "most": MOST_EXTENT,
        "padding": padding(formulas) if formulas else 0,
        "limit": work_limit(formulas) if formulas else 0,
        "counts": {each.name: EXACT.text(each.value) for each in planned.counts},
        "times": [*map(EXACT.text, planned.times)],
        "compared": {
            number: (
                {each.name: EXACT.text(each.value) for each in of.counts},
                EXACT.text(of.times[0]),
            )
            for number, of in plans.items()
        },
        "shift": SHIFT,
        "most_time": MOST_TIME,
        "parts": PARTS,
        "features": _features(selector.tree),
        "guards": [*guards, last.replace("return ", "").replace(";", "", 1)],
    }


def _features(tree: Tree) -> dict[str, str]:
    """Return the names in a tree's conditions, except the sizes, with their expressions."""
    texts = {name: SATURATING.text(value) for name, value in FEATURE_VALUES.items()}
    texts |= {name: f"{size}.min({CAP})" for name, size in CAPPED.items()}
    return {name: text for name, text in texts.items() if name in features_of(tree)}


def literal(text: str) -> str:
    """Return a string literal for any text."""
    kept = [letter if letter in _KEPT else f"\\u{{{ord(letter):x}}}" for letter in text]
    return f'"{"".join(kept)}"'
