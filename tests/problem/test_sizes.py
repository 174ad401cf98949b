from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.problem import Size, merge_sizes
from mltune.problem.sizes import parse_sizes, suite_names
from mltune.resources import data_folder


def labels(text: str) -> list[str]:
    return [size.label for size in parse_sizes(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64x32x16", ["64x32x16"]),
        ("64x32x16x8", ["64x32x16x8"]),
        ("1000000,2:8:*2", ["1000000", "2", "4", "8"]),
        (" 1x2x3 , 4X5X6 ", ["1x2x3", "4x5x6"]),
        ("8:32:8x1x1", ["8x1x1", "16x1x1", "24x1x1", "32x1x1"]),
        ("8:31:8x1x1", ["8x1x1", "16x1x1", "24x1x1"]),
        ("1x64:512:*2x1", ["1x64x1", "1x128x1", "1x256x1", "1x512x1"]),
        ("1x64:511:*2x1", ["1x64x1", "1x128x1", "1x256x1"]),
        ("1x1x3:5", ["1x1x3", "1x1x4", "1x1x5"]),
        ("7:7x1x1", ["7x1x1"]),
        ("1:2x3:4x5", ["1x3x5", "1x4x5", "2x3x5", "2x4x5"]),
        ("2147483647x1x1", ["2147483647x1x1"]),
    ],
)
def test_extents_and_ranges(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


@given(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=6))
def test_a_label_reads_back(extents: list[int]) -> None:
    size = Size(tuple(extents))

    assert parse_sizes(size.label) == (size,)


def test_equal_sizes_are_merged_and_counted() -> None:
    assert parse_sizes("2x2x2,1x1x1,2x2x2") == (Size((2, 2, 2), 2), Size((1, 1, 1), 1))


def test_merging_counts_keeps_the_order_of_first_sight() -> None:
    merged = merge_sizes([Size((3,), 5), Size((1,), 2), Size((3,), 4)])

    assert merged == (Size((3,), 9), Size((1,), 2))


def test_suites_files_and_extents_may_be_mixed(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("m,n,k\n1,2,3\n")

    assert labels(f"{path},7x7x7,tiny")[:3] == ["1x2x3", "7x7x7", "32x32x32"]


def test_a_file_whose_name_begins_with_a_digit_is_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2024-calls.csv").write_text("m,n,k\n1,2,3\n")

    assert labels("2024-calls.csv") == ["1x2x3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sizes: expected sizes between the commas, got ''"),
        ("1x1x1,", "sizes: expected sizes between the commas, got '1x1x1,'"),
        ("64x", "size '64x': expected MxNxK or MxNxKxB, such as 512x512x64"),
        ("-1x2x3", "size '-1x2x3': expected MxNxK or MxNxKxB, such as 512x512x64"),
        ("0x2x3", "size '0x2x3': each extent must be 1 to 2147483647, got 0"),
        ("2x2147483648x3", "size '2x2147483648x3': each extent must be 1 to 2147483647, "
         "got 2147483648"),
        ("1x1x99999999999", "size '1x1x99999999999': each extent must be 1 to 2147483647, "
         "got 99999999999"),
        ("1:2147483648x1x1", "size '1:2147483648x1x1': each extent must be 1 to 2147483647, "
         "got 2147483648"),
        ("0:8:*2x1x1", "size '0:8:*2x1x1': each extent must be 1 to 2147483647, got 0"),
        ("+5", "size '+5': expected MxNxK or MxNxKxB, such as 512x512x64"),
        ("9:3x1x1", "size '9:3x1x1': the range '9:3' starts above its end"),
        ("1:9:0x1x1", "size '1:9:0x1x1': the step of '1:9:0' must be at least 1"),
        ("1:9:*1x1x1", "size '1:9:*1x1x1': the factor of '1:9:*1' must be at least 2"),
        ("1:9:*x1x1", "size '1:9:*x1x1': '1:9:*' is neither a number nor start:stop[:step] "
         "nor start:stop:*factor"),
        ("1:100x1:100x1:100", "size '1:100x1:100x1:100': gives 1000000 sizes, the most is 100000"),
        ("1:60000x1x1,1:60000x1x2", "sizes: more than 100000 different sizes"),
        ("nowhere.csv", "nowhere.csv: cannot read (No such file or directory)"),
        ("sizes/mine", "sizes/mine: a file of sizes must end in .csv, .yaml, .yml"),
    ],
)  # fmt: skip
def test_mistakes_are_one_exact_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_sizes(text)

    assert str(refused.value) == message


def test_more_digits_than_python_reads_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^size '9999"):
        parse_sizes("9" * 5000)


@pytest.mark.parametrize("word", ["tinny", "TINY"])
def test_an_unknown_suite_names_the_near_match(word: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_sizes(word)

    assert str(refused.value).startswith(
        f"sizes: '{word}' is neither MxNxK nor a file nor a suite (did you mean 'tiny'? suites: "
    )


@pytest.mark.parametrize("extents", [(), (0,), (2**31,)])
def test_a_size_out_of_range_is_refused(extents: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        Size(extents)


def test_a_count_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="size '1x1x1': count must be at least 1, got 0"):
        Size((1, 1, 1), 0)


def test_a_size_reads_back_from_json() -> None:
    size = Size((4, 5, 6), 7)

    assert Size.from_json(size.to_json()) == size


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"extents": 1, "count": 1},
        {"extents": [1.5], "count": 1},
        {"extents": [1], "count": True},
    ],
)
def test_json_that_is_no_size_is_refused(data: object) -> None:
    with pytest.raises(UsageError, match=r"^size: "):
        Size.from_json(data)


def test_the_suites_have_the_sizes_that_their_readme_states() -> None:
    counts = {name: len(parse_sizes(name)) for name in suite_names()}

    readme = (data_folder("spaces") / "sizes" / "README.md").read_text(encoding="utf-8")
    stated: dict[str, int] = {}
    for names, sizes in re.findall(r"^\| (`.+?) \| ([\d, ]+) \|", readme, re.M):
        stated |= dict(zip(re.findall(r"`(.+?)`", names), map(int, sizes.split(",")), strict=True))
    assert stated == counts


def test_a_suite_that_names_transposes_can_be_asked_for_in_parts() -> None:
    parts = [set(parse_sizes(f"models-{trans}")) for trans in ("nn", "nt", "tn")]

    assert set.union(*parts) == set(parse_sizes("models"))
    assert Size((6144, 16, 4096)) in parts[2] - parts[0]  # Llama 3 8B, 16 tokens


def test_the_suite_models_is_what_its_script_writes() -> None:
    script = Path("tests/benchmarks/model_sizes.py")
    written = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)

    assert Path("spaces/sizes/models.csv").read_text() == written.stdout


def test_quick_suites_stay_small() -> None:
    assert max(max(size.extents) for size in parse_sizes("tiny")) <= 192
    assert max(max(size.extents) for size in parse_sizes("cpu")) <= 512


def test_the_package_loads_no_yaml() -> None:
    code = "import sys, mltune.problem; sys.exit('yaml' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
