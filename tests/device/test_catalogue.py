import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyopencl as cl
import pytest

from mltune.device import DeviceEntry, choose, list_devices
from mltune.errors import NoDeviceError, UsageError
from tests.devices import CPU

_POCL = "Portable Computing Language"


@pytest.fixture
def entries() -> tuple[DeviceEntry, ...]:
    def entry(number: int, platform: str, name: str, kind: str) -> DeviceEntry:
        info = replace(CPU, platform=platform, name=name, kind=kind)
        return DeviceEntry("opencl", f"{number}:0", info)

    return (
        entry(0, "Oclgrind", "Oclgrind Simulator", "gpu"),
        entry(1, "Intel(R) OpenCL", "Xeon", "cpu"),
        entry(2, _POCL, "pthread-Xeon", "cpu"),
        entry(3, "NVIDIA CUDA", "NVIDIA H200", "gpu"),
    )


def works(entry: DeviceEntry) -> DeviceEntry:
    return entry


def fails(*numbers: str) -> Callable[[DeviceEntry], DeviceEntry]:
    def examine(entry: DeviceEntry) -> DeviceEntry:
        problem = "its driver runs no kernel" if entry.number in numbers else ""
        return replace(entry, problem=problem)

    return examine


@pytest.mark.device
def test_the_listed_devices_can_be_chosen_by_their_number() -> None:
    for entry in list_devices():
        assert choose(entry.number).number == entry.number


def test_auto_prefers_a_gpu_then_pocl_then_any_other(entries: Sequence[DeviceEntry]) -> None:
    assert choose("auto", entries, works).info.name == "NVIDIA H200"
    assert choose("auto", entries[:3], works).info.name == "pthread-Xeon"
    assert choose("auto", entries[:2], works).info.name == "Xeon"


def test_cpu_and_gpu_choose_by_kind(entries: Sequence[DeviceEntry]) -> None:
    assert choose("cpu", entries, works).info.name == "pthread-Xeon"
    assert choose(" GPU ", entries, works).info.name == "NVIDIA H200"


def test_another_driver_of_the_processor_is_named(entries: Sequence[DeviceEntry]) -> None:
    line = "PoCL is taken, not Xeon (Intel(R) OpenCL): --device 1:0 takes that"

    assert choose("cpu", entries, works).notes == (line,)
    assert choose("auto", entries, fails("3:0")).notes[1:] == (line,)
    assert choose("auto", entries[2:3], works).notes == ()
    assert choose("portable", entries, works).notes == ()
    assert choose("cpu", entries, fails("2:0")).number == "1:0"
    assert len(choose("cpu", entries, fails("2:0")).notes) == 1


def test_a_checker_is_chosen_only_when_it_is_named(entries: Sequence[DeviceEntry]) -> None:
    assert choose("oclgrind", entries, works).is_checker
    assert choose("0:0", entries, works).is_checker
    with pytest.raises(NoDeviceError, match=r"no device for 'gpu' \(known: 0:0 Oclgrind"):
        choose("gpu", entries[:3])


def test_a_part_of_a_name_is_enough(entries: Sequence[DeviceEntry]) -> None:
    assert choose("h200", entries, works).number == "3:0"
    assert choose("portable", entries, works).number == "2:0"


def test_equal_devices_are_told_apart_by_their_uuid(entries: Sequence[DeviceEntry]) -> None:
    def twin(number: int) -> DeviceEntry:
        info = replace(entries[3].info, uuid=f"pci-0000:{number:02x}:00")
        return DeviceEntry("opencl", f"3:{number}", info)

    twins = (twin(0), twin(1))

    assert choose("pci-0000:01", twins, works).number == "3:1"


def test_an_ambiguous_name_lists_what_it_fits(entries: Sequence[DeviceEntry]) -> None:
    with pytest.raises(UsageError) as raised:
        choose("xeon", entries, works)

    assert str(raised.value) == (
        "device: 'xeon' fits 2; name one by number: 1:0 Xeon (Intel(R) OpenCL), "
        f"2:0 pthread-Xeon ({_POCL})"
    )


@pytest.mark.parametrize("spec", ["radeon", "7:0", "3:1"])
def test_an_unknown_device_lists_what_there_is(spec: str, entries: Sequence[DeviceEntry]) -> None:
    with pytest.raises(NoDeviceError, match=f"no device '{spec}' .known: 0:0 .*3:0 NVIDIA H200"):
        choose(spec, entries)


def test_an_empty_name_is_a_mistake(entries: Sequence[DeviceEntry]) -> None:
    with pytest.raises(UsageError, match="got nothing"):
        choose("  ", entries)


@pytest.mark.device
def test_without_a_platform_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none() -> list[cl.Platform]:
        raise cl.LogicError("clGetPlatformIDs", -1001, "")

    monkeypatch.setattr(cl, "get_platforms", none)
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)

    with pytest.raises(NoDeviceError, match="pip install pocl-binary-distribution"):
        choose("auto")


def test_pocl_without_a_linker_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, entries: Sequence[DeviceEntry]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "ziglang", None)

    with pytest.raises(NoDeviceError, match=r"2:0 pthread-Xeon: .* install binutils"):
        choose("pthread", entries)
    assert choose("gpu", entries, works).info.name == "NVIDIA H200"


@pytest.mark.parametrize(
    ("spec", "broken", "taken"),
    [
        ("auto", ("3:0",), "2:0"),
        ("auto", ("3:0", "2:0"), "1:0"),
        ("cpu", ("2:0",), "1:0"),
        ("xeon", ("2:0",), "1:0"),
        ("xeon", ("1:0",), "2:0"),
    ],
)
def test_a_device_that_builds_nothing_is_passed_over_with_a_line(
    spec: str,
    broken: tuple[str, ...],
    taken: str,
    entries: Sequence[DeviceEntry],
) -> None:
    chosen = choose(spec, entries, fails(*broken))

    assert chosen.number == taken
    for number, line in zip(broken, chosen.notes[: len(broken)], strict=True):
        assert line.startswith(f"device {number} ")
        assert line.endswith(f"its driver runs no kernel; device {taken} is taken instead")


def test_where_no_device_builds_anything_each_is_named(entries: Sequence[DeviceEntry]) -> None:
    with pytest.raises(NoDeviceError, match=r"^device 2:0 .* runs no kernel; device 1:0 .*"):
        choose("cpu", entries, fails("1:0", "2:0"))


def test_a_broken_device_is_not_replaced_when_it_was_named(
    entries: Sequence[DeviceEntry],
) -> None:
    with pytest.raises(NoDeviceError, match=r"device 3:0 .* runs no kernel"):
        choose("h200", entries, fails("3:0"))
