"""Taking part in a run that several processes share."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.run.lease import LEASE_SECONDS
from mltune.run.process_name import process_name
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store
from mltune.tuning.heartbeat import Heartbeat

_BEATS = 4  # in the time of a lease
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def joined(info: RunInfo, store: Store, device_key: str) -> Iterator[SharedTrials]:
    """Hold what is taken from a run's shared until this process leaves.

    Args:
        info: of the run.
        store: where it is.
        device_key: tells the device from every other.
    """
    shared = SharedTrials(store, info.id, process_name(), device_key)
    with Heartbeat(shared, LEASE_SECONDS / _BEATS):
        try:
            yield shared
        finally:
            shared.give_back()


def device_key(device: DeviceInfo, number: str) -> str:
    """Tell a device from every other, however it was named and from whichever container.

    Args:
        device: as its driver describes it.
        number: `P:D`; the number of the platform may differ between processes of a host.
    """
    if device.kind == "gpu" and device.uuid:
        return device.uuid
    return f"{_machine()} {device.platform} {device.name} {number.partition(':')[2]}"


def own_seed() -> int:
    """A seed that no other process has, so that searchers begin with different configs."""
    return zlib.crc32(process_name().encode())


def _machine() -> str:
    """This start of this machine, which containers on it share."""
    try:
        return _BOOT.read_text().strip()
    except OSError:  # not Linux
        return socket.gethostname()
