"""What a run contains: which of its trials have ended, and which was interrupted."""

from __future__ import annotations

from collections.abc import Callable

from mltune.measurement import Measurement, Phase
from mltune.tuning.history import History

Make = Callable[..., Measurement]


def test_the_last_trial_of_a_run_without_leaders_was_cut_off(make: Make) -> None:
    history = History.of([make(0, 8, 1.0), make(0, 16, 1.0), make(1, 8, 1.0)])

    assert [trial.number for trial in history.trials] == [0]
    assert history.cut_off is not None
    assert history.cut_off.number == 1
    assert not history.has_finals


def test_trials_are_in_the_order_of_their_ends_and_the_last_one_counts(make: Make) -> None:
    history = History.of([make(1, 8, 1.0), make(0, 8, 1.0), make(2, 8, 1.0)])

    assert [trial.number for trial in history.trials] == [1, 0]
    assert history.cut_off is not None
    assert history.cut_off.number == 2


def test_a_disturbed_round_at_the_end_cuts_nothing_off(make: Make) -> None:
    searched = [make(0, 8, 1.0), make(1, 8, 1.0), make(1, 8, 9.0, Phase.DISTURBED)]
    rounds = [make(0, 8, 1.0, Phase.FINAL), make(1, 8, 9.0, Phase.DISTURBED)]

    assert History.of(searched).cut_off is not None
    assert History.of([*searched, *rounds]).cut_off is None
