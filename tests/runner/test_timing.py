from collections.abc import Callable

import pytest

from mltune.runner.timing import (
    ClockError,
    SamplingPlan,
    TooSlowError,
    median_interval,
    sample,
    spread,
)


class FakeLaunch:
    def __init__(self, started_ns: int, ended_ns: int) -> None:
        self.started_ns = started_ns
        self.ended_ns = ended_ns
        self.waited = False

    def wait(self) -> None:
        self.waited = True


class FakeDevice:
    """Runs launches one after the other; the n-th one takes `seconds(n)`."""

    def __init__(self, seconds: Callable[[int], float], gap_seconds: float = 0.0) -> None:
        self.launches: list[FakeLaunch] = []
        self.evictions = 0
        self._seconds = seconds
        self._gap_ns = round(gap_seconds * 1e9)
        self._now_ns = 1_700_000_000_000_000_000

    def launch(self) -> FakeLaunch:
        begin = self._now_ns + self._gap_ns
        self._now_ns = begin + round(self._seconds(len(self.launches)) * 1e9)
        self.launches.append(FakeLaunch(begin, self._now_ns))
        return self.launches[-1]

    def evict(self) -> None:
        self.evictions += 1


def plan(samples: int = 7, **changes: object) -> SamplingPlan:
    return SamplingPlan(samples=samples, **changes)  # type: ignore[arg-type]  # a few of each


def test_the_warm_up_is_not_among_the_samples() -> None:
    device = FakeDevice(lambda number: 9.0 if number == 0 else float(number))

    assert sample(device.launch, plan(3)) == pytest.approx((1.0, 2.0, 3.0))


def test_a_clock_that_still_rises_is_waited_for() -> None:
    device = FakeDevice(lambda number: 1e-5 * 1.1 ** max(0, 40 - number))

    assert sample(device.launch, plan(3)) == pytest.approx((1e-5,) * 3)


def test_a_kernel_too_slow_for_all_samples_is_not_timed_with_fewer() -> None:
    device = FakeDevice(lambda _: 5.0)

    with pytest.raises(TooSlowError, match="one launch takes 5 s: 7 of them do not fit"):
        sample(device.launch, plan(7), seconds_left=30.0)
    assert len(device.launches) == 1


@pytest.mark.parametrize("impossible", [0.0, -1e-6])
@pytest.mark.parametrize("at", [0, 3])
def test_a_time_that_cannot_be_is_refused(impossible: float, at: int) -> None:
    device = FakeDevice(lambda number: impossible if number == at else 1.0)

    with pytest.raises(ClockError, match="clock gave"):
        sample(device.launch, plan(7))


def test_a_time_faster_than_the_device_is_refused() -> None:
    device = FakeDevice(lambda _: 1e-6)

    with pytest.raises(ClockError, match="computes that in less than"):
        sample(device.launch, plan(7), least_seconds=2e-6)


def test_a_clear_loser_gets_few_samples_and_a_close_one_all() -> None:
    slow, close = FakeDevice(lambda _: 2.0), FakeDevice(lambda _: 1.2)

    assert len(sample(slow.launch, plan(give_up_above=1.3), checked_seconds=2.0)) == 3
    assert len(sample(close.launch, plan(give_up_above=1.3))) == 7
    once = FakeDevice(lambda number: 2.0 if number == 2 else 1.2)
    assert len(sample(once.launch, plan(give_up_above=1.3))) == 7


def test_a_far_slower_kernel_is_launched_once_more_and_a_disturbed_one_gets_its_samples() -> None:
    limit = plan(give_up_above=1.3)

    assert sample(FakeDevice(lambda _: 3.0).launch, limit, checked_seconds=3.0) == (3.0,)
    disturbed = FakeDevice(lambda number: 3.0 if number == 0 else 1.0)
    assert sample(disturbed.launch, limit, checked_seconds=1.0) == pytest.approx((1.0,) * 7)
    assert len(sample(FakeDevice(lambda _: 3.0).launch, plan(), checked_seconds=3.0)) == 7


@pytest.mark.parametrize(("seconds", "checked_seconds"), [(3e-4, 3e-4), (3e-3, 0.0)])
def test_a_short_kernel_and_one_that_was_not_checked_are_not_judged_by_two_launches(
    seconds: float, checked_seconds: float
) -> None:
    device = FakeDevice(lambda _: seconds)
    limit = plan(give_up_above=seconds / 10)

    assert len(sample(device.launch, limit, checked_seconds=checked_seconds)) == 3


