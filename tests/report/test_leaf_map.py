"""The map of the choice over M and N."""

import math
import re
from dataclasses import replace
from itertools import combinations

import pytest

from mltune.problem import Precision, gemm, problem_of_size
from mltune.report.content import Selection
from mltune.report.leaf_map import CELLS, MOST_K, leaf_map
from mltune.report.plot import BOTTOM, LEFT, RIGHT, TOP, WIDTH
from mltune.selector import (
    Leaf,
    LeafLoss,
    PortfolioKernel,
    Rival,
    Selector,
    Split,
    TimeFormula,
    Tree,
)
from mltune.space.config import Config

CONTRACTION = gemm(Precision.SINGLE)
KNOWN, BLIND = LeafLoss(sizes=3, geomean=0.98, worst=0.9), LeafLoss(sizes=0, expected=0.97)
FORMULA = TimeFormula(rows=8, columns=8, depth=8, launch=10**9, tile=0, step=0, tile_step=0)
FORMULAS = (FORMULA, replace(FORMULA, launch=0, tile=10**7))
BY_M = Split("m", 64, Leaf(0, KNOWN), Leaf(1, BLIND))


def drawn(
    tree: Tree,
    ks: tuple[int, ...] = (64, 128),
    teacher: tuple[TimeFormula, ...] = (),
    formulas: tuple[TimeFormula, ...] = (),
) -> str:
    kernels = tuple(
        PortfolioKernel(name=name, family="none", config=Config.of({}), source_hash="")
        for name in ("first", "second")
    )
    selector = Selector(
        contraction=CONTRACTION,
        portfolio=kernels,
        tree=tree,
        teacher=teacher,
        formulas=formulas,
    )
    selection = Selection(selector=selector, portfolio_curve=(), sizes=(), losses=())
    problems = [problem_of_size(CONTRACTION, (m, n, k)) for m, n in SIZES for k in ks]
    return leaf_map(selection, problems)


SIZES = ((4, 4), (64, 1024), (1024, 1024))


def paths(page: str, css: str) -> list[str]:
    return re.findall(rf'<path d="([^"]*)" class="{css}"', page)


def area(path: str) -> int:
    return sum(int(wide) * int(high) for wide, high in re.findall(r"h(\d+)v(\d+)h-", path))


def test_every_k_has_a_choice_and_a_picture_in_words() -> None:
    page = drawn(BY_M)

    assert page.count('type="radio"') == page.count('class="at-k"') == 2
    assert re.findall(r'id="([\w-]+)" checked', page) == ["map-k-0"]
    assert re.findall(r'for="([\w-]+)">(\d+)<', page) == [("map-k-0", "64"), ("map-k-1", "128")]
    assert "<title>Kernels over M and N at K = 128</title>" in page
    assert "K = 64, 3 sizes measured: A " in page


def test_kernels_cover_the_map_and_leaves_are_outlined() -> None:
    page = drawn(BY_M)

    first, second = area(paths(page, "area k0")[0]), area(paths(page, "area k1")[0])
    assert first + second == CELLS**2
    assert first == second  # 64 is the middle between 4 and 1024
    assert re.fullmatch(rf"M0 (\d+)h{CELLS}", paths(page, "outline")[0])
    assert paths(drawn(Leaf(0, KNOWN)), "outline") == ["", ""]


def test_of_formulas_the_borders_between_kernels_are_outlined_and_no_leaf_is_said() -> None:
    page = drawn(Leaf(0), (64,), formulas=FORMULAS)

    first, second = area(paths(page, "area k0")[0]), area(paths(page, "area k1")[0])
    assert first + second == CELLS**2
    assert min(first, second) > 0
    assert paths(page, "outline")[0] != ""
    assert " of the area.</p>" in page


def test_a_leaf_of_two_kernels_has_both_colours_and_one_outline() -> None:
    page = drawn(Leaf(0, KNOWN, Rival(1, 2047)), teacher=FORMULAS)

    first, second = area(paths(page, "area k0")[0]), area(paths(page, "area k1")[0])
    assert first + second == CELLS**2
    assert min(first, second) > 0
    assert paths(page, "outline") == ["", ""]


def test_the_map_fills_its_frame_and_a_letter_is_in_the_middle_of_its_leaf() -> None:
    page = drawn(Leaf(0, KNOWN), (64,))

    left, floor, wide, high = map(
        float, re.findall(r"translate\(([\d.]+) ([\d.]+)\) scale\(([\d.]+) -([\d.]+)\)", page)[0]
    )
    assert (left, floor) == (LEFT, 400 - BOTTOM)
    assert left + wide * CELLS == pytest.approx(WIDTH - RIGHT, abs=0.1)
    assert floor - high * CELLS == pytest.approx(TOP, abs=0.1)
    x, y = map(float, re.findall(r'data-beside="([\d.]+) ([\d.]+)"', page)[0])
    assert x == pytest.approx(left + wide * CELLS / 2, abs=wide)
    assert y == pytest.approx(floor - high * CELLS / 2, abs=high)


def test_letters_do_not_hide_each_other() -> None:
    upper = Split("m", 88, Leaf(0, KNOWN), Leaf(1, KNOWN))
    page = drawn(Split("m", 64, Leaf(0, KNOWN), Split("m", 76, Leaf(1, KNOWN), upper)), (64,))

    letters = re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]* class="letter k[01]"', page)
    assert len(letters) == 3  # one of the two narrow leaves has none
    places = [(float(x), float(y)) for x, y in letters]
    assert all(math.dist(*two) >= 14 for two in combinations(places, 2))


def test_two_leaves_of_one_kernel_are_outlined_apart() -> None:
    page = drawn(Split("n", 100, Leaf(1, KNOWN), Leaf(1, KNOWN)))

    assert area(paths(page, "area k1")[0]) == CELLS**2
    assert re.fullmatch(rf"M(\d+) 0v{CELLS}", paths(page, "outline")[0])


def test_a_leaf_without_a_measurement_is_hatched_and_said() -> None:
    page = drawn(BY_M)

    rows = {int(row) for row in re.findall(r"M\d+ (\d+)l1 1", paths(page, "blind")[0])}
    assert rows == set(range(min(rows), CELLS))
    assert "has no measured size" in page
    assert "no size measured; expected 0.970" in page
    assert paths(drawn(Leaf(0, KNOWN)), "blind") == ["", ""]
    assert "1 leaf; 0 % has no measured size" in drawn(Leaf(0, KNOWN))


def test_of_many_k_the_common_ones_and_both_ends_are_drawn() -> None:
    rare, common = [8, 30, *(2**power for power in range(6, 14)), 9000], [9, 31, 8999]

    page = drawn(BY_M, (*rare, *common * 20))

    shown = list(map(int, re.findall(r'id="map-k-\d+"[^>]*/><label[^>]*>(\d+)<', page)))
    assert (shown[0], shown[-1], len(shown)) == (8, 9000, MOST_K)
    assert 31 in shown
    assert 30 not in shown


@pytest.mark.parametrize("count", [1, MOST_K, 40])
def test_so_many_k_are_drawn_at_most(count: int) -> None:
    ks = tuple(8 * step for step in range(1, count + 1))

    page = drawn(BY_M, ks)

    assert page.count('class="at-k"') == min(count, MOST_K)
    assert f">{ks[0]}</label>" in page
    assert f">{ks[-1]}</label>" in page
