"""Devices that build and time kernels, behind one protocol; `opencl` is the kind that ships."""

from mltune.device.calculator import VECTORS, Calculator, Matrices, Sums
from mltune.device.catalogue import (
    DEVICES,
    choose,
    entry_of,
    examine,
    list_devices,
    open_device,
    prepare_process,
)
from mltune.device.comparison import Comparison, Difference, Expected
from mltune.device.device import Buffer, Device, Execution, Program
from mltune.device.entry import DeviceEntry
from mltune.device.errors import BuildError, DeviceLostError, LaunchError, LimitError
from mltune.device.inspection import MOST_SPOTS, Kept, Put, Spots

__all__ = [
    "DEVICES",
    "MOST_SPOTS",
    "VECTORS",
    "Buffer",
    "BuildError",
    "Calculator",
    "Comparison",
    "Device",
    "DeviceEntry",
    "DeviceLostError",
    "Difference",
    "Execution",
    "Expected",
    "Kept",
    "LaunchError",
    "LimitError",
    "Matrices",
    "Program",
    "Put",
    "Spots",
    "Sums",
    "choose",
    "entry_of",
    "examine",
    "list_devices",
    "open_device",
    "prepare_process",
]
