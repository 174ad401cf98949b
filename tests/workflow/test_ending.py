from __future__ import annotations

from mltune.search.outlook import Outlook
from mltune.workflow.ending import Patience


class Seer:
    def __init__(self, gain: float) -> None:
        self._gain = gain

    def outlook(self, trials: int) -> Outlook | None:
        return Outlook(self._gain, trials, self._gain)


def waited(patience: Patience, *gains: bool) -> Patience:
    for gain in gains:
        patience.hear(gain)
    return patience


def test_patience_is_lost_after_trials_without_a_gain() -> None:
    assert not waited(Patience(3), False, True, False, False).is_lost(None)
    assert waited(Patience(3), True, False, False, False).is_lost(None)


def test_a_searcher_that_expects_a_gain_keeps_it() -> None:
    patience = waited(Patience(2), False, False)

    assert not patience.is_lost(Seer(0.01))
    assert patience.is_lost(Seer(1e-5))


def test_without_a_number_it_has_no_end() -> None:
    assert not waited(Patience(None), *[False] * 1000).is_lost(Seer(0))
