"""Requirements for every device; a new kind adds a line to `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.device import (
    DEVICES,
    BuildError,
    Device,
    Execution,
    Kept,
    LimitError,
    Matrices,
    Put,
    open_device,
)
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.generator import drawn
from tests.sessions import session_spec

MakeKernel = Callable[..., Kernel]
Array = np.ndarray[Any, np.dtype[Any]]

KINDS: dict[str, Callable[[Path], str]] = {
    "opencl": lambda folder: "Portable Computing Language",
    "limited": lambda folder: "limited:local=16K,alloc=64M:Portable Computing Language",
    "record": lambda folder: f"record:{folder / 'session'}:Portable Computing Language",
    "replay": lambda folder: session_spec("device_contract"),
}
"""How a device of each kind is chosen, given a folder for it."""

BYTES = 4096 + 8 * 1003


@pytest.fixture(
    scope="module",
    params=[pytest.param(k, marks=[] if k == "replay" else pytest.mark.device) for k in KINDS],
)
def device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Device:
    return open_device(KINDS[request.param](tmp_path_factory.mktemp("device")))


def product(
    device: Device, kernel: Kernel, problem: Problem, follows: tuple[int, ...] = (0,)
) -> tuple[Array, list[Execution]]:
    """C after some launches of a kernel, from the numbers 0, 1, ... in all matrices."""
    sizes = {"a": problem.m * problem.k, "b": problem.k * problem.n, "c": problem.m * problem.n}
    arrays = {name: np.arange(size, dtype=np.float32) for name, size in sizes.items()}
    buffers = {name: device.allocate(array.nbytes) for name, array in arrays.items()}
    for name, array in arrays.items():
        device.write(buffers[name], array)
    program = device.build(kernel)
    runs = [device.launch(program, problem, **buffers, follows=each) for each in follows]
    runs[-1].wait()
    device.read(buffers["c"], arrays["c"])
    return arrays["c"].reshape(problem.n, problem.m).T, runs


def expected(problem: Problem, c: Array) -> Array:
    a = np.arange(problem.m * problem.k, dtype=np.float32).reshape(problem.k, problem.m).T
    b = np.arange(problem.k * problem.n, dtype=np.float32).reshape(problem.n, problem.k).T
    scaled: Array = problem.alpha.real * a @ b + problem.beta.real * c
    return scaled


def test_every_kind_of_device_runs_this_suite() -> None:
    assert set(KINDS) == set(DEVICES)


def test_a_device_describes_itself(device: Device) -> None:
    info = device.info

    assert info.name
    assert info.kind in ("cpu", "gpu", "accelerator")
    assert min(info.compute_units, info.wave_size, *info.max_work_item_sizes) >= 1
    assert info.max_alloc_bytes <= info.global_mem_bytes
    assert device.tick_seconds >= 0
    assert DeviceInfo.from_json(info.to_json()) == info


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_a_kernel_computes_what_numpy_does(
    device: Device, naive_kernel: MakeKernel, beta: float
) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4, alpha=2.0, beta=beta)
    c = np.arange(15, dtype=np.float32).reshape(3, 5).T

    found, _ = product(device, naive_kernel(), problem)

    assert found.tolist() == expected(problem, c).tolist()


def test_launches_follow_each_other_in_order(device: Device, naive_kernel: MakeKernel) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4, beta=1.0)
    c = np.arange(15, dtype=np.float32).reshape(3, 5).T

    found, runs = product(device, naive_kernel(), problem, follows=(0, 0, 0))

    for _ in range(3):
        c = expected(problem, c)
    assert found.tolist() == c.tolist()
    for before, after in pairwise(runs):
        assert before.ended_ns <= after.started_ns


def test_launches_in_sequence_last_from_the_end_of_the_one_before(
    device: Device, naive_kernel: MakeKernel
) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4, beta=1.0)
    c = np.arange(15, dtype=np.float32).reshape(3, 5).T

    found, runs = product(device, naive_kernel(), problem, follows=(0, 3, 1))

    for _ in range(5):
        c = expected(problem, c)
    assert found.tolist() == c.tolist()
    assert all(run.ended_ns > run.started_ns for run in runs)
    if "replay" not in type(device).__name__.lower():  # which does not know gaps
        for before, after in pairwise(runs):
            assert before.ended_ns == after.started_ns


def test_a_launch_knows_its_times(device: Device, naive_kernel: MakeKernel) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4)

    _, (run,) = product(device, naive_kernel(), problem)
    run.wait_until_running()

    assert run.ended_ns > run.started_ns
    assert run.delay_seconds >= 0
    (only,) = run.passes
    assert (only.started_ns, only.ended_ns) == (run.started_ns, run.ended_ns)


def test_a_built_kernel_says_what_it_took(device: Device, naive_kernel: MakeKernel) -> None:
    program = device.build(naive_kernel())

    assert program.kernel == naive_kernel()
    assert program.build_seconds > 0
    assert program.local_mem_bytes >= 0


def test_what_the_compiler_refuses_is_told_in_one_line(
    device: Device, naive_kernel: MakeKernel
) -> None:
    with pytest.raises(BuildError, match="error: ") as raised:
        device.build(naive_kernel("syntax"))

    assert "\n" not in str(raised.value)
    assert str(raised.value) in raised.value.log


@pytest.mark.parametrize(
    ("fault", "group", "message"),
    [
        ("none", (8192, 1), "8192 work-items is over the limit"),
        ("local_memory", (8, 4), "16000000 bytes of local memory are over the limit"),
    ],
)
def test_a_launch_over_the_limits_is_refused(
    device: Device,
    naive_kernel: MakeKernel,
    fault: str,
    group: tuple[int, int],
    message: str,
) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 5, 3, 4)

    with pytest.raises(LimitError, match=message):
        product(device, naive_kernel(fault, group=group), problem)


def test_a_buffer_over_the_limit_is_refused(device: Device) -> None:
    with pytest.raises(LimitError, match="over the device's limit"):
        device.allocate(device.info.max_alloc_bytes + 1)


def test_what_is_written_is_read(device: Device) -> None:
    buffer = device.allocate(64)
    device.fill(buffer, 7)
    device.write(buffer, np.arange(4, dtype=np.uint8), 8)
    found = np.empty(8, np.uint8)

    device.read(buffer, found, 6)

    assert buffer.size == 64
    assert found.tolist() == [7, 7, 0, 1, 2, 3, 7, 7]


def test_a_part_of_a_buffer_is_a_buffer(device: Device) -> None:
    whole = np.arange(2048, dtype=np.float32)
    buffer, other = device.allocate(whole.nbytes), device.allocate(16)
    device.write(buffer, whole)
    part = device.part(buffer, 4096, 12)
    found = np.empty(4, np.float32)

    device.fill(other, 0)
    device.copy(part, other)
    device.read(other, found)

    assert part.size == 12
    assert found.tolist() == [1024, 1025, 1026, 0]


def test_a_buffer_is_filled_between_the_ends_that_are_given(device: Device) -> None:
    buffer = device.allocate(2 * 4096)
    device.fill(buffer, 1)
    device.fill(buffer, 255, 4096, 4096 + 8)
    found = np.empty(2 * 4096, np.uint8)

    device.read(buffer, found)

    assert np.flatnonzero(found == 255).tolist() == list(range(4096, 4096 + 8))
    assert np.count_nonzero(found == 1) == found.size - 8


@pytest.mark.parametrize("place", [0, 4095, 4096, BYTES - 1])
def test_another_byte_in_any_stretch_is_found_until_it_is_forgotten(
    device: Device, place: int
) -> None:
    buffer, check = device.allocate(BYTES), device.inspection.pattern_check(7)
    bytes_ = np.full(BYTES, 7, np.uint8)
    bytes_[place] = 8
    device.write(buffer, bytes_)

    check.look(buffer, 0, 4096)
    check.look(buffer, 4096, BYTES)
    check.look(buffer, 64, 64)

    assert not check.is_whole()
    check.begin()
    first, last = place // 8 * 8, place // 8 * 8 + 8
    check.look(buffer, 0, first)
    check.look(buffer, last, BYTES)
    assert check.is_whole()


def test_checksums_depend_on_every_word_and_its_place(device: Device) -> None:
    one, two = device.allocate(4096), device.allocate(4096)
    words = np.arange(1024, dtype=np.uint32)
    device.write(one, words)
    device.write(two, words)
    look = device.inspection

    same = look.checksums(one, two)
    device.write(two, words[[1, 0]])
    swapped = look.checksums(two)

    assert same == look.checksums(one) * 2
    assert swapped != look.checksums(one)


def test_single_elements_are_kept_and_then_written_or_kept(device: Device) -> None:
    tensor = np.arange(8, dtype=np.float32)
    buffer = device.allocate(tensor.nbytes)
    device.write(buffer, tensor)
    rows = np.array([[10, 20, 30], [40, 50, 60]], np.float32)
    spots = device.inspection.spots(np.array([1, 3, 5]), rows, 6)

    spots.exchange(buffer, Kept(2, 2, 0), Put(1, 2, 1))
    spots.exchange(buffer, Kept(0, 3, 2), Kept(1, 1, 5))

    assert spots.seen(6).tolist() == [5, 1, 1, 50, 60, 50]
    device.read(buffer, tensor)
    assert tensor.tolist() == [0, 1, 2, 50, 4, 60, 6, 7]


def test_what_a_device_calculates_is_what_the_host_does(device: Device) -> None:
    numbers, wide = device.calculator("float32"), device.calculator("float64")
    if numbers is None or wide is None:
        return  # it leaves that to the host
    buffer, result = device.allocate(4 * 15), device.allocate(8 * 9)
    everything = Matrices(buffer=buffer, dtype="float32", first=0, rows=((15, 1),))
    a = Matrices(buffer=buffer, dtype="float32", first=0, rows=((3, 1),), columns=((5, 3),))
    c = Matrices(buffer=result, dtype="float64", first=0, rows=((3, 1),), columns=((3, 3),))
    values = drawn(7, "float32", 15).astype(float).reshape(5, 3).T

    numbers.draw(everything, 7)
    numbers.multiply(a, a, c, c, 2, 0)
    sums = numbers.along(a, np.ones((2, 1, 5)))

    assert numbers.look(everything, np.array([4])).tolist() == [values[1, 1]]
    found = np.empty((3, 3))
    device.read(result, found)
    assert found == pytest.approx(2 * values @ values.T, rel=1e-14)
    assert sums.products[0] == pytest.approx(values.sum(axis=1)[None], rel=1e-14)
    assert sums.squares == pytest.approx((values**2).sum(axis=1)[None], rel=1e-14)
    assert (sums.largest == np.abs(values).max(axis=1)).all()
