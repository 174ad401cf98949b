import pytest

from mltune.runner.timing import ClockError, TooSlowError, sample


class FakeLaunch:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.waited = False

    def wait(self) -> None:
        self.waited = True


class FakeDevice:
    def __init__(self, *seconds: float) -> None:
        self.launches: list[FakeLaunch] = []
        self._seconds = iter(seconds)

    def launch(self) -> FakeLaunch:
        self.launches.append(FakeLaunch(next(self._seconds)))
        return self.launches[-1]


def test_the_warm_up_is_not_among_the_samples() -> None:
    device = FakeDevice(9.0, 1.0, 2.0, 3.0)

    assert sample(device.launch, 3, 60.0) == (1.0, 2.0, 3.0)
    assert all(launch.waited for launch in device.launches)


def test_a_kernel_too_slow_for_all_samples_is_not_timed_with_fewer() -> None:
    device = FakeDevice(5.0)

    with pytest.raises(TooSlowError, match="one launch takes 5 s: 7 of them do not fit"):
        sample(device.launch, 7, 30.0)
    assert len(device.launches) == 1


@pytest.mark.parametrize("impossible", [0.0, -1e-6])
def test_a_time_that_cannot_be_is_refused(impossible: float) -> None:
    device = FakeDevice(1.0, 1.0, impossible)

    with pytest.raises(ClockError, match="clock gave"):
        sample(device.launch, 2, 60.0)
