"""Taking part in a run that several processes share."""

from __future__ import annotations

import logging
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError
from mltune.run.lease import LEASE_SECONDS
from mltune.run.process_name import process_name
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store

_BEATS = 4  # during a lease
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_log = logging.getLogger(__name__)


@contextmanager
def joined(info: RunInfo, store: Store, device_key: str) -> Iterator[SharedTrials]:
    """Hold a run's leases until this process leaves.

    Args:
        info: of the run.
        store: of the run.
        device_key: identifies the device.
    """
    shared = SharedTrials(store, info.id, process_name(), device_key)
    has_left = threading.Event()
    threading.Thread(target=_renew, args=(shared, has_left), daemon=True).start()
    try:
        yield shared
    finally:
        has_left.set()
        shared.give_back()


def _renew(shared: SharedTrials, has_left: threading.Event) -> None:
    """Renew the leases at intervals, until this process has left."""
    while not has_left.wait(LEASE_SECONDS / _BEATS):
        try:
            shared.renew()
        except MltuneError as error:
            # The holder of a lost lease will notice; the next beat may succeed.
            _log.warning("%s", error)


def device_key(device: DeviceInfo, number: str) -> str:
    """Return a device's identity, independent of its name and of containers.

    Args:
        device: as its driver describes it.
        number: `P:D`; the number of the platform may differ between processes of a host.
    """
    if device.kind == "gpu" and device.uuid:
        return device.uuid
    return f"{_machine()} {device.platform} {device.name} {number.partition(':')[2]}"


def own_seed() -> int:
    """Return a random seed, so that samplers of several processes begin with different configs."""
    return zlib.crc32(process_name().encode())


def _machine() -> str:
    """Return the identity of this machine and boot, which its containers share."""
    try:
        return _BOOT.read_text().strip()
    except OSError:  # not Linux
        return socket.gethostname()
