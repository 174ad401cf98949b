"""Requirements for every sampler; a new one only adds a line to `SAMPLERS`."""

from __future__ import annotations

import importlib
import math
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.measurement import Status
from mltune.search import names
from mltune.search.feasible_sampler import FeasibleSampler
from mltune.search.guided import GuidedSampler
from mltune.search.make import make_sampler
from mltune.search.sampler import ConfigSampler
from mltune.search.surrogate import THRIFTY
from mltune.search.union_sampler import UnionSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space
from mltune.space.union import UnionSpace, family_parameter, members_of
from tests.studies import Asked, Step, Values

SPACE = Space(
    name="small",
    family="none",
    parameters=[
        Parameter("x", (1, 2, 4, 8, 16)),
        Parameter("y", (0, 1, 2)),
        Parameter("word", ("a", "b", "c")),
        Parameter("fixed", (7,)),
    ],
    constraints=[Constraint("few", "x * y <= 16"), Constraint("apart", "word == 'c' or x > 2")],
    limits={},
)
OTHER = Space(
    name="other",
    family="others",
    parameters=[
        family_parameter("others"),
        Parameter("y", (2, 3, 4)),
        Parameter("z", (1, 3, 5)),
        Parameter("word", ("c", "d")),
    ],
    constraints=[Constraint("even", "(y + z) % 2 == 1")],
    limits={},
    default={"y": 4, "z": 5},
)
MORE = Space(
    name="more",
    family="others",
    parameters=[family_parameter("others"), *OTHER.parameters[1:3], Parameter("word", ("d",))],
    limits={},
)
NAMED = Space(
    name="small",
    family="none",
    parameters=[family_parameter("none"), *SPACE.parameters],
    constraints=[Constraint("few", "x * y <= 16"), Constraint("apart", "word == 'c' or x > 2")],
    limits={},
)
UNION = UnionSpace("several", [NAMED, OTHER, MORE])
SPACES: dict[str, ConfigSpace] = {"alone": SPACE, "union": UNION}
COUNTS = (5, 1, 1)
Make = Callable[[ConfigSpace, int], ConfigSampler]


class OwnSampler(BaseSampler):
    """A user's sampler: it proposes each value alone, and always the last one."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        if isinstance(param_distribution, optuna.distributions.IntDistribution):
            return int(self._random.integers(param_distribution.low, param_distribution.high + 1))
        assert isinstance(param_distribution, optuna.distributions.CategoricalDistribution)
        return param_distribution.choices[-1 - int(self._random.integers(2))]


def named(name: str, **arguments: Any) -> Make:
    def make(space: ConfigSpace, seed: int) -> ConfigSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return make_sampler(name, space, seed, arguments=arguments)

    return make


def numeric(make: Callable[[int], BaseSampler]) -> Make:
    return lambda space, seed: FeasibleSampler(space, make(seed), seed, numeric=True)


def categories(make: Callable[[int], BaseSampler]) -> Make:
    return lambda space, seed: FeasibleSampler(space, make(seed), seed)


def guided_of_sizes(space: ConfigSpace, seed: int) -> ConfigSampler:
    if isinstance(space, UnionSpace):
        return UnionSampler(space, seed, COUNTS)
    (flat,) = members_of(space)
    return GuidedSampler(flat, seed, COUNTS, thoroughness=THRIFTY)


OWN: dict[str, Make] = {name: named(name) for name in sorted(names.SAMPLERS)} | {
    "guided of sizes": guided_of_sizes,
}
"""Our own samplers. All but `tpe` read only those parts of a study that `ConfigSampler` shows
them.
"""

SAMPLERS: dict[str, Make] = OWN | {
    "optuna's random": named("optuna.samplers:RandomSampler"),
    "optuna's tpe": named("optuna.samplers:TPESampler"),
    "optuna's tpe, joint": named("optuna.samplers:TPESampler", multivariate=True),
    "optuna's tpe of numbers": numeric(lambda seed: optuna.samplers.TPESampler(seed=seed)),
    "cma-es": named("optuna.samplers:CmaEsSampler"),
    "qmc": named("optuna.samplers:QMCSampler", warn_asynchronous_seeding=False),
    "nsga-ii": named("optuna.samplers:NSGAIISampler", population_size=8),
    "nsga-ii of numbers": numeric(
        lambda seed: optuna.samplers.NSGAIISampler(seed=seed, population_size=8)
    ),
    "a user's own": categories(OwnSampler),
    "a user's own of numbers": numeric(OwnSampler),
}
SIZES = {"guided of sizes": len(COUNTS)}
RESUMED = ("evolution", "exhaustive", "guided", "guided of sizes", "random")
"""Samplers that continue after an interruption as if there had been none."""


@pytest.fixture(params=sorted(SAMPLERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=sorted(SPACES), scope="module")
def space(request: pytest.FixtureRequest) -> ConfigSpace:
    return SPACES[request.param]


@pytest.fixture(autouse=True)
def optunas_own_warnings(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skip samplers whose package is not installed, unless all must be; ignore harmless warnings.

    Optuna calls multivariate TPE experimental. Its CMA-ES and QMC warn each time that an
    independent sampler proposes words and the first trials.
    """
    if request.node.callspec.params.get("name") == "cma-es":
        try:
            importlib.import_module("cmaes")
        except ImportError:
            if os.environ.get("CI"):
                raise
            pytest.skip("THERE IS NO cmaes: pip install cmaes (it is in mltune-opencl[test])")
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield
    optuna.logging.set_verbosity(level)


