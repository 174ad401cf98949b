"""The device on which a record is repeated: that of the record, or a named one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, NoDeviceError


@contextmanager
def recorded_device(device: DeviceInfo, asked: str | None, where: object) -> Iterator[str]:
    """Yield the number of the device to open.

    Args:
        device: of the record.
        asked: the device that the user named instead, if any.
        where: the record, as the user named it.

    Raises:
        NoDeviceError: when the record's device is not here, with advice.
    """
    try:
        yield asked or device.spec
    except DeviceGoneError:
        raise
    except NoDeviceError as error:
        if asked:
            raise
        # The error's own text may name an id that the user did not type.
        said = f" (known: {', '.join(error.known)})" if error.known else f": {error}"
        raise NoDeviceError(
            f"{where}: was measured on {device.name}, which is not here; "
            f"--device names another{said}"
        ) from error
