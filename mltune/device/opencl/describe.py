"""Reads a driver's device into a DeviceInfo."""

from __future__ import annotations

from typing import cast

import pyopencl as cl

from mltune.device.entry import OCLGRIND
from mltune.device.opencl.helper_cache import do_without_unwritable
from mltune.device.opencl.quiet import built
from mltune.device_info import FP16, DeviceInfo, OpenCLInfo


def describe(device: cl.Device) -> DeviceInfo:
    """Return the identity and the limits of a device."""
    do_without_unwritable()
    extensions = tuple(sorted(device.extensions.split()))
    sizes = tuple(device.max_work_item_sizes)
    return DeviceInfo(
        name=_clean(device.name),
        vendor=_clean(device.vendor),
        kind=_kind(device),
        platform=_clean(device.platform.name),
        driver_version=_clean(device.driver_version),
        uuid=_bus_address(device, extensions),
        compute_units=device.max_compute_units,
        clock_mhz=device.max_clock_frequency,
        wave_size=_wave_size(device, extensions),
        compute_capability=_compute_capability(device, extensions),
        max_work_group_size=device.max_work_group_size,
        max_work_item_sizes=(sizes[0], sizes[1], sizes[2]),
        local_mem_bytes=device.local_mem_size,
        global_mem_bytes=device.global_mem_size,
        max_alloc_bytes=device.max_mem_alloc_size,
        global_cache_bytes=device.global_mem_cache_size,
        fp16=FP16 in extensions,
        fp64=device.double_fp_config != 0,
        opencl=OpenCLInfo(
            platform_version=_clean(device.platform.version),
            opencl_c_version=_clean(device.opencl_c_version),
            extensions=extensions,
        ),
    )


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _kind(device: cl.Device) -> str:
    if OCLGRIND in device.platform.name:  # Oclgrind claims to be all types at once
        return "cpu"
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "accelerator"


def _wave_size(device: cl.Device, extensions: tuple[str, ...]) -> int:
    if "cl_nv_device_attribute_query" in extensions:
        return int(device.warp_size_nv)
    if "cl_amd_device_attribute_query" in extensions:
        return int(device.wavefront_width_amd)
    if _kind(device) != "gpu":
        return 1
    # There is no query for it: the width of a wave is the size that the compiler prefers.
    source = "__kernel void wave(__global int *out) { out[get_global_id(0)] = 0; }"
    program = built(cl.Context([device]), source)
    multiple = cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE
    return cast(int, cl.Kernel(program, "wave").get_work_group_info(multiple, device))


def _compute_capability(device: cl.Device, extensions: tuple[str, ...]) -> int:
    if "cl_nv_device_attribute_query" not in extensions:
        return 0
    return int(device.compute_capability_major_nv) * 10 + int(device.compute_capability_minor_nv)


def _bus_address(device: cl.Device, extensions: tuple[str, ...]) -> str:
    """Return the PCI address, which distinguishes equal devices; pyopencl has no UUID query."""
    if "cl_nv_device_attribute_query" not in extensions:
        return ""
    try:
        domain = int(device.pci_domain_id_nv)
        return f"pci-{domain:04x}:{device.pci_bus_id_nv:02x}:{device.pci_slot_id_nv:02x}"
    except cl.Error:  # an old driver
        return ""
