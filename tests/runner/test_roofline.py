"""Lower bounds on a problem's time, from published peaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo
from mltune.problem import parse_problem_type, problem_of_size
from mltune.runner.roofline import roofline_seconds
from tests.devices import CPU, GPU

H200 = replace(GPU, name="NVIDIA H200", compute_capability=90)


@pytest.mark.parametrize(
    ("problem", "size", "seconds"),
    [
        ("sgemm_nn", (4096, 4096, 4096), 2 * 4096**3 / 356.8e12),  # three products of halves
        ("sgemm_nn_tf32", (4096, 4096, 4096), 2 * 4096**3 / 535e12),
        ("sgemm_nn_bf16", (4096, 4096, 4096), 2 * 4096**3 / 1070e12),
        ("hgemm_nn", (4096, 4096, 4096), 2 * 4096**3 / 1070e12),
        ("dgemm_nn", (4096, 4096, 4096), 2 * 4096**3 / 66.9e12),
        ("sgemm_nn", (8192, 1, 8192), 4 * (8192**2 + 2 * 8192) / 4.8e12),
    ],
)
def test_work_or_bytes_whatever_takes_longer(
    problem: str, size: tuple[int, ...], seconds: float
) -> None:
    bound = roofline_seconds(problem_of_size(parse_problem_type(problem), size), H200)

    assert bound == pytest.approx(seconds, rel=0.002)


@pytest.mark.parametrize(
    "device",
    [
        CPU,
        replace(GPU, name="Instinct MI300X"),
        replace(H200, clock_mhz=0),
        replace(H200, name="NVIDIA H300"),
        replace(H200, name="NVIDIA RTX A1000"),
        replace(H200, name="NVIDIA RTX A4000"),
        replace(H200, name="NVIDIA T400 4GB"),
        replace(H200, name="NVIDIA GeForce RTX 3080 Laptop GPU"),
        replace(H200, name="Intel(R) Arc(TM) Pro A40/A50 Graphics"),
    ],
)
def test_unknown_peaks_give_no_bound(device: DeviceInfo) -> None:
    problem = problem_of_size(parse_problem_type("sgemm_nn"), (64, 64, 64))

    assert roofline_seconds(problem, device) is None


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        ("NVIDIA A100-PCIE-40GB", "NVIDIA A10"),
        ("NVIDIA L40S", "NVIDIA L4"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 3080"),
        ("NVIDIA GeForce RTX 4080 SUPER", "NVIDIA GeForce RTX 4080"),
        ("Tesla V100S-PCIE-32GB", "Tesla V100-SXM2-16GB"),
    ],
)
def test_a_name_within_a_name_is_not_taken_for_it(longer: str, shorter: str) -> None:
    problem = problem_of_size(parse_problem_type("sgemm_nn"), (8192, 1, 8192))
    bounds = [
        roofline_seconds(problem, replace(H200, name=name, compute_capability=80))
        for name in (longer, shorter)
    ]

    assert bounds[0] is not None
    assert bounds[1] is not None
    assert bounds[0] < bounds[1]


def test_a_run_that_does_not_tell_the_capability_goes_by_the_name() -> None:
    problem = problem_of_size(parse_problem_type("sgemm_nn"), (512, 512, 512))

    bound = roofline_seconds(problem, replace(H200, compute_capability=0))

    assert bound == roofline_seconds(problem, H200)
