"""What on this machine would disturb times: other work, changing clocks, a shared GPU."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.run.host import Host
from mltune.runner.observe import NvmlObserver

BUSY = 0.15
"""The share of the cores above which other work is worth a warning."""

_STOLEN = 0.02
_LOOK_SECONDS = 0.5
_HOT_CELSIUS = 83


def advice(device: DeviceInfo, root: Path = Path("/")) -> tuple[str, ...]:
    """Observe the machine for half a second; return one line for everything to fix.

    Args:
        device: to be measured.
        root: of the system's files.
    """
    return (*_of_host(Host.here(root), device), *of_load(_spent(root)), *_of_gpu(device))


def _of_host(host: Host, device: DeviceInfo) -> Iterator[str]:
    if host.governor not in ("", "performance"):
        yield (
            f"the clock follows the governor '{host.governor}', which lags behind the load: "
            "sudo cpupower frequency-set -g performance"
        )
    if host.boost == "on" and device.kind == "cpu":
        yield (
            "the clock may boost, which depends on heat and on other cores: "
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
        )


def of_load(spent: Sequence[int]) -> Iterator[str]:
    """Yield advice about the cores' time.

    Args:
        spent: user, nice, system, idle, iowait, irq, softirq, steal, in any unit; or nothing.
    """
    total = sum(spent)
    if not total:
        return
    idle, stolen = sum(spent[3:5]), sum(spent[7:8])
    busy = 1 - (idle + stolen) / total
    if busy > BUSY:
        yield (
            f"other work takes {busy:.0%} of the processor: stop it, it moves the times on a CPU "
            "and holds up the builds for a GPU"
        )
    if stolen / total > _STOLEN:
        yield f"the hypervisor takes {stolen / total:.0%} of the processor for other machines"


def _spent(root: Path) -> list[int]:
    """Return the time of the cores in the next half second."""
    with contextlib.suppress(OSError, ValueError):
        before = _ticks(root)
        time.sleep(_LOOK_SECONDS)
        return [now - then for now, then in zip(_ticks(root), before, strict=True)]
    return []


def _ticks(root: Path) -> list[int]:
    first = (root / "proc/stat").read_text().splitlines()[0].split()
    return [int(word) for word in first[1:9]]


def _of_gpu(device: DeviceInfo) -> Iterator[str]:
    """Yield advice from NVIDIA's library; none if it is not installed."""
    if "NVIDIA" not in device.vendor.upper():
        return
    try:
        gpu = NvmlObserver(device)
    except UsageError as error:
        yield f"{error}: clocks and other users of the GPU cannot be looked at"
        return
    yield from _of_nvidia(gpu.library, gpu.handle)


def _of_nvidia(nvml: Any, handle: Any) -> Iterator[str]:
    def ask(query: Any, *arguments: Any) -> Any:
        with contextlib.suppress(nvml.NVMLError):
            return query(handle, *arguments)
        return None

    if ask(nvml.nvmlDeviceGetPersistenceMode) == 0:
        yield "the driver sleeps between programs: sudo nvidia-smi -pm 1"
    others = ask(nvml.nvmlDeviceGetComputeRunningProcesses)
    if others:
        yield f"{len(others)} other processes use the GPU"
    clock = ask(nvml.nvmlDeviceGetApplicationsClock, nvml.NVML_CLOCK_SM)
    most = ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM)
    if clock and most and clock < most:
        yield f"the clock is held at {clock} of {most} MHz: sudo nvidia-smi -rac, if not meant so"
    celsius = ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU)
    if celsius is not None and celsius >= _HOT_CELSIUS:
        yield f"the GPU is at {celsius} degrees, where it slows down: let it cool, or use --rest"
