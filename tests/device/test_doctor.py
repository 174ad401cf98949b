"""Finding faults in a machine's OpenCL, and the commands that repair them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.cli import main
from mltune.device import DeviceEntry, examine
from mltune.device.doctor import examine as findings
from mltune.device.doctor import system_of
from mltune.device.opencl.linker import has_linker
from tests import devices

POCL = DeviceEntry("opencl", "0:0", devices.CPU)
NVIDIA = DeviceEntry("opencl", "1:0", devices.GPU)


def _machine(root: Path, system: str, *vendors: str) -> Path:
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text(system)
    for number, vendor in enumerate(vendors):
        folder = root / f"sys/class/drm/card{number}/device"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
    return root


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("ID=debian\n", "debian"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=arch\n", "arch"),
        ("ID=other\n", ""),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no os-release")
def test_the_system_is_known(tmp_path: Path, text: str, system: str) -> None:
    assert system_of(_machine(tmp_path, text)) == system


@pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux's files")
def test_a_gpu_without_a_driver_is_named_with_the_package(tmp_path: Path) -> None:
    root = _machine(tmp_path, "ID=arch\n", "0x10de", "0x8086")

    found = findings([NVIDIA], root)

    assert [each.command for each in found] == ["pacman -S intel-compute-runtime"]
    assert "Intel GPU" in found[0].problem


def test_no_device_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    assert "no OpenCL device" in findings([], tmp_path)[0].problem


def test_a_variable_that_restricts_the_drivers_is_named_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nowhere")

    (found,) = findings([], tmp_path)

    assert "OCL_ICD_VENDORS=/nowhere restricts" in found.problem
    assert found.command == "unset OCL_ICD_VENDORS"


def test_a_cache_that_is_not_writable_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "file" / "cache"))

    (found,) = findings([], tmp_path)

    assert "cache is not writable" in found.problem
    assert found.command.startswith("export POCL_CACHE_DIR=")


def test_a_missing_linker_is_named_with_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)

    (found,) = findings([examine(POCL)], _machine(tmp_path, "ID=debian\n"))

    assert "needs the linker 'ld'" in found.problem
    assert found.command == "apt-get install binutils, or pip install ziglang"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux's mounts")
def test_a_cache_whose_kernels_may_not_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted = os.statvfs_result((0,) * 8 + (os.ST_NOEXEC, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: mounted)
    monkeypatch.setattr("mltune.device.opencl.diagnosis.has_linker", lambda: True)
    monkeypatch.setenv("POCL_CACHE_DIR", "/some/cache")

    (found,) = findings([examine(POCL)], tmp_path)

    assert found.problem == (
        "device 0:0: PoCL's cache /some/cache is mounted noexec: set POCL_CACHE_DIR to a folder "
        "that is not"
    )
    assert found.command.startswith("export POCL_CACHE_DIR=")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux's files")
def test_a_driver_that_builds_nothing_is_named_with_another_one(tmp_path: Path) -> None:
    root = _machine(tmp_path, "ID=debian\n")

    entries = [replace(entry, problem="its driver runs no kernel") for entry in (POCL, NVIDIA)]

    found = findings(entries, root)

    assert [each.command for each in found] == [
        "apt-get install pocl-opencl-icd",
        "apt-get install nvidia-opencl-icd",
    ]


def test_ziglang_stands_in_for_a_missing_linker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys; print(*sys.argv[1:])")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))

    assert has_linker()
    assert has_linker()  # found now

    assert os.environ["PATH"].count("linker") == 1
    command = ["ld", "-o", "a b", "-lgcc", "-lm", "-lgcc_s", "-lc"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "ld.lld -o a b -lm\n"


@pytest.mark.device
def test_a_broken_device_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyopencl as cl

    from mltune.device.opencl import listing

    def fails(device: cl.Device) -> None:
        raise cl.LogicError("out of order")

    monkeypatch.setattr(listing, "describe", fails)

    assert main(["devices"]) == 4

    said = capsys.readouterr().err
    assert "cannot be described: out of order" in said
    assert "Traceback" not in said


@pytest.mark.device
def test_the_doctor_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--doctor"]) == 0
    assert capsys.readouterr().out


@pytest.mark.device
def test_a_home_that_is_not_writable_keeps_no_device_from_working(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = os.environ | {"HOME": str(tmp_path / "file" / "home"), "MLTUNE_DEVICES_DIR": ""}
    environment.pop("XDG_CACHE_HOME", None)

    command = [sys.executable, "-m", "mltune", "devices", "--doctor"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("nothing is wrong"), done.stdout
    assert not done.stderr


@pytest.mark.device
def test_without_a_home_folder_devices_work_and_nothing_is_made_where_the_user_is(
    tmp_path: Path,
) -> None:
    environment = os.environ | {"HOME": "~"}  # as for a user without an entry in passwd
    for name in ("XDG_CACHE_HOME", "MLTUNE_DEVICES_DIR"):
        environment.pop(name, None)

    command = [sys.executable, "-m", "mltune", "devices", "--doctor"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith("nothing is wrong"), done
    assert not done.stderr
    assert list(tmp_path.iterdir()) == []
