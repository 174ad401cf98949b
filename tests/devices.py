"""Two devices as plain data, for tests that need no driver; `dataclasses.replace` makes others."""

from __future__ import annotations

from mltune.device_info import DeviceInfo, OpenCLInfo

CPU = DeviceInfo(
    name="pthread",
    vendor="PoCL",
    kind="cpu",
    platform="Portable Computing Language",
    driver_version="3.0",
    compute_units=2,
    clock_mhz=2000,
    wave_size=1,
    max_work_group_size=4096,
    max_work_item_sizes=(4096, 4096, 4096),
    local_mem_bytes=2**20,
    global_mem_bytes=2**33,
    max_alloc_bytes=2**31,
    opencl=OpenCLInfo(platform_version="OpenCL 2.0", opencl_c_version="OpenCL C 1.2"),
)

GPU = DeviceInfo(
    name="NVIDIA H200 (test)",
    vendor="NVIDIA Corporation",
    kind="gpu",
    platform="NVIDIA CUDA",
    driver_version="580.1",
    uuid="ab12",
    compute_units=132,
    clock_mhz=1980,
    wave_size=32,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    local_mem_bytes=49152,
    global_mem_bytes=2**37,
    max_alloc_bytes=2**35,
    fp64=True,
    opencl=OpenCLInfo(
        platform_version="OpenCL 3.0",
        opencl_c_version="OpenCL C 1.2",
        extensions=("cl_khr_fp64",),
    ),
)
