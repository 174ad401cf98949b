"""Leaves of two kernels: formulas decide which of them takes a size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, LeafLoss, PortfolioKernel, Rival, Selector, Split, TimeFormula
from mltune.selector.json import read_selector, write_selector
from mltune.selector.restricted import without
from mltune.selector.rival import MOST_TIME, PARTS, share, share_of
from mltune.space.config import Config

KERNELS = tuple(
    PortfolioKernel(name=name, family="none", config=Config.of({}), source_hash="")
    for name in "abcd"
)
FLAT = TimeFormula(rows=8, columns=8, depth=8, launch=10**9, tile=0, step=0, tile_step=0)
BY_TILES = replace(FLAT, launch=0, tile=10**7)  # faster up to 100 tiles
TEACHER = (FLAT, BY_TILES, replace(FLAT, launch=10**12))
LOSS = LeafLoss(sizes=1, geomean=0.9, worst=0.9)
PAIR = Leaf(0, LOSS, Rival(1, PARTS // 2 - 1))
SELECTOR = Selector(
    contraction=gemm(Precision.SINGLE),
    portfolio=KERNELS,
    tree=Split("k", 1000, PAIR, Leaf(3)),
    teacher=TEACHER,
)


def test_a_share_is_from_0_to_all_parts_and_a_half_of_equal_times() -> None:
    assert share(0, 0) == 0
    assert share(10**9, 10**9) == PARTS // 2 - 1
    assert share(10**9, 0) == PARTS - 1
    assert share(0, 10**9) == 0
    assert share(3 * 10**9, 10**9) == PARTS * 3 // 4 - 1
    assert share(2**63 - 1, MOST_TIME << 4) == PARTS // 2 - 1


def test_a_size_beyond_all_formulas_has_equal_shares() -> None:
    assert share_of(TEACHER)(0, 2, 2**31, 2**31, 2**31, 1) == PARTS // 2


@pytest.mark.parametrize(
    ("size", "kernel"),
    [((8, 8, 8), "b"), ((72, 80, 8), "b"), ((88, 88, 8), "a"), ((88, 88, 1001), "d")],
)
def test_the_faster_kernel_by_its_formula_takes_a_size(
    size: tuple[int, int, int], kernel: str
) -> None:
    assert SELECTOR.choose(*size).kernel.name == kernel


def test_a_threshold_can_favour_a_kernel() -> None:
    kept = replace(SELECTOR, tree=replace(PAIR, rival=Rival(1, PARTS - 1)))
    never = replace(SELECTOR, tree=replace(PAIR, rival=Rival(1, 0)))

    assert {kept.choose(side, side, 8).index for side in (8, 80, 800)} == {0}
    assert {never.choose(side, side, 8).index for side in (8, 80, 800)} == {1}


def test_a_pair_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "selector.json"
    write_selector(SELECTOR, path)

    assert read_selector(path) == SELECTOR
    assert '"rival": {"kernel": 1, "threshold": 2047}' in path.read_text()


@pytest.mark.parametrize(
    ("written", "wrong", "rule"),
    [
        ('"threshold": 2047', '"threshold": 4096', r"rival\.threshold: .* from 0 to 4095"),
        ('"rival": {"kernel": 1,', '"rival": {"kernel": 4,', r"rival\.kernel: .* from 0 to 3"),
        ('"rival": {"kernel": 1,', '"rival": {"kernel": 0,', "compares kernels 0 and 0"),
        ('"rival": {"kernel": 1,', '"rival": {"kernel": 3,', "compares kernels 0 and 3 by 3"),
        ('"rival": {"kernel": 1,', '"rival": {"kernels": 1,', "field 'kernel' is missing"),
    ],
)
def test_a_wrong_pair_is_refused(written: str, wrong: str, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "selector.json"
    write_selector(SELECTOR, path)
    path.write_text(path.read_text().replace(written, wrong))

    with pytest.raises(UsageError, match=rule):
        read_selector(path)


def test_a_threshold_beyond_all_parts_is_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 4095, got 4096"):
        Rival(1, PARTS)


@pytest.mark.parametrize(
    ("removed", "heirs", "leaf"),
    [
        ({2}, {}, PAIR),
        ({1}, {}, Leaf(0)),
        ({0}, {}, Leaf(0)),  # which was number 1
        ({1}, {1: 0}, Leaf(0)),
        ({0, 1}, {}, Leaf(0)),
        ({0}, {0: 2}, Leaf(1, LOSS, Rival(0, PARTS // 2 - 1))),
    ],
)
def test_one_of_two_kernels_stays_without_the_other(
    removed: set[int], heirs: dict[int, int], leaf: Leaf
) -> None:
    selector, _ = without(SELECTOR, removed, heirs)

    assert isinstance(selector.tree, Split)
    assert selector.tree.low == leaf
