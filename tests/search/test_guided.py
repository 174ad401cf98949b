from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.measurement import Status
from mltune.measurement.recording import Point, Recording
from mltune.search import surrogate
from mltune.search.candidates import Candidates, CandidateSource
from mltune.search.encoding import Encoding
from mltune.search.forecast import Forecast, Posterior
from mltune.search.gaussian_process import GaussianProcess, fit
from mltune.search.guided import GuidedSampler
from mltune.search.incumbents import Incumbents
from mltune.search.random import RandomSampler
from mltune.search.sampler import ConfigSampler
from mltune.search.transfer import Transfer
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from tests.studies import Asked, Step, Values

SPACE = Space(
    name="bench",
    family="none",
    parameters=[
        Parameter("x", tuple(range(1, 17))),
        Parameter("y", (1, 2, 4, 8, 16)),
        Parameter("z", (0, 1, 2, 3)),
        Parameter("way", ("a", "b", "c")),
    ],
    constraints=[Constraint("few", "x * y <= 128")],
    limits={},
)


def value(config: Config) -> float | None:
    """The log of a time: a valley with one special x, in which some configs fail."""
    x, y, z = config.int("x"), config.int("y"), config.int("z")
    if x * y > 100 and z == 3:
        return None
    slow = abs(math.log2(y) - 2) + 0.5 * abs(z - 2) + (config["way"] != "b")
    return slow + 0.1 * abs(x - 9) - (1.5 if x == 6 else 0)


def answer(config: Config, sizes: tuple[int, ...] = (0,)) -> Values:
    found = value(config)
    return Status.INVALID if found is None else math.exp(found)


def best_of(sampler: ConfigSampler, count: int) -> float:
    """The best value after a number of trials."""
    return best_step(Asked(sampler), count)


def best_step(asked: Asked, count: int) -> float:
    steps = asked.steps(answer, count)
    assert len(steps) == count
    found = [value(config) for config, _ in steps]
    return min((one for one in found if one is not None), default=math.inf)


def records(shuffled: bool = False) -> Recording:
    """Records of another device: the same valley, slower, without one of the parameters."""
    configs = [config for config in SPACE if config["way"] == "b"]
    answers = [value(config) for config in configs]
    if shuffled:
        order = np.random.default_rng(0).permutation(len(answers))
        answers = [answers[number] for number in order]
    points = [
        Point(
            Config.of({name: one for name, one in config.items() if name != "way"}),
            None if answer is None else 3 * math.exp(answer),
            Status.INVALID if answer is None else Status.OK,
        )
        for config, answer in zip(configs, answers, strict=True)
    ]
    return Recording(where="elsewhere", problem="", device="", points=tuple(points))


@pytest.mark.long
def test_finds_the_best_sooner_than_chance() -> None:
    optimum = min(answer for answer in map(value, SPACE) if answer is not None)
    guided = [best_of(GuidedSampler(SPACE, seed), 50) for seed in range(2)]
    random = [best_of(RandomSampler(SPACE, seed), 50) for seed in range(2)]

    assert guided == pytest.approx([optimum] * 2)
    assert sum(random) > sum(guided) + 0.5


def test_a_resumed_search_goes_on_as_if_not_cut_off() -> None:
    whole = Asked(GuidedSampler(SPACE, 1)).steps(answer, 30)
    resumed = Asked(GuidedSampler(SPACE, 1))
    for config, _ in whole[:20]:
        resumed.learn(config, answer(config))

    assert resumed.steps(answer, 10) == whole[20:]


def test_a_prior_shows_where_to_begin() -> None:
    transfer = Transfer(SPACE, [records()], 0)
    knowing = GuidedSampler(SPACE, 0, transfer=transfer)

    assert best_of(knowing, 8) < best_of(GuidedSampler(SPACE, 0), 8)


def test_a_prior_that_is_learnt_beside_the_first_trials_says_the_same() -> None:
    late, early = (GuidedSampler(SPACE, 0, transfer=Transfer(SPACE, [records()], 0)) for _ in "12")
    early.prepare()

    assert Asked(early).steps(answer, 12) == Asked(late).steps(answer, 12)


def test_what_is_prepared_late_does_not_replace_later_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mltune.search.candidates._SAMPLED", 50)
    few = surrogate.Thoroughness(most_listed=10)
    whole = Asked(GuidedSampler(SPACE, 0, thoroughness=few)).steps(answer, 36)
    resumed = Asked(GuidedSampler(SPACE, 0, thoroughness=few))
    for config, _ in whole[:30]:
        resumed.learn(config, answer(config))
    around = CandidateSource.around
    found: list[Step] = []

    def slow(source: CandidateSource, leaders: Iterable[Config]) -> Candidates:
        made = around(source, leaders)
        if leaders == ():
            found.extend(resumed.steps(answer, 1))
        return made

    with monkeypatch.context() as patched:
        patched.setattr(CandidateSource, "around", slow)
        resumed.sampler.prepare()

    assert found
    assert [*found, *resumed.steps(answer, 6 - len(found))] == whole[30:]


@pytest.mark.long
def test_a_prior_that_misleads_is_soon_given_up() -> None:
    optimum = min(answer for answer in map(value, SPACE) if answer is not None)
    transfer = Transfer(SPACE, [records(shuffled=True)], 0)
    misled = GuidedSampler(SPACE, 0, transfer=transfer)

    assert best_of(misled, 40) == pytest.approx(optimum, abs=0.2)


