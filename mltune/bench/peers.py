"""The libraries that mltune can be compared with, by their names for `--against`."""

from __future__ import annotations

from collections.abc import Callable

from mltune.bench.clblast import CLBlast
from mltune.bench.contestant import Contestant, NotPresentError
from mltune.bench.cublas import CuBLAS
from mltune.bench.numpy_blas import NumpyBlas
from mltune.bench.opencl_queues import Queues
from mltune.bench.shared_library import load_library
from mltune.device_info import DeviceInfo

PEERS: dict[str, Callable[[DeviceInfo, Queues], Contestant]] = {
    "clblast": lambda _, queues: CLBlast(queues),
    "cublas": lambda device, _: CuBLAS(device),
    "numpy": lambda *_: NumpyBlas(),
}
"""Each value opens a library on a device, or raises `NotPresentError`."""

COMPILING = frozenset((CLBlast.name,))
"""Those that compile their kernels at first use, which took CLBlast 14 s on PoCL."""


def absence(name: str, device: DeviceInfo) -> str:
    """Return why a library cannot be used with a device; empty if it seems to be installed.

    It is found and loaded, but not initialised, which may still fail.
    """
    try:
        if name == CuBLAS.name and not device.uuid.startswith("pci-"):
            return f"{device.name} is no NVIDIA device"
        if name in (CuBLAS.name, CLBlast.name):
            load_library(name, hint="")
    except NotPresentError:
        return "not installed"
    return ""
