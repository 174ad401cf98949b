"""OpenCL as a kind of devices; the driver is loaded when the first device is needed."""

from __future__ import annotations

from dataclasses import replace

from mltune.device.choice import pick
from mltune.device.device import Device
from mltune.device.entry import DeviceEntry
from mltune.device.opencl.diagnosis import missing_linker, noexec_cache
from mltune.device.opencl.threads import keep_threads_apart


class OpenCLKind:
    """All devices of all OpenCL platforms."""

    def entries(self) -> tuple[DeviceEntry, ...]:
        """List the devices of every driver."""
        from mltune.device.opencl.listing import list_devices

        return list_devices()

    def find(self, spec: str) -> DeviceEntry:
        """Choose one of them."""
        return pick(spec, self.entries(), self.examine)

    def examine(self, entry: DeviceEntry) -> DeviceEntry:
        """Check that PoCL can link and run kernels, and examine what the driver states."""
        if problem := missing_linker(entry.info) or noexec_cache(entry.info):
            return replace(entry, problem=problem)
        from mltune.device.opencl.examination import examined

        return examined(entry)

    def open(self, entry: DeviceEntry) -> Device:
        """Make a context and a queue."""
        from mltune.device.opencl.device import OpenCLDevice

        return OpenCLDevice(entry)

    def prepare_process(self) -> None:
        """Bind PoCL's threads to cores."""
        keep_threads_apart()
