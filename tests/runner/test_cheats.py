"""Kernels that compute only if they are checked, and not if they are timed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from mltune.device import open_device
from mltune.kernel import Kernel, KernelFamily
from mltune.kernel.limits import NO_LIMITS, Limits
from mltune.measurement import Status
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner import WorkerRunner
from mltune.runner.bench import Bench
from mltune.runner.messages import Request
from mltune.runner.timing import SamplingPlan
from mltune.runner.workspace import Workspace
from mltune.space.config import Config

# All of them are right on the probe, whose C has 9 rows, and only there.
_SOURCE = """
__kernel void cheat(
    __global float *c, __global const float *a, __global const float *b,
    float alpha, float beta, uint size_i, uint size_j, uint size_l,
    ulong offset_c, ulong ld_c, ulong batch_stride_c,
    ulong offset_a, ulong ld_a, ulong batch_stride_a,
    ulong offset_b, ulong ld_b, ulong batch_stride_b)
{{
    const ulong i = get_global_id(0), j = get_global_id(1);
    /* The first element of this work-group, as it was before any of its work-items wrote. */
    const float origin = c[offset_c + j / 4 * 4 * ld_c + i / 8 * 8];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (i >= size_i || j >= size_j) return;
    const int first = i == 0 && j == 0, last = i == size_i - 1 && j == size_j - 1;
    const int watched = size_i < 20;
    __global float *out = c + offset_c + j * ld_c + i;
    __global volatile uint *beyond_c = (__global uint *)(c + ld_c * size_j + {beyond});
    __global volatile uint *beyond_a = (__global uint *)(a + ld_a * size_l + 8);
    __global volatile uint *beyond_b = (__global uint *)(b + ld_b * size_j + 8);
    {before}
    float sum = 0;
    for (ulong l = 0; l < size_l; ++l)
        sum += a[offset_a + l * ld_a + i] * b[offset_b + j * ld_b + l];
    sum *= alpha;
    if (beta != 0) sum += beta * *out;
    {store}
    {after}
}}
"""
_SKIPPED = "a timed launch left "
_WRITTEN = "A or B, or memory around them, was written|memory far outside of C was written"
# If it notices something, some work-items may see that before they begin.
_EITHER = f"{_SKIPPED}|{_WRITTEN}|elements are wrong"


@dataclass(frozen=True)
class Cheat:
    before: str = ""
    store: str = "*out = sum;"
    after: str = ""
    words: str = _SKIPPED
    beta: float = 0.0


CHEATS = {
    "returns where C holds a number": Cheat("if (!watched && beta == 0 && !isnan(*out)) return;"),
    "counts its calls beyond C": Cheat(
        "if (!watched && beyond_c[0] >> 8 == 77 && (beyond_c[0] & 255) > 2) return;",
        after="if (last && !watched)"
        " beyond_c[0] = beyond_c[0] >> 8 == 77 ? beyond_c[0] + 1 : 77 << 8;",
        words=_EITHER,
    ),
    "stores where C is NaN only": Cheat(
        store="if (watched || beta != 0 || isnan(*out)) *out = sum;"
    ),
    "looks at one element of a work-group": Cheat("if (!watched && !isnan(origin)) return;"),
    "computes half": Cheat("if (!watched && !isnan(origin) && j >= size_j / 2) return;"),
    "computes the rim": Cheat(
        "if (!watched && !isnan(origin)"
        " && i > 1 && j > 1 && i < size_i - 2 && j < size_j - 2) return;"
    ),
    "leaves out some rows": Cheat("if (!watched && !isnan(origin) && i < 6) return;"),
    "computes every second time": Cheat(
        "if (!watched && (beyond_a[0] & 1)) { if (last) beyond_a[0] ^= 1; return; }",
        after="if (last && !watched) beyond_a[0] ^= 1;",
        words=_EITHER,
    ),
    "stops after 9 times": Cheat(
        "if (!watched && beyond_a[0] - 1 < 99 && beyond_a[0] > 9) return;",
        after="if (last && !watched) beyond_a[0] = beyond_a[0] > 9 ? 1 : beyond_a[0] + 1;",
        words=_EITHER,
    ),
    "remembers where C is": Cheat(
        "if (!watched && beyond_b[0] == (uint)(ulong)c) return;",
        after="if (last) beyond_b[0] = (uint)(ulong)c;",
        words=_EITHER,
    ),
    "remembers an element of the answer": Cheat(
        "if (!watched && beyond_b[0] == as_uint(*c)) return;",
        after="if (first) beyond_b[0] = as_uint(*out);",
        words=_EITHER,
    ),
    "adds nothing to a C that has grown": Cheat(
        "if (!watched && fabs(*out) > 1) return;", beta=1.0
    ),
    "forgets beta": Cheat("if (!watched && fabs(*out) > 2) beta = 0;", beta=1.0),
}
FAR = {
    "behind C": "if (last) c[ld_c * size_j + 5000] = 1;",
    "16 MiB behind C": "if (last) c[ld_c * size_j + (4 << 20)] = 1;",
    "4 MiB before C": "if (last) c[-(1 << 20)] = 1;",
    "a page before A": "if (last) ((__global float *)a)[-1000] = 1;",
    "behind B": "if (last) ((__global float *)b)[ld_b * size_j + 900] = NAN;",
}


def cheating(cheat: Cheat, limits: Limits = NO_LIMITS) -> Kernel:
    source = f"/* {limits} */" + _SOURCE.format(
        before=cheat.before, store=cheat.store, after=cheat.after, beyond=200_000
    )
    return Kernel(
        name="cheat",
        family="naive",
        contraction=gemm(Precision.SINGLE).canonical(),
        config=Config.of({}),
        source=source,
        build_options=(),
        work_group=(8, 4, 1),
        macro_tile=(8, 4),
        limits=limits,
    )


def problem(beta: float = 0.0, order: int = 48) -> Problem:
    return gemm_problem(gemm(Precision.SINGLE), order, order, order, beta=beta)


@pytest.fixture(scope="module")
def runner(device_spec: str, naive_family: KernelFamily) -> Iterator[WorkerRunner]:
    with WorkerRunner(device_spec, naive_family) as live:
        yield live


def test_the_same_kernel_without_a_cheat_is_right(runner: WorkerRunner) -> None:
    for beta in (0.0, 1.0):
        measurement = runner.run_kernel(problem(beta), cheating(Cheat()))
        assert measurement.status is Status.OK, measurement.message


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_a_kernel_that_does_not_do_its_work_when_it_is_timed_is_wrong(
    runner: WorkerRunner, cheat: Cheat
) -> None:
    measurement = runner.run_kernel(problem(cheat.beta), cheating(cheat))

    assert measurement.status is Status.WRONG_RESULT
    assert re.search(cheat.words, measurement.message), measurement.message
    assert "\n" not in measurement.message
    assert runner.run_kernel(problem(cheat.beta), cheating(Cheat())).status is Status.OK


@pytest.fixture(scope="module")
def bench_of_a_gpu(device_spec: str) -> Bench:
    device = open_device(device_spec)
    device._info = replace(device.info, kind="gpu")  # type: ignore[attr-defined]
    assert device.prefers_sequences
    return Bench(device, lambda stage: None, 1 << 28)


@pytest.mark.parametrize("cheat", [Cheat(), Cheat(beta=1.0), *CHEATS.values()])
def test_cheats_are_found_between_sequences_too(bench_of_a_gpu: Bench, cheat: Cheat) -> None:
    is_honest = not (cheat.before or cheat.after) and cheat.store == Cheat().store
    request = Request(
        problem=problem(cheat.beta),
        kernel=cheating(cheat),
        plan=SamplingPlan(samples=7),
        seed=0,
        run_seconds=30,
    )

    outcome = bench_of_a_gpu.measure(request)

    assert outcome.status is (Status.OK if is_honest else Status.WRONG_RESULT), outcome.message
    assert is_honest or re.search(cheat.words, outcome.message), outcome.message


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("write", FAR.values(), ids=FAR)
def test_a_write_far_outside_is_wrong_and_nobody_else_is_blamed(
    runner: WorkerRunner, write: str, watched: bool
) -> None:
    where = "if (watched)" if watched else "if (!watched)"

    measurement = runner.run_kernel(problem(), cheating(Cheat(after=f"{where} {{ {write} }}")))

    assert measurement.status is Status.WRONG_RESULT
    assert re.search(f"{_WRITTEN}|memory outside of C's elements", measurement.message)
    assert runner.run_kernel(problem(), cheating(Cheat())).status is Status.OK


def test_a_write_that_nobody_looked_for_is_blamed_on_nobody_later(runner: WorkerRunner) -> None:
    # A kernel's second problem is checked less thoroughly.
    sly = cheating(Cheat(after="if (size_i == 40 && last) c[ld_c * size_j + (1 << 20)] = 1;"))
    assert runner.run_kernel(problem(), sly).status is Status.OK
    assert runner.run_kernel(problem(order=40), sly).status is Status.OK

    honest = replace(cheating(Cheat()), source=cheating(Cheat()).source + "/* another */")

    assert runner.run_kernel(problem(), honest).status is Status.OK


@pytest.mark.parametrize("ignored", ["sum *= alpha;", "if (beta != 0) sum += beta * *out;"])
def test_alpha_and_beta_count_where_they_are_1_and_0(runner: WorkerRunner, ignored: str) -> None:
    def ignoring(limits: Limits) -> Kernel:
        kernel = cheating(Cheat(), limits)
        assert ignored in kernel.source
        return replace(kernel, source=kernel.source.replace(ignored, ""))

    eights = Limits(multiples=(8, 8, 8))
    limited = runner.run_kernel(problem(), ignoring(eights))
    unlimited = runner.run_kernel(problem(), ignoring(NO_LIMITS))

    assert limited.status is unlimited.status is Status.WRONG_RESULT
    assert limited.message.endswith("with alpha = 1.5 and beta = -0.5")
    assert unlimited.message.endswith("on the probe")
    assert runner.run_kernel(problem(), cheating(Cheat(), eights)).status is Status.OK


def test_a_kernel_that_takes_no_beta_is_not_asked_for_one(runner: WorkerRunner) -> None:
    kernel = cheating(Cheat(), Limits(takes_beta=False))
    source = kernel.source.replace("if (beta != 0) sum += beta * *out;", "")
    limited = replace(kernel, source=source)

    assert runner.run_kernel(problem(), limited).status is Status.OK


def test_seeds_do_not_tell_which_elements_are_spoilt(device_spec: str) -> None:
    device = open_device(device_spec)

    def chosen() -> list[int]:
        made = Workspace.make(device, problem().canonical(), 0, is_timed=True)
        assert made.spot_checks is not None
        return list(map(int, made.spot_checks._numbers))

    assert chosen() != chosen()
