from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.peak import least_seconds

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 4096, 4096, 4096)


def test_the_bound_is_far_below_what_an_h200_does(device_info: DeviceInfo) -> None:
    h200 = replace(device_info, kind="gpu", compute_units=132, clock_mhz=1980)

    fastest_known = PROBLEM.flops / 63e12
    assert 0 < least_seconds(PROBLEM, h200) < fastest_known / 5


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_clock_that_a_driver_states_plays_no_part(device_info: DeviceInfo, kind: str) -> None:
    bounds = {
        least_seconds(PROBLEM, replace(device_info, kind=kind, clock_mhz=mhz))
        for mhz in (0, 300, 5000)
    }

    assert len(bounds) == 1


def test_without_products_there_is_no_bound(device_info: DeviceInfo) -> None:
    assert least_seconds(replace(PROBLEM, alpha=0.0), device_info) == 0
