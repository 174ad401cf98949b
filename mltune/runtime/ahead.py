"""Builds kernels in several processes at once, into the folder of binaries.

In one process a driver builds kernels one after the other. Each process started here reads from
its standard input what to build, and loads only the modules that it needs for this.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pyopencl as cl

from mltune.machine import python_module, usable_cores
from mltune.runtime.building import BuildError, build, is_kept, keeps_binaries
from mltune.runtime.gemm_kernel import GemmKernel

_MOST = 6
"""Most processes; NVIDIA's driver opens a device for one after the other, 0.4 s each."""
_FEWEST = 3
"""The least number of kernels that is worth the start of processes."""
BUILD_SECONDS = 60.0
"""The most seconds of all builds together, unless another limit is given."""


@contextlib.contextmanager
def built_ahead(
    kernels: Sequence[GemmKernel], device: cl.Device, most_seconds: float = BUILD_SECONDS
) -> Iterator[None]:
    """Build in other processes during this context; when it ends, all builds have ended.

    Kernels that do not build are left to their first use. So are all kernels if there are few
    cores or no binaries are kept.

    Args:
        kernels: the first ones are built first; those with a kept binary are left out.
        device: to build for.
        most_seconds: after which builds that have not ended are given up.
    """
    wanted = kernels if keeps_binaries() else ()
    new = [each for each in wanted if not is_kept(device, *_asked(each))]
    end = time.monotonic() + most_seconds
    count = min(_MOST, len(usable_cores()) - 1, len(new))
    shares = []
    if count > 1 and len(new) >= _FEWEST:
        place = _place(device)
        shares = [_share(place, new[number::count]) for number in range(count)]
    with contextlib.ExitStack() as ends:
        # All begin before the first gets its share, which is too long to be written unread.
        started = [_start(ends) for _ in shares]
        for process, share in zip(started, shares, strict=True):
            _give(process, share)
        yield
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))


def _asked(kernel: GemmKernel) -> tuple[str, tuple[str, ...], bool]:
    return kernel.source, kernel.build_options, kernel.two_steps


def _place(device: cl.Device) -> tuple[int, int]:
    """Return the numbers of a device's platform and of the device there."""
    for number, platform in enumerate(cl.get_platforms()):
        if platform == device.platform:
            return number, platform.get_devices().index(device)
    raise ValueError(f"{device.name}: its platform is not there any more")


def _share(place: tuple[int, int], kernels: Sequence[GemmKernel]) -> bytes:
    """Return what a process reads: the device, and what to build for it."""
    asked = [(*_asked(each), each.name, [entry for entry, _ in each.passes]) for each in kernels]
    return json.dumps([place, asked]).encode()


def _start(ends: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """Start a process that is killed, if it still runs, when a context ends."""
    process = subprocess.Popen(
        python_module("mltune.runtime.ahead"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ends.enter_context(process)
    ends.callback(process.kill)
    return process


def _give(process: subprocess.Popen[bytes], share: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(share)


def _main() -> None:
    (platform, number), asked = json.load(sys.stdin)
    device = cl.get_platforms()[platform].get_devices()[number]
    queue = cl.CommandQueue(cl.Context([device]))
    for source, options, two_steps, name, entries in asked:
        with contextlib.suppress(BuildError):
            build(queue, name, source, options, entries, two_steps=two_steps)


if __name__ == "__main__":
    _main()
