"""The study that drives a search: given configs take turns, and the sampler hears all results."""

from __future__ import annotations

import math
import threading
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from mltune.measurement import Status
from mltune.search.exhaustive import ExhaustiveSampler
from mltune.search.guided import GuidedSampler
from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.tuning.study import Proposal, TuningStudy
from mltune.tuning.trial import Trial
from tests.made_up import build_measurement
from tests.studies import Asked

SPACE = Space(name="s", family="none", parameters=[Parameter("x", (1, 2, 3))], limits={})
LINE = Space(name="s", family="none", parameters=[Parameter("x", (*range(40),))], limits={})
GIVEN = [Config.of({"kernel": word}) for word in ("a", "b")]
KERNELS = [Parameter("kernel", ("a", "b"))]


def alternating() -> Asked:
    return Asked(ExhaustiveSampler(SPACE, 0), 2, GIVEN, KERNELS)


def test_given_configs_and_the_samplers_are_proposed_in_turns_and_each_once() -> None:
    asked = alternating()
    found = [asked.config() for _ in range(6)]

    assert [config in GIVEN for config in found[:4]] == [True, False, True, False]
    assert found[4] in SPACE
    assert found[5] is None
    assert len(set(found[:5])) == 5


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_resumed_study_goes_on_with_the_same_turns(cut: int) -> None:
    whole = alternating().steps(lambda config, sizes: {0: 1.0, 1: 1.0})
    resumed = alternating()
    for config, _ in whole[:cut]:
        resumed.learn(config, {0: 1.0, 1: 1.0})

    assert resumed.steps(lambda config, sizes: {0: 1.0, 1: 1.0}) == whole[cut:]


def test_a_given_config_has_its_own_trial_while_another_thread_adds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = alternating()
    storage = asked.study.study._storage
    create = storage.create_new_trial

    def create_two(*given: Any, **named: Any) -> int:
        made = create(*given, **named)
        monkeypatch.undo()
        asked.study.note_running(SPACE.at(2))
        return made

    monkeypatch.setattr(storage, "create_new_trial", create_two)
    proposal = asked.study.take(GIVEN[0])

    assert asked.trials[proposal.number].params == {"family": "other", "kernel": "a"}


def test_the_default_comes_before_all_others_once_and_on_all_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    default = SPACE.at(1)

    def begin() -> TuningStudy:
        made = optuna.create_study(sampler=ExhaustiveSampler(SPACE, 0))
        return TuningStudy(
            made, 2, ("none",), lambda config: "none", GIVEN, KERNELS, first=[default]
        )

    study = begin()
    proposals = [study.ask() for _ in range(6)]
    found = [proposal.config for proposal in proposals if proposal is not None]
    assert proposals[0] is not None
    assert proposals[0].sizes is None
    assert found[0] == default
    assert sorted(map(str, found)) == sorted(map(str, [*SPACE, *GIVEN]))

    resumed = begin()
    monkeypatch.setattr(ExhaustiveSampler, "worthwhile", lambda *_: (0,))
    assert resumed.take(default).sizes is None
    assert resumed.take(SPACE.at(2)).sizes == (0,)

    resumed = begin()
    resumed.learn(resumed.frozen(default, {0: 1.0, 1: 1.0}, Status.OK))
    again = resumed.ask()
    assert again is not None
    assert again.config != default


def test_a_config_that_a_user_enqueued_is_not_taken_for_a_given_one() -> None:
    asked = alternating()
    asked.study.study.enqueue_trial({"x": 2})
    proposals = [asked.study.ask() for _ in range(2)]

    found = [proposal.config for proposal in proposals if proposal is not None]
    assert found == [GIVEN[0], Config.of({"x": 2})]
    assert [trial.params["kernel"] for trial in asked.trials if "kernel" in trial.params] == ["a"]


def test_what_was_learnt_is_not_asked_again() -> None:
    asked = alternating()
    asked.learn(GIVEN[0], Status.WRONG_RESULT)
    asked.learn(SPACE.at(0), {0: 1.0, 1: 1.0})

    assert {asked.config() for _ in range(4)} == {GIVEN[1], SPACE.at(1), SPACE.at(2), None}