def test_a_prior_must_share_parameters_and_have_times() -> None:
    other = Point(Config.of({"other": 1}), 1.0, Status.OK)
    few = Point(Config.of({"x": 1}), 1.0, Status.OK)
    for point, rule in ((other, "shares no parameter"), (few, "needs 10")):
        recording = Recording(where="file", problem="", device="", points=(point,))
        with pytest.raises(UsageError, match=f"file: .*{rule}"):
            Transfer(SPACE, [recording], 0)


def test_learns_from_points_of_one_space_if_a_record_has_several() -> None:
    """As of a run of two spaces of one family."""
    known = records()
    fewer = [
        replace(point, config=Config.of({"x": point.config["x"], "own": 1}))
        for point in known.points
    ]

    transfer = Transfer(SPACE, [replace(known, points=(*fewer, *known.points))], 0)

    alone = Transfer(SPACE, [known], 0)
    some = list(islice(SPACE, 5))
    assert transfer.views(some).tolist() == alone.views(some).tolist()


HUGE = Space(
    name="huge",
    family="none",
    parameters=[Parameter(f"p{number}", tuple(range(10))) for number in range(8)],
    limits={},
)


def digits(config: Config, sizes: tuple[int, ...] = (0,)) -> float:
    return math.exp(sum(config.int(name) for name in config))


@pytest.mark.long
def test_in_a_huge_space_three_of_four_proposals_are_made_from_the_best() -> None:
    steps = Asked(GuidedSampler(HUGE, 0)).steps(digits, 24)
    anywhere = set(CandidateSource(HUGE, Encoding(HUGE), 0).around(()).configs)
    afar = [number for number, (config, _) in enumerate(steps) if config in anywhere]

    assert all(number % 4 == 0 for number in afar if number >= 10)


@pytest.mark.long
def test_a_huge_space_is_searched_within_little_memory() -> None:
    tracemalloc.start()
    # Ten random configs, then those that the model chooses.
    steps = Asked(GuidedSampler(HUGE, 0)).steps(digits, 12)
    assert tracemalloc.get_traced_memory()[1] < 3e8
    tracemalloc.stop()
    assert len({config for config, _ in steps}) == 12


def test_answers_from_elsewhere_bring_no_more_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def counted(*given: Any, **named: Any) -> Any:
        fits.append(given)
        return fit(*given, **named)

    monkeypatch.setattr(surrogate, "fit", counted)
    alone, shared = Asked(GuidedSampler(SPACE, 1)), Asked(GuidedSampler(SPACE, 1))
    best_step(alone, 25)
    count = len(fits)
    others = iter(SPACE)
    for _ in range(25):
        best_step(shared, 1)
        for config in islice(others, 3):
            shared.study.note_running(config)
            shared.learn(config, answer(config))

    assert len(fits) - count <= count


def without_answers(ranks: list[int]) -> GaussianProcess:
    """A model of candidates that have these ranks along every parameter."""
    encoding = Encoding(SPACE)
    none = np.zeros((0, encoding.width), dtype=np.int64)
    hyper = fit(encoding, none, np.zeros((0, 1)), np.zeros((0, 0)), variance=1.0, length=2.0)
    candidates = np.repeat(np.array(ranks)[:, None], encoding.width, axis=1)
    return GaussianProcess(encoding, hyper, candidates, np.zeros((len(ranks), 0)))


def test_the_gain_of_candidates_that_are_alike_counts_once() -> None:
    process = without_answers([0, 0, 1])
    mean, deviation = process.predict(np.zeros((0, 1)))
    ones = np.ones(1, dtype=np.float32)
    posterior = Posterior(process, mean, deviation, 0.5 * ones, 3 * ones)
    alone = float(posterior.gains[0, 0])

    gains = [float(posterior.together(those)[0]) for those in ([0], [0, 1], [0, 2])]

    assert gains[0] == pytest.approx(alone, rel=0.2)
    assert gains[1] == pytest.approx(alone, rel=0.2)
    assert 1.2 * alone < gains[2] < 2 * alone
    candidates: Any = None
    nothing = Forecast.of(candidates, [posterior], np.array([True]))
    assert not nothing.gains.any()
    assert not nothing.together([0, 2]).any()


def test_an_outstanding_best_answer_leaves_the_choice_to_the_means() -> None:
    known, unknown = (0.0, 0.3), (1.5, 0.6)  # mean and deviation, in units of the model
    mean, deviation = np.array([known, unknown], dtype=np.float32).T
    best, ones = np.array([-3.0], dtype=np.float32), np.ones(1, dtype=np.float32)
    process = without_answers([0, 0])
    posterior = Posterior(process, mean[None], deviation, best, ones)
    free = np.ones(2, dtype=np.bool_)
    assert int(np.argmax(posterior.gains[0])) == 1
    assert int(np.argmax(posterior.gains_within_reach(free)[0])) == 0
    near = replace(posterior, best=np.array([0.5], dtype=np.float32))
    assert np.array_equal(near.gains, near.gains_within_reach(free))


def test_the_answers_to_model_are_chosen_in_linear_time() -> None:
    class Counted:
        hashed = 0

        def __hash__(self) -> int:
            Counted.hashed += 1
            return id(self)

    answers: Any = {Counted(): np.array([float(number)]) for number in range(2_000)}
    before = Counted.hashed
    kept = surrogate._kept(answers, Incumbents((1,)))

    assert len(kept) == 1_000
    assert Counted.hashed - before < 10 * len(answers)
