"""Taking part in a run that several processes share."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.record.board import Board
from mltune.record.lease import LEASE_SECONDS
from mltune.record.process_name import process_name
from mltune.record.run_info import RunInfo
from mltune.record.store import Store
from mltune.tuning.heartbeat import Heartbeat

_BEATS = 4  # in the time of a lease
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def joined(info: RunInfo, store: Store, device_key: str) -> Iterator[Board]:
    """Hold what is taken from a run's board until this process leaves.

    Args:
        info: of the run.
        store: where it is.
        device_key: tells the device from every other.
    """
    board = Board(store, info.id, process_name(), device_key)
    with Heartbeat(board, LEASE_SECONDS / _BEATS):
        try:
            yield board
        finally:
            board.give_back()


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