def test_what_is_tried_elsewhere_is_not_asked_for() -> None:
    asked = alternating()
    asked.study.note_running(GIVEN[0])
    asked.study.note_running(SPACE.at(1))

    assert {asked.config() for _ in range(4)} == {GIVEN[1], SPACE.at(0), SPACE.at(2), None}


def test_a_trial_that_another_process_began_ends_in_the_study_too() -> None:
    asked = alternating()
    asked.study.note_running(SPACE.at(0))
    asked.study.note_running(SPACE.at(1))
    asked.study.note_running(SPACE.at(2))
    asked.learn(SPACE.at(1), {0: 1.0, 1: 4.0})
    asked.learn(SPACE.at(0), {0: 3.0})
    asked.learn(SPACE.at(2), Status.WRONG_RESULT)

    trials = asked.trials
    assert [trial.params["x"] for trial in trials] == [1, 2, 3]
    assert [trial.state.name for trial in trials] == ["PRUNED", "COMPLETE", "FAIL"]
    assert [trial.values for trial in trials] == [[3.0], [2.0], None]
    assert [trial.intermediate_values for trial in trials] == [{0: 3.0}, {0: 1.0, 1: 4.0}, {}]
    assert trials[2].user_attrs == {"status": "wrong_result"}


def test_the_families_stand_in_the_study() -> None:
    asked = alternating()
    asked.steps(lambda config, sizes: dict.fromkeys(sizes, 1.0))

    families = [trial.params["family"] for trial in asked.trials if trial.values]
    assert families == ["other", "none", "other", "none", "none"]


def test_a_size_that_a_given_kernel_has_won_gets_no_more() -> None:
    asked = Asked(GuidedSampler(LINE, 0, (1, 1)), 2, GIVEN, KERNELS)

    def answer(config: Config, sizes: tuple[int, ...]) -> dict[int, float]:
        if config in GIVEN:
            return {0: math.exp(-10.0), 1: math.exp(1.0)}
        return {size: math.exp(abs(config.int("x") - 25) / 40) for size in sizes}

    sizes = [each for _, each in asked.steps(answer, 30)]

    assert sizes[0] == (0, 1)
    assert all(chosen == (1,) for chosen in sizes[15:])


def test_a_given_config_with_the_names_of_the_space_and_other_values() -> None:
    given = [Config.of({"x": 9}), SPACE.at(1)]
    asked = Asked(ExhaustiveSampler(SPACE, 0), 1, given, [Parameter("x", (2, 9))])
    found = [config for config, _ in asked.steps(lambda config, sizes: 1.0)]

    assert sorted(config.int("x") for config in found) == [1, 2, 3, 9]
    assert found[0] == given[0]


def test_states_values_and_attributes_of_the_trials() -> None:
    asked = Asked(ExhaustiveSampler(LINE, 0), 2)
    whole, part, failed = (asked.ask() for _ in range(3))
    assert whole is not None
    assert part is not None
    assert failed is not None
    asked.tell(failed, Status.TIMEOUT)
    asked.tell(whole, {0: 2.0, 1: 8.0})
    asked.tell(part, {1: 3.0})
    first, second, third = asked.trials

    assert first.state == TrialState.COMPLETE
    assert first.value == pytest.approx(4.0)
    assert first.intermediate_values == {0: 2.0, 1: 8.0}
    assert first.user_attrs["status"] == "ok"
    assert first.user_attrs["kernel"] == "Cij_Aik_Bkj_SB_MT0"
    assert (second.state, second.intermediate_values) == (TrialState.PRUNED, {1: 3.0})
    assert (third.state, third.user_attrs["status"]) == (TrialState.FAIL, "timeout")
    frozen = asked.study.frozen(SPACE.at(0), {1: 3.0}, Status.OK)
    assert (frozen.state, frozen.value) == (second.state, second.value)


