"""The report on a machine, from copies of system files in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.runner.environment import advice, of_load


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_machine_about_which_nothing_is_wrong(tmp_path: Path, device_info: DeviceInfo) -> None:
    written(tmp_path / "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n")
    written(tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")

    assert advice(device_info, tmp_path) == ()


def test_clocks_that_wander_are_named_with_their_cure(
    tmp_path: Path, device_info: DeviceInfo
) -> None:
    written(tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n")
    written(tmp_path / "sys/devices/system/cpu/cpufreq/boost", "1\n")

    governor, boost = advice(device_info, tmp_path)

    assert governor.startswith("the clock follows the governor 'schedutil'")
    assert governor.endswith("sudo cpupower frequency-set -g performance")
    assert boost.startswith("the clock may boost")


def test_the_clock_of_the_processor_may_boost_for_a_gpu(
    tmp_path: Path, device_info: DeviceInfo
) -> None:
    written(tmp_path / "sys/devices/system/cpu/cpufreq/boost", "1\n")

    assert advice(replace(device_info, kind="gpu"), tmp_path) == ()


def test_other_work_and_a_greedy_hypervisor_are_named() -> None:
    assert list(of_load((2, 0, 1, 95, 2, 0, 0, 0))) == []
    assert [line.split(":")[0] for line in of_load((30, 0, 10, 55, 0, 0, 0, 5))] == [
        "other work takes 40% of the processor",
        "the hypervisor takes 5% of the processor for other machines",
    ]
