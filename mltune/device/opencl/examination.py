"""What a device can do, found by tests in another process, once per driver version."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mltune.device.entry import POCL, DeviceEntry
from mltune.device.opencl.listing import driver_device
from mltune.device_info import FP16, FP64, INT64_ATOMICS, SUB_GROUPS, DeviceInfo, Probed
from mltune.errors import MltuneError
from mltune.files import cache_folder, is_writable, take_lock, write_atomically
from mltune.machine import python_module

VARIABLE = "MLTUNE_DEVICES_DIR"
"""Names the folder of the results; if it is empty, nothing is kept."""

VERSION = 3
"""Of the tests; results of an earlier version are not used."""

_UNKNOWN_PROCESSOR = "unknown target CPU"
Answers = Mapping[str, Mapping[str, Any]]

_SECONDS = 60.0  # for all steps; a worker has twice as long to start
_UNKNOWN = "unknown"  # the answer of a step that did not end in time
_log = logging.getLogger(__name__)


@lru_cache
def examined(entry: DeviceEntry) -> DeviceEntry:
    """Return a device as its tests show it: what it cannot do, and how it can still be used.

    If a step did not end in time, the driver's statement counts.
    """
    return with_answers(entry, _answers(entry, tuple(_steps(entry.info))))


def with_answers(entry: DeviceEntry, answers: Answers) -> DeviceEntry:
    """Return a device's entry, corrected by the answers of the steps of `probe`."""
    info, notes = entry.info, []
    if failure := _failure(answers.get("launch")):
        return replace(
            entry, problem=f"its driver runs no kernel{failure}{_remedy(entry, failure)}"
        )
    facts: dict[str, Any] = {}
    if clock := _answer(answers, "clock"):
        facts |= {"clock_step_ns": clock["step_ns"]}
        if not clock["agrees"]:
            facts |= {"clock_step_ns": clock["uncertain_ns"], "launch_ns": clock["launch_ns"]}
            notes.append(_clock_note(clock))
    if compiling := _answer(answers, "compiling"):
        facts["compiles_at_launch"] = compiling["at_launch"]
        facts["hides_compiling"] = compiling["hidden"]
    facts["fills"] = not _failure(answers.get("fill"))
    if sub_groups := _answer(answers, "sub_groups"):
        facts["sub_group_size"] = sub_groups["size"]
        facts["sub_group_sizes"] = sub_groups["sizes"]
    if group := _answer(answers, "group"):
        info, note = _with_group(info, group)
        notes += note
    if local := _answer(answers, "local"):
        facts["local_mem_count"] = local["count"]
        if local["nbytes"] < info.local_mem_bytes // 4 * 4:
            notes.append(
                f"its driver states {info.local_mem_bytes} bytes of local memory, and "
                f"{local['nbytes']} work: mltune uses those"
            )
            info = replace(info, local_mem_bytes=local["nbytes"])
    for step, name, extension in (
        ("double", "double precision", FP64),
        ("half", "half precision", FP16),
        ("atomics", "64-bit atomics", INT64_ATOMICS),
    ):
        if failure := _failure(answers.get(step)):
            info = info.without(extension)
            notes.append(f"its driver states {name}, which does not work{failure}: it is not used")
    info = replace(info, probed=Probed(**facts))
    lines = (f"device {entry.number} {info.name}: {note}" for note in notes)
    return replace(entry, info=info, notes=(*entry.notes, *lines))


def _steps(info: DeviceInfo) -> Iterator[str]:
    """Yield the steps that test what a device claims."""
    extensions = info.opencl.extensions if info.opencl else ()
    yield from ("launch", "clock", "compiling", "group", "local")
    if info.fp64:
        yield "double"
    if info.fp16:
        yield "half"
    if INT64_ATOMICS in extensions:
        yield "atomics"
    if not set(SUB_GROUPS).isdisjoint(extensions):
        yield "sub_groups"
    yield "fill"


def _remedy(entry: DeviceEntry, failure: str) -> str:
    if POCL in entry.info.platform and _UNKNOWN_PROCESSOR in failure:
        return (
            f": PoCL {entry.info.driver_version} does not know this processor; install another "
            "driver (Debian: pocl-opencl-icd)"
        )
    return ""


