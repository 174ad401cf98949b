"""AutoGEMM's kernel selection data as input."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from mltune.compat.autogemm_data import SelectionData, read_selection_data
from mltune.errors import UsageError
from mltune.problem import Precision
from mltune.selector import features, walk

TEXT = """\
import copy

kernelSelectionDataOne = {
# [ size, fallback tile, [ valid tiles ] ],
  "s":[
    [ 100, [ 16, 16,  6,  6], [ [ 16, 16,  6,  6], [ 16, 16,  4,  4] ] ], # "big"
    [  50, [ 16, 16,  2,  2], [ [ 16, 16,  4,  4], [ 8, 16, 6, 3] ] ],
    [   0, [ 16, 16,  1,  1], [ [ 16, 16,  1,  1] ] ],
  ],
  'z':[ [ 0, [ 16, 16, 1, 1], [], ] ],
}
kernelSelectionDataTwo = { "s":[ [ 0, [ 8, 8, 4, 4 ], [ ] ] ] }

kernelSelectionData = kernelSelectionDataOne
unrolls = { "s":[16, 1], "z":[8, 1] }

def getTiles():
  print "Python 2"
"""


def data() -> dict[Precision, SelectionData]:
    return {each.precision: each for each in read_selection_data(TEXT, "Parameters.py")[0]}


def as_autogemm(single: SelectionData, m: int, n: int) -> tuple[int, ...]:
    """The rule as AutoGEMM's page states it."""
    for entry in single.entries:
        if m * n >= entry.size * entry.size:
            for tile in entry.tiles:
                if m % (tile[0] * tile[2]) == 0 and n % (tile[1] * tile[3]) == 0:
                    return tile
            return entry.fallback
    raise AssertionError


def test_the_chosen_table_is_read() -> None:
    found, notes = read_selection_data(TEXT, "Parameters.py")

    assert [(each.precision, each.unroll) for each in found] == [
        (Precision.SINGLE, 16),
        (Precision.COMPLEX_DOUBLE, 8),
    ]
    assert notes == [
        "Parameters.py: kernelSelectionDataTwo is not used, but kernelSelectionDataOne"
    ]
    assert found[0].tiles == ((16, 16, 6, 6), (16, 16, 4, 4), (8, 16, 6, 3), (16, 16, 2, 2),
                              (16, 16, 1, 1))  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"), [("\n", "\r\n"), ("DataOne\nunrolls", "DataOne  # the new card\nunrolls")]
)
def test_line_ends_of_windows_and_comments_change_nothing(old: str, new: str) -> None:
    changed = TEXT.replace(old, new)

    assert changed != TEXT
    assert read_selection_data(changed, "P.py") == read_selection_data(TEXT, "P.py")


def test_a_single_table_needs_no_choice() -> None:
    text = 'kernelSelectionDataFiji = { "d":[ [ 0, [ 8, 8, 4, 4 ], [ ] ] ] }'

    ((double,), notes) = read_selection_data(text, "Parameters.py")

    assert (double.precision, double.tiles, notes) == (Precision.DOUBLE, ((8, 8, 4, 4),), [])


def test_very_many_tables_take_no_time() -> None:
    others = "".join(f"kernelSelectionData{number} = {{}}\n" for number in range(100_000))

    began = time.process_time()
    _, notes = read_selection_data(others + TEXT, "Parameters.py")

    assert len(notes) == 100_001
    assert time.process_time() - began < 5  # with a copy of the rest for each, 12


def test_the_tree_chooses_as_autogemm_does() -> None:
    single = data()[Precision.SINGLE]
    tree = single.tree()

    edges = [1, 16, 24, 31, 32, 47, 48, 49, 50, 51, 64, 96, 99, 100, 101, 128, 144, 192, 200, 384]
    for m in edges:
        for n in edges:
            chosen = single.tiles[walk(tree, features(m, n, 7))]
            assert chosen == as_autogemm(single, m, n), (m, n)


def test_sizes_below_the_smallest_entry_get_its_fallback() -> None:
    text = """\
kernelSelectionData = { "s": [
  [ 9, [1, 1, 9, 9], [ [8, 16, 6, 2] ] ],
  [ 1, [1, 1, 1, 1], [] ],
  [ 0, [1, 1, 2, 2], [ [1, 1, 3, 1] ] ] ] }
"""
    ((single,), notes) = read_selection_data(text, "Parameters.py")

    def chosen(data: SelectionData, m: int, n: int) -> tuple[int, ...]:
        return data.tiles[walk(data.tree(), features(m, n, 7))]

    assert (single.unroll, notes) == (8, [])
    assert chosen(single, 48, 32) == (8, 16, 6, 2)
    assert chosen(single, 32, 48) == (1, 1, 9, 9)
    assert chosen(single, 16, 5) == chosen(single, 1, 1) == (1, 1, 1, 1)
    without_last = replace(single, entries=single.entries[:1])
    assert chosen(without_last, 8, 10) == (1, 1, 9, 9)


def test_a_tile_becomes_a_config_of_tiled() -> None:
    config = data()[Precision.SINGLE].configs()[2]

    wanted = {"work_group_0": 8, "work_group_1": 16, "thread_tile_0": 6, "thread_tile_1": 3,
              "depth_u": 16, "edge_type": "remainder", "vector_width": 1}  # fmt: skip
    assert {name: config[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("= kernelSelectionDataOne", "= kernelSelectionDataNo", "no table kernelSelectionDataNo"),
        ("[  50,", "[ 100,", "sizes must fall, got 100 after 100"),
        ("[ 16, 16,  6,  6], [ [", "[ 16, 16,  6], [ [", r"must be \[size, fallback tile"),
        ("[ 16, 16,  6,  6], [ [", "[ 16, 16, 1.5, 6], [ [", r"must be \[size, fallback tile"),
        ("[ 16, 16, 1, 1], [], ]", "[ 16, 16, 1, 1] ]", r"must be \[size, fallback tile"),
        ("[ 0, [ 16, 16, 1, 1], [], ]", "[ 0, 16, [] ]", r"must be \[size, fallback tile"),
        ("[ 0, [ 16, 16, 1, 1], [], ]", "[ 0, [ 16, 16, 1, 1], 7 ]", r"must be \[size, fall"),
        ("'z':[ [ 0, [ 16, 16, 1, 1], [], ] ]", "'z': 7", "must be a list of entries, got 7"),
        ("[ 100,", "[ -100,", r"must be \[size, fallback tile"),
        ("'z'", "'q'", "'q' is no precision"),
        ("[8, 1]", "[0, 1]", "unrolls must be lists of whole numbers"),
        ("[8, 1]", "[]", r"unrolls must be lists of whole numbers, got \[\]"),
        ("[8, 1]", "8", "unrolls must be lists of whole numbers, got 8"),
        ("[ [ 0, [ 16, 16, 1, 1], [], ] ]", "{}", "must be a list of entries, got {}"),
        ("[ [ 0, [ 16, 16, 1, 1], [], ] ]", "[ 7 ]", r"must be \[size, .* got 7"),
        ("[   0, [ 16, 16,  1,  1]", "[   0, [ open('x'), 16,  1,  1]", "kernelSelectionData: "),
        ("}\nkernelSelectionDataTwo", "\nkernelSelectionDataTwo", "kernelSelectionData: "),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(old: str, new: str, words: str) -> None:
    assert old in TEXT
    with pytest.raises(UsageError, match=words) as caught:
        read_selection_data(TEXT.replace(old, new), "Parameters.py")

    assert re.match(r"Parameters\.py: [^\n]*$", str(caught.value))
