import pytest

from mltune.errors import UsageError
from mltune.problem import gemm
from mltune.problem.precision import Precision
from mltune.selector import (
    FEATURES,
    INT64_MAX,
    MAX_DEPTH,
    Leaf,
    PortfolioKernel,
    Reason,
    Selector,
    Split,
    TimeFormula,
    Tree,
    depth,
    features,
    leaves,
    walk,
)
from mltune.space.config import Config


def kernel(number: int) -> PortfolioKernel:
    config = Config.of({"tile": number, "word": "mad"})
    return PortfolioKernel(name=f"k{number}", family="tiled", config=config, source_hash="0" * 16)


def selector(tree: Tree, **fields: object) -> Selector:
    values: dict[str, object] = {"portfolio": (kernel(0), kernel(1)), **fields}
    return Selector(contraction=gemm(Precision.SINGLE), tree=tree, **values)  # type: ignore[arg-type]


def chain(length: int) -> Tree:
    tree: Tree = Leaf(0)
    for threshold in range(length):
        tree = Split("m", threshold, Leaf(1), tree)
    return tree


def test_exact_sizes_come_before_the_tree() -> None:
    chosen = selector(Split("m", 64, Leaf(0), Leaf(1)), exact=(((8, 8, 8, 1), 1),))

    assert chosen.choose(8, 8, 8).index == 1
    assert chosen.choose(8, 8, 8).reason is Reason.EXACT
    assert chosen.choose(64, 8, 8).index == 0
    assert chosen.choose(65, 8, 8).reason is Reason.TREE
    assert chosen.choose(65, 8, 8).kernel == kernel(1)


def test_formulas_come_before_the_tree_as_far_as_they_reach() -> None:
    slow, fast = (
        TimeFormula(rows=8, columns=8, depth=8, launch=0, tile=0, step=0, tile_step=rate)
        for rate in (2000, 1000)
    )
    chosen = selector(Leaf(0), formulas=(slow, fast), exact=(((8, 8, 8, 1), 0),))

    assert chosen.choose(8, 8, 8).reason is Reason.EXACT
    assert (chosen.choose(9, 8, 8).index, chosen.choose(9, 8, 8).reason) == (1, Reason.FORMULAS)
    assert (chosen.choose(0, 0, 0, 0).reason, chosen.choose(0, 0, 0).index) == (
        Reason.FORMULAS,
        0,
    )
    assert chosen.choose(*[10**7] * 3).reason is Reason.TREE
    assert chosen.choose(*[10**30] * 3).index == 0


@pytest.mark.parametrize("of", ["formulas", "teacher"])
def test_formulas_know_which_kernels_are_likely_the_fastest(of: str) -> None:
    formulas = tuple(
        TimeFormula(rows=8, columns=8, depth=8, launch=launch, tile=0, step=0, tile_step=1)
        for launch in (1190, 1000, 1500, 1190)
    )
    portfolio = tuple(map(kernel, range(4)))
    chosen = selector(Leaf(0), portfolio=portfolio, **{of: formulas})

    assert chosen.likely(8, 8, 8) == (1, 0, 3)
    assert chosen.likely(2**40, 8, 8) == ()
    assert chosen.choose(8, 8, 8).index == (1 if of == "formulas" else 0)
    assert selector(Leaf(0)).likely(8, 8, 8) == ()


def test_a_teacher_is_for_trees() -> None:
    one = TimeFormula(rows=8, columns=8, depth=8, launch=1, tile=0, step=0, tile_step=0)

    with pytest.raises(UsageError, match=r"2 formulas of a teacher for 2 kernels and 2 formulas$"):
        selector(Leaf(0), formulas=(one, one), teacher=(one, one))
    with pytest.raises(UsageError, match=r"3 formulas of a teacher for 2 kernels and 0 formulas$"):
        selector(Leaf(0), teacher=(one, one, one))


def test_each_kernel_needs_a_formula_or_an_exact_size() -> None:
    one = TimeFormula(rows=8, columns=8, depth=8, launch=1, tile=0, step=0, tile_step=0)

    with pytest.raises(UsageError, match=r"^selector: 1 formulas for 2 kernels$"):
        selector(Leaf(0), formulas=(one,))
    with pytest.raises(UsageError, match=r"^selector: 3 formulas for 2 kernels$"):
        selector(Leaf(0), formulas=(one, one, one))
    mapped = selector(Leaf(0), formulas=(one,), exact=(((8, 8, 8, 1), 1),))
    assert mapped.choose(8, 8, 8).index == 1
    assert mapped.choose(9, 8, 8).index == 0


