"""Splits are chosen again if that saves time, and thresholds are between values."""

from __future__ import annotations

import numpy as np

from mltune.distil.questions import BINS, Questions, Thresholds
from mltune.selector import Leaf, Rival, Split

SIZES = 400


def test_a_bin_ends_between_its_largest_value_and_the_next_one() -> None:
    asked = {"m": np.array([4, 9, 9, 100]), "n": np.array([7, 7, 7, 7])}

    thresholds = Thresholds.of(asked)

    assert thresholds.ranks(asked).tolist() == [[0], [1], [1], [2]]
    assert [thresholds.question(0, rank) for rank in (0, 1)] == [("m", 6), ("m", 30)]


def test_a_value_above_all_that_were_seen_is_in_the_last_bin() -> None:
    thresholds = Thresholds.of({"m": np.arange(600), "n": np.arange(600)})
    ranks = thresholds.ranks({"m": np.array([0, 700]), "n": np.array([0, 50_000])})
    assert ranks.tolist() == [[0, 0], [BINS - 1, BINS - 1]]


def test_each_question_is_asked_anew_where_that_saves() -> None:
    asked = {"m": np.arange(SIZES), "n": np.arange(SIZES)[::-1] % 7}
    is_large = asked["m"] >= 300
    costs = np.stack([is_large * 1.0, ~is_large * 1.0], axis=1)
    thresholds = Thresholds.of(asked)
    ranks = thresholds.ranks(asked)
    wrong = Questions(
        np.array([1, -1, -1]), np.array([2, 0, 0]), *np.array([[1, -1, -1], [2, -1, -1]])
    )
    few = wrong.asked_anew(ranks[:0], costs[:0])
    # One side must have another answer, or all splits are equally good.
    wrong = Questions(np.array([0, -1, -1]), np.array([380, 0, 0]), wrong.low, wrong.high)

    anew = wrong.asked_anew(ranks, costs)

    assert few.feature.tolist() == [1, -1, -1]
    assert anew.pruned(alone(anew, ranks, costs), thresholds, 2) == Split(
        "m", 299, Leaf(0), Leaf(1)
    )


def test_a_question_that_saves_nothing_is_taken_back() -> None:
    asked = {"m": np.arange(SIZES)}
    costs = np.tile([0.0, 1.0], (SIZES, 1))
    thresholds = Thresholds.of(asked)
    ranks = thresholds.ranks(asked)
    grown = Questions.grown(
        ranks,
        np.arange(SIZES) % 2,
        np.ones(SIZES),
        max_leaves=8,
        max_depth=4,
        least=1,
        seed=0,
    )

    assert len(grown.feature) > 3
    assert grown.pruned(alone(grown, ranks, costs), thresholds, 8) == Leaf(0)


def test_the_splits_that_save_least_go_first() -> None:
    asked = {"m": np.arange(4)}
    thresholds = Thresholds.of(asked)
    whole = Questions(
        np.array([0, 0, 0, -1, -1, -1, -1]),
        np.array([1, 0, 2, 0, 0, 0, 0]),
        np.array([1, 3, 5, -1, -1, -1, -1]),
        np.array([2, 4, 6, -1, -1, -1, -1]),
    )
    # What each node would lose as a leaf: the split at the top saves 6, that of the low side 3,
    # that of the high side 1.
    lost = (10.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    answers = [(Leaf(node), cost) for node, cost in enumerate(lost)]

    trees = [whole.pruned(answers, thresholds, leaves) for leaves in (4, 3, 2, 1)]

    low, high = Split("m", 0, Leaf(3), Leaf(4)), Split("m", 2, Leaf(5), Leaf(6))
    assert trees == [
        Split("m", 1, low, high),
        Split("m", 1, low, Leaf(2)),
        Split("m", 1, Leaf(1), Leaf(2)),
        Leaf(0),
    ]


def test_a_leaf_of_two_kernels_takes_the_place_of_questions() -> None:
    asked = {"m": np.arange(4)}
    thresholds = Thresholds.of(asked)
    whole = Questions(
        np.array([0, -1, -1]), np.array([1, 0, 0]), *np.array([[1, -1, -1], [2, -1, -1]])
    )
    pair = Leaf(0, rival=Rival(1, 7))

    assert whole.pruned([(pair, 0.0), (Leaf(0), 0.0), (Leaf(1), 0.0)], thresholds, 2) == pair
    # A split whose sides would be the same leaf is none.
    same = [(Leaf(1), 5.0), (pair, 0.0), (pair, 0.0)]
    assert whole.pruned(same, thresholds, 2) == pair


def alone(questions: Questions, ranks: np.ndarray, costs: np.ndarray) -> list[tuple[Leaf, float]]:
    """Return the best leaf of one kernel for each node, and its cost."""
    sums = questions.sums(ranks, costs)
    return [(Leaf(int(row.argmin())), float(row.min())) for row in sums]
