from dataclasses import replace

from mltune.problem import Precision, gemm
from mltune.selector import Leaf, PortfolioKernel, Selector, Split
from mltune.selector.formula import TimeFormula
from mltune.selector.restricted import without
from mltune.space.config import Config


def kernel(name: str) -> PortfolioKernel:
    return PortfolioKernel(name=name, family="tiled", config=Config.of({}), source_hash="0" * 16)


SELECTOR = Selector(
    contraction=gemm(Precision.SINGLE),
    portfolio=tuple(map(kernel, "abcd")),
    tree=Split("m", 10, Leaf(0), Split("n", 10, Leaf(1), Leaf(2))),
    exact=(((8, 8, 8, 1), 3), ((9, 9, 9, 1), 2)),
)


def test_the_kernels_that_stay_answer_for_those_that_go() -> None:
    selector, numbers = without(SELECTOR, {0, 3})

    assert [each.name for each in selector.portfolio] == ["b", "c"]
    assert numbers == (1, 2)
    expected = {(9, 9, 9): "c", (8, 8, 8): "b", (20, 5, 1): "b", (20, 20, 1): "c"}
    assert {size: selector.choose(*size).kernel.name for size in expected} == expected


def test_without_nobody_nothing_changes() -> None:
    assert without(SELECTOR, ()) == (SELECTOR, (0, 1, 2, 3))


def test_formulas_stay_with_their_kernels() -> None:
    formulas = tuple(
        TimeFormula(rows=8, columns=8, depth=8, launch=launch, tile=1, step=1, tile_step=1)
        for launch in (1, 3, 2)
    )
    timed = replace(SELECTOR, formulas=formulas)

    selector, _ = without(timed, {0})

    assert selector.formulas == formulas[1:]
    assert timed.choose(30, 30, 30).kernel.name == "a"
    assert selector.choose(30, 30, 30).kernel.name == "c"
    taught, _ = without(replace(SELECTOR, teacher=formulas), {0})
    assert taught.teacher == formulas[1:]