def test_a_noisy_median_is_worth_more_samples_while_there_is_time() -> None:
    def noisy(number: int) -> float:
        return 1e-3 * (1 + 0.1 * (number % 3))

    assert len(sample(FakeDevice(noisy).launch, plan())) == 7
    assert len(sample(FakeDevice(noisy).launch, plan(extra_seconds=1.0))) == 35
    assert len(sample(FakeDevice(noisy).launch, plan(extra_seconds=0.01))) == 14
    assert len(sample(FakeDevice(noisy).launch, plan(10, extra_seconds=1.0))) == 35
    assert len(sample(FakeDevice(lambda _: 1e-3).launch, plan(extra_seconds=1.0))) == 7


@pytest.mark.parametrize(("first", "warm_up"), [(2e-6, 21), (1e-3, 22)])
def test_a_tiny_kernel_is_launched_several_times_a_sample(first: float, warm_up: int) -> None:
    device = FakeDevice(lambda number: 2e-6 if number else first)

    seconds = sample(device.launch, plan(), tick_seconds=1e-6)

    assert seconds == pytest.approx((2e-6,) * 7)
    assert len(device.launches) == warm_up + 7 * 10


def test_more_samples_of_a_tiny_kernel_take_the_time_of_all_their_launches() -> None:
    def noisy(number: int) -> float:
        return 2e-6 * (1 + 0.1 * (number // 10 % 3))

    def samples(extra_seconds: float) -> int:
        device = FakeDevice(noisy)
        return len(sample(device.launch, plan(extra_seconds=extra_seconds), tick_seconds=1e-6))

    assert samples(1e-4) == 7  # seven of ten launches take 1.4e-4
    assert samples(2e-4) == 14


def test_caches_are_emptied_before_every_launch_where_that_is_wanted() -> None:
    device = FakeDevice(lambda _: 2e-6)

    sample(device.launch, plan(cold=True), tick_seconds=1e-6, evict=device.evict)

    assert device.evictions == len(device.launches) == 21 + 7


def test_a_warm_plan_empties_no_caches() -> None:
    device = FakeDevice(lambda _: 2e-6)

    sample(device.launch, plan(), evict=device.evict)

    assert device.evictions == 0


def test_the_interval_holds_the_median_by_order_statistics() -> None:
    assert median_interval([5.0]) == (5.0, 5.0)
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == (1.0, 7.0)
    # 21 samples: ranks 6 and 16 enclose the median with 97 %.
    assert median_interval([float(n) for n in range(1, 22)]) == (6.0, 16.0)
    assert spread([1.0, 1.0, 1.0]) == 0
    assert spread([0.9, 1.0, 1.3]) == spread([0.7, 1.0, 1.1]) == pytest.approx(0.3)


def _checked_sample(device: FakeDevice) -> tuple[list[bool], tuple[float, ...]]:
    """The places of the checked launches, and the times."""
    kinds: list[bool] = []

    def launch(is_checked: bool) -> FakeLaunch:
        kinds.append(is_checked)
        return device.launch()

    times = sample(
        lambda: launch(False),
        plan(),
        tick_seconds=1e-6,
        launch_checked=lambda: launch(True),
        short_seconds=2e-5,
    )
    return kinds, times


@pytest.mark.parametrize("seconds", [1e-3, 2e-6])
def test_two_launches_in_a_row_and_the_last_one_are_checked_wherever_they_are(
    seconds: float,
) -> None:
    firsts = set()
    for _ in range(40):
        kinds, times = _checked_sample(FakeDevice(lambda _: seconds))
        checked = [number for number, is_checked in enumerate(kinds) if is_checked]
        firsts.add(checked[0])

        assert times == pytest.approx((seconds,) * 7)
        assert checked[1] == checked[0] + 1
        assert checked[-1] >= len(kinds) - 2
        assert len(checked) <= 3
    assert len(firsts) > 1


def test_long_launches_are_checked_as_they_are_and_short_ones_in_addition() -> None:
    def added(seconds: float) -> int:
        without, checked = FakeDevice(lambda _: seconds), FakeDevice(lambda _: seconds)
        sample(without.launch, plan())
        sample(checked.launch, plan(), launch_checked=checked.launch, short_seconds=2e-5)
        return len(checked.launches) - len(without.launches)

    assert added(1e-3) == 0
    assert added(1e-5) == 3


@pytest.mark.parametrize("samples", [1, 2, 3, 7])
@pytest.mark.parametrize("give_up_above", [None, 1.0])
def test_a_kernel_that_does_not_lose_the_race_is_always_checked(
    samples: int, give_up_above: float | None
) -> None:
    device, checked = FakeDevice(lambda _: 1e-3), FakeDevice(lambda _: 1e-3)

    sample(
        device.launch, plan(samples, give_up_above=give_up_above), launch_checked=checked.launch
    )

    assert 1 <= len(checked.launches) <= min(samples, 3)
