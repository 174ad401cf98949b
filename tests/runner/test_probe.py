from collections.abc import Callable

import pytest

from mltune.kernel import Kernel
from mltune.problem import gemm
from mltune.problem.precision import Precision
from mltune.runner.probe import probe_problem


@pytest.mark.parametrize("trans_a", "nt")
@pytest.mark.parametrize("trans_b", "nt")
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("order", ["column", "row"])
def test_every_gemm_has_a_probe_with_remainders_and_gaps(
    naive_kernel: Callable[..., Kernel], trans_a: str, trans_b: str, batched: bool, order: str
) -> None:
    contraction = gemm(Precision.DOUBLE, trans_a, trans_b, order, batched)
    kernel = naive_kernel(contraction=contraction, group=(16, 8))

    probe = probe_problem(kernel)

    assert (probe.m, probe.n) == (17, 7)
    assert probe.batch == (2 if batched else 1)
    assert probe.strides_c[1] > 17
    assert probe.beta not in (0, 1)
    assert min(probe.offset_a, probe.offset_b, probe.offset_c) > 0
    assert kernel.launch(probe).grids[0].global_size[0] == 32


def test_a_tile_of_one_column_has_a_probe(naive_kernel: Callable[..., Kernel]) -> None:
    assert probe_problem(naive_kernel(group=(1, 1))).n == 1
