"""Where to repeat what was recorded: on the device of the record, or on one that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, NoDeviceError


@contextmanager
def recorded_device(device: DeviceInfo, asked: str | None, where: object) -> Iterator[str]:
    """Name the device to open, for as long as it is opened.

    Args:
        device: of the record.
        asked: what the user named in its place, if anything.
        where: the record, as the user named it.

    Raises:
        NoDeviceError: when the device of the record is not here, with what would help.
    """
    try:
        yield asked or device.uuid or device.name
    except DeviceGoneError:
        raise
    except NoDeviceError as error:
        if asked:
            raise
        raise NoDeviceError(
            f"{where}: was measured on {device.name}, which is not here; --device takes another: "
            f"{error}"
        ) from error
