from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.device_info import FP64, INT64_ATOMICS, DeviceInfo, limit_names
from mltune.errors import UsageError
from mltune.resources import data_folder
from tests.devices import GPU


def test_json_gives_the_same_device_back() -> None:
    assert DeviceInfo.from_json(json.loads(json.dumps(GPU.to_json()))) == GPU


def test_what_opencl_says_stands_beside_the_rest_in_records() -> None:
    data = GPU.to_json()

    assert data["extensions"] == ["cl_khr_fp64"]
    assert data["opencl_c_version"] == "OpenCL C 1.2"
    assert "opencl" not in data


def test_a_device_without_opencl_says_nothing_of_it() -> None:
    other = replace(GPU, opencl=None)

    assert "extensions" not in other.to_json()
    assert DeviceInfo.from_json(other.to_json()) == other
    assert other.limits()["int64_atomics"] == 0


def test_a_device_without_an_extension_lacks_what_it_is_for() -> None:
    lesser = GPU.without(FP64)

    assert (GPU.fp64, lesser.fp64) == (True, False)
    assert lesser.to_json()["extensions"] == []
    assert not replace(GPU, opencl=None).without(FP64).fp64
    assert GPU.without(INT64_ATOMICS) == GPU


@pytest.mark.parametrize("path", sorted(data_folder("runs").glob("*/run.json")), ids=str)
def test_devices_of_shipped_runs_are_read_and_written_the_same(path: Path) -> None:
    data = json.loads(path.read_text())["device"]

    read = DeviceInfo.from_json(data).to_json()

    older = {"compute_capability": 0} | data  # of versions without this key
    if "probed" in read:
        older["probed"] = {"sub_group_sizes": 0} | data["probed"]
    assert read == older


def test_the_limits_have_the_names_that_constraints_may_use() -> None:
    limits = GPU.limits()

    assert set(limits) == limit_names()
    assert limits["max_work_item_size_2"] == 64
    assert all(type(value) is int for value in limits.values())


@pytest.mark.parametrize(
    ("capability", "kibibytes"), [(0, 48), (70, 48), (80, 163), (86, 99), (90, 227), (120, 99)]
)
def test_nvidia_gpus_have_more_local_memory_than_they_tell(
    capability: int, kibibytes: int
) -> None:
    device = replace(GPU, compute_capability=capability)

    assert device.local_mem_opt_in_bytes == kibibytes * 1024


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA H200 (test)", "nvidia-h200-test"),
        (
            "cpu-sapphirerapids-Intel(R) Xeon(R) Platinum 8462Y+",
            "cpu-sapphirerapids-intel-r-xeon-r-platinum-8462y",
        ),
        ("***", "device"),
    ],
)
def test_a_slug_is_fit_for_a_folder(name: str, slug: str) -> None:
    assert replace(GPU, name=name).slug == slug


def test_the_slug_of_a_long_name_is_short() -> None:
    assert len(replace(GPU, name="x" * 300).slug) <= 64


def test_a_model_is_a_device_and_a_driver() -> None:
    assert GPU.model == "NVIDIA CUDA / NVIDIA H200 (test) / 580.1"
    assert replace(GPU, uuid="cd34", global_mem_bytes=1).model == GPU.model
    assert replace(GPU, driver_version="1").model != GPU.model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"memory": 3}, "device: unknown field 'memory'"),
        ({"name": 3}, "device: name must be of type str, got 3"),
        ({"compute_units": "many"}, "device: compute_units must be of type int, got 'many'"),
        ({"compute_units": True}, "device: compute_units must be of type int, got True"),
        (
            {"clock_mhz": 2**63},
            "device: clock_mhz must be from 0 to 9223372036854775807, got 9223372036854775808",
        ),
        ({"opencl_c_version": 1}, "device: opencl_c_version must be of type str, got 1"),
        ({"fp16": 1}, "device: fp16 must be of type bool, got 1"),
        (
            {"max_work_item_sizes": [1, 2]},
            "device: max_work_item_sizes must be three whole numbers, got [1, 2]",
        ),
    ],
)
def test_json_of_the_wrong_form_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        DeviceInfo.from_json(GPU.to_json() | change)

    assert str(refused.value) == message


@pytest.mark.parametrize("missing", ["name", "max_work_item_sizes", "local_mem_bytes"])
def test_a_missing_field_is_refused(missing: str) -> None:
    data = GPU.to_json()
    del data[missing]

    with pytest.raises(UsageError, match=missing):
        DeviceInfo.from_json(data)


@pytest.mark.parametrize("data", [None, [], "device"])
def test_json_that_is_no_mapping_is_refused(data: Any) -> None:
    with pytest.raises(UsageError, match="device: expected a mapping, got"):
        DeviceInfo.from_json(data)
