"""Output for people: numbers, tables, kernel names and the progress of a search."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

from mltune.cli.output import duration_text, number_text, print_table, short_names
from mltune.cli.progress_bar import LogLines, ProgressBar, state_text
from mltune.tuning.progress import Progress

if TYPE_CHECKING:
    from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (13824.4, "13,824"),
        (999.94, "999.9"),
        (999.95, "1,000"),
        (51.4, "51.40"),
        (0.006074, "0.006074"),
        (0.00012346, "0.0001235"),
        (3.2e-7, "3.20e-07"),
        (-2500.0, "-2,500"),
    ],
)
def test_a_number_has_four_digits_and_no_exponent_unless_tiny(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_table_puts_text_left_and_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("size", "ms"), [("8x8x8", 1.5), ("512x512x512", None)])

    assert capsys.readouterr().out.splitlines() == [
        "size            ms",
        "8x8x8        1.500",
        "512x512x512      -",
    ]


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("size", "ms"), [])

    assert capsys.readouterr().out == "size  ms\n"


def test_kernel_names_are_cut_to_what_tells_them_apart() -> None:
    names, shared = short_names(["Cij_SB_MT8x2_LU1_VW4", "Cij_SB_MT8x4_LU1_VW8"])

    assert names == ("MT8x2 VW4", "MT8x4 VW8")
    assert shared == ("Cij", "SB", "LU1")


@pytest.mark.parametrize("count", [1, 3])
def test_of_kernels_that_do_not_differ_the_macro_tile_is_shown(count: int) -> None:
    names, shared = short_names(["Cij_SB_MT8x2_VW4"] * count)

    assert names == ("MT8x2",) * count
    assert shared == ("Cij", "SB", "VW4")


def test_a_kernel_name_without_a_macro_tile_stays_whole() -> None:
    assert short_names(["woven_VW4"]) == (("woven VW4",), ())


def test_no_kernels_have_no_names() -> None:
    assert short_names([]) == ((), ())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (7384, "2 h 03 min")],
)
def test_a_time_left_has_at_most_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_the_state_says_best_time_left_rate_and_failures() -> None:
    progress = Progress(
        phase="search",
        done=3,
        total=9,
        best_gflops=13824.4,
        per_minute=41.7,
        seconds_left=90,
        failures=(("timeout", 2), ("wrong_result", 1)),
    )

    assert state_text(progress) == (
        "best 13,824 GFLOP/s | 1 min 30 s left | 42/min | failed: 2 timeout, 1 wrong_result"
    )


def test_the_state_of_nothing_is_empty() -> None:
    assert state_text(Progress(phase="search", done=0, total=9)) == ""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", ["40", "80", "200"])
@pytest.mark.parametrize("colour", [True, False])
def test_the_bar_shows_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str, colour: bool
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")

    with ProgressBar(quiet=False) as bar:
        bar.note("run [red]x[/red]: 24 configs")
        bar.show(Progress(phase="search", done=3, total=9, best_gflops=12.5))

    shown = terminal.getvalue()
    assert "run [red]x[/red]: 24 configs" in shown.replace("\n", "")
    assert "search 3/9" in shown
    assert "12.50" in shown
    assert ("\x1b[38" in shown or "\x1b[3" in shown) == colour


def test_the_bar_of_work_without_a_known_end_is_not_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")

    with ProgressBar(quiet=False) as bar:
        for total in (0, 9, 0):
            bar.show(Progress(phase="search", done=3, total=total))
            (task,) = bar._bar.tasks
            assert task.total == (total or None)


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_cannot_show_a_bar_gets_lines(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", kind)

    with ProgressBar(quiet=False) as bar:
        bar.show(Progress(phase="search", done=9, total=9))

    assert terminal.getvalue() == "search 9/9\n"


def test_work_without_progress_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with ProgressBar(quiet=False):
        pass

    assert terminal.getvalue() == ""


@pytest.mark.parametrize("has_bar", [True, False])
def test_a_log_line_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch, has_bar: bool) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    record = logging.LogRecord("mltune", logging.WARNING, "", 0, "slow: %s", ("a pack",), None)

    with ProgressBar(quiet=False) as bar:
        if has_bar:
            bar.show(Progress(phase="verify", done=0, total=1))
        LogLines().emit(record)

    last = terminal.getvalue().partition("slow: a pack")
    assert last[0].endswith("\x1b[2K") == has_bar  # the bar's line was erased
    assert last[2].startswith("\n")


def test_without_a_terminal_the_last_line_of_a_phase_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressBar(quiet=False) as bar:
        bar.show(Progress(phase="endless", done=0, total=0))
        for done in (1, 2, 2):
            bar.show(Progress(phase="search", done=done, total=2))

    assert capsys.readouterr().err == "search 2/2\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(quiet=True) as bar:
        bar.note("hello")
        bar.show(Progress(phase="search", done=2, total=2))

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("option", "told"), [((), False), (("-v",), True)])
def test_warnings_of_python_are_told_only_with_v(
    option: tuple[str, ...], told: bool, mltune: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: object) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("of a library", stacklevel=1)
        return 0

    monkeypatch.setattr("mltune.cli.devices.run", run)
    logging.captureWarnings(capture=False)  # pytest has undone that of an earlier test

    assert ("of a library" in mltune("devices", *option).err) == told