def begun(name: str, seed: int = 0, space: ConfigSpace = SPACE) -> Asked:
    """Begin a study."""
    return Asked(SAMPLERS[name](space, seed), SIZES.get(name, 1))


def answer(config: Config, sizes: tuple[int, ...]) -> Values:
    """Every size has a different best config; about every seventh config fails."""
    if int(config.id, 16) % 7 == 0:
        return Status.BUILD_ERROR
    x = math.log2(config.int("x")) if "x" in config else config.int("z") / 2
    y = config.int("y")
    away = (abs(x - 2) + y, abs(x - y), x + abs(y - 2))
    return {size: math.exp(away[size] + (config["word"] == "a")) for size in sizes}


def configs(asked: Asked, count: int = 2**31) -> list[Config]:
    """Ask and tell up to `count` times."""
    return [config for config, _ in asked.steps(answer, count)]


def every(name: str) -> tuple[int, ...]:
    return tuple(range(SIZES.get(name, 1)))


def used_up(name: str, space: ConfigSpace) -> tuple[Asked, list[Step]]:
    """A study whose space is used up, and its steps, for several tests."""
    return _used_up(name, next(key for key, one in SPACES.items() if one is space))


@cache
def _used_up(name: str, key: str) -> tuple[Asked, list[Step]]:
    asked = begun(name, space=SPACES[key])
    return asked, asked.steps(answer)


def resumed_after(steps: list[Step], name: str, space: ConfigSpace, seed: int = 0) -> Asked:
    """A new study that learns these steps."""
    asked = begun(name, seed, space)
    for config, sizes in steps:
        asked.learn(config, answer(config, sizes))
    return asked


def test_proposes_every_config_once_and_then_none(space: ConfigSpace, name: str) -> None:
    asked, steps = used_up(name, space)

    assert len(steps) == space.size
    assert {config for config, _ in steps} == set(space)
    assert all(sizes and set(sizes) <= set(every(name)) for _, sizes in steps)
    assert asked.ask() is None
    assert asked.ask() is None


def test_the_trial_holds_what_was_proposed(space: ConfigSpace, name: str) -> None:
    asked, steps = used_up(name, space)
    params = [dict(trial.params) for trial in asked.trials[: len(steps)]]

    assert params == [{"family": "none", **config} for config, _ in steps]


def test_seed_and_answers_decide_every_proposal_and_its_sizes(
    space: ConfigSpace, name: str
) -> None:
    _, steps = used_up(name, space)

    assert begun(name, 0, space).steps(answer, 15) == steps[:15]
    assert begun(name, 6, space).steps(answer, 8) != steps[:8]


def test_what_was_learnt_is_not_proposed_again(space: ConfigSpace, name: str) -> None:
    _, steps = used_up(name, space)
    rest = configs(resumed_after(steps[:-8], name, space))

    assert len(rest) == 8
    assert set(rest) == {config for config, _ in steps[-8:]}


def test_a_resumed_study_repeats_itself(space: ConfigSpace, name: str) -> None:
    told = used_up(name, space)[1][:13]
    rests = [resumed_after(told, name, space, seed=3).steps(answer, 5) for _ in range(2)]

    assert rests[0] == rests[1]


@pytest.mark.parametrize("cut", [1, 14])
@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_study_goes_on_as_if_not_cut_off(
    space: ConfigSpace, name: str, cut: int
) -> None:
    steps = used_up(name, space)[1][:15]
    resumed = begun(name, space=space)
    for config, sizes in steps[:cut]:
        # Results that are learnt without a proposal do not change the sizes of the next proposal.
        planned = resumed.sampler.worthwhile(resumed.study.study, config)
        assert planned is None or planned == sizes
        resumed.learn(config, answer(config, sizes))

    assert resumed.steps(answer, len(steps) - cut) == steps[cut:]


def test_what_runs_elsewhere_is_not_proposed_and_may_be_learnt(
    space: ConfigSpace, name: str
) -> None:
    asked = begun(name, space=space)
    elsewhere = space.sample(np.random.default_rng(1), space.size - 18)
    for config in elsewhere:
        asked.study.note_running(config)
    early = configs(asked, 12)
    for config in elsewhere:
        asked.learn(config, answer(config, every(name)))
    late = configs(asked)

    assert len(early) + len(late) == 18
    assert set(elsewhere).isdisjoint([*early, *late])


