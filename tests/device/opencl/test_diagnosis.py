import platform
import sys
from pathlib import Path

import pytest

from mltune.device.opencl.diagnosis import no_device_hints, unwritable_cache


def test_a_cache_that_can_be_made_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "not" / "yet"))

    assert unwritable_cache() is None


def test_a_cache_below_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "file" / "cache"))

    assert "not writable: set POCL_CACHE_DIR" in str(unwritable_cache())
    assert "not writable" in no_device_hints(["Portable Computing Language"])[0]


def test_without_a_home_folder_no_cache_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "~")

    assert unwritable_cache() is None


@pytest.mark.parametrize(
    ("system", "machine", "words"),
    [
        ("linux", "x86_64", "pip install pocl-binary-distribution"),
        ("linux", "aarch64", "Debian: pocl-opencl-icd"),
        ("darwin", "arm64", "brew install pocl"),
        ("win32", "AMD64", "docs/devices.md"),
    ],
)
def test_no_device_is_hinted_at_that_this_machine_cannot_have(
    system: str, machine: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert words in no_device_hints([])[0]


def test_a_driver_folder_that_was_set_is_pointed_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nowhere")

    hints = no_device_hints([])

    assert "pip install pocl-binary-distribution" in hints[0]
    assert "OCL_ICD_VENDORS=/nowhere" in hints[1]
