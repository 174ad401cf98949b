from dataclasses import replace

from mltune.device_info import DeviceInfo
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.peak import least_seconds

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 4096, 4096, 4096)


def test_the_bound_is_far_below_what_an_h200_does(device_info: DeviceInfo) -> None:
    h200 = replace(device_info, kind="gpu", compute_units=132, clock_mhz=1980)

    fastest_known = PROBLEM.flops / 63e12
    assert 0 < least_seconds(PROBLEM, h200) < fastest_known / 5


def test_an_unknown_clock_gives_no_bound(device_info: DeviceInfo) -> None:
    assert least_seconds(PROBLEM, replace(device_info, clock_mhz=0)) == 0


def test_without_products_there_is_no_bound(device_info: DeviceInfo) -> None:
    assert least_seconds(replace(PROBLEM, alpha=0.0), device_info) == 0
