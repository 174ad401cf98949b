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
    searched = [make(1, 8, 2.0), make(2, 8, 6.0)]

    assert chosen(*searched, make(2, 8, 6.0, Phase.FINAL))[0] == 1
    assert chosen(*searched, make(2, 8, 2.4, Phase.FINAL))[0] == 2
    wrong = make(1, 8, Status.WRONG_RESULT, Phase.FINAL)
    assert chosen(*searched, wrong, make(2, 8, 6.0, Phase.FINAL))[0] == 2


def test_of_ties_within_a_percent_the_best_on_all_sizes_is_chosen(make: Make) -> None:
    def timed(trial: int, m: int, *seconds: float) -> Measurement:
        return make(trial, m, 1.0, Phase.FINAL, seconds=seconds)

    rows = [
        timed(1, 8, 0.95, 1.0, 1.05),
        timed(2, 8, 1.04, 1.005, 0.96),  # a tie, and the best one on the other size
        timed(3, 8, 1.2, 1.02, 0.99),  # a tie, but 2 % slower
        timed(4, 8, 1.06, 1.06, 1.06),  # no tie
        *(
            timed(trial, 16, seconds)
            for trial, seconds in ((1, 2.0), (2, 1.1), (3, 1.0), (4, 1.0))
        ),
        timed(1, 24, 3.0),
        timed(5, 24, 1.0),
        timed(5, 32, 1.0),
    ]

    by_size = {problem.m: choice for problem, choice in choose(rows).items()}

    assert [one.trial for one in by_size[8].equals] == [2, 1, 3]
    assert by_size[8].best is by_size[8].equals[0]
    assert by_size[16].best.trial == 3


def test_of_equals_the_one_with_the_least_mean_distance_is_chosen(make: Make) -> None:
    seconds = {(1, 8): 1.0, (2, 8): 1.0, (1, 16): 1.5, (3, 16): 1.0, (1, 24): 1.0}
    seconds |= {(2, 24): 1.4, (3, 24): 1.0}
    rows = [make(trial, m, each, Phase.FINAL) for (trial, m), each in seconds.items()]

    best = {problem.m: choice.best.trial for problem, choice in choose(rows).items()}

    assert best[8] == 1  # log(1.5) over three sizes is less than log(1.4) over two
