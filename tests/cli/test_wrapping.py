from __future__ import annotations

import io
import os
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.cli import main
from mltune.cli.streams import PlainStream, width_of
from mltune.cli.wrapping import wrapped

SENTENCE = "spent: 5 s of building, 12 timings of a config on a size, 0 s of kernels"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("short", ["short"]),
        (
            SENTENCE,
            ["spent: 5 s of building, 12", "  timings of a config on a", "  size, 0 s of kernels"],
        ),
        ("next: mltune distil a -o mine", ["next:", "  mltune distil a -o mine"]),
        (
            "next: mltune predict a/model 10x20x30 --top 5 --measure",
            [
                "next:",
                "  mltune predict a/model \\",
                "      10x20x30 --top 5 \\",
                "      --measure",
            ],
        ),
        (
            "  mltune search --cross-sizes 107x7x3160,1152x11x13,672x5x3",
            [
                "  mltune search \\",
                "      --cross-sizes \\",
                "      107x7x3160,\\",
                "1152x11x13,672x5x3",
            ],
        ),
        (
            "next: mltune report a/run    or: mltune replay a/run 1",
            ["next: mltune report a/run", "or: mltune replay a/run 1"],
        ),
        ("mltune: runs/one: no such run here", ["mltune: runs/one: no such", "  run here"]),
        ("a/path/that/is/longer/than/a/line", ["a/path/that/is/longer/than/a/line"]),
        ("  a line that is indented itself", ["  a line that is indented", "    itself"]),
    ],
)
def test_breaks_between_words_and_keeps_commands(line: str, lines: list[str]) -> None:
    assert wrapped(line, 28) == lines


@given(
    words=st.lists(st.text("a1, 'x/-", min_size=1, max_size=30), min_size=1, max_size=8),
    room=st.integers(40, 80),
)
def test_a_shell_reads_the_same_words_in_a_broken_command(words: list[str], room: int) -> None:
    line = f"next: {shlex.join(['mltune', *words])}"

    lines = wrapped(line, room)

    typed = "\n".join(lines).removeprefix("next:").replace("\\\n", "")
    assert shlex.split(typed) == ["mltune", *words]


def test_no_terminal_has_no_room_to_keep_to() -> None:
    assert wrapped(SENTENCE, None) == [SENTENCE]


def test_a_stream_breaks_lines_on_a_terminal_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "28")
    terminal = Terminal()
    stream = PlainStream(terminal)
    print(SENTENCE, file=stream)
    stream.breaks_lines = True
    print(SENTENCE, file=stream)

    whole, *parts = terminal.getvalue().splitlines()
    assert whole == SENTENCE
    assert parts == wrapped(SENTENCE, 28)


def test_a_complaint_about_a_path_wider_than_the_terminal_begins_once(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    path = "/" + 70 * "a"

    assert main(["replay", path, "1"]) == 2

    head, where, *_ = capfd.readouterr().err.splitlines()
    assert head.replace("\x1b[31m", "").replace("\x1b[0m", "").strip() == "mltune:"
    assert where.startswith(f"  {path}")


def test_a_stream_is_as_wide_as_its_own_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    monkeypatch.delenv("COLUMNS", raising=False)
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(follower, "w") as terminal:
        assert width_of(terminal) > 0  # also without a window's size
        termios.tcsetwinsize(follower, (24, 61))
        assert width_of(terminal) == 61
