"""The only code that touches a driver: lists, describes and opens OpenCL devices."""

from mltune.device.errors import BuildError, DeviceLostError, LaunchError, LimitError
from mltune.device.opencl.calculator import VECTORS, Calculator, Matrices, Sums
from mltune.device.opencl.catalogue import DeviceEntry, choose, list_devices
from mltune.device.opencl.comparison import Comparison, Expected
from mltune.device.opencl.device import OpenCLDevice
from mltune.device.opencl.execution import Execution
from mltune.device.opencl.program import Program

__all__ = [
    "VECTORS",
    "BuildError",
    "Calculator",
    "Comparison",
    "DeviceEntry",
    "DeviceLostError",
    "Execution",
    "Expected",
    "LaunchError",
    "LimitError",
    "Matrices",
    "OpenCLDevice",
    "Program",
    "Sums",
    "choose",
    "list_devices",
]
