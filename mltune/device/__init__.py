"""Devices that build and time kernels, behind one protocol; `opencl` is the kind that ships."""

from mltune.device.catalogue import (
    DEVICES,
    choose,
    entry_of,
    list_devices,
    open_device,
    prepare_process,
)
from mltune.device.comparison import Comparison, Difference, Expected
from mltune.device.device import Buffer, Device, Execution, Program
from mltune.device.entry import DeviceEntry, DeviceKind
from mltune.device.errors import BuildError, DeviceLostError, LaunchError, LimitError
from mltune.device.inspection import MOST_SPOTS, Inspection, Kept, PatternCheck, Put, Spots

__all__ = [
    "DEVICES",
    "MOST_SPOTS",
    "Buffer",
    "BuildError",
    "Comparison",
    "Device",
    "DeviceEntry",
    "DeviceKind",
    "DeviceLostError",
    "Difference",
    "Execution",
    "Expected",
    "Inspection",
    "Kept",
    "LaunchError",
    "LimitError",
    "PatternCheck",
    "Program",
    "Put",
    "Spots",
    "choose",
    "entry_of",
    "list_devices",
    "open_device",
    "prepare_process",
]
