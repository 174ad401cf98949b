"""What the kinds of devices have in common that are not listed, as their names say more."""

from __future__ import annotations

from collections.abc import Callable

from mltune.device.device import Device
from mltune.device.entry import DeviceEntry


class NamedKind:
    """A kind of devices that a user has to name: nothing is listed, examined or prepared."""

    def entries(self) -> tuple[DeviceEntry, ...]:
        """Return none."""
        return ()

    def examine(self, entry: DeviceEntry) -> DeviceEntry:
        """Return it unchanged."""
        return entry

    def prepare_process(self) -> None:
        """Do nothing, as every kind is called."""


class WrappedDeviceKind(NamedKind):
    """`KIND:WORD[:SPEC]`: another device, used in a way that the word says.

    Args:
        choose: returns the device that a text means.
        open_device: opens it.
    """

    def __init__(
        self, choose: Callable[[str], DeviceEntry], open_device: Callable[[DeviceEntry], Device]
    ) -> None:
        self._choose = choose
        self._open_device = open_device

    def _parts(self, spec: str) -> tuple[str, DeviceEntry]:
        """Return the word and the other device."""
        word, _, device = spec.partition(":")
        return word, self._choose(device or "auto")
