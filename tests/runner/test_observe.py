"""The observers, on made-up meters and a made-up library."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.runner import observe
from mltune.runner.observe import OBSERVERS, RaplObserver, make_observer, metered
from mltune.runner.timed import Timed
from tests.devices import CPU, GPU


class Launch:
    """A launch that has ended at once."""

    started_ns = ended_ns = 0

    def wait(self) -> None:
        """Return at once."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "_ENERGY_SECONDS", 0.01)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """NVIDIA's library for a GPU that tells neither its memory's clock nor, at first, energy."""

    class NVMLError(Exception):
        pass

    def clock(_: object, kind: str) -> int:
        if kind == "memory":
            raise NVMLError
        return 1755

    def energy(_: object) -> int:
        raise NVMLError

    made = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM="sm",
        NVML_CLOCK_MEM="memory",
        NVML_TEMPERATURE_GPU=0,
        nvmlClocksThrottleReasonSwPowerCap=4,
        nvmlClocksThrottleReasonHwSlowdown=8,
        nvmlClocksThrottleReasonSwThermalSlowdown=32,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetHandleByPciBusId=lambda address: address,
        nvmlDeviceGetClockInfo=clock,
        nvmlDeviceGetTemperature=lambda handle, kind: 61,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 1,
        nvmlDeviceGetTotalEnergyConsumption=energy,
    )
    monkeypatch.setitem(sys.modules, "pynvml", made)
    return made


def test_energy_is_that_of_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[Timed] = []

    def launch() -> Timed:
        launches.append(Launch())
        return launches[-1]

    seen = metered(launch, lambda: 2.0 * len(launches))

    assert seen["energy_joules"] == pytest.approx(2.0)
    assert seen["power_watts"] > 0
    assert metered(launch, lambda: 5.0) == {}
    backwards = itertools.count(0, -1)
    assert metered(launch, lambda: float(next(backwards))) == {}


def test_a_long_kernel_is_launched_once_for_its_energy() -> None:
    launches: list[Timed] = []

    class Long(Launch):
        def wait(self) -> None:
            time.sleep(0.02)

    def launch() -> Timed:
        launches.append(Long())
        return launches[-1]

    assert metered(launch, lambda: 3.0 * len(launches))["energy_joules"] == pytest.approx(3.0)
    assert len(launches) == 1


def test_the_meters_of_all_packages_are_added_up(tmp_path: Path) -> None:
    energy: Iterator[int] = itertools.count(1_000_000, 3_000_000)
    files = []
    for package in (0, 1):
        folder = tmp_path / f"intel-rapl:{package}"
        folder.mkdir()
        files.append(folder / "energy_uj")
    (tmp_path / "intel-rapl:0:0").mkdir()  # the cores of a package, which it contains
    (tmp_path / "intel-rapl:0:0" / "energy_uj").write_text("999999999\n")

    def launch() -> Timed:
        microjoules = next(energy)
        for file in files:
            file.write_text(f"{microjoules}\n")
        return Launch()

    launch()
    seen = RaplObserver(CPU, tmp_path).look(launch)

    assert seen["energy_joules"] == pytest.approx(6.0)


def test_a_meter_that_does_not_suit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="observer 'rapl': there is no meter in "):
        RaplObserver(CPU, tmp_path)
    with pytest.raises(UsageError, match="observer 'rapl': meters the processor, and the device"):
        RaplObserver(GPU, tmp_path)
    (tmp_path / "intel-rapl:0" / "energy_uj").mkdir(parents=True)
    with pytest.raises(UsageError, match="observer 'rapl': cannot read the meter"):
        RaplObserver(CPU, tmp_path)


def test_what_a_gpu_does_not_tell_is_left_out(nvml: SimpleNamespace) -> None:
    seen = make_observer(["nvml"], GPU).look(Launch)

    assert seen == {"clock_mhz": 1755, "temperature_celsius": 61, "throttled": 0}

    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: 1 | 32
    energy = itertools.count(1)
    nvml.nvmlDeviceGetTotalEnergyConsumption = lambda handle: next(energy)
    seen = make_observer(["nvml"], GPU).look(Launch)

    assert seen["throttled"] == 1
    assert seen["energy_joules"] > 0


def test_a_gpu_is_found_by_its_address(nvml: SimpleNamespace) -> None:
    named: Any = OBSERVERS["nvml"](replace(GPU, uuid="pci-0000:06:00"))
    plain: Any = OBSERVERS["nvml"](replace(GPU, uuid=""))

    assert (named.handle, plain.handle) == (b"0000:06:00.0", 0)


def test_several_observers_are_one(nvml: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fan:
        def look(self, launch: object) -> dict[str, float]:
            return {"fan_rpm": 1200.0}

    monkeypatch.setitem(OBSERVERS, "fan", lambda device: Fan())

    assert make_observer(["nvml", "fan"], GPU).look(Launch).keys() == {
        "clock_mhz", "temperature_celsius", "throttled", "fan_rpm",
    }  # fmt: skip
    assert make_observer([], GPU).look(Launch) == {}
    with pytest.raises(UsageError, match=r"unknown observer 'fun' .*fan"):
        make_observer(["nvml", "fun"], GPU)


def test_without_the_package_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    with pytest.raises(UsageError, match="needs the package nvidia-ml-py"):
        make_observer(["nvml"], GPU)
