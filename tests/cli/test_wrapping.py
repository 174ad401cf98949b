from __future__ import annotations

import io

import pytest

from mltune.cli.streams import PlainStream
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
        ("next: mltune distil a-folder -o mine", ["next:", "  mltune distil a-folder -o mine"]),
        ("mltune: runs/one: no such run here", ["mltune: runs/one: no such", "  run here"]),
        ("a/path/that/is/longer/than/a/line", ["a/path/that/is/longer/than/a/line"]),
        ("  a line that is indented itself", ["  a line that is indented", "    itself"]),
    ],
)
def test_breaks_between_words_and_keeps_commands(line: str, lines: list[str]) -> None:
    assert wrapped(line, 28) == lines


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
