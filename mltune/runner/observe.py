"""Observers of other values than the time, such as energy, clock and temperature.

They are optional and chosen by name. The values are recorded under the names in their docstrings;
values that a device does not report are left out.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.runner.timed import Timed
from mltune.unknown import unknown

ENERGY = "energy_joules"
"""The name of one launch's energy."""

_ENERGY_SECONDS = 0.3  # the meters are updated every 1 ms (RAPL) to 100 ms (NVML)
_MOST_AT_ONCE = 20  # launches between two waits


class Observer(Protocol):
    """Observes a device that has just timed a kernel."""

    def look(self, launch: Callable[[], Timed]) -> dict[str, float]:
        """Return the values by name. The kernel may be launched again for them."""
        ...


class RaplObserver:
    """The processor's own energy meter: `energy_joules` of one launch, `power_watts`.

    It measures the whole package, with all other work on it.
    """

    def __init__(self, device: DeviceInfo, root: Path = Path("/sys/class/powercap")) -> None:
        self._meters = sorted(root.glob("intel-rapl:[0-9]/energy_uj"))
        if device.kind != "cpu":
            raise UsageError("observer 'rapl': meters the processor, and the device is a GPU")
        try:
            self._joules()
        except OSError as error:
            raise UsageError(f"observer 'rapl': cannot read the meter ({error})") from error
        if not self._meters:
            raise UsageError(f"observer 'rapl': there is no meter in {root}")

    def look(self, launch: Callable[[], Timed]) -> dict[str, float]:
        """Launch again for long enough, and read the meter around it."""
        return metered(launch, self._joules)

    def _joules(self) -> float:
        return sum(int(meter.read_text()) for meter in self._meters) * 1e-6


class NvmlObserver:
    """NVIDIA's management library, from the package nvidia-ml-py.

    `energy_joules` of one launch, `power_watts`, `clock_mhz` and `memory_clock_mhz` right after
    the samples, `temperature_celsius`, and `throttled`: 1 if heat or power limited the clock.

    Attributes:
        library: the package.
        handle: its handle of the device.
    """

    def __init__(self, device: DeviceInfo) -> None:
        try:
            self.library: Any = importlib.import_module("pynvml")
        except ImportError as error:
            raise UsageError(
                "observer 'nvml': needs the package nvidia-ml-py (pip install nvidia-ml-py)"
            ) from error
        try:
            self.library.nvmlInit()
            self.handle = self._find(device)
        except self.library.NVMLError as error:
            raise UsageError(f"observer 'nvml': {error}") from error

    def look(self, launch: Callable[[], Timed]) -> dict[str, float]:
        """Read clocks and temperature, then measure the energy."""
        nvml, handle = self.library, self.handle
        seen = self._read("clock_mhz", nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM)
        seen |= self._read(
            "memory_clock_mhz", nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM
        )
        seen |= self._read(
            "temperature_celsius",
            nvml.nvmlDeviceGetTemperature,
            handle,
            nvml.NVML_TEMPERATURE_GPU,
        )
        reasons = self._read("", nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle).get("")
        if reasons is not None:
            held_down = (
                nvml.nvmlClocksThrottleReasonSwPowerCap
                | nvml.nvmlClocksThrottleReasonHwSlowdown
                | nvml.nvmlClocksThrottleReasonSwThermalSlowdown
            )
            seen["throttled"] = float(bool(int(reasons) & held_down))
        if self._read("", nvml.nvmlDeviceGetTotalEnergyConsumption, handle):
            seen |= metered(
                launch, lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) * 1e-3
            )
        return seen

    def _find(self, device: DeviceInfo) -> Any:
        """Find the device by the bus address in its UUID, or take the first."""
        if not device.uuid.startswith("pci-"):
            return self.library.nvmlDeviceGetHandleByIndex(0)
        domain, bus, slot = device.uuid.removeprefix("pci-").split(":")
        return self.library.nvmlDeviceGetHandleByPciBusId(f"{domain}:{bus}:{slot}.0".encode())

    def _read(self, name: str, query: Callable[..., Any], *arguments: Any) -> dict[str, float]:
        with contextlib.suppress(self.library.NVMLError):  # a device may lack some values
            return {name: float(query(*arguments))}
        return {}


OBSERVERS: dict[str, Callable[[DeviceInfo], Observer]] = {
    "nvml": NvmlObserver,
    "rapl": RaplObserver,
}


class _Several:
    """Any number of observers as one; none observes nothing."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def look(self, launch: Callable[[], Timed]) -> dict[str, float]:
        seen: dict[str, float] = {}
        for observer in self._observers:
            seen |= observer.look(launch)
        return seen


def make_observer(names: Sequence[str], device: DeviceInfo) -> Observer:
    """Return the observers of these names as one.

    Raises:
        UsageError: when a name is unknown, or an observer does not support this device.
    """
    for name in names:
        if name not in OBSERVERS:
            raise UsageError(unknown("observer", name, OBSERVERS))
    observers = [OBSERVERS[name](device) for name in names]
    return observers[0] if len(observers) == 1 else _Several(observers)


def metered(launch: Callable[[], Timed], joules: Callable[[], float]) -> dict[str, float]:
    """Launch for long enough for a meter, and return the energy of one launch and the power."""
    begin, first = time.perf_counter(), joules()
    launches, block = 0, 1  # a long kernel is launched once: its time limit is for all launches
    while time.perf_counter() - begin < _ENERGY_SECONDS:
        [launch() for _ in range(block)][-1].wait()
        launches += block
        block = min(2 * block, _MOST_AT_ONCE)
    spent, elapsed = joules() - first, time.perf_counter() - begin
    if spent <= 0:  # the meter overflowed, or was not updated
        return {}
    return {ENERGY: spent / launches, "power_watts": spent / elapsed}
