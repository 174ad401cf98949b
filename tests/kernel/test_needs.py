from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.needs import lacks
from mltune.problem import parse_problem_type
from mltune.resources import data_folder
from mltune.selector.json import read_selector
from mltune.space.config import Config
from tests.devices import CPU, GPU
from tests.export.conftest import SMALL

FLAT = replace(CPU, max_work_item_sizes=(64, 1, 1))


def tiled(problem: str) -> Kernel:
    return FAMILIES["tiled"].generate(parse_problem_type(problem), Config.of(SMALL))


@pytest.mark.parametrize(
    ("problem", "device", "words"),
    [
        ("sgemm_nn", CPU, ""),
        ("hgemm_nn", CPU, ""),
        ("dgemm_nn", CPU, "double precision"),
        ("sgemm_nn", replace(CPU, max_work_group_size=8), "work-groups of 4x4x1 work-items"),
        (
            "sgemm_nn",
            FLAT,
            "work-groups of 4x4x1 work-items",
        ),
    ],
)
def test_what_a_device_lacks_is_named(problem: str, device: DeviceInfo, words: str) -> None:
    assert lacks(tiled(problem), device) == words


def test_tensor_cores_are_those_of_nvidia() -> None:
    selector = read_selector(data_folder("models") / "nvidia-h200" / "sgemm_nn" / "selector.json")
    kernels = {
        entry.family: FAMILIES[entry.family].generate(selector.contraction, entry.config)
        for entry in selector.portfolio
    }

    a100 = replace(GPU, compute_capability=80)
    assert {lacks(each, CPU) for each in kernels.values()} == {"PTX instructions of NVIDIA GPUs"}
    assert lacks(kernels["mma"], a100) == ""
    assert lacks(kernels["wgmma"], a100) == "compute capability 9.0"
    assert lacks(kernels["wgmma"], replace(GPU, compute_capability=90)) == ""
