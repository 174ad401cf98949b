"""A device that can be opened, and the interface of a kind of devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mltune.device.device import Device
from mltune.device_info import DeviceInfo

POCL = "Portable Computing Language"
OCLGRIND = "Oclgrind"


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A device that can be opened.

    Attributes:
        kind: its key in `DEVICES`.
        number: the text that chooses exactly this device, `P:D` for OpenCL.
        info: its identity and limits.
        problem: why it cannot be used, and what helps; empty if nothing is known.
        notes: for its users, one line each.
    """

    kind: str
    number: str
    info: DeviceInfo
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_checker(self) -> bool:
        """Whether it simulates a device to find mistakes: right, but very slow."""
        return OCLGRIND in self.info.platform

    @property
    def is_embedded(self) -> bool:
        """Whether it is the device that is installed with mltune."""
        return POCL in self.info.platform


class DeviceKind(Protocol):
    """A way to use devices. A driver is loaded when a method is called, not before."""

    def entries(self) -> tuple[DeviceEntry, ...]:
        """Return the devices that can be listed, in the driver's order.

        Raises:
            NoDeviceError: when there should be some and are none, with advice.
        """
        ...

    def find(self, spec: str) -> DeviceEntry:
        """Return the device that a user means by `KIND:spec`.

        Raises:
            NoDeviceError: when there is no such device or it builds nothing, with advice.
            UsageError: when the text fits several, or has the wrong form.
        """
        ...

    def examine(self, entry: DeviceEntry) -> DeviceEntry:
        """Return a device as its examination shows it, with its problem and notes."""
        ...

    def open(self, entry: DeviceEntry) -> Device:
        """Open a device for this process.

        Raises:
            MltuneError: when that fails.
        """
        ...

    def prepare_process(self) -> None:
        """Prepare this process, before anything else is called, for using only one device."""
        ...
