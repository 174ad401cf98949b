"""Builds OpenCL kernels, and keeps their binaries on disk for the next process.

This file needs only numpy and pyopencl, because `mltune export --lang python` copies it into every
package that it writes.

A binary is valid for one source with its build options, one device and one driver version. It is
machine code that runs in this process. So it is only read from a folder and a file that this user
owns and nobody else can write to; otherwise, and on Windows, kernels are built. A file is written
as a whole or not at all, and a damaged file is written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyopencl as cl

VARIABLE = "MLTUNE_CACHE_DIR"
"""Names the folder of the binaries' folder; if it is empty, nothing is kept."""

MOST_BYTES = 64 * 2**20
"""The largest binary that is kept."""

_MARK = b"//@ "  # marks instructions that the compiler of OpenCL C must not see
_TARGET = re.compile(rb"^(\.target sm_\d+)a?\b", re.MULTILINE)
_MAGIC = b"mltune binary 1\n"
_DIGEST_BYTES = 32
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_KIBIBYTE = """
__kernel void kibibyte(__global uint *out)
{
    __local uint room[256];
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        room[i] = out[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = room[255 - get_local_id(0) % 256];
}
"""
# NVIDIA's kernels may use more local memory than the device reports
_OPTS_IN = "cl_nv_device_attribute_query"


class BuildError(ValueError):
    """A kernel does not build for a device, or needs more than the device has."""


def build(
    queue: cl.CommandQueue,
    name: str,
    source: str,
    options: Sequence[str],
    entries: Sequence[str],
    *,
    two_steps: bool,
) -> tuple[cl.Kernel, ...]:
    """Build a source's kernels for the queue's device, or load their binaries if they were kept.

    Args:
        queue: of the context and device.
        name: for messages.
        source: OpenCL C.
        options: of the build.
        entries: names of `__kernel` functions.
        two_steps: whether PTX instructions stand in comments that begin with `//@ `, so that the
            result of the first build must be built again without these marks.

    Raises:
        BuildError: when the driver refuses, or a kernel takes too much local memory.
    """
    key = _key(queue.device, source, options, two_steps)
    kept = _read(key)
    if kept is not None:
        with contextlib.suppress(cl.Error):  # a driver may refuse its own binary
            program = cl.Program(queue.context, [queue.device], [kept])
            return _kernels(queue, name, _built(queue, options, program), entries)
    try:
        # Without -w some drivers print the number of warnings on stderr.
        program = _built(queue, (*options, "-w"), cl.Program(queue.context, source))
        if two_steps:
            text = second_step_text(_binary(program))
            if text is None:
                raise BuildError(
                    f"kernel {name} needs a driver that gives binaries as PTX text with its "
                    f"comments; {queue.device.platform.name} does not"
                )
            program = _built(queue, options, cl.Program(queue.context, [queue.device], [text]))
        kernels = _kernels(queue, name, program, entries)
    except cl.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise BuildError(f"kernel {name} does not build: {reason}") from error
    with contextlib.suppress(cl.Error):
        _write(key, _binary(program))
    return kernels


def keeps_binaries() -> bool:
    """Whether there is a folder for binaries that only this user can write."""
    with _folder(make=True) as folder:
        return folder is not None


def is_kept(device: cl.Device, source: str, options: Sequence[str], two_steps: bool) -> bool:
    """Whether a kernel was built before, and its binary can be read."""
    return _read(_key(device, source, options, two_steps)) is not None


def second_step_text(binary: bytes) -> bytes | None:
    """Return PTX text without the marks before its instructions; None if it has no marks.

    The text's target becomes the architecture that these instructions need, such as sm_90a.
    """
    text = binary.rstrip(b"\0")
    if _MARK not in text or b"\0" in text or _TARGET.search(text) is None:
        return None
    return _TARGET.sub(rb"\1a", text).replace(_MARK, b" " * len(_MARK))


def _built(queue: cl.CommandQueue, options: Sequence[str], program: cl.Program) -> Any:
    with warnings.catch_warnings():
        # Some drivers write a note for every successful build.
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return program.build(options=list(options), devices=[queue.device])


def _kernels(
    queue: cl.CommandQueue, name: str, program: cl.Program, entries: Sequence[str]
) -> tuple[cl.Kernel, ...]:
    """Make the kernels; refuse one with too much local memory, which some drivers would run."""
    device = queue.device
    kernels = tuple(cl.Kernel(program, entry) for entry in entries)
    if _OPTS_IN not in device.extensions.split():
        taken = max(_local_bytes(kernel, device) for kernel in kernels)
        if taken > device.local_mem_size:  # Mesa's rusticl counts it twice
            taken //= _times_counted(queue)
        if taken > device.local_mem_size:
            raise BuildError(
                f"kernel {name} takes {taken} bytes of local memory, of {device.local_mem_size}"
            )
    return kernels


def _local_bytes(kernel: cl.Kernel, device: cl.Device) -> int:
    counted: Any = kernel.get_work_group_info(cl.kernel_work_group_info.LOCAL_MEM_SIZE, device)
    return int(counted)


def _times_counted(queue: cl.CommandQueue) -> int:
    """Return how often the driver counts local memory, by a kernel that takes 1 KiB."""
    program = _built(queue, (), cl.Program(queue.context, _KIBIBYTE))
    return max(1, _local_bytes(cl.Kernel(program, "kibibyte"), queue.device) // 1024)


def _binary(program: Any) -> bytes:
    """Return the program's binary for its device; a context may have other devices without one."""
    return next(filter(None, program.get_info(cl.program_info.BINARIES)), b"")


def _key(device: cl.Device, source: str, options: Sequence[str], two_steps: bool) -> str:
    """Return a hash of everything that a binary depends on."""
    platform = device.platform
    parts = (platform.name, platform.version, device.vendor, device.name, device.version)
    words = (*parts, device.driver_version, *options, str(two_steps), source)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


@contextlib.contextmanager
def _folder(*, make: bool = False) -> Iterator[int | None]:
    """Open the folder of the binaries; None if there is none that only this user can write to."""
    named = os.environ.get(VARIABLE)
    place = None
    if hasattr(os, "geteuid") and named != "":
        with contextlib.suppress(OSError, RuntimeError):
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            folder = (Path(named) if named else Path(base) / "mltune") / "binaries"
            if make:
                folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield place if place is not None and _is_own(os.fstat(place)) else None
    finally:
        if place is not None:
            os.close(place)


def _is_own(found: os.stat_result) -> bool:
    """Whether this user owns it, and nobody else can write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE


def _read(key: str) -> bytes | None:
    """Return the binary that was kept; None if there is none that can be trusted."""
    data = b""
    with _folder() as folder, contextlib.suppress(OSError):
        if folder is None:
            return None
        file = os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and _is_own(found):
                data = opened.read(MOST_BYTES + 1)
    head = len(_MAGIC) + _DIGEST_BYTES
    binary = data[head:]
    return binary if data[:head] == _head(key, binary) and binary else None


def _write(key: str, binary: bytes) -> None:
    """Keep a binary; without a folder, or on a full disk, do nothing."""
    if not 0 < len(binary) <= MOST_BYTES - _DIGEST_BYTES - len(_MAGIC):
        return
    temporary = f".{key[:16]}.{secrets.token_hex(8)}"
    with _folder(make=True) as folder, contextlib.suppress(OSError):
        if folder is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(_head(key, binary) + binary)
            os.replace(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(temporary, dir_fd=folder)


def _head(key: str, binary: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode() + binary).digest()