def test_what_runs_elsewhere_and_never_ends_is_not_waited_for(
    space: ConfigSpace, name: str
) -> None:
    asked = begun(name, space=space)
    elsewhere = space.sample(np.random.default_rng(1), space.size - 15)
    for config in elsewhere:
        asked.study.note_running(config)
    asked.learn(elsewhere[0], answer(elsewhere[0], every(name)))

    assert set(configs(asked)) == set(space) - set(elsewhere)


def test_what_is_claimed_elsewhere_first_is_dropped_and_not_proposed_again(
    space: ConfigSpace, name: str
) -> None:
    asked = begun(name, space=space)
    left = dict.fromkeys(space)
    for number in range(15):
        proposal = asked.ask()
        assert proposal is not None
        del left[proposal.config]
        if number % 3 == 2:
            asked.study.drop(proposal)
            asked.learn(proposal.config, answer(proposal.config, every(name)))
        else:
            asked.tell(proposal, answer(proposal.config, asked.sizes(proposal)))
    late = list(left)[:4]
    for config in list(left)[4:]:
        asked.learn(config, answer(config, every(name)))

    assert sorted(configs(asked), key=late.index) == late


def test_several_can_be_asked_before_the_first_is_told(space: ConfigSpace, name: str) -> None:
    asked = begun(name, space=space)
    seen = set(configs(asked, 11))
    for _ in range(3):
        batch = [asked.ask() for _ in range(4)]
        for proposal in reversed(batch):
            assert proposal is not None
            assert proposal.config in space
            assert proposal.config not in seen
            seen.add(proposal.config)
            asked.tell(proposal, answer(proposal.config, asked.sizes(proposal)))

    assert len(seen) == 23


def test_failures_alone_do_not_stop_it(space: ConfigSpace, name: str) -> None:
    asked = begun(name, space=space)
    failures = cycle((Status.CRASHED, Status.TIMEOUT))
    found = [config for config, _ in asked.steps(lambda config, sizes: next(failures))]

    assert set(found) == set(space)
    assert len(found) == space.size


@pytest.mark.parametrize("name", sorted(set(OWN) - {"tpe"}))
def test_a_second_answer_changes_nothing(space: ConfigSpace, name: str) -> None:
    asked = begun(name, space=space)
    steps: list[Step] = []
    for _ in range(15):
        steps += asked.steps(answer, 1)
        config, sizes = steps[-1]
        asked.learn(config, answer(config, sizes))

    assert steps == used_up(name, space)[1][:15]


def test_a_config_of_another_space_is_heard_and_not_proposed(name: str) -> None:
    sampler = SAMPLERS[name](SPACE, 0)
    asked = Asked(sampler, SIZES.get(name, 1), others=[Parameter("kernel", ("own", "wrong"))])
    asked.learn(Config.of({"kernel": "own"}), dict.fromkeys(every(name), 1.0))
    asked.learn(Config.of({"kernel": "wrong"}), Status.WRONG_RESULT)
    asked.study.note_running(Config.of({"kernel": "wrong"}))
    # The values are in the space, but break one of its rules.
    asked.learn(
        Config.of({"x": 16, "y": 2, "word": "a", "fixed": 7}), dict.fromkeys(every(name), 1.0)
    )
    left = [config for config, _ in used_up(name, SPACE)[1]][:13]
    for config in set(SPACE) - set(left):
        asked.learn(config, answer(config, every(name)))

    assert sorted(configs(asked), key=left.index) == sorted(left, key=left.index)


@pytest.mark.parametrize("value", [math.nan, None])
def test_what_is_no_number_is_a_failure_of_a_users_own_study(name: str, value: Any) -> None:
    sampler = SAMPLERS[name](SPACE, 0)
    study = optuna.create_study(sampler=sampler)
    for _ in range(SPACE.size):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Optuna warns of each such value
            study.tell(study.ask(sampler.distributions), value)

    assert {trial.state for trial in study.trials} == {optuna.trial.TrialState.FAIL}
    assert {Config.of(trial.params) for trial in study.trials} == set(SPACE)


def test_a_space_of_one_config(name: str) -> None:
    space = Space(name="one", family="none", parameters=[Parameter("x", (3,))], limits={})
    asked = begun(name, space=space)

    assert [asked.config(), asked.config()] == [Config.of({"x": 3}), None]


def test_a_space_of_a_few_scattered_configs(name: str) -> None:
    points = [Config.of({"x": x, "y": x * x % 11}) for x in (0, 3, 5, 9)]
    asked = begun(name, space=RecordedSpace("few", points))
    found = [c for c, _ in asked.steps(lambda config, sizes: dict.fromkeys(sizes, 1.0))]

    assert sorted(found, key=points.index) == points
