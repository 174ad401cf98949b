"""The libraries that mltune can be compared with, by the names that `--against` takes."""

from __future__ import annotations

from collections.abc import Callable

from mltune.bench.clblast import CLBlast
from mltune.bench.contestant import Contestant
from mltune.bench.cublas import CuBLAS
from mltune.bench.numpy_blas import NumpyBlas
from mltune.bench.opencl_queues import Queues
from mltune.device_info import DeviceInfo

PEERS: dict[str, Callable[[DeviceInfo, Queues], Contestant]] = {
    "clblast": lambda _, queues: CLBlast(queues),
    "cublas": lambda device, _: CuBLAS(device),
    "numpy": lambda *_: NumpyBlas(),
}
"""Each opens a library for a device, or raises `NotPresentError`."""
