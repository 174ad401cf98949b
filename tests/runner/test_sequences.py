from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat

import pytest

from mltune.runner.sequences import LONG_SECONDS, SequenceClock, event_seconds
from mltune.runner.timing import ClockError, SamplingPlan, TooSlowError, sample

PLAN = SamplingPlan(samples=7)


@dataclass
class FakeLaunch:
    started_ns: int
    ended_ns: int

    def wait(self) -> None:
        pass


@dataclass
class FakeGpu:
    """A GPU on which the n-th launch takes `seconds(n)`, and longer alone or with an event.

    The events of the first `disturbed` sequences take far longer.
    """

    seconds: Callable[[int], float]
    alone_seconds: float = 3e-6
    event_seconds: float = 2e-6
    disturbed: int = 0
    launches: int = 0
    holds: list[float] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    checked: list[int] = field(default_factory=list)
    now: float = 0.0

    def launch(self) -> FakeLaunch:
        self.now += 20e-6
        return self._launch(self.alone_seconds)

    def launch_checked(self) -> FakeLaunch:
        self.checked.append(self.launches)
        return self.launch()

    def follow(self, count: int) -> FakeLaunch:
        self.batches.append(count)
        begin = self.now
        for _ in range(count):
            last = self._launch(0.0)
        event = 5e-4 if len(self.batches) <= self.disturbed else self.event_seconds
        self.now += event
        return FakeLaunch(round(begin * 1e9), last.ended_ns + round(event * 1e9))

    def _launch(self, more: float) -> FakeLaunch:
        begin = self.now
        self.now += self.seconds(self.launches) + more
        self.launches += 1
        return FakeLaunch(round(begin * 1e9), round(self.now * 1e9))

    def hold(self, seconds: float) -> FakeLaunch:
        self.holds.append(seconds)
        return FakeLaunch(0, round(seconds * 1e9))

    def clock(self, **changes: float) -> SequenceClock:
        return SequenceClock(self.follow, self.hold, is_cool=False, **changes)


def test_a_short_kernel_takes_what_it_adds_to_a_sequence() -> None:
    gpu = FakeGpu(lambda _: 8e-6)
    added = event_seconds(gpu.clock(), gpu.launch)

    seconds = sample(gpu.launch, PLAN, sequences=gpu.clock(event_seconds=added))

    assert added == pytest.approx(2e-6, rel=1e-2)
    assert seconds == pytest.approx((8e-6,) * 7, rel=1e-3)
    assert gpu.batches[-7:] == [10] * 7
    assert all(held > 0 for held in gpu.holds)


def test_a_disturbance_does_not_pass_for_what_an_event_adds() -> None:
    """It would make all later times of the process too short."""

    for sequences, most in ((20, 2.1e-6), (10**9, 5e-6)):
        gpu = FakeGpu(lambda _: 8e-6, disturbed=sequences)

        assert event_seconds(gpu.clock(), gpu.launch) <= most


@pytest.mark.parametrize(("seconds", "cold"), [(LONG_SECONDS, False), (8e-6, True)])
def test_long_kernels_and_those_with_cold_caches_are_timed_alone(
    seconds: float, cold: bool
) -> None:
    gpu = FakeGpu(lambda _: seconds)

    sample(
        gpu.launch,
        SamplingPlan(samples=7, cold=cold),
        evict=lambda: None,
        sequences=gpu.clock(),
    )

    assert not gpu.batches


def test_a_short_kernel_is_timed_in_sequences_though_one_launch_was_disturbed() -> None:
    gpu = FakeGpu(lambda number: 2e-3 if number == 0 else 8e-6)

    sample(gpu.launch, PLAN, checked_seconds=1e-5, sequences=gpu.clock())

    assert gpu.batches[-7:] == [10] * 7


def test_the_first_sequences_of_a_kernel_do_not_count_until_they_are_steady() -> None:
    gpu = FakeGpu(lambda number: 5e-6 * 1.05 ** max(0, 40 - number))

    assert sample(gpu.launch, PLAN, sequences=gpu.clock()) == pytest.approx((5.125e-6,) * 7, 1e-3)


def test_a_disturbance_at_the_end_of_the_warm_up_does_not_shorten_later_sequences() -> None:
    gpu = FakeGpu(lambda number: 1e-4 if number == 12 else 8e-6)

    sample(gpu.launch, PLAN, sequences=gpu.clock())

    assert gpu.batches[-7:] == [10] * 7


