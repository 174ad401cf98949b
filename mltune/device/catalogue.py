"""The kinds of devices, all devices, and the one that a user means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mltune.device.choice import pick
from mltune.device.device import Device
from mltune.device.entry import DeviceEntry, DeviceKind
from mltune.device.limited import LimitedKind
from mltune.device.opencl.kind import OpenCLKind
from mltune.device.session.recorder import RecordKind
from mltune.device.session.replay import ReplayKind
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError


def list_devices() -> tuple[DeviceEntry, ...]:
    """Return the devices of all kinds that can be listed.

    Raises:
        NoDeviceError: when there is none, with advice.
    """
    found: list[DeviceEntry] = []
    reasons = []
    for kind in DEVICES.values():
        try:
            found += kind.entries()
        except NoDeviceError as error:
            reasons.append(str(error))
    if not found:
        raise NoDeviceError("; ".join(reasons))
    return tuple(found)


def examine(entry: DeviceEntry) -> DeviceEntry:
    """Return a device as its examination shows it, with its problem and notes.

    Each driver version is examined once; the results are kept in the user's cache.
    """
    return DEVICES[entry.kind].examine(entry)


def choose(
    spec: str = "auto",
    entries: Sequence[DeviceEntry] | None = None,
    examine: Callable[[DeviceEntry], DeviceEntry] = examine,
) -> DeviceEntry:
    """Return the device that a user means.

    Args:
        spec: `auto` (a GPU if there is one, else PoCL, else any other), `cpu`, `gpu`, `P:D`
            (platform and device number), or a part of the name of the device or its platform, or
            of its UUID. Oclgrind is only ever chosen by number or name. `KIND:...` is a device of
            that kind of `DEVICES`. If a device does not work, the next one that fits is taken,
            with a note.
        entries: the devices to choose from (default: all).
        examine: examines one.

    Returns:
        The device as its examination shows it, which may differ from what its driver states; its
        `notes` say how.

    Raises:
        NoDeviceError: when there is no such device, or none that works, with advice.
        UsageError: when the name fits several devices that work.
    """
    kind, _, rest = spec.partition(":")
    if entries is None and kind in DEVICES:
        return DEVICES[kind].find(rest)
    return pick(spec, list_devices() if entries is None else entries, examine)


def entry_of(number: str, info: DeviceInfo) -> DeviceEntry:
    """Return an entry of `list_devices` again, without asking a driver."""
    kind, _, _ = number.partition(":")
    return DeviceEntry(kind if kind in DEVICES else "opencl", number, info)


def open_device(device: DeviceEntry | str = "auto") -> Device:
    """Open a device, or the one that `choose` returns for a text.

    Raises:
        NoDeviceError: when there is no such device.
        UsageError: when the text fits several.
    """
    entry = choose(device) if isinstance(device, str) else device
    return DEVICES[entry.kind].open(entry)


def prepare_process() -> None:
    """Tell every kind, before a device is chosen, that this process will use only one device."""
    for kind in DEVICES.values():
        kind.prepare_process()


DEVICES: Mapping[str, DeviceKind] = {
    "opencl": OpenCLKind(),
    "limited": LimitedKind(choose, open_device),
    "record": RecordKind(choose, open_device),
    "replay": ReplayKind(),
}
"""The kinds of devices; a new kind is a line here, and runs `tests/contract/test_device.py`."""
