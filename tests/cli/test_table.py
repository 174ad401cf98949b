from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.bench.comparison import SizeResult, Timing
from mltune.cli import terminal
from mltune.cli.bench import print_speeds
from mltune.cli.output import Cell, print_table
from mltune.cli.streams import PlainStream
from mltune.cli.table import Column, table_blocks
from mltune.problem import gemm_problem, parse_problem_type

WIDE: tuple[tuple[str, ...], list[tuple[Cell, ...]]] = (
    ("device", "name", "kind", "units", "MHz", "local KiB", "group", "fp64", "driver"),
    [("0:0", "NVIDIA H200 NVL of a long name", "gpu", 132, 1980, 48, 1024, "yes", "580.159.04")],
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    **environment: str,
) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", **environment}.items():
        monkeypatch.setenv(name, value)
    screen = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", PlainStream(screen))
        print_table(header, rows)
    return screen.getvalue()


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_table_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(*WIDE, monkeypatch, columns)

    assert max(map(len, text.splitlines())) <= columns
    for cell in ("NVIDIA", "580.159.04", "1980", "fp64"):
        assert cell in text


def test_columns_that_do_not_fit_stand_below_with_the_first_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    header = ("size", *(f"measured {number}" for number in range(8)))
    rows: list[list[Cell]] = [["8x8x8", *map(float, range(8))]]

    blocks = printed(header, rows, monkeypatch, 60).split("\n\n")

    assert len(blocks) == 2
    assert [block.split()[0] for block in blocks] == ["size", "size"]


def test_what_is_no_terminal_gets_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(*WIDE)

    assert len(capsys.readouterr().out.splitlines()) == 2


def test_colours_tell_headings_and_statuses(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", "ok"), ("b", "wrong_result")]

    text = printed(("id", "status"), rows, monkeypatch, 80, NO_COLOR="")

    assert "\x1b[32mok" in text
    assert "\x1b[31mwrong_result" in text
    assert "\x1b" not in printed(("id", "status"), rows, monkeypatch, 80)
    assert "\x1b" not in printed(("id", "status"), rows, monkeypatch, 80, NO_COLOR="", TERM="dumb")


def test_text_that_moves_a_cursor_is_shown_and_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(("name",), [("a\x1b[2Jb",)], monkeypatch, 80, NO_COLOR="")

    assert "\x1b[2J" not in text
    assert "\\x1b[2J" in text


def test_nothing_is_coloured_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say(("gained: ", "good"), ("1.2", ""))

    assert capsys.readouterr().out == "gained: 1.2\n"


def test_speeds_of_many_libraries_have_a_table_each(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = ["mltune", "cublas", "clblast", "numpy"]
    took = Timing(
        kernel_seconds=(1e-5, 2e-5), call_seconds=(3e-5, 4e-5), error=1e-7, kernel="kernel"
    )
    problem = gemm_problem(parse_problem_type("sgemm_nn"), 100, 1000, 4096)
    results = [SizeResult(problem, dict.fromkeys(libraries, took), {}, 0.5)]
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", PlainStream(screen))
        print_speeds(results, libraries)

    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert [line for line in lines if line.endswith(":")] == [f"{name}:" for name in libraries]
    assert "disturbed" in screen.getvalue()


names = st.text("ab_/ -", max_size=50).map(str.strip)


@given(
    rows=st.lists(st.tuples(names, names, names, names), max_size=4),
    room=st.integers(60, 200),
)
def test_no_letter_is_lost(rows: list[tuple[str, str, str, str]], room: int) -> None:
    columns = [
        Column(name, tuple(row[at] for row in rows), is_number=False)
        for at, name in enumerate(("size", "kernel", "device", "driver"))
    ]

    blocks = list(table_blocks(columns, room))

    def letters(text: str) -> int:
        return sum(map(text.count, "ab_/-"))  # no heading has one

    shown = letters("".join("".join(line) for block in blocks for line in block))
    repeated = letters("".join(columns[0].cells)) * (len(blocks) - 1)
    assert shown - repeated == sum(letters("".join(column.cells)) for column in columns)
    assert all(len("  ".join(line)) <= room for block in blocks for line in block)
