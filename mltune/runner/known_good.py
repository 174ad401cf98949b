"""A known-good kernel: it shows whether a device works, and how fast it is at the moment.

Every new worker has to compute and check it before anything else, so that no config is blamed for
a broken device. Its time, taken before and after the samples of every measurement, is that of a
reference kernel: it shows when the clock drops or another program uses the device.
"""

from __future__ import annotations

from mltune.device.limits import group_of
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.kernel.abi import declarations, integer_arguments
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.space.config import Config

_SIZE = (128, 128, 64)
_GROUP = (16, 4, 1)
_FLAT_ITEMS = 64
_NAME = "mltune_known_good"
_CONTRACTION = gemm(Precision.SINGLE).canonical()
_INTEGERS = declarations(integer_arguments(_CONTRACTION))
_SOURCE = """
__kernel __attribute__((reqd_work_group_size(GROUP)))
void mltune_known_good(__global float *c, __global const float *a, __global const float *b,
                   const float alpha, const float beta,
                   INTEGERS)
{
    const ulong i = get_global_id(0), j = get_global_id(1);
    if (i >= size_i || j >= size_j)
        return;
    float sum = 0.0f;
    for (ulong l = 0; l < size_l; ++l)
        sum += a[offset_a + l * ld_a + i] * b[offset_b + j * ld_b + l];
    c[offset_c + j * ld_c + i] = alpha * sum;
}
""".replace("INTEGERS", (",\n" + " " * 23).join(_INTEGERS))


def known_good_kernel(device: DeviceInfo) -> tuple[Kernel, Problem]:
    """Return the kernel and its problem, with a work-group that the device supports."""
    group = _GROUP if device.takes_group(_GROUP) else (group_of(device, _FLAT_ITEMS), 1, 1)
    kernel = Kernel(
        name=_NAME,
        family="known good",
        contraction=_CONTRACTION,
        config=Config.of({}),
        source=_SOURCE.replace("GROUP", ", ".join(map(str, group))),
        build_options=(),
        work_group=group,
        macro_tile=group[:2],
    )
    return kernel, gemm_problem(_CONTRACTION, *_SIZE)
