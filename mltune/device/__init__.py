"""The only code that touches a driver: lists, describes and opens OpenCL devices."""

from mltune.device.catalogue import DeviceEntry, choose, list_devices
from mltune.device.comparison import Comparison, Expected
from mltune.device.errors import BuildError, DeviceLostError, LaunchError, LimitError
from mltune.device.execution import Execution
from mltune.device.opencl import OpenCLDevice
from mltune.device.program import Program

__all__ = [
    "BuildError",
    "Comparison",
    "DeviceEntry",
    "DeviceLostError",
    "Execution",
    "Expected",
    "LaunchError",
    "LimitError",
    "OpenCLDevice",
    "Program",
    "choose",
    "list_devices",
]
