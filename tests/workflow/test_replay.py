"""The verdict on a repeated measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import NoDeviceError, UsageError
from mltune.measurement import Measurement, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.recorded_device import recorded_device
from mltune.workflow.replay import ReplayResult, replay

Make = Callable[..., Measurement]


def _verdict(recorded: Measurement, repeated: Measurement) -> str:
    return ReplayResult(recorded, repeated).verdict


def test_times_within_the_spread_of_the_samples_agree(make: Make) -> None:
    old = make(0, 8, 1.0, seconds=(0.9, 1.0, 1.1))

    assert _verdict(old, make(0, 8, 1.15)).startswith("agree: 1.150 of the recorded time")


def test_times_beyond_the_spread_differ(make: Make) -> None:
    verdict = _verdict(make(0, 8, 1.0), make(0, 8, 2.0))

    assert verdict == (
        "differ: 2.000 of the recorded time; the slowest repeated sample takes 1.00 times the "
        "fastest"
    )


def test_samples_that_are_spread_far_do_not_make_other_times_agree(make: Make) -> None:
    verdict = _verdict(make(0, 8, 1.0), make(0, 8, 0.65, seconds=(0.5, 0.65, 3.2)))

    assert verdict == (
        "too noisy to tell: 0.650 of the recorded time; the slowest repeated sample takes 6.40 "
        "times the fastest"
    )


def test_the_same_failure_agrees_and_another_does_not(make: Make) -> None:
    crashed, wrong = make(0, 8, Status.CRASHED), make(0, 8, Status.WRONG_RESULT)

    assert _verdict(crashed, crashed) == "agree: crashed both times"
    assert _verdict(crashed, wrong) == "disagree: crashed was recorded, wrong_result came now"
    assert ReplayResult(crashed, wrong).ratio is None


def test_another_source_is_not_compared(make: Make) -> None:
    verdict = _verdict(make(0, 8, 1.0), make(0, 8, 1.0, source_hash="fedcba9876543210"))

    assert verdict.startswith("not comparable")


@pytest.mark.parametrize("changes", [{"driver": "4.0"}, {"device": "another"}])
def test_another_device_or_driver_is_not_compared(make: Make, changes: dict[str, str]) -> None:
    verdict = _verdict(make(0, 8, 1.0), make(0, 8, 1.0, **changes))

    assert verdict == "another device or driver: recorded on pthread 3.0"


def test_a_family_that_is_gone_cannot_be_repeated(
    info: RunInfo, make: Make, save: Callable[..., Path]
) -> None:
    folder = save("run", info, [make(0, 8, 1.0, family="woven")])

    with pytest.raises(UsageError, match="measurement 1: unknown kernel family 'woven'"):
        replay(folder, 1, None)


def test_a_device_that_is_elsewhere_is_named(
    info: RunInfo, make: Make, save: Callable[..., Path]
) -> None:
    far = replace(info.device, name="NVIDIA H200", uuid="pci-0000:00:06")
    folder = save("run", replace(info, device=far), [make(0, 8, 1.0)])

    with pytest.raises(NoDeviceError, match="run: was measured on NVIDIA H200, which is not here"):
        replay(folder, 1, None)


def test_the_id_of_a_device_that_is_elsewhere_is_not_shown(info: RunInfo) -> None:
    far = replace(info.device, name="NVIDIA H200", uuid="pci-0000:00:06")

    with (
        pytest.raises(NoDeviceError) as refused,
        recorded_device(far, None, "run") as asked,
    ):
        raise NoDeviceError(f"no device '{asked}'", known=["0:0 a CPU (PoCL)"])

    assert str(refused.value) == (
        "run: was measured on NVIDIA H200, which is not here; --device names another "
        "(known: 0:0 a CPU (PoCL))"
    )


class _OpenedError(Exception):
    """Raised in the place of opening a device."""


def test_a_measurement_is_repeated_as_it_was_timed(
    info: RunInfo, make: Make, save: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: dict[str, object] = {}

    def open_device(*_: object, **options: object) -> None:
        opened.update(options)
        raise _OpenedError

    monkeypatch.setattr("mltune.workflow.run_setup.WorkerRunner", open_device)
    timing = replace(info.timing, samples=11, cache="cold", run_timeout_seconds=5.0)
    folder = save("run", replace(info, timing=timing, seed=3), [make(0, 8, 1.0, family="tiled")])
    with pytest.raises(_OpenedError):
        replay(folder, 1, None)

    asked = (opened["samples"], opened["cold"], opened["run_timeout_seconds"], opened["seed"])
    assert asked == (11, True, 5.0, 3)