def test_a_listener_is_told_the_runs_number_at_each_change() -> None:
    asked = Asked(ExhaustiveSampler(LINE, 0), 2)
    heard: list[tuple[int, TrialState, dict[int, float], Any]] = []

    def listen(number: int, trial: FrozenTrial) -> None:
        values = [round(value, 6) for value in trial.values or ()]
        heard.append((number, trial.state, dict(trial.intermediate_values), values))

    asked.study.listen(listen)
    asked.learn(LINE.at(0), {0: 1.0, 1: 4.0})
    for number, values in ((70, {0: 2.0, 1: 8.0}), (71, {0: 6.0})):
        proposal = asked.ask()
        assert proposal is not None
        asked.study.begin(proposal, number)
        for size, value in values.items():
            proposal.report(size, value)
        row = build_measurement(number, 8, 1.0)
        asked.study.tell(proposal, Trial(number, proposal.config, (row,)), values)

    running, whole, pruned = TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED
    assert heard == [
        (70, running, {}, []),
        (70, running, {0: 2.0}, []),
        (70, running, {0: 2.0, 1: 8.0}, []),
        (70, whole, {0: 2.0, 1: 8.0}, [4.0]),
        (71, running, {}, []),
        (71, running, {0: 6.0}, []),
        # 6 / sqrt(2) of the typical value on size 0, which is sqrt(8) over both sizes.
        (71, pruned, {0: 6.0}, [12.0]),
    ]


def test_a_sampler_of_no_configs_is_refused() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler())
    with pytest.raises(TypeError, match="its sampler is no ConfigSampler"):
        TuningStudy(study, 1, ("none",), lambda config: "none")


class SlowSampler(RandomSampler):
    """Finds the configs of a list slowly, and then none."""

    def __init__(self, *configs: Config) -> None:
        super().__init__(LINE, 0)
        self._configs = list(configs)
        self.computes = threading.Event()
        self.may_end = threading.Event()
        self.at_once: list[bool] = []
        self._is_busy = False

    def _propose(self, study: optuna.Study, trial: FrozenTrial) -> Config | None:
        self._is_busy = True
        self.computes.set()
        assert self.may_end.wait(60)
        self._is_busy = False
        return self._configs.pop(0) if self._configs else None

    def worthwhile(self, study: optuna.Study, config: Config) -> tuple[int, ...] | None:
        self.at_once.append(self._is_busy)
        return None


def in_background(asked: Asked) -> tuple[threading.Thread, list[object]]:
    """Ask in another thread, which adds its answer or error to the list."""
    found: list[object] = []

    def ask() -> None:
        try:
            found.append(asked.ask())
        except BaseException as error:  # noqa: BLE001  # the test looks at it
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, found


def test_what_is_learnt_while_the_space_turns_out_to_be_used_up_is_no_obstacle() -> None:
    sampler = SlowSampler()
    asked = Asked(sampler)
    thread, found = in_background(asked)
    assert sampler.computes.wait(60)
    asked.learn(LINE.at(3), 1.0)
    asked.study.note_running(LINE.at(4))
    sampler.may_end.set()
    thread.join(60)

    assert found == [None]
    states = [TrialState.PRUNED, TrialState.COMPLETE, TrialState.RUNNING]
    assert [trial.state for trial in asked.trials] == states


def test_a_config_is_taken_when_the_sampler_has_computed() -> None:
    sampler = SlowSampler()
    asked = Asked(sampler)
    thread, _ = in_background(asked)
    assert sampler.computes.wait(60)
    threading.Timer(0.05, sampler.may_end.set).start()
    taken = asked.study.take(LINE.at(3))
    thread.join(60)

    assert taken.config == LINE.at(3)
    assert sampler.at_once == [False]


def test_a_config_that_another_process_began_meanwhile_does_not_end_the_search() -> None:
    sampler = SlowSampler(LINE.at(3), LINE.at(4))
    asked = Asked(sampler)
    thread, found = in_background(asked)
    assert sampler.computes.wait(60)
    asked.study.note_running(LINE.at(3))
    sampler.may_end.set()
    thread.join(60)

    assert [proposal.config for proposal in found if isinstance(proposal, Proposal)] == [
        LINE.at(4)
    ]
