"""A worker process for each of several devices of this host."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from mltune.device import DeviceEntry, choose, entry_of
from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError, NoDeviceError
from mltune.machine import python_module
from mltune.runner.pool import default_builders

STORAGE_VARIABLE = "MLTUNE_STORAGE"
"""The environment variable of the database's URL; a command line would show its password."""


def all_devices() -> tuple[DeviceEntry, ...]:
    """Return the device that `auto` means and all others of its kind and platform.

    Another process asks the drivers, so that this one loads none.

    Raises:
        NoDeviceError: when there is none, with advice.
    """
    command = python_module("mltune", "devices", "--json")
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        raise NoDeviceError(done.stderr.strip().removeprefix("mltune: "))
    found = json.loads(done.stdout)["devices"]
    entries = [_entry(device) for device in found]
    first = choose("auto", entries, lambda entry: entry)  # that process has examined it
    usable = (entry for entry in entries if not entry.problem)
    return tuple(entry for entry in usable if _driver(entry) == _driver(first))


class LocalWorkers:
    """Workers of one study, started by this process.

    Args:
        devices: one worker for each.
        storage: the database's URL.
        study: that they work on.
        more: further options of `mltune worker`.
    """

    def __init__(
        self, devices: Sequence[DeviceEntry], storage: str, study: str, more: Sequence[str] = ()
    ) -> None:
        self._processes = [
            subprocess.Popen(
                [
                    *python_module("mltune", "worker", "--json", "--quiet"),
                    *("--device", entry.number, "--study", study),
                    *more,
                ],
                env=os.environ | {STORAGE_VARIABLE: storage},
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
            for entry in devices
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()

    def wait(self) -> list[dict[str, Any]]:
        """Wait until all have ended, and return their results.

        Raises:
            MltuneError: when one failed; it has printed the reason, unless it was killed.
        """
        found = [_document(process.communicate()[0]) for process in self._processes]
        ended = zip(self._processes, found, strict=True)
        failed = [str(process.returncode) for process, one in ended if one is None]
        if failed:
            codes = f"exit code {', '.join(failed)}"
            raise MltuneError(f"{len(failed)} of {len(found)} workers failed ({codes})")
        return [one for one in found if one is not None]

    def stop(self) -> None:
        """Interrupt those that still work, and wait until they have returned their leases."""
        for process in self._processes:
            if process.poll() is None:
                # Not SIGINT, which processes ignore that a shell has started in the background.
                process.terminate()
        for process in self._processes:
            if process.stdout is not None and not process.stdout.closed:
                process.communicate()


def share_of_builders(devices: Sequence[DeviceEntry]) -> int:
    """Return the number of builders for each of several devices that measure at once."""
    return default_builders(devices[0].info.kind, len(devices))


def _document(said: str) -> dict[str, Any] | None:
    """Return the document that ends a worker's output; the user's sampler may print, too."""
    _, begins, rest = f"\n{said}".rpartition("\n{\n")
    return dict(json.loads("{" + rest)) if begins else None


def _driver(entry: DeviceEntry) -> tuple[str, ...]:
    return entry.kind, entry.info.platform, entry.info.driver_version, entry.info.kind


def _entry(document: dict[str, Any]) -> DeviceEntry:
    number, problem, notes = (document.pop(name) for name in ("spec", "problem", "notes"))
    entry = entry_of(number, DeviceInfo.from_json(document))
    return replace(entry, problem=problem, notes=tuple(notes))
