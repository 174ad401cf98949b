from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mltune.compat.tensile.sizes import read_sizes
from mltune.errors import UsageError
from mltune.problem import Precision, gemm, parse_problem_type
from mltune.space.yaml_document import parse_document

if TYPE_CHECKING:
    from mltune.problem import Contraction

NN = gemm(Precision.SINGLE)


def sizes(text: str, contraction: Contraction = NN) -> list[str]:
    return [size.label for size in read_sizes(parse_document(text, "t.yaml"), contraction)]


def test_a_range_grows_its_stride() -> None:
    found = sizes("- Range: [[64, 32, 16, 1968], [1], [1]]")

    # The list of Tensile's documentation.
    assert [int(label.split("x")[0]) for label in found] == [
        64, 96, 144, 208, 288, 384, 496, 624, 768, 928, 1104, 1296, 1504, 1728, 1968,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "count"),
    [("[1968]", 1), ("[16, 1968]", 123), ("[16, 32, 1968]", 62), ("[16, 32, 0, 1968]", 62)],
)
def test_a_range_may_leave_out_stride_and_growth(entry: str, count: int) -> None:
    assert len(sizes(f"- Range: [{entry}, [1], [1]]")) == count


def test_indices_with_extents_are_combined_and_tied_ones_follow() -> None:
    assert sizes("- Range: [[16, 16, 32], 0, [8, 8, 16]]") == [
        "16x16x8",
        "16x16x16",
        "32x32x8",
        "32x32x16",
    ]


def test_ranges_and_exact_sizes_are_merged() -> None:
    assert sizes("- Range: [[16, 32], [8], [8]]\n- Exact: [16, 8, 8]\n- Exact: [35, 7, 5]") == [
        "16x8x8",
        "32x8x8",
        "35x7x5",
    ]


def test_a_batch_stands_before_the_sum_as_in_tensile() -> None:
    batched = gemm(Precision.SINGLE, batched=True)

    assert sizes("- Exact: [10, 20, 3, 40]", batched) == ["10x20x40x3"]


def test_a_contraction_takes_its_extents_by_index_number() -> None:
    assert sizes("- Exact: [2, 3, 4, 5, 6]", parse_problem_type("s:bmk,kcn->bmcn")) == [
        "2x3x4x5x6"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- Exact: [1, 2]", "t.yaml:1: Exact: expected 3 entries, one for each index, got 2"),
        ("- Exact: [1, 2, 0]", "t.yaml:1: Exact: an extent must be a whole number of at least 1"),
        ("- Range: [0, [8], [8]]", "index 0 is tied to index 0, which has no extents of its own"),
        ("- Range: [[8], 2, 0]", "index 1 is tied to index 2, which has no extents of its own"),
        ("- Range: [[9, 1, 8], [8], [8]]", "start must be 1 to stop, got 9 to 8"),
        ("- Range: [[1, 0, 8], [8], [8]]", "the stride must be at least 1, got 0"),
        ("- Range: [[0, 8], [8], [8]]", "start must be 1 to stop, got 0 to 8"),
        ("- Range: [[1, 1, 999999999], [8], [8]]", "Range: more than 100,000 extents"),
        ("- Exact: [1, 2, x]", "must be a whole number of at least 1, got 'x'"),
        ("- Range: [[1, 1, 1, 1, 8], [8], [8]]", "one to four numbers"),
        ("- Range: [[1, 1, 99999], [1, 1, 99], [8]]", "at most 100,000 are allowed"),
        (
            "- Exact: [8, 8, 8]\n- Range: [[1, 1, 400], [1, 1, 250], [8]]",
            "t.yaml:2: more than 100,000 sizes in all",
        ),
        ("- Ranges: [[8], [8], [8]]", "t.yaml:1: unknown 'Ranges' (known: Range, Exact)"),
        ("[]", "t.yaml:1: 'ProblemSizes' holds no size"),
    ],
)
def test_a_wrong_size_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        sizes(text)

    assert message in str(error.value)