@pytest.mark.parametrize("size", [(0, 0, 0), (-5, 1, 1), (2**31 - 1,) * 3, (10**30,) * 3])
def test_every_whole_number_is_answered(size: tuple[int, int, int]) -> None:
    tree = Split("mnk", 10, Leaf(0), Split("m_per_n", 3, Leaf(1), Leaf(0)))

    assert selector(tree).choose(*size).index in (0, 1)


def test_features_are_whole_saturating_and_complete() -> None:
    values = features(10**12, 10**12, 7, 0)

    assert tuple(values) == FEATURES
    assert values["mn"] == values["mnk"] == INT64_MAX
    assert values["mk"] == 7 * 10**12
    assert values["k_per_m"] == 0
    assert features(200, 30, 700, 2) == {
        "m": 200, "n": 30, "k": 700, "batch": 2,
        "mn": 6000, "mk": 140_000, "nk": 21_000, "mnk": 4_200_000,
        "m_per_n": 6, "n_per_m": 0, "k_per_m": 3, "k_per_n": 23,
    }  # fmt: skip
    assert features(-3, 0, 5) == features(0, 0, 5, 1)
    assert [features(0, 0, 5)[name] for name in ("k_per_m", "k_per_n")] == [5, 5]


def test_a_tile_is_asked_whether_it_fits_without_a_rim() -> None:
    chosen = selector(Split("rest_16x8x4", 0, Leaf(0), Leaf(1)))

    assert [chosen.choose(*size).index for size in ((32, 8, 4), (32, 8, 5), (33, 8, 4))] == [
        0,
        1,
        1,
    ]


@pytest.mark.parametrize("name", ["rest_16x8", "rest_0x8x4", "rest_016x8x4", "rest_-1x8x4"])
def test_what_is_no_tile_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(UsageError, match="unknown feature"):
        Split(name, 0, Leaf(0), Leaf(1))


def test_deep_trees_meet_no_recursion_limit() -> None:
    tree = chain(100_000)

    assert depth(tree) == 100_000
    assert leaves(tree) == (1,) * 100_000 + (0,)
    assert walk(tree, features(10**6, 1, 1)) == 0


def test_leaves_are_listed_from_low_to_high() -> None:
    tree = Split("m", 4, Split("n", 4, Leaf(3), Leaf(1)), Leaf(2))

    assert leaves(tree) == (3, 1, 2)
    assert (depth(tree), depth(Leaf(0))) == (2, 0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"portfolio": ()}, "selector: the portfolio is empty"),
        ({"tree": Leaf(2)}, "selector: kernel number 2 is not in the portfolio of 2"),
        ({"exact": (((1, 1, 1, 1), -1),)}, "kernel number -1 is not in"),
        ({"exact": (((1, 1, 1, 1), 0), ((1, 1, 1, 1), 0))}, r"size \(1, 1, 1, 1\) stands twice"),
        ({"portfolio": (kernel(0), kernel(0))}, "selector: kernel k0 stands twice"),
        ({"conditions": (("a", "1"), ("a", "2"))}, "selector: condition a stands twice"),
        ({"tree": chain(MAX_DEPTH + 1)}, "the tree asks 101 questions on a path, at most 100"),
    ],
)
def test_a_selector_that_could_not_answer_is_refused(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        selector(**{"tree": Leaf(0), **fields})  # type: ignore[arg-type]


def test_questions_and_names_that_no_exporter_could_write_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown feature 'mnkb'"):
        Split("mnkb", 1, Leaf(0), Leaf(1))
    for threshold in (-1, INT64_MAX):
        with pytest.raises(UsageError, match="a threshold must be from 0"):
            Split("m", threshold, Leaf(0), Leaf(1))
    with pytest.raises(UsageError, match="letters, digits and _"):
        PortfolioKernel(name="k*/", family="f", config=Config.of({}), source_hash="")


def test_a_reason_is_printed_in_words() -> None:
    assert [str(each) for each in Reason] == ["exact size", "time formulas", "tree", "learned"]


def test_a_selector_is_for_the_device_that_it_names_and_no_other() -> None:
    named = selector(Leaf(0), conditions=(("device", "NVIDIA H200"),))

    assert named.is_for("NVIDIA H200")
    assert not named.is_for("NVIDIA H200 NVL")
    assert selector(Leaf(0)).is_for("NVIDIA H200 NVL")
