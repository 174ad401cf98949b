"""A kernel's requirements on a device, by its source: extensions, PTX, work-groups."""

from __future__ import annotations

import re

from mltune.device_info import FP16, FP64, SUB_GROUPS, DeviceInfo
from mltune.kernel.kernel import Kernel
from mltune.kernel.two_step_build import needs_two_steps

_EXTENSION = re.compile(r"^#pragma OPENCL EXTENSION (\w+) : enable$", re.MULTILINE)
_OPTIONAL = re.compile(r"^#ifdef cl_\w+\n.*?^#endif$", re.MULTILINE | re.DOTALL)
_SUB_GROUP = re.compile(r"^#define SUB_GROUP_SIZE (\d+)$", re.MULTILINE)
_ASSEMBLY = re.compile(r"\basm\b")
_FOR_NVIDIA = re.compile(
    r"^#ifdef __NV_CL_C_VERSION\n.*?^#(?:else|endif)$", re.MULTILINE | re.DOTALL
)
_TWO_STEPS_CAPABILITY = 90  # `wgmma`, which only Hopper has
_WORDS = {FP64: "double precision", FP16: "half precision"}


def lacks(kernel: Kernel, device: DeviceInfo) -> str:
    """Return what a device lacks for a kernel, in a few words; empty if nothing is known.

    The need of local memory is only known after the build.
    """
    if _ASSEMBLY.search(_FOR_NVIDIA.sub("", kernel.source)) and not device.compute_capability:
        return "PTX instructions of NVIDIA GPUs"
    if needs_two_steps(kernel.source) and device.compute_capability != _TWO_STEPS_CAPABILITY:
        return f"compute capability {_TWO_STEPS_CAPABILITY / 10}"
    there = set(device.opencl.extensions if device.opencl else ())
    there |= {name for name, has in _core(device).items() if has}
    wanted: list[str] = _EXTENSION.findall(_OPTIONAL.sub("", kernel.source))
    for extension in wanted:
        if extension not in there:
            return _WORDS.get(extension, extension)
    if lacking := _lacks_sub_groups(kernel.source, device, there):
        return lacking
    for each in kernel.passes:
        if not device.takes_group(each.work_group):
            return f"work-groups of {'x'.join(map(str, each.work_group))} work-items"
    return ""


def _lacks_sub_groups(source: str, device: DeviceInfo, extensions: set[str]) -> str:
    asked = _SUB_GROUP.search(source)
    if asked is None:
        return ""
    size = int(asked[1])
    tried = device.probed.sub_group_sizes if device.probed else size
    is_there = not extensions.isdisjoint(SUB_GROUPS) and bool(tried & size)
    return "" if is_there else f"sub-groups of {size} work-items"


def _core(device: DeviceInfo) -> dict[str, bool]:
    """Return the features that a driver may have without listing them."""
    return {FP64: device.fp64, FP16: device.fp16}
