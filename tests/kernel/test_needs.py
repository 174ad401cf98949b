from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo, OpenCLInfo, Probed
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.needs import lacks
from mltune.problem import parse_problem_type
from mltune.resources import data_folder
from mltune.selector.json import read_selector
from mltune.space.config import Config
from tests.devices import CPU, GPU
from tests.export.conftest import SMALL

BY_SUB_GROUPS = Config.of(
    {
        "work_group_0": 16,
        "work_group_1": 2,
        "thread_tile_0": 1,
        "thread_tile_1": 8,
        "depth_u": 4,
        "vector_width": 1,
        "sub_group_size": 16,
        "work_group_mapping": 1,
        "multiply_add": "mad",
        "vector_access": "cast",
    }
)
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


@pytest.mark.parametrize(
    ("extensions", "probed", "words"),
    [
        ((), None, "sub-groups of 16 work-items"),
        (("cl_khr_subgroups",), None, ""),
        (("cl_intel_subgroups",), Probed(sub_group_size=16, sub_group_sizes=56), ""),
        (("cl_khr_subgroups",), Probed(sub_group_size=64, sub_group_sizes=64), "sub-groups of 16"),
    ],
)
def test_sub_groups_are_those_that_the_device_showed(
    extensions: tuple[str, ...], probed: Probed | None, words: str
) -> None:
    kernel = FAMILIES["direct"].generate(parse_problem_type("sgemm_nn"), BY_SUB_GROUPS)
    opencl = OpenCLInfo(platform_version="", opencl_c_version="", extensions=extensions)
    lacking = lacks(kernel, replace(CPU, opencl=opencl, probed=probed))

    assert lacking.startswith(words)
    assert bool(lacking) == bool(words)


def test_tensor_cores_are_those_of_nvidia() -> None:
    selector = read_selector(
        data_folder("models") / "nvidia-h100-80gb-hbm3" / "hgemm_nt" / "selector.json"
    )
    kernels = {
        entry.family: FAMILIES[entry.family].generate(selector.contraction, entry.config)
        for entry in selector.portfolio
    }

    a100 = replace(GPU, compute_capability=80)
    assert {lacks(each, CPU) for each in kernels.values()} == {"PTX instructions of NVIDIA GPUs"}
    assert lacks(kernels["mma"], a100) == ""
    assert lacks(kernels["wgmma"], a100) == "compute capability 9.0"
    assert lacks(kernels["wgmma"], replace(GPU, compute_capability=90)) == ""
