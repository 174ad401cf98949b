"""Checks a pack on a device, even if it was checked before, and returns the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyopencl as cl

from mltune.device import DeviceEntry
from mltune.device.opencl.listing import driver_device
from mltune.runtime.ahead import built_ahead
from mltune.runtime.here import SLOW_FACTOR
from mltune.runtime.loading import load
from mltune.selector.speeds import Speed


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of checking a pack on a device.

    Attributes:
        home: the device that it was tuned for.
        kernels: names of all.
        unused: names of those that are not used on the device, each with the reason.
        speeds: that the pack states.
        seconds: measured for these sizes; 0 if that could not be measured.
    """

    name: str
    device: str
    home: str
    kernels: tuple[str, ...]
    unused: tuple[tuple[str, str], ...]
    speeds: tuple[Speed, ...]
    seconds: tuple[float, ...]

    @property
    def is_right(self) -> bool:
        """Whether all kernels are right and, on the pack's own device, as fast as stated."""
        pairs = zip(self.speeds, self.seconds, strict=True)
        is_fast = all(0 < taken <= SLOW_FACTOR * each.seconds for each, taken in pairs)
        return not self.unused and (is_fast or self.home not in ("", self.device))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "pack": self.name,
            "device": self.device,
            "tuned_for": self.home,
            "right": self.is_right,
            "kernels": list(self.kernels),
            "unused": dict(self.unused),
            "speeds": [
                {"size": each.label, "stated_seconds": each.seconds, "seconds": taken}
                for each, taken in zip(self.speeds, self.seconds, strict=True)
            ],
        }


def verify(selector: Path, entry: DeviceEntry) -> Verified:
    """Check each kernel of a pack, and time the sizes whose times it states.

    Raises:
        UsageError: when there is no readable pack, or the device is not an OpenCL device.
        NoDeviceError: when no kernel runs on it.
    """
    tuned = load(selector, check=False)
    queue = cl.CommandQueue(cl.Context([driver_device(entry)]))
    # A processor compiles at a kernel's first launch, whoever has built it.
    with built_ahead(tuned.launched if entry.info.kind != "cpu" else (), queue.device):
        pass
    here = tuned.settle(queue, anew=True)
    names = [kernel.name for kernel in tuned.kernels]
    return Verified(
        name=tuned.name,
        device=entry.info.name,
        home=tuned.selector.device,
        kernels=tuple(names),
        unused=tuple((names[number], why) for number, why in sorted(here.lacking.items())),
        speeds=tuned.speeds if here.finding else (),
        seconds=here.finding.seconds if here.finding else (),
    )