def test_a_device_that_was_idle_is_warmed_up_for_longer() -> None:
    def launches(is_cool: bool) -> int:
        gpu = FakeGpu(lambda _: 8e-6)
        clock = SequenceClock(gpu.follow, gpu.hold, is_cool=is_cool)
        sample(gpu.launch, PLAN, sequences=clock)
        return gpu.launches

    alone = 8e-6 + FakeGpu.alone_seconds
    assert (launches(True) - launches(False)) * alone >= 0.002


def test_a_slow_first_launch_does_not_shorten_the_warm_up_of_an_idle_device() -> None:
    gpu = FakeGpu(lambda number: 9e-4 if number == 0 else 8e-6)

    sample(gpu.launch, PLAN, sequences=SequenceClock(gpu.follow, gpu.hold, is_cool=True))

    assert sum(gpu.batches[:-7]) * (8e-6 + gpu.event_seconds / 10) >= 0.002


@pytest.mark.parametrize(("host", "held"), [(0.01, 1.3 * 0.01), (1.0, 0.02)])
def test_samples_are_taken_again_if_the_host_was_slower_than_the_hold(
    monkeypatch: pytest.MonkeyPatch, host: float, held: float
) -> None:
    moments = chain([5.0, 5.0, 5.0 + host], repeat(9.0))  # late for the second sequence
    monkeypatch.setattr("mltune.runner.sequences.time.perf_counter", lambda: next(moments))
    gpu = FakeGpu(lambda _: 8e-6)

    sample(gpu.launch, PLAN, sequences=gpu.clock())

    # The second time the device is held 1.3 times as long as the host took before, or for 20 ms.
    assert gpu.holds[:2] == pytest.approx([1.7e-4, held], rel=1e-2)
    assert len(gpu.batches) == 2 + 2 + 7


def test_checks_are_between_sequences_and_after_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mltune.runner.sequences.time.perf_counter", lambda: 0.0)
    firsts = set()
    for _ in range(40):
        gpu = FakeGpu(lambda _: 8e-6)

        times = sample(gpu.launch, PLAN, launch_checked=gpu.launch_checked, sequences=gpu.clock())

        assert times == pytest.approx((8.2e-6,) * 7, rel=1e-3)
        first, second, last = gpu.checked
        assert second == first + 1
        assert last == gpu.launches - 1
        firsts.add(first)
    assert len(firsts) > 7  # not always a multiple of a sequence's launches


def test_a_clear_loser_gets_few_samples() -> None:
    gpu = FakeGpu(lambda _: 8e-6)

    seconds = sample(
        gpu.launch,
        SamplingPlan(samples=7, give_up_above=7e-6),
        launch_checked=gpu.launch_checked,
        sequences=gpu.clock(),
    )

    assert len(seconds) == 3
    assert not gpu.checked


@pytest.mark.parametrize(
    ("limit", "is_cool", "warm_up"), [(6e-5, False, [25]), (5e-5, False, []), (5e-5, True, [25])]
)
def test_a_kernel_without_hope_is_hardly_warmed_up_unless_the_clock_may_be_low(
    limit: float, is_cool: bool, warm_up: list[int]
) -> None:
    gpu = FakeGpu(lambda _: 8e-5)
    clock = SequenceClock(gpu.follow, gpu.hold, is_cool=is_cool, event_seconds=gpu.event_seconds)

    sample(gpu.launch, SamplingPlan(samples=7, give_up_above=limit), sequences=clock)

    assert gpu.batches == [*warm_up, 1, 1, 1, 1, 1]


def test_a_kernel_without_hope_is_not_waited_for_while_it_becomes_faster() -> None:
    gpu = FakeGpu(lambda number: 8e-5 / 1.1**number)

    sample(gpu.launch, SamplingPlan(samples=7, give_up_above=1e-5), sequences=gpu.clock())

    assert len(gpu.batches) == 2 + 3


def test_sequences_begin_at_the_end_of_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mltune.runner.sequences.time.perf_counter", lambda: 0.0)
    gpu = FakeGpu(lambda _: 8e-6)

    sample(gpu.launch, PLAN, sequences=gpu.clock())

    assert gpu.batches == [8, 8, *[10] * 7]
    assert gpu.launches == 1 + (1 + 2 * 8) + (1 + 7 * 10)


def test_times_that_cannot_be_are_refused() -> None:
    gpu = FakeGpu(lambda _: 8e-6)
    slow = partial(sample, FakeGpu(lambda _: 9e-4).launch, PLAN, seconds_left=5e-3)

    with pytest.raises(ClockError, match="computes that in less than"):
        sample(gpu.launch, PLAN, least_seconds=9e-6, sequences=gpu.clock())
    with pytest.raises(TooSlowError, match="7 of them do not fit"):
        slow(sequences=gpu.clock())
