"""Checks of a device's limits, for all drivers; the driver is not asked."""

from __future__ import annotations

import math

from mltune.device.errors import LimitError
from mltune.device_info import DeviceInfo
from mltune.kernel import Launch


def group_of(info: DeviceInfo, wanted: int) -> int:
    """Return a size for groups of one dimension: a power of 2 up to `wanted`, within the limits.

    For kernels that support any size.
    """
    most = min(wanted, info.max_work_group_size, info.max_work_item_sizes[0])
    return 1 << max(most, 1).bit_length() - 1


def check_size(info: DeviceInfo, nbytes: int) -> None:
    """Refuse a buffer that is larger than the device allows.

    Raises:
        LimitError: when it is.
    """
    if nbytes > info.max_alloc_bytes:
        raise LimitError(
            f"a buffer of {nbytes} bytes is over the device's limit of {info.max_alloc_bytes}"
        )


def check_launch(info: DeviceInfo, launch: Launch, local_mem_bytes: int) -> None:
    """Refuse a launch that exceeds the limits, which PoCL would run, overwriting memory.

    Raises:
        LimitError: when it does.
    """
    # Not the limit of the built kernel: NVIDIA says 256 for every kernel, and runs 1024.
    largest = info.max_work_group_size
    for grid in launch.grids:
        items = math.prod(grid.local_size)
        if items > largest:
            raise LimitError(f"a work-group of {items} work-items is over the limit of {largest}")
        for size, limit in zip(grid.local_size, info.max_work_item_sizes, strict=True):
            if size > limit:
                raise LimitError(
                    f"a work-group of {grid.local_size} is over the limits of "
                    f"{info.max_work_item_sizes}"
                )
    if local_mem_bytes > info.local_mem_opt_in_bytes:
        raise LimitError(
            f"{local_mem_bytes} bytes of local memory are over the limit of "
            f"{info.local_mem_opt_in_bytes}"
        )
