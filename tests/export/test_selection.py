"""The exported choice is the selector's, in every language, for every size that is tried."""

import runpy
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.selector import (
    FEATURES,
    INT64_MAX,
    MAX_DEPTH,
    Leaf,
    LeafLoss,
    Reason,
    Rival,
    Selector,
    Split,
    TimeFormula,
    Tree,
    Waves,
    nodes,
    padding,
    work_limit,
)
from mltune.selector.rival import PARTS, share_of

Make = Callable[..., Library]
Build = Callable[..., Path]
Size = tuple[int, int, int, int]
CHOOSE = Path(__file__).parent / "choose.c"
TILINGS = (
    "tiles_128x64",
    "waves_128x64_132",
    "idle_128x64_132",
    "tiles_1x1",
    "idle_3x5_7",
    "used_128x64_132",
    "used_3x5_1",
    "used_16x16_33",
)
ASKED = (*FEATURES, "rest_1x1x1", "rest_7x3x5", "rest_128x64x16", *TILINGS)
CORNERS = (-(2**63), -1, 0, 1, 2, 2**31 - 1, 2**31, 2**32, INT64_MAX - 1, INT64_MAX)


def choices_in_c(library: Library, sizes: list[Size], build: Build, folder: Path) -> list[int]:
    WRITERS["c"].write(library.selector, library.kernels, folder)
    program = build(
        folder / "choose",
        CHOOSE,
        folder / f"{library.name}_select.c",
        f"-I{folder}",
        f'-DSELECT_H="{library.name}_select.h"',
        f"-DPROBLEM={library.name}_problem",
        f"-DSELECT={library.name}_select",
    )
    text = "".join(f"{m} {n} {k} {batch}\n" for m, n, k, batch in sizes)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    assert not done.stderr  # it holds the sanitizer's complaints
    return [int(line) for line in done.stdout.split()]


def choices_in_python(library: Library, sizes: list[Size], folder: Path) -> list[int]:
    WRITERS["python"].write(library.selector, library.kernels, folder)
    select = runpy.run_path(str(folder / library.name / "selection.py"))["select"]
    return [select(*size) for size in sizes]


