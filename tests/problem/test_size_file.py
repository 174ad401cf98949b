from __future__ import annotations

from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import Size
from mltune.problem.size_file import read_size_file, transposes_in


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        read_size_file(path)
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_csv_with_comments_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeff# from a log\n \nM, N, K\n1,2,3\n # x\n1,2,3\n4,5,6\r\n"
    path = write(tmp_path, "a.CSV", text)

    assert read_size_file(path) == (Size((1, 2, 3), 2), Size((4, 5, 6)))


def test_csv_with_batch_and_count_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "count,k,batch,n,m\n5,3,4,2,1\n")

    assert read_size_file(path) == (Size((1, 2, 3, 4), 5),)


def test_csv_with_empty_cells_for_no_batch_and_a_count_of_1(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "m,n,k,batch,count\n1,2,3,,\n4,5,6,7,8\n")

    assert read_size_file(path) == (Size((1, 2, 3)), Size((4, 5, 6, 7), 8))


def test_csv_that_says_with_which_transposes_a_size_occurs(tmp_path: Path) -> None:
    text = 'm,n,k,trans,layer,source\n1,2,3,tn NN,"first, of two",a paper\n4,5,6,tn,second,\n'
    path = write(tmp_path, "a.csv", text)

    assert read_size_file(path) == (Size((1, 2, 3)), Size((4, 5, 6)))
    assert read_size_file(path, "nn") == (Size((1, 2, 3)),)
    assert transposes_in(path) == ("nn", "tn")
    with pytest.raises(UsageError, match="holds no sizes that occur as nt"):
        read_size_file(path, "nt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no sizes"),
        ("# nothing\n", "holds no sizes"),
        ("m,n,k\n", "holds no sizes"),
        (
            "1,2,3\n",
            "line 1: unknown column '1' (known: m, n, k, batch, count, trans, layer, source)",
        ),
        ("m,n,k,trans\n1,2,3,nn nx\n", "line 2: trans must be nn, nt, tn, ..., got 'nx'"),
        ("m,n\n1,2\n", "line 1: the first row must name the columns m,n,k; no 'k'"),
        ("m,n,k,m\n", "line 1: column 'm' stands twice"),
        ("m,n,k\n\n1,2\n", "line 3: expected 3 cells, got 2"),
        ("m,n,k\n1,2,x\n", "line 2: k must be a whole number of at most 10 digits, got 'x'"),
        ("m,n,k\n1,2,3.5\n", "line 2: k must be a whole number of at most 10 digits, got '3.5'"),
        ("m,n,k\n1,2,\n", "line 2: k must be a whole number of at most 10 digits, got ''"),
        ("m,n,k\n1,2,0\n", "line 2: size '1x2x0': each extent must be 1 to 2147483647, got 0"),
        ("m,n,k,count\n1,2,3,0\n", "line 2: size '1x2x3': count must be at least 1, got 0"),
        (b"m,n,k\n1,\xff,3\n", "is no UTF-8 text (invalid start byte, byte 8)"),
    ],
)
def test_csv_mistakes_name_the_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refusal(write(tmp_path, "a.csv", text)) == message


@pytest.mark.parametrize("row", [2, 1])
def test_a_cell_that_is_too_long_for_csv_names_the_line(tmp_path: Path, row: int) -> None:
    text = "m,n,k\n" * (row - 1) + "1" * 131_073

    message = refusal(write(tmp_path, "a.csv", text))

    assert message == f"line {row}: not CSV (field larger than field limit (131072))"


def test_yaml_with_texts_lists_and_mappings(tmp_path: Path) -> None:
    text = "- 1x2x3\n- [4, 5, 6, 7]\n- {m: 1, n: 2, k: 3, count: 4}\n- 8:16:8x1x1\n"

    assert read_size_file(write(tmp_path, "a.yaml", text)) == (
        Size((1, 2, 3), 5),
        Size((4, 5, 6, 7)),
        Size((8, 1, 1)),
        Size((16, 1, 1)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a list of sizes, such as '- 512x512x64'"),
        ("m: 1\n", "expected a list of sizes, such as '- 512x512x64'"),
        ("[]", "holds no sizes"),
        ("- 1x2x3\n- 64x\n", "line 2: size '64x': expected MxNxK or MxNxKxB"),
        ("- tiny\n", "line 1: size 'tiny': expected MxNxK or MxNxKxB, such as 512x512x64"),
        ("- [[1, 2], 3]\n", "line 1: expected MxNxK, [m, n, k] or {m: , n: , k: }, got a list in"),
        ("- []\n", "line 1: size: needs at least one extent"),
        ("- ['1', 2, 3]\n", "line 1: expected [m, n, k], got ['1', 2, 3]"),
        ("- [1, true]\n", "line 1: expected [m, n, k], got [1, 'true']"),
        ("- {m: 1, n: 2}\n", "line 1: 'k' is missing"),
        ("- {m: 1, q: 2}\n", "line 1: unknown key 'q' (known: m, n, k, batch, count)"),
        ("- {m: 1, n: 2, m: 3, k: 4}\n", "line 1: key 'm' stands twice"),
        ("tiny\n", "expected a list of sizes, such as '- 512x512x64'"),
        ("- {m: 1, n: x}\n", "line 1: n must be a whole number, got 'x'"),
        ("- [1, 2, 0]\n", "line 1: size '1x2x0': each extent must be 1 to 2147483647, got 0"),
        ("- [1, 2\n", "line 2: not YAML (expected ',' or ']'"),
        ("- 1x2x3\n--- \n- 4x5x6\n", "line 2: not YAML (but found another document)"),
        ("- !!python/object/apply:os.getcwd []\n", "line 1: tag "
         "'tag:yaml.org,2002:python/object/apply:os.getcwd' is not supported"),
        ("- \x00\n", "not YAML (unacceptable character #x0000: "),
        ("[" * 5000, "line 1: not YAML (nested too deeply)"),
    ],
)  # fmt: skip
def test_yaml_mistakes_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(write(tmp_path, "a.yml", text)).startswith(message[:60])


def test_a_folder_is_no_file_of_sizes(tmp_path: Path) -> None:
    folder = tmp_path / "a.csv"
    folder.mkdir()

    assert refusal(folder) == "cannot read (Is a directory)"


def test_an_unknown_kind_of_file_names_the_known_ones(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.xlsx") == "a file of sizes must end in .csv, .yaml, .yml"
