"""Prints the device that a text means: `python -m mltune.device.chosen SPEC`; JSON comes last.

For programs that must not load a driver themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys

from mltune.device.catalogue import choose
from mltune.device_info import DeviceInfo
from mltune.machine import python_module


def ask(spec: str) -> DeviceInfo | None:
    """Ask another process for a device's description; None if it finds none."""
    command = python_module("mltune.device.chosen", spec)
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        return None
    return DeviceInfo.from_json(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(choose(sys.argv[1]).info.to_json()))  # noqa: T201  # what it is for