def _answer(answers: Answers, step: str) -> Mapping[str, Any] | None:
    """Return the result of a step; None if it failed or was not run."""
    answer = answers.get(step)
    return None if answer is None or "error" in answer or _UNKNOWN in answer else answer


def _failure(answer: Mapping[str, Any] | None) -> str:
    """Return how a necessary step failed; empty if it did not, or was not run."""
    if answer is None or answer.get("works") or _UNKNOWN in answer:
        return ""
    return f" ({answer['error']})" if "error" in answer else " (wrong results)"


def _clock_note(clock: Mapping[str, Any]) -> str:
    kind = "stands still" if abs(clock["ratio"]) < 0.01 else "is wrong"
    return (
        f"its profiling clock {kind} (it counts {clock['ratio']:.3g} s a second): kernels are "
        f"timed by the host's clock, each launch to about {clock['uncertain_ns'] / 1000:.0f} us"
    )


def _with_group(info: DeviceInfo, group: Mapping[str, Any]) -> tuple[DeviceInfo, list[str]]:
    notes = []
    sizes, most = info.max_work_item_sizes, info.max_work_group_size
    if group["items"] < min(most, sizes[0]):
        notes.append(f"work-groups of {group['items']} work-items work, not of the {most} stated")
        most = max(group["items"], 1)
        sizes = (min(sizes[0], most), min(sizes[1], most), min(sizes[2], most))
    if group["is_flat"]:
        notes.append("work-groups of two dimensions do not work: those of one are used")
        sizes = (sizes[0], 1, 1)
    return replace(info, max_work_group_size=most, max_work_item_sizes=sizes), notes


def _answers(entry: DeviceEntry, steps: tuple[str, ...]) -> Answers:
    """Return the kept answers, else new ones."""
    folder = cache_folder("mltune", "devices", variable=VARIABLE)
    if folder is None or not is_writable(folder):
        return _ask(entry.number, steps)
    file = folder / f"{_key(entry)}.json"
    with contextlib.suppress(MltuneError, OSError), take_lock(file.with_suffix(".lock"), _SECONDS):
        kept = _read(file)
        if kept is not None and set(steps) <= set(kept):
            return kept
        _log.info("trying out %s", entry.info.name)
        found = _ask(entry.number, steps)
        if _answer(found, "launch"):
            document = {"device": entry.info.model, "answers": found}
            write_atomically(file, json.dumps(document, indent=1).encode())
        return found
    return _ask(entry.number, steps)


def _read(file: Path) -> dict[str, dict[str, Any]] | None:
    try:
        answers = json.loads(file.read_text(encoding="utf-8"))["answers"]
        return answers if all(isinstance(each, dict) for each in answers.values()) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _key(entry: DeviceEntry) -> str:
    # Without the size of its memory, for which PoCL's statement varies.
    info = replace(entry.info, global_mem_bytes=0, max_alloc_bytes=0, uuid="")
    text = json.dumps([VERSION, driver_device(entry).version, info.to_json()], sort_keys=True)
    return f"{info.slug}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _ask(number: str, steps: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Run the steps; if one ends its process, it fails, and the others run in a new process."""
    found: dict[str, dict[str, Any]] = {}
    left = list(steps)
    for _ in steps:
        lines, in_time = _run(number, left)
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                answer = json.loads(line)
                found[answer.pop("step")] = answer
        left = [step for step in left if step not in found]
        if not left:
            break
        found[left.pop(0)] = {"error": "it ended its process"} if in_time else {_UNKNOWN: True}
        # the rest is left to the driver's statements, so that a worker starts in time
        if not in_time:
            found |= {step: {_UNKNOWN: True} for step in left}
            break
    return found


def _run(number: str, steps: list[str]) -> tuple[list[str], bool]:
    """Return the process's output, and whether it ended by itself."""
    command = python_module("mltune.device.opencl.probe", number, *steps)
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=said, stderr=subprocess.DEVNULL
            )
        except OSError:
            return [], False
        with process:  # its input stays open, so that it ends when this process is killed
            try:
                process.wait(_SECONDS)
                in_time = True
            except subprocess.TimeoutExpired:
                process.kill()
                in_time = False
        said.seek(0)
        return said.read().decode(errors="replace").splitlines(), in_time
