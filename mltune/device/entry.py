"""A device that can be opened, and what a kind of devices has to offer: a list, and an opener."""

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
        number: the text that chooses this device and no other: `P:D` of a device of OpenCL.
        info: its identity and limits.
        problem: what keeps it from being used, and what helps; empty if nothing is known.
        notes: what is to be said to who uses it, one line each.
    """

    kind: str
    number: str
    info: DeviceInfo
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_checker(self) -> bool:
        """Whether it simulates a device in order to find mistakes: right, but very slow."""
        return OCLGRIND in self.info.platform

    @property
    def is_embedded(self) -> bool:
        """Whether it is the one that is installed with mltune."""
        return POCL in self.info.platform


class DeviceKind(Protocol):
    """A way to reach devices. A driver is loaded when a method is called, not before."""

    def entries(self) -> tuple[DeviceEntry, ...]:
        """Return the devices that are there without being named, in the driver's order.

        Raises:
            NoDeviceError: when there should be some and are none, with what would help.
        """
        ...

    def find(self, spec: str) -> DeviceEntry:
        """Return the device that a user means by `KIND:spec`.

        Raises:
            NoDeviceError: when there is no such device or it builds nothing, with what would help.
            UsageError: when the text fits several, or none by its form.
        """
        ...

    def examine(self, entry: DeviceEntry) -> DeviceEntry:
        """Return a device as it shows itself when it is tried out, with its problem and notes."""
        ...

    def open(self, entry: DeviceEntry) -> Device:
        """Open a device for this process.

        Raises:
            MltuneError: when that fails.
        """
        ...

    def prepare_process(self) -> None:
        """Hear, before anything else is asked, that this process will only serve a device."""
        ...