def choices_in_rust(library: Library, sizes: list[Size], rustc: str, folder: Path) -> list[int]:
    WRITERS["rust"].write(library.selector, library.kernels, folder)
    (folder / "choose.rs").write_text(CHOOSE.with_suffix(".rs").read_text())
    # An overflow ends the program with a panic.
    checked = ["-D", "warnings", "-C", "debug-assertions"]
    done = subprocess.run(
        [rustc, *checked, "-o", folder / "choose", folder / "choose.rs"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    text = "".join(f"{m} {n} {k} {batch}\n" for m, n, k, batch in sizes)
    said = subprocess.run(
        [folder / "choose"], input=text, capture_output=True, text=True, check=True
    )
    return [int(line) for line in said.stdout.split()]


Choices = Callable[[Library, list[Size]], list[int]]


@pytest.fixture(params=["c", "python", pytest.param("rust", marks=pytest.mark.long)])
def choices(request: pytest.FixtureRequest, tmp_path: Path) -> Choices:
    """Export to a language, compile if necessary, and return the choices for sizes."""
    if request.param == "python":
        return lambda library, sizes: choices_in_python(library, sizes, tmp_path)
    if request.param == "c":
        build: Build = request.getfixturevalue("compile_c")
        return lambda library, sizes: choices_in_c(library, sizes, build, tmp_path)
    rustc: str = request.getfixturevalue("rustc")
    return lambda library, sizes: choices_in_rust(library, sizes, rustc, tmp_path)


@lru_cache(maxsize=4)
def _chosen(selector: Selector, sizes: tuple[Size, ...]) -> tuple[tuple[int, Reason], ...]:
    """The selector's choice; kept, because every language is asked for the same sizes."""
    choices = [selector.choose(*size) for size in sizes]
    return tuple((choice.index, choice.reason) for choice in choices)


def expected(selector: Selector, sizes: list[Size]) -> list[int]:
    return [index for index, _ in _chosen(selector, tuple(sizes))]


def sizes_at(feature: str, threshold: int) -> Iterator[Size]:
    """Sizes at which a feature is just below, at and just above the threshold."""
    for value in range(max(threshold - 1, 0), min(threshold + 2, INT64_MAX + 1)):
        for other in (1, 2, 3, 1000):
            near = {
                "m": (value, other, other, 1),
                "n": (other, value, other, 1),
                "k": (other, other, value, 1),
                "batch": (other, other, other, value),
                "mn": (value // other, other, 1, 1),
                "mk": (other, 1, value // other, 1),
                "nk": (1, value // other, other, 1),
                "mnk": (other, value // other, 1, 1),
                "m_per_n": (min(value * other, INT64_MAX), other, 1, 1),
                "n_per_m": (other, min(value * other, INT64_MAX), 1, 1),
                "k_per_m": (other, 1, min(value * other, INT64_MAX), 1),
                "k_per_n": (1, other, min(value * other, INT64_MAX), 1),
            }
            yield near.get(feature, (value, other, other, 1))


def random_tree(rng: np.random.Generator, kernels: int, levels: int) -> Tree:
    if levels == 0 or rng.random() < 0.1:
        return Leaf(int(rng.integers(kernels)))
    return Split(
        ASKED[rng.integers(len(ASKED))],
        int(2 ** rng.uniform(0, rng.choice([8, 20, 62]))) - 1,
        random_tree(rng, kernels, levels - 1),
        random_tree(rng, kernels, levels - 1),
    )


def random_sizes(rng: np.random.Generator, number: int) -> list[Size]:
    spread = (2 ** rng.uniform(0, rng.choice([5, 12, 31, 62], (number, 4)))).astype(np.int64) - 1
    corners = rng.choice(CORNERS, (number, 4))
    mixed = np.where(rng.random((number, 4)) < 0.2, corners, spread)
    return [(m, n, k, batch) for m, n, k, batch in mixed.tolist()]


def test_agrees_on_thirty_thousand_sizes(chooser: Make, choices: Choices) -> None:
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 6, 8)
    sizes = random_sizes(rng, 30_000)
    tuned = sorted({size for size in sizes[:400] if min(size) > 0})
    exact = tuple((size, int(rng.integers(6))) for size in tuned)
    library = chooser(tree, 6, exact=exact)
    for node, _ in nodes(tree):
        if isinstance(node, Split):
            sizes += sizes_at(node.feature, node.threshold)
    sizes += [(m + 1, n, k, batch) for (m, n, k, batch), _ in exact if m < INT64_MAX]

    wanted = expected(library.selector, sizes)

    assert len(set(wanted)) == 6
    assert choices(library, sizes) == wanted


def random_formula(rng: np.random.Generator) -> TimeFormula:
    def rate(most: float) -> int:
        return int(2 ** rng.uniform(0, most)) if rng.random() < 0.7 else 0

    rows, columns, depth = (int(2 ** rng.integers(3, 8)) for _ in range(3))
    waves, odd = (
        tuple(Waves(132 * at_once, rate(30)) for at_once in (1, 2, 4) if rng.random() < 0.7)
        for _ in range(2)
    )
    narrowed = [(0, 0, 0), (rows, columns, 0), (0, 0, rows + columns)][rng.integers(3)]
    return TimeFormula(
        rows=rows,
        columns=columns,
        depth=depth,
        launch=int(rng.integers(4 * 10**9, 6 * 10**9)),
        tile=rate(23),
        step=rate(28),
        tile_step=rate(20),
        waves=waves,
        multiples=[(1, 1, 1), (4, 1, 4), (2, 8, 1)][rng.integers(3)],
        odd_step=rate(20 if any(narrowed) else 28),
        odd_waves=odd,
        narrowed=narrowed,
        wave=rate(28),
        units=132,
        result_multiples=[(1, 1), (4, 1), (1, 2)][rng.integers(3)],
        odd_tile=rate(23),
        load_a=int(rng.choice([0, 1200])),
        load_b=rate(12),
    )


@pytest.mark.parametrize("seed", range(2))
def test_formulas_agree_on_random_sizes_and_where_they_end(
    seed: int, chooser: Make, choices: Choices
) -> None:
    rng = np.random.default_rng(seed)
    formulas = tuple(random_formula(rng) for _ in range(6))
    exact = (((64, 64, 64, 1), 6), ((8, 1, 8, 3), 7))  # two kernels for exact sizes only
    library = chooser(Split("m", 1000, Leaf(0), Leaf(5)), 8, formulas=formulas, exact=exact)
    sizes = [*random_sizes(rng, 8_000), *(size for size, _ in exact)]
    limit, pad = work_limit(formulas), padding(formulas)
    for k in (1, 77, 4096):  # the last m for which the work is within the limit, and the next
        edge = limit // ((k + pad) * (k + pad)) - pad
        sizes += [(edge + step, k, k, 1) for step in range(-2, 3)]
    sizes += [(m, n, 40, 1) for m in range(1, 300, 7) for n in range(1, 300, 5)]

    wanted = expected(library.selector, sizes)

    reasons = {reason for _, reason in _chosen(library.selector, tuple(sizes))}
    assert reasons == {Reason.EXACT, Reason.FORMULAS, Reason.TREE}
    assert len(set(wanted)) > 3
    assert choices(library, sizes) == wanted


def test_formulas_of_one_tile_with_other_multiples_agree(chooser: Make, choices: Choices) -> None:
    """The first one reads vectors of 4, the second, which starts later, of 2."""
    first = TimeFormula(
        rows=16, columns=16, depth=8, launch=1000, tile=1, step=1, tile_step=1,
        multiples=(4, 1, 1), narrowed=(16, 0, 0), odd_step=100,
    )  # fmt: skip
    second = replace(first, launch=1001, multiples=(2, 1, 1))
    sizes = [(m, 16, 16, 1) for m in (4, 5, 6)]
    library = chooser(Leaf(0), 2, formulas=(first, second))

    assert expected(library.selector, sizes) == choices(library, sizes) == [0, 1, 1]


@pytest.mark.parametrize("seed", range(2))
def test_leaves_of_two_kernels_agree(seed: int, chooser: Make, choices: Choices) -> None:
    rng = np.random.default_rng(seed)
    teacher = tuple(random_formula(rng) for _ in range(5))

    def leaf() -> Leaf:
        first, second = rng.permutation(5)[:2].tolist()
        own = random_size(rng)
        shares = share_of(teacher)(first, second, *own)
        return Leaf(first, rival=Rival(second, min(shares, PARTS - 1)))

    tree: Tree = Split("m", 1000, Leaf(5), leaf())
    for threshold in (10, 100, 500):
        tree = Split("n", threshold, tree, Split("k", threshold, leaf(), leaf()))
    library = chooser(tree, 6, teacher=teacher)
    sizes = random_sizes(rng, 8_000)
    sizes += [random_size(rng) for _ in range(4_000)]
    limit, pad = work_limit(teacher), padding(teacher)
    for k in (1, 77, 4096):  # the last m for which the work is within the limit, and the next
        edge = limit // ((k + pad) * (k + pad)) - pad
        sizes += [(edge + step, k, k, 1) for step in range(-2, 3)]

    wanted = expected(library.selector, sizes)

    assert len(set(wanted)) == 6
    assert choices(library, sizes) == wanted


def random_size(rng: np.random.Generator) -> Size:
    m, n, k = np.exp(rng.uniform(0, 9, 3)).astype(np.int64).tolist()
    return m, n, k, 1


def test_c_of_a_single_leaf_of_two_kernels_compiles(chooser: Make, choices: Choices) -> None:
    rng = np.random.default_rng(4)
    teacher = (random_formula(rng), random_formula(rng))
    library = chooser(Leaf(1, rival=Rival(0, 2048)), 2, teacher=teacher)
    sizes = [random_size(rng) for _ in range(500)]

    assert choices(library, sizes) == expected(library.selector, sizes)


REASONS = """\
#include "mltune_sgemm_nn_select.h"
#include <stdio.h>

int main(void)
{
    const mltune_sgemm_nn_problem sizes[] = {{1, 2, 3, 4}, {5, 5, 5, 1}, {INT64_MAX, 1, 1, 1}};
    int i;

    for (i = 0; i < 3; ++i)
        puts(mltune_sgemm_nn_reason(&sizes[i]));
    printf("%d %d %d\\n", mltune_sgemm_nn_kernel_number("kernel_1"),
           mltune_sgemm_nn_kernel_number("kernel_2"), mltune_sgemm_nn_kernel_number(NULL));
    return 0;
}
"""


def test_c_says_why_and_finds_kernels_by_name(
    chooser: Make, compile_c: Build, tmp_path: Path
) -> None:
    formula = TimeFormula(rows=8, columns=8, depth=8, launch=2, tile=1, step=0, tile_step=0)
    library = chooser(Leaf(0), 2, formulas=(formula, formula), exact=(((1, 2, 3, 4), 1),))
    WRITERS["c"].write(library.selector, library.kernels, tmp_path)
    (tmp_path / "reasons.c").write_text(REASONS)
    sources = (tmp_path / "reasons.c", tmp_path / "mltune_sgemm_nn_select.c")
    program = compile_c(tmp_path / "reasons", *sources, f"-I{tmp_path}", "-fsanitize=address")

    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout

    assert said.splitlines() == ["exact size", "time formulas", "tree", "1 -1 -1"]


LIKELY = """\
#include "mltune_sgemm_nn_select.h"
#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    mltune_sgemm_nn_problem problem;
    int kernels[3], i, found, most;

    while (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %d", &problem.m, &problem.n,
                 &problem.k, &problem.batch, &most) == 5) {
        found = mltune_sgemm_nn_likely(&problem, most, most > 0 ? kernels : NULL);
        for (i = 0; i < found; ++i)
            printf("%d ", kernels[i]);
        puts("");
    }
    return 0;
}
"""


@pytest.mark.parametrize("of", ["formulas", "teacher", "neither"])
def test_c_knows_which_kernels_are_likely_the_fastest(
    of: str, chooser: Make, compile_c: Build, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    alike = random_formula(rng)
    formulas = (*(replace(alike, tile=alike.tile + 10**7 * i) for i in range(4)), alike)
    formulas += tuple(random_formula(rng) for _ in range(3))
    given = {} if of == "neither" else {of: formulas}
    library = chooser(Split("m", 1000, Leaf(0), Leaf(5)), 8, **given)
    sizes = random_sizes(rng, 4000)
    WRITERS["c"].write(library.selector, library.kernels, tmp_path)
    (tmp_path / "likely.c").write_text(LIKELY)
    sources = (tmp_path / "likely.c", tmp_path / "mltune_sgemm_nn_select.c")
    program = compile_c(tmp_path / "likely", *sources, f"-I{tmp_path}", "-fsanitize=address")

    def likely(most: int) -> list[tuple[int, ...]]:
        text = "".join(f"{m} {n} {k} {batch} {most}\n" for m, n, k, batch in sizes)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    wanted = [library.selector.likely(*size)[:3] for size in sizes]
    assert likely(3) == wanted
    assert {len(each) for each in wanted} == ({0} if of == "neither" else {0, 1, 2, 3})
    assert likely(0) == likely(-1) == [()] * len(sizes)


def test_formulas_without_counts_compile(chooser: Make, choices: Choices) -> None:
    flat = TimeFormula(rows=8, columns=8, depth=8, launch=2, tile=0, step=0, tile_step=0)
    library = chooser(Leaf(0), 2, formulas=(flat, replace(flat, launch=1)))
    sizes = [(1, 2, 3, 4), (0, 0, 0, 0), (INT64_MAX,) * 4]

    wanted = expected(library.selector, sizes)

    assert wanted == [1, 1, 0]
    assert choices(library, sizes) == wanted


def test_agrees_at_every_threshold(chooser: Make, choices: Choices) -> None:
    thresholds = (0, 10**6, INT64_MAX - 1)
    features = ("batch", *(feature for feature in FEATURES if feature != "batch"))

    def splits(feature: str, kernel: int) -> Tree:
        low, middle, high = thresholds
        return Split(
            feature,
            middle,
            Split(feature, low, Leaf(kernel), Leaf(kernel + 1)),
            Split(feature, high, Leaf(kernel + 2), Leaf(kernel + 3)),
        )

    # Each feature has its own batch and its own kernels.
    tree = splits("batch", 0)
    for number, feature in reversed([*enumerate(features)][1:]):
        inside = Split("batch", number + 1, splits(feature, 4 * number), tree)
        tree = Split("batch", number, tree, inside)
    library = chooser(tree, 4 * len(features))
    sizes = [
        size if feature == "batch" else (*size[:3], number + 1)
        for number, feature in enumerate(features)
        for threshold in thresholds
        for size in sizes_at(feature, threshold)
    ]

    wanted = expected(library.selector, sizes)

    assert set(wanted) == set(range(4 * len(features)))
    assert choices(library, sizes) == wanted


def test_agrees_on_which_sizes_a_tile_fits(chooser: Make, choices: Choices) -> None:
    tree = Split("rest_4x3x2", 0, Leaf(0), Split("rest_2x1x1", 0, Leaf(1), Leaf(2)))
    library = chooser(tree, 3)
    sizes = [(m, n, k, 1) for m in range(-1, 9) for n in range(7) for k in range(5)]
    sizes += [(INT64_MAX, INT64_MAX, INT64_MAX, 1)]

    wanted = [
        0 if m % 4 + n % 3 + k % 2 == 0 else 1 if m % 2 == 0 else 2
        for m, n, k in ((max(m, 0), n, k) for m, n, k, _ in sizes)
    ]

    assert expected(library.selector, sizes) == wanted
    assert choices(library, sizes) == wanted


def test_leaves_say_what_they_lose(chooser: Make, choices: Choices, tmp_path: Path) -> None:
    known = LeafLoss(sizes=3, geomean=0.987, worst=0.912, expected=0.995)
    tree = Split("m", 5, Leaf(0, known), Leaf(1, LeafLoss(sizes=0, expected=0.99)))
    library = chooser(tree, 2)

    assert choices(library, [(5, 1, 1, 1), (6, 1, 1, 1)]) == [0, 1]
    written = "".join(path.read_text() for path in tmp_path.rglob("*sele*") if path.is_file())
    assert "3 sizes measured; 0.987, worst 0.912; expected 0.995" in written
    assert "no size measured; expected 0.990" in written


def test_agrees_on_tiles_and_waves(chooser: Make, choices: Choices) -> None:
    thresholds = (0, 1, 6, 100)
    own = len(thresholds) + 1

    def chain(number: int) -> Tree:
        tree: Tree = Leaf(own * number + len(thresholds))
        for place, threshold in reversed(list(enumerate(thresholds))):
            tree = Split(TILINGS[number], threshold, Leaf(own * number + place), tree)
        return tree

    # Each feature has its own small and large batch and its own kernels.
    last = len(TILINGS) - 1
    tree = chain(0)  # of the largest batch
    for number in range(1, last + 1):
        tree = Split("batch", INT64_MAX - number, chain(number), tree)
    for number in range(last, -1, -1):
        tree = Split("batch", number + 1, chain(number), tree)
    library = chooser(tree, own * len(TILINGS))
    sides = (-1, 0, 1, 127, 128, 129, 1000, 2**17 - 1, 2**17, 2**31 - 1, INT64_MAX)
    batches = [batch for number in range(last + 1) for batch in (number + 1, INT64_MAX - number)]
    sizes = [(m, n, 1, batch) for batch in batches for m in sides for n in sides]

    wanted = expected(library.selector, sizes)

    met = [{kernel % own for kernel in wanted if kernel // own == n} for n in range(last + 1)]
    assert min(map(len, met)) > 2
    assert choices(library, sizes) == wanted


@pytest.mark.parametrize(
    ("tree", "exact"),
    [
        pytest.param(Leaf(0), (), id="leaf"),
        pytest.param(Split("batch", 3, Leaf(0), Leaf(0)), (), id="split"),
        pytest.param(Leaf(0), (((1, 2, 3, 4), 0),), id="exact size"),
    ],
)
def test_the_smallest_selectors_compile(
    tree: Tree, exact: tuple[tuple[Size, int], ...], chooser: Make, choices: Choices
) -> None:
    library = chooser(tree, 1, exact=exact)
    sizes = [(1, 2, 3, 4), (0, 0, 0, 0)]

    assert choices(library, sizes) == [0, 0]


@pytest.mark.parametrize("most", [300, 2**62])
def test_agrees_on_measured_sizes_and_beside_them(
    most: int, chooser: Make, choices: Choices
) -> None:
    rng = np.random.default_rng(5)
    measured: set[Size] = set()
    for m, n, k, batch in rng.integers(1, most, (500, 4)).tolist():
        measured.add((m, n, k, batch))
    exact = tuple((size, number % 2) for number, size in enumerate(sorted(measured)))
    library = chooser(Leaf(2), 3, exact=exact)
    beside = [(m + 1, n, k, batch) for m, n, k, batch in measured]
    sizes = [*measured, *beside, *((n, m, k, batch) for m, n, k, batch in measured)]

    assert choices(library, sizes) == expected(library.selector, sizes)


@pytest.mark.parametrize("deep_side", ["low", "high"])
def test_the_deepest_tree_compiles(deep_side: str, chooser: Make, choices: Choices) -> None:
    tree: Tree = Leaf(0)
    for level in range(MAX_DEPTH):
        if deep_side == "low":
            tree = Split("m", 10 * level + 10, tree, Leaf(level % 3))
        else:
            tree = Split("m", 10 * (MAX_DEPTH - level), Leaf(level % 3), tree)
    library = chooser(tree, 3)
    sizes = [(m, 1, 1, 1) for m in range(10 * MAX_DEPTH + 20)]

    wanted = expected(library.selector, sizes)

    assert choices(library, sizes) == wanted
