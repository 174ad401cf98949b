"""Which config is chosen, from the final rounds."""

from __future__ import annotations

from collections.abc import Callable

from mltune.measurement import Measurement, Phase, Status
from mltune.tuning.final_selection import choose

Make = Callable[..., Measurement]


def chosen(*rows: Measurement) -> tuple[int, int]:
    """The chosen trial, and how many samples count."""
    (choice,) = choose(rows).values()
    return choice.best.trial, len(choice.best.seconds)


def test_a_round_that_something_was_in_the_way_of_does_not_count(make: Make) -> None:
    rounds = [make(1, 8, seconds, Phase.FINAL) for seconds in (1.0, 2.1, 2.0)]
    others = [make(2, 8, 1.3, Phase.FINAL) for _ in range(3)]

    assert chosen(*rounds, *others) == (1, 3)


def test_rounds_that_agree_are_taken_together(make: Make) -> None:
    rounds = [make(1, 8, seconds, Phase.FINAL) for seconds in (1.0, 1.05, 1.02)]

    assert chosen(*rounds) == (1, 9)


def test_a_config_that_failed_in_one_round_is_not_chosen(make: Make) -> None:
    rows = [
        make(1, 8, 1.0, Phase.FINAL),
        make(1, 8, Status.WRONG_RESULT, Phase.FINAL),
        make(2, 8, 5.0, Phase.FINAL),
    ]

    assert chosen(*rows)[0] == 2


def test_what_was_not_timed_again_and_was_far_faster_before_is_chosen(make: Make) -> None:
    searched = [make(1, 8, 1.0), make(2, 8, 3.0)]

    assert chosen(*searched, make(2, 8, 3.0, Phase.FINAL))[0] == 1
    assert chosen(*searched, make(2, 8, 1.2, Phase.FINAL))[0] == 2
    wrong = make(1, 8, Status.WRONG_RESULT, Phase.FINAL)
    assert chosen(*searched, wrong, make(2, 8, 3.0, Phase.FINAL))[0] == 2
