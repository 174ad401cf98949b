from collections.abc import Callable
from dataclasses import replace

import pytest

from mltune.export.library import Library
from mltune.export.statement import statement
from mltune.problem import Precision, gemm, parse_problem_type
from mltune.selector import Leaf, TimeFormula

Make = Callable[..., Library]


@pytest.mark.parametrize(
    ("problem_type", "formula"),
    [
        ("sgemm_nn", "C = alpha * A * B + beta * C"),
        ("sgemm_nt_row", "C = alpha * A * B^T + beta * C"),
        ("zgemm_cn", "C = alpha * A^H * B + beta * C"),
        ("zgemm_tc_row_batched", "C = alpha * A^T * B^H + beta * C"),
    ],
)
def test_the_formula_says_what_is_transposed(
    problem_type: str, formula: str, chooser: Make
) -> None:
    library = _of_type(chooser(Leaf(0), 1), problem_type)

    assert library.formula == formula


def test_conjugation_alone_is_said_too(chooser: Make) -> None:
    contraction = replace(gemm(Precision.COMPLEX_SINGLE), conjugate_a=True)
    library = chooser(Leaf(0), 1)
    kernels = tuple(replace(kernel, contraction=contraction) for kernel in library.kernels)

    conjugating = Library(replace(library.selector, contraction=contraction), kernels)

    assert conjugating.formula == "C = alpha * conj(A) * B + beta * C"


def test_says_how_it_chooses_and_that_the_loss_is_unknown(chooser: Make) -> None:
    bare = statement(chooser(Leaf(0), 1))
    assert bare[1] == "It chooses among 1 kernel by a decision tree of depth 0."
    assert bare[2] == "What the choice loses is unknown: no size was held out to measure it."

    exact = statement(chooser(Leaf(0), 2, exact=(((1, 2, 3, 1), 1),)))
    assert exact[1] == (
        "It chooses among 2 kernels by 1 exact size first, then one of them for all other sizes."
    )
    formula = TimeFormula(rows=8, columns=8, depth=8, launch=1, tile=0, step=0, tile_step=0)
    some = statement(chooser(Leaf(0), 2, formulas=(formula,), exact=(((1, 2, 3, 1), 1),)))
    assert some[1] == (
        "It chooses among 2 kernels by 1 exact size first, then a formula for the time of 1."
    )


def test_says_what_the_choice_loses_and_where_it_was_measured(tiled: Make) -> None:
    paragraphs = statement(tiled("sgemm_nn"))

    assert paragraphs[2:] == [
        "What the choice loses, measured on 9 sizes held out from the fit: time of the best known "
        "kernel / time of the chosen one is 0.974 in the geometric mean, 0.910 at the 10th "
        "percentile and 0.800 at worst (at 70x5x300).",
        "Measured: device PoCL; date 2026-11-21.",
    ]


def _of_type(library: Library, problem_type: str) -> Library:
    contraction = parse_problem_type(problem_type)
    kernels = (replace(library.kernels[0], contraction=contraction.canonical()),)
    return Library(replace(library.selector, contraction=contraction), kernels)
