"""The closing lines of `mltune tune`, and its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mltune.problem import Size, gemm
from mltune.problem.precision import Precision
from mltune.workflow.program_gain import Against, Compared
from mltune.workflow.tune_plan import Part
from mltune.workflow.tune_report import gain_lines, program_lines, report_text, seconds_text
from mltune.workflow.tune_result import TuneResult
from mltune.workflow.tune_state import Searched, TuneState
from tests.devices import CPU

PART = Part(
    contraction=gemm(Precision.SINGLE),
    sizes=(Size((8, 8, 8), 10), Size((16, 8, 8), 1)),
    seconds=(0.5, 0.25),
    calls=11,
)


def _result(part: Part) -> TuneResult:
    compared = Compared(
        problem=part.name, size=(8, 8, 8), count=10, tuned=(0.01, 0.01), other=(0.02, 0.02)
    )
    state = TuneState(
        seconds=60.0,
        device="auto",
        model=CPU.model,
        seed=0,
        spaces=("auto",),
        against=("numpy",),
        languages=("c",),
        parts=(part,),
    )
    against = Against.of("numpy", "call", [compared])
    return TuneResult(folder=Path("tuned"), state=state, device=CPU, against=(against,))


def test_the_programs_own_time_stands_beside_that_of_the_tuned_kernels() -> None:
    line = (
        "the program itself took 500 ms for these calls of 1 size (host time in the program, as "
        "traced), tuned kernels 100 ms (call time by the host's clock)"
    )

    assert program_lines(_result(PART)) == (line,)
    assert f"\n- {line}\n" in report_text(_result(PART))


def test_an_unknown_time_of_the_program_is_not_mentioned() -> None:
    assert program_lines(_result(replace(PART, seconds=()))) == ()


def test_times_have_three_digits_and_never_an_exponent() -> None:
    times = (2e-7, 12e-6, 0.0034, 1.0, 59.94, 999.6, 4321.0)

    assert [seconds_text(each) for each in times] == [
        "0.2 us", "12 us", "3.4 ms", "1 s", "59.9 s", "1,000 s", "4,321 s",
    ]  # fmt: skip


def test_a_loss_is_called_one() -> None:
    result = _result(PART)
    (gain,) = result.against
    slower = Compared(
        problem=PART.name, size=(8, 8, 8), count=10, tuned=(0.04, 0.04), other=(0.01, 0.01)
    )
    lost = replace(result, against=(Against.of("numpy", "call", [slower]),))

    assert gain.saved_seconds > 0
    assert "100 ms saved, 2.00 times as fast" in gain_lines(result)[0]
    assert "300 ms lost, 0.25 times as fast" in gain_lines(lost)[0]


def test_a_report_says_why_it_ended_early() -> None:
    result = replace(_result(PART), interrupted=True)

    assert report_text(result).endswith(
        "## Next\n\n- interrupted; resume with: `mltune tune --resume -o tuned`\n"
    )


def test_more_of_it_is_a_time_in_which_the_searches_go_on() -> None:
    result = _result(PART)
    searched = (Searched(seconds=160.0),)
    over = replace(result, state=replace(result.state, searched=searched), tuned=(object(),))  # type: ignore[arg-type]

    assert over.following[-1][1] == "mltune tune --resume -o tuned --time 400s"
    used_up = replace(over.state, searched=(replace(searched[0], used_up=True),))
    assert replace(over, state=used_up).following == ()
