"""A device's identity and limits as plain data, without any driver."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from mltune.errors import UsageError

_OPT_IN_KIBIBYTES = ((120, 99), (90, 227), (89, 99), (87, 163), (86, 99), (80, 163), (75, 64))
FP16, FP64, INT64_ATOMICS = "cl_khr_fp16", "cl_khr_fp64", "cl_khr_int64_base_atomics"
"""OpenCL's names of what a device may lack; a driver need not list the first two."""

SUB_GROUPS = ("cl_khr_subgroups", "cl_intel_subgroups")
"""The extensions with `sub_group_broadcast`."""

_MOST = 1 << 63
_PLAIN_TYPES = {"str": str, "int": int, "bool": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCLInfo:
    """Properties that an OpenCL driver reports, beyond those that every device has.

    Attributes:
        platform_version: of OpenCL, with the driver's remarks.
        opencl_c_version: that its compiler supports.
        extensions: their names, sorted.
    """

    platform_version: str
    opencl_c_version: str
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """Properties that tests on the device have shown, beyond its limits.

    Attributes:
        clock_step_ns: resolution of the clock that times kernels; 0 if unknown.
        launch_ns: 0 if the device's own clock times kernels. If that cannot be used, the host's
            clock does, and this is the time of an empty launch, which is subtracted from each
            time.
        compiles_at_launch: whether a kernel's first launch compiles most of it.
        hides_compiling: whether the driver reports a kernel as running while it still compiles.
        fills: whether the driver can fill memory itself, as from OpenCL 1.2 on.
        local_mem_count: how many times the driver counts a kernel's local memory.
        sub_group_size: work-items of a sub-group; 0 if there are none.
        sub_group_sizes: the sum of the sizes, all powers of two, that a kernel may ask for and in
            which broadcasts work; 0 if there are none.
    """

    clock_step_ns: int = 0
    launch_ns: int = 0
    compiles_at_launch: bool = False
    hides_compiling: bool = False
    fills: bool = True
    local_mem_count: int = 1
    sub_group_size: int = 0
    sub_group_sizes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """One device: its identity, and the limits that kernels have to respect.

    Attributes:
        kind: `gpu`, `cpu` or `accelerator`.
        platform: the driver's name, such as that of an OpenCL platform.
        uuid: the device's UUID in hex, or empty if the driver does not report it.
        wave_size: work-items that run in lock step (a warp, a wavefront); 1 on a CPU.
        clock_mhz: the driver's maximum clock; 0 if it does not report it.
        compute_capability: of an NVIDIA GPU, times ten: 90 for 9.0; 0 on every other device.
        opencl: the OpenCL driver's properties; None for a device without one.
        probed: the results of tests; None if there were none.
    """

    name: str
    vendor: str
    kind: str
    platform: str
    driver_version: str
    uuid: str = ""
    compute_units: int
    clock_mhz: int
    wave_size: int
    compute_capability: int = 0
    max_work_group_size: int
    max_work_item_sizes: tuple[int, int, int]
    local_mem_bytes: int
    global_mem_bytes: int
    max_alloc_bytes: int
    global_cache_bytes: int = 0
    fp16: bool = False
    fp64: bool = False
    opencl: OpenCLInfo | None = None
    probed: Probed | None = None

    @property
    def slug(self) -> str:
        """A short name for folders, of letters, digits and dashes."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:64] or "device"

    @property
    def spec(self) -> str:
        """What `--device` finds it by: its UUID, or else its name."""
        return self.uuid or self.name

    @property
    def model(self) -> str:
        """One line that is equal for devices whose times may be mixed.

        It leaves out the memory size, for which PoCL's report varies.
        """
        parts = (self.platform, self.name, self.driver_version)
        return " / ".join(part for part in parts if part)

    @property
    def local_mem_opt_in_bytes(self) -> int:
        """Local memory of a work-group if its kernel takes more than `local_mem_bytes`.

        NVIDIA's OpenCL reports 48 KiB, and runs kernels with as much as CUDA lets a kernel opt in
        to ("CUDA C++ Programming Guide", technical specifications per compute capability).
        """
        for capability, kibibytes in _OPT_IN_KIBIBYTES:
            if self.compute_capability >= capability:
                return kibibytes * 1024
        return self.local_mem_bytes

    @property
    def name_and_driver(self) -> str:
        """The name, with the platform and its driver's version."""
        return f"{self.name} ({self.platform} {self.driver_version})"

    @property
    def time_words(self) -> str:
        """Which time this device's figures are, for tables and reports."""
        if self.probed is None or self.probed.launch_ns == 0:
            return "kernel time by device events"
        microseconds = max(round(self.probed.clock_step_ns / 1000), 1)
        return f"kernel time by the host's clock (a launch to about {microseconds} us)"

    def without(self, extension: str) -> DeviceInfo:
        """Return the description of a device that lacks an extension, and what it is for."""
        opencl = self.opencl
        if opencl is not None:
            left = tuple(each for each in opencl.extensions if each != extension)
            opencl = replace(opencl, extensions=left)
        fp16, fp64 = self.fp16 and extension != FP16, self.fp64 and extension != FP64
        return replace(self, opencl=opencl, fp16=fp16, fp64=fp64)

    def takes_group(self, group: tuple[int, int, int]) -> bool:
        """Whether a work-group is within the limits."""
        return math.prod(group) <= self.max_work_group_size and all(
            size <= limit for size, limit in zip(group, self.max_work_item_sizes, strict=True)
        )

    def limits(self) -> dict[str, int]:
        """Return the numbers that a space's constraints may use, by name."""
        extensions = self.opencl.extensions if self.opencl else ()
        return {
            "compute_units": self.compute_units,
            "wave_size": self.wave_size,
            "compute_capability": self.compute_capability,
            "max_work_group_size": self.max_work_group_size,
            "max_work_item_size_0": self.max_work_item_sizes[0],
            "max_work_item_size_1": self.max_work_item_sizes[1],
            "max_work_item_size_2": self.max_work_item_sizes[2],
            "local_mem_bytes": self.local_mem_bytes,
            "local_mem_opt_in_bytes": self.local_mem_opt_in_bytes,
            "int64_atomics": int(INT64_ATOMICS in extensions),
            "sub_group_sizes": self.probed.sub_group_sizes if self.probed else 0,
        }

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        data = asdict(self)
        data["max_work_item_sizes"] = list(self.max_work_item_sizes)
        if opencl := data.pop("opencl"):
            data |= opencl | {"extensions": list(opencl["extensions"])}
        if data["probed"] is None:
            del data["probed"]
        return data

    @classmethod
    def from_json(cls, data: Any) -> DeviceInfo:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when a field is missing, unknown or of the wrong type.
        """
        if not isinstance(data, dict):
            raise UsageError(f"device: expected a mapping, got {type(data).__name__}")
        own, opencl = ({field.name for field in fields(each)} for each in (cls, OpenCLInfo))
        own.remove("opencl")
        if unknown := sorted(set(data) - own - opencl):
            raise UsageError(f"device: unknown field '{unknown[0]}'")
        values = {name: data[name] for name in data if name in own}
        said = {name: data[name] for name in data if name in opencl}
        try:
            sizes = tuple(values["max_work_item_sizes"])
            values["max_work_item_sizes"] = sizes
            if said:
                said["extensions"] = tuple(str(name) for name in said.get("extensions", ()))
                values["opencl"] = OpenCLInfo(**said)
            if "probed" in values:
                values["probed"] = Probed(**values["probed"])
            info = cls(**values)
        except KeyError as error:
            raise UsageError(f"device: field {error} is missing") from error
        except TypeError as error:
            raise UsageError(f"device: not a device description ({error})") from error
        if len(sizes) != 3 or not all(type(size) is int for size in sizes):
            raise UsageError(
                f"device: max_work_item_sizes must be three whole numbers, got {list(sizes)}"
            )
        _check_types(info)
        if info.opencl:
            _check_types(info.opencl)
        if info.probed:
            _check_types(info.probed)
        return info


def _check_types(info: DeviceInfo | OpenCLInfo | Probed) -> None:
    for field in fields(info):
        value, wanted = getattr(info, field.name), _PLAIN_TYPES.get(str(field.type))
        if wanted is not None and type(value) is not wanted:
            raise UsageError(
                f"device: {field.name} must be of type {field.type}, got {value!r:.80}"
            )
        if wanted is int and not 0 <= value < _MOST:
            raise UsageError(
                f"device: {field.name} must be from 0 to {_MOST - 1}, got {value!s:.40}"
            )


def limit_names() -> frozenset[str]:
    """Return the names of `DeviceInfo.limits`, without a device."""
    return frozenset(
        {
            "compute_units",
            "wave_size",
            "compute_capability",
            "max_work_group_size",
            "max_work_item_size_0",
            "max_work_item_size_1",
            "max_work_item_size_2",
            "local_mem_bytes",
            "local_mem_opt_in_bytes",
            "int64_atomics",
            "sub_group_sizes",
        }
    )
